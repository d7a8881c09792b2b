"""What to perturb: the public problems, searched, the originals first; and examples of how."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from django import forms
from django.db.models import Count
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from winosmith import Dataset
from winosmith import Problem as Datum
from winosmith.lineage import Change, changes, depths, perturbed
from winosmith.web.problems.models import Problem, Version
from winosmith.web.problems.states import public_problems
from winosmith.web.read.filters import Filters


class Choices(Filters):
    """The filters of reading; nobody who does not say otherwise is shown anything but originals."""

    kind = forms.ChoiceField(
        label=gettext_lazy("Show"),
        required=False,
        choices=[
            ("original", gettext_lazy("originals")),
            ("perturbed", gettext_lazy("perturbed sentences")),
            ("", gettext_lazy("both")),
        ],
    )

    def __init__(self, data: QueryDict):
        self.chosen = "kind" in data
        filled = data.copy()
        filled.setdefault("kind", "original")
        super().__init__(filled)

    @property
    def active(self) -> bool:
        """Whether anything is narrowed down."""
        return any(self.data.get(name) for name in self.fields if name != "kind" or self.chosen)

    @property
    def narrowing(self) -> list[forms.BoundField]:
        """The fields that can be unfolded."""
        return [field for field in self if field.name not in ("q", "kind")]

    def perturbed(self) -> Choices:
        """Return the same filters for perturbed sentences."""
        data = self.kept()
        data["kind"] = "perturbed"
        return Choices(data)


@dataclass(frozen=True, slots=True)
class Listed:
    """One problem on the list.

    Attributes:
        problem: the problem.
        root: of its family; None where nobody has perturbed it.
        step: perturbations from the root.
        versions: public ones in its family, the root among them.
    """

    problem: Problem
    root: str | None
    step: int
    versions: int


def listed(problems: list[Problem]) -> list[Listed]:
    """Return problems with their families, in two queries."""
    rows = Version.objects.filter(problem__in=problems).select_related("root")
    places: dict[Any, Version] = {version.problem_id: version for version in rows}
    public = public_problems().select_related(None)
    counted = dict(
        public.filter(version__root__in={version.root_id for version in places.values()})
        .order_by()
        .values_list("version__root")
        .annotate(n=Count("pk"))
    )
    return [_one(problem, places.get(problem.pk), counted) for problem in problems]


def _one(problem: Problem, version: Version | None, counted: dict[int, int]) -> Listed:
    if version is None:
        return Listed(problem, None, 0, 1)
    return Listed(problem, version.root.ref, version.step, counted.get(version.root_id, 0))


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

    pieces: list[Change]
    options: list[tuple[str, bool]]
    flipped: bool
    lineage: int | None
    edit: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Bad:
    """A perturbation of the root that fails, and why."""

    pieces: list[Change]
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
                changes(before.sentence, problem.sentence),
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
    grown = [Datum("example", first, NAMES, answer)]
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
    return [Bad(changes(root, sentence), why) for sentence, why in failing]
