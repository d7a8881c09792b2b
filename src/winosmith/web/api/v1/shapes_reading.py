"""What is asked and told of the public problems."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from pydantic import Field

from winosmith.web.api.v1.shapes import Asked, Problem, Shape

__all__ = [
    "Agreement",
    "FamilyPlace",
    "Figures",
    "File",
    "Judged",
    "JudgedProblem",
    "ProblemFilters",
    "Problems",
    "ProblemsWanted",
    "WholeProblem",
]


class ProblemFilters(Asked):
    """Filters, as the page that lists problems has them; all may be left out."""

    q: str = Field("", max_length=200, description='words, "phrases", and -words')
    domain: Literal["", "social", "physical", "other"] = ""
    twins: Literal["", "twins", "singles"] = ""
    kind: Literal["", "original", "perturbed"] = ""
    family: str = Field("", max_length=80, description="the id of any problem of a family")
    agreement: Literal["", "all", "most", "none"] = ""
    contributor: str = Field("", pattern="^(p-[0-9a-f]{12})?$", description="a pseudonym")
    since: date | None = Field(None, description="the first day on which they were written")
    until: date | None = Field(None, description="the last day")


class ProblemsWanted(ProblemFilters):
    """Filters, and where a page of what they leave begins."""

    after: str = Field("", max_length=40, description="`next` of a page, for older ones")
    before: str = Field("", max_length=40, description="`previous` of a page, for newer ones")


class Problems(Shape):
    """A page of problems, the newest first, 20 or fewer."""

    items: list[Problem]
    next: str | None = Field(description="what `after` must be for older ones; null at the end")
    previous: str | None = Field(description="what `before` must be for newer ones")
    count: int = Field(description="how many fit, counted up to 1,000")
    more: bool = Field(description="whether more than were counted fit")


class Judged(Shape):
    """What judges said of a problem."""

    votes: int
    right: int
    ambiguous: int
    associative: int
    local: int


class FamilyPlace(Shape):
    """A problem's place in its family; ids of what you can't see are left out."""

    root: str | None
    parent: str | None
    path: list[str | None] = Field(description="from the root to the problem itself")
    step: int
    declared: int | None
    lineage: int | None
    edit: int | None


class JudgedProblem(Shape):
    """A problem, what judges said of it, and how it stands."""

    problem: Problem
    state: str
    waits_until: datetime | None = Field(
        description="found valid, but not public before the other half is decided, or this moment"
    )
    judged: Judged | None


class WholeProblem(JudgedProblem):
    """A problem with the other half of its twin, where you can see that, and its family."""

    public: bool
    others: list[JudgedProblem]
    family: FamilyPlace | None
    may_perturb: bool
    page: str


class File(Shape):
    """A file to download: its name, what it is, its address (add `.gz` or `.sha256`)."""

    name: str
    about: str
    href: str


class Agreement(Shape):
    """How far judges agree about the public problems, in percent."""

    problems: int
    votes: int
    right: float
    unanimous: float


class Figures(Shape):
    """What is public, counted."""

    problems: int
    twins: int
    singles: int
    perturbed: int
    families: int
    contributors: int
    judged: int
    rejected: int
    domains: dict[str, int]
    since: date | None
    until: date | None
    agreement: Agreement | None
