"""API operations on the public problems: list, read and download them, and read statistics."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict
from django.urls import reverse
from ninja import Query, Router, Schema
from ninja.errors import ValidationError
from pydantic import Field

from winosmith.web.api.schemas import Problem, Ref, to_records
from winosmith.web.judge.votes import measure_agreement
from winosmith.web.problems.models import Problem as Row
from winosmith.web.read import public
from winosmith.web.read.downloads import FILES, VOTES
from winosmith.web.read.views import JudgeVotes, count_votes, load_problem


class ProblemFilters(Schema):
    """Filters of the problem list; all are optional."""

    q: str = Field("", max_length=200, description='words, "phrases", and -words')
    domain: Literal["", "social", "physical", "other"] = ""
    twins: Literal["", "twins", "singles"] = ""
    kind: Literal["", "original", "perturbed"] = ""
    family: str = Field("", max_length=80, description="the id of any problem in a family")
    agreement: Literal["", "all", "most", "none"] = ""
    contributor: str = Field("", pattern="^(p-[0-9a-f]{12})?$", description="a pseudonym")
    since: date | None = Field(None, description="first day on which the problems were written")
    until: date | None = Field(None, description="last day on which the problems were written")


class ProblemsQuery(ProblemFilters):
    """The query parameters of the list of problems: filters, and where the page starts."""

    after: str = Field("", max_length=40, description="the `next` value of the newer page")
    before: str = Field("", max_length=40, description="the `previous` value of the older page")


class ProblemPage(Schema):
    """A page of at most 20 problems, newest first."""

    items: list[Problem]
    next: str | None = Field(description="`after` of the next, older page; null at the end")
    previous: str | None = Field(description="`before` of the previous, newer page")
    count: int = Field(description="number of matches, at most 1,000")
    more: bool = Field(description="whether there are more matches than `count`")


class FamilyPlace(Schema):
    """A problem's position in its family; ids of hidden problems are null."""

    root: str | None
    parent: str | None
    path: list[str | None] = Field(description="ids from the root to the problem")
    step: int
    declared: int | None
    lineage: int | None
    edit: int | None


class JudgedProblem(Schema):
    """A problem with the judges' votes."""

    problem: Problem
    judged: JudgeVotes | None


class ProblemDetail(JudgedProblem):
    """A problem with its family, and with its twin's other half if that is public."""

    others: list[JudgedProblem]
    family: FamilyPlace | None
    page: str


class File(Schema):
    """A file to download: its name, description and URL (append `.gz` or `.sha256`)."""

    name: str
    about: str
    href: str


class Agreement(Schema):
    """The agreement of the judges on the problems that they decided; fractions are 0–1."""

    problems: int
    valid: float | None
    unanimous: float | None = Field(description="problems on which all judges agree")
    pairs: float | None = Field(description="pairs of a problem's judges who agree")
    gold: float | None = Field(description="correct answers to gold questions")


class Figures(Schema):
    """Statistics on the public problems."""

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
    agreement: Agreement


router = Router(tags=["read"])


def make_filters(parameters: ProblemFilters) -> public.Filters:
    filters = public.Filters(_make_query(parameters.model_dump(mode="json")))
    if not filters.is_valid():
        raise ValidationError(
            [
                {"loc": ("query", name), "msg": message}
                for name, messages in filters.errors.items()
                for message in messages
            ]
        )
    return filters


@router.get("/problems", response=ProblemPage, summary="List problems")
def list_problems(request: HttpRequest, parameters: Query[ProblemsQuery]) -> dict[str, Any]:
    """List the public problems that match a search and filters, one page at a time."""
    query = make_filters(parameters).apply()
    shown = public.get_page(query, _make_query(parameters.model_dump(include={"after", "before"})))
    count, more = public.count_rows(query)
    return {
        "items": to_records(shown.problems),
        "count": count,
        "more": more,
        "next": QueryDict(shown.older).get("after") or None,
        "previous": QueryDict(shown.newer).get("before") or None,
    }


@router.get("/problems/{ref}", response=ProblemDetail, summary="Read a problem")
def read_problem(request: HttpRequest, ref: Ref) -> dict[str, Any]:
    """Read a public problem with its other half and its family."""
    found, halves, family = load_problem(None, ref)
    place = None
    if family:
        path, root, parent = family["way"], family["root"], family["parent"]
        names = ("first_steps", "folded_steps", "last_steps")
        steps = [step for name in names for step in path[name]] if path else []
        fields = ("step", "declared", "lineage", "edit")
        place = {
            "root": root and root.ref,
            "parent": parent and parent.ref,
            "path": [step.problem and step.problem.ref for step in steps] or [root and root.ref],
            **{name: getattr(family["version"], name) for name in fields},
        }
    return {
        **make_judged_record(found),
        "others": [make_judged_record(row) for row in halves if row.pk != found.pk],
        "family": place,
        "page": request.build_absolute_uri(reverse("read:problem", args=[ref])),
    }


def make_judged_record(row: Row) -> dict[str, Any]:
    return {"problem": to_records([row])[0], "judged": count_votes(row)}


@router.get("/downloads", response=list[File], summary="Files")
def list_downloads(request: HttpRequest, parameters: Query[ProblemFilters]) -> list[dict[str, str]]:
    """List the files of the matching problems, in every format, and the files of judges' votes."""
    query = make_filters(parameters).get_params().urlencode()
    titles = {name: file.title for name, file in FILES.items()} | VOTES
    return [
        {
            "name": name,
            "about": about,
            "href": request.build_absolute_uri(reverse("read:file", args=[name]))
            + (f"?{query}" if query else ""),
        }
        for name, about in titles.items()
    ]


@router.get("/figures", response=Figures, summary="Figures")
def read_figures(request: HttpRequest) -> dict[str, Any]:
    """Read statistics on the public problems."""
    found = public.get_stats()
    days = {name: found[name].date() if found[name] else None for name in ("since", "until")}
    return {**found, **days, "agreement": measure_agreement()}


def _make_query(values: dict[str, Any]) -> QueryDict:
    return QueryDict(urlencode({key: value for key, value in values.items() if value}))
