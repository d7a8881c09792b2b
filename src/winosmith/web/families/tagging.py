"""What kind of edit made a version of its parent: told in the background, kept in the database.

Tagging a sentence takes about a millisecond, so no request waits for it. One process at a time
tells what is new (`measuring`), and rests as long as it works.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.util import find_spec

from rapidfuzz.distance import Levenshtein

from winosmith import __version__
from winosmith.text import tokens
from winosmith.web._lock import writing
from winosmith.web.families.models import EditKind
from winosmith.web.perturb.models import Version

__all__ = ["can_tell", "kind_of", "tell_kinds"]

CHUNK = 100
"""Versions that are told in one transaction."""


def can_tell() -> bool:
    """Tell whether the tagger is installed (`pip install 'winosmith[language]'`)."""
    return find_spec("HanTa") is not None


def kind_of(before: str, after: str) -> str:
    """Return the kind of a one-token edit by Penn tags; "" for no edit, or more than one.

    Tokens are those by which depths count. What was put in has the tag that it has in the new
    sentence, what was taken out the one that it had in the old.

    >>> kind_of("The cup hit the _ .", "The red cup hit the _ .")
    '+JJ'
    >>> kind_of("The cup hit the _ .", "The mug hit the _ .")
    'NN → NN'
    >>> kind_of("The cup hit the _ .", "The red mug hit the _ .")
    ''
    """
    old, new = tokens(before), tokens(after)
    ops = list(Levenshtein.editops(old, new))
    if len(ops) != 1:
        return ""
    gone = "" if ops[0].tag == "insert" else _tag(old, ops[0].src_pos)
    here = "" if ops[0].tag == "delete" else _tag(new, ops[0].dest_pos)
    return f"{gone} → {here}" if gone and here else f"−{gone}" if gone else f"+{here}"


def _tag(cut: Sequence[str], at: int) -> str:
    from winosmith.language import tag

    return tag(cut)[at]


def tell_kinds(rest: float = 1.0) -> int:
    """Tell the kinds of edits that have not been told by this release; return how many.

    Those of public versions alone. Nothing is told where the tagger is not installed.

    Args:
        rest: how many times as long as it works it sleeps, so that requests have the processor.
    """
    told = 0
    while can_tell() and (due := list(_due()[:CHUNK])):
        start = time.monotonic()
        made = [
            EditKind(
                problem_id=version.pk,
                kind=kind_of(version.parent.sentence, version.problem.sentence),
                by=__version__,
            )
            for version in due
            if version.parent is not None
        ]
        with writing():
            EditKind.objects.bulk_create(
                made, update_conflicts=True, unique_fields=["problem"], update_fields=["kind", "by"]
            )
        told += len(made)
        time.sleep(rest * (time.monotonic() - start))
    return told


def _due() -> Sequence[Version]:
    rows = Version.objects.filter(problem__public=True, parent__isnull=False)
    rows = rows.exclude(problem__in=EditKind.objects.filter(by=__version__).values("problem"))
    only = "problem__sentence", "parent__sentence"
    found: Sequence[Version] = rows.select_related("problem", "parent").only(*only).order_by("pk")
    return found
