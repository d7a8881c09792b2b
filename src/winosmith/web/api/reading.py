"""Reading: the public problems, one of them with all that its page tells, files, figures.

The shapes of what is asked and told come first, then the operations.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, datetime
from typing import Any, Literal
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, QueryDict
from django.urls import reverse
from ninja import Query, Router
from pydantic import Field

from winosmith.web.api.door import (
    Asked,
    MalformedError,
    Problem,
    Ref,
    Shape,
    asks,
    problems,
    reader,
)
from winosmith.web.judge.models import note_read
from winosmith.web.problems.family import may_perturb
from winosmith.web.problems.models import Problem as Row
from winosmith.web.problems.search import Page
from winosmith.web.problems.states import visible_to, waits_until
from winosmith.web.read.downloads import FILES, VOTES
from winosmith.web.read.public import Agreement, Filters, agreement, capped_count, figures, page
from winosmith.web.read.views import Judged, family_of, judged


class ProblemFilters(Asked):
    """Filters, as the page that lists problems has them; all may be omitted."""

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


class FamilyPlace(Shape):
    """A problem's place in its family; ids of what you can't see are omitted."""

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


class Figures(Shape):
    """What is public, counted."""

    problems: int
    twins: int
    singles: int
    perturbed: int
    families: int
    contributors: int
    judged: int
    valid: int
    rejected: int
    domains: dict[str, int]
    since: date | None
    until: date | None
    agreement: Agreement | None


router = Router(tags=["read"])


def filtered(wanted: ProblemFilters, form: type[Filters] = Filters) -> Filters:
    """Return the filters of a page for what a program asks.

    Raises:
        Malformed: they contradict each other.
    """
    said = wanted.model_dump(mode="json", exclude_none=True)
    filters = form(_query({key: value for key, value in said.items() if value != ""}))
    if not filters.is_valid():
        raise MalformedError(
            {name: list(map(str, found)) for name, found in filters.errors.items()}
        )
    return filters


def cursors(shown: Page) -> dict[str, str | None]:
    """Return where the pages next to a page begin."""
    return {
        "next": QueryDict(shown.older).get("after") or None,
        "previous": QueryDict(shown.newer).get("before") or None,
    }


@router.get("/problems", response=Problems, summary="List problems", **asks(public=True))
def list_problems(request: HttpRequest, wanted: Query[ProblemsWanted]) -> dict[str, Any]:
    """List the public problems, searched and filtered, a page at a time."""
    query = filtered(wanted).apply()
    shown = page(query, _query({"after": wanted.after, "before": wanted.before}))
    note_read(reader(request), shown.problems)
    count, more = capped_count(query)
    return {"items": problems(shown.problems), "count": count, "more": more, **cursors(shown)}


@router.get("/problems/{ref}", response=WholeProblem, summary="Read a problem", **asks(public=True))
def read_problem(request: HttpRequest, ref: Ref) -> dict[str, Any]:
    """Read a problem that everyone sees, or one of your own, with its other half and its family."""
    person = reader(request)
    found = Row.objects.select_related("twin__contributor").filter(ref=ref).first()
    if found is None or not visible_to(person, found):
        raise Http404
    rows = found.twin.problems.select_related("twin__contributor").order_by("id")
    halves = [row for row in rows if visible_to(person, row)]
    family = family_of(person, found)
    note_read(person, [*halves[:1], *(family["seen"] if family else ())])
    return {
        **half(found),
        "public": visible_to(None, found),
        "others": [half(row) for row in halves if row.pk != found.pk],
        "family": _family(family) if family else None,
        "may_perturb": may_perturb(person, found),
        "page": request.build_absolute_uri(reverse("read:problem", args=[ref])),
    }


def half(row: Row) -> dict[str, Any]:
    """Return a problem with what judges said."""
    return {
        "problem": problems([row])[0],
        "state": row.state,
        "waits_until": waits_until(row),
        "judged": judged(row),
    }


def _family(found: dict[str, Any]) -> dict[str, Any]:
    version, way = found["version"], found["way"]
    names = ("first_steps", "folded_steps", "last_steps")
    steps = [step for name in names for step in way[name]] if way else []
    shown = [step.problem and step.problem.ref for step in steps]
    return {
        "root": found["root"] and found["root"].ref,
        "parent": found["parent"] and found["parent"].ref,
        "path": shown or [found["root"] and found["root"].ref],
        **{name: getattr(version, name) for name in ("step", "declared", "lineage", "edit")},
    }


@router.get("/downloads", response=list[File], summary="Files", **asks(public=True))
def list_downloads(request: HttpRequest, wanted: Query[ProblemFilters]) -> list[dict[str, str]]:
    """Name the files of what the filters leave: problems in every format, and judges' answers."""
    kept = filtered(wanted).kept().urlencode()
    known = {name: known.title for name, known in FILES.items()} | VOTES
    return [
        {
            "name": name,
            "about": about,
            "href": request.build_absolute_uri(reverse("read:file", args=[name]))
            + (f"?{kept}" if kept else ""),
        }
        for name, about in known.items()
    ]


@router.get("/figures", response=Figures, summary="Figures", **asks(public=True))
def read_figures(request: HttpRequest) -> dict[str, Any]:
    """Count what is public now."""
    found = figures()
    days = {name: getattr(found, name) for name in ("since", "until")}
    return {
        **asdict(found),
        **{name: at.date() if at else None for name, at in days.items()},
        "rejected": found.rejected,
        "agreement": agreement(),
    }


def _query(said: dict[str, Any]) -> QueryDict:
    return QueryDict(urlencode({key: value for key, value in said.items() if value}))
