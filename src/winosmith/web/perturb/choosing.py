"""What to perturb: the public problems, searched, the originals first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Count
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from winosmith.web.perturb.models import Version
from winosmith.web.problems.models import Problem
from winosmith.web.problems.public import public_problems
from winosmith.web.read.filters import Filters

__all__ = ["Choices", "Listed", "listed"]


class Choices(Filters):
    """The filters of reading; nobody who does not say otherwise is shown anything but originals."""

    kind = forms.ChoiceField(
        label=_("Show"),
        required=False,
        choices=[
            ("original", _("originals")),
            ("perturbed", _("perturbed sentences")),
            ("", _("both")),
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
