"""What the first page shows: a sentence perturbed step by step, and perturbations that fail."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from django.utils.translation import gettext as _

from winosmith import Dataset, Problem
from winosmith.lineage import depths, perturbed
from winosmith.web.perturb.edits import Piece, pieces

__all__ = ["Bad", "Examples", "Good", "examples"]

NAMES = ("Nora", "Judith")
GROWN = (
    ("Nora thanked Judith because _ had carried the heavy boxes upstairs.", 1),
    ("Nora thanked Judith although _ had carried the heavy boxes upstairs.", 0),
    ("Nora thanked Judith although _ had not carried the heavy boxes upstairs.", 1),
    ("Nora thanked Judith although _ had not carried the heavy sofa upstairs.", 1),
)
"""A root, and each version of the one before, with the right option."""


@dataclass(frozen=True, slots=True)
class Good:
    """One step of the worked example.

    Attributes:
        pieces: what changed since the step before.
        options: each with whether it is right.
        flipped: the answer is another one than before.
        lineage, edit: its depths.
        why: what the step is good for.
    """

    pieces: list[Piece]
    options: list[tuple[str, bool]]
    flipped: bool
    lineage: int | None
    edit: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Bad:
    """A perturbation of the root that fails, and why."""

    pieces: list[Piece]
    why: str


@dataclass(frozen=True, slots=True)
class Examples:
    """All that is shown."""

    good: list[Good]
    bad: list[Bad]


def examples() -> Examples:
    """Return the examples in the language of the page, measured as any version is."""
    family = _family()
    why = (
        _("The original. A model that knows who is thanked for what gets it right."),
        _("One word is replaced, and the answer flips: now the thanks come as a surprise."),
        _("One word is put in, and the answer flips back. The model has to follow twice."),
        _("One thing becomes another, and the answer stays: a model should not be misled."),
    )
    good = []
    for at, (problem, of) in enumerate(zip(family, depths(family), strict=True)):
        before = family[at - 1] if at else problem
        good.append(
            Good(
                pieces(before.sentence, problem.sentence),
                [(option, n == problem.answer) for n, option in enumerate(problem.options)],
                problem.answer != before.answer,
                of.lineage,
                of.edit,
                why[at],
            )
        )
    return Examples(good, _bad(family[0].sentence))


@cache
def _family() -> Dataset:
    (first, answer), *rest = GROWN
    grown = [Problem("example", first, NAMES, answer)]
    for sentence, right in rest:
        grown.append(perturbed(grown[-1], sentence, NAMES, right, source="person"))
    return Dataset(grown)


def _bad(root: str) -> list[Bad]:
    failing = (
        (
            "Nora thanked Judith because _ was in a good mood.",
            _("Both options fit. Ask yourself whether anybody could choose the other one."),
        ),
        (
            "Nora paid the porter because _ had carried the heavy boxes upstairs.",
            _("Judith is gone, but is still an option: change the option along with the word."),
        ),
        (
            "Nora thank Judith because _ carried heavy the boxes upstairs.",
            _("It is no English any more. A model that fails here shows nothing."),
        ),
        (
            "Nora ate the soup before the bread since _ was getting cold.",
            _("This is a new sentence, not a changed one: write a twin instead."),
        ),
    )
    return [Bad(pieces(root, sentence), why) for sentence, why in failing]
