"""Make a child of a problem, with its lineage."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from winosmith.errors import ProblemError
from winosmith.lineage._edits import edit_script
from winosmith.problem import Extra, Lineage, Origin, Problem, Scalar
from winosmith.text import tokens

__all__ = ["UNVALIDATED", "perturbed"]

UNVALIDATED = "evolve.unvalidated"
"""The extra key that is True on a generated problem until people have judged it."""

_DIGITS = 10
"""Hexadecimal digits of a digest in an id: two of 100,000 children share one with p = 0.005."""

_NOTHING: Mapping[str, Scalar] = {}


def perturbed(
    parent: Problem,
    sentence: str,
    options: tuple[str, ...],
    answer: int | None,
    *,
    source: str,
    declared: int | None = None,
    extra: Mapping[str, Scalar] = _NOTHING,
) -> Problem:
    """Return a child of a problem: another sentence or other options, with its lineage.

    The id is the root's with a digest of the sentence and the options, so it never depends on the
    answer, and the same child made twice has the same id. Licence, domain and embargo are the
    parent's, and so is the pronoun while the options stay; the twin is not.

    Args:
        parent: what was perturbed, a root or not.
        sentence: of the child.
        options: of the child.
        answer: of the child, 0-based; None when it is not known yet.
        source: who made it ("person", "chat", "wordnet", "masked").
        declared: the depth that its maker states, if any.
        extra: what else is to be kept; `UNVALIDATED` is added.

    Raises:
        ProblemError: nothing has changed, or the child is not a problem.

    >>> root = Problem("r", "The cup hit the _ .", ("vase", "tray"), 0)
    >>> child = perturbed(root, "The mug hit the _ .", root.options, 0, source="person")
    >>> child.id, child.lineage.parent, child.lineage.edits[0].new, dict(child.extra)
    ('r.76e67fa1c4', 'r', 'mug', {'evolve.unvalidated': True})
    """
    if (sentence, options) == (parent.sentence, parent.options):
        raise ProblemError(
            f"the perturbation changes neither sentence nor options of {parent.id!r}"
        )
    origin = parent.origin or Origin()
    return Problem(
        id=f"{parent.root}.{_digest(sentence, options)}",
        sentence=sentence,
        options=options,
        answer=answer,
        pronoun=parent.pronoun if options == parent.options else None,
        origin=Origin(source, domain=origin.domain, licence=origin.licence),
        lineage=Lineage(
            parent.root, parent.id, edit_script(tokens(parent.sentence), tokens(sentence)), declared
        ),
        embargo=parent.embargo,
        extra=Extra({**extra, UNVALIDATED: True}),
    )


def _digest(sentence: str, options: tuple[str, ...]) -> str:
    seen = "\0".join((sentence, *options)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(seen).hexdigest()[:_DIGITS]
