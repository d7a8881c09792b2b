"""The list of families: how large and deep each is, and how often each model fails in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import connection
from django.utils.translation import gettext_lazy as _

from winosmith.metrics import counted
from winosmith.web.families.figures import worth
from winosmith.web.families.kept import Kept
from winosmith.web.problems.models import Problem, Version
from winosmith.web.problems.search import Term, matching
from winosmith.web.problems.states import public_problems

SIZE = 20
"""Families on a page."""

MOST_FOUND = 5_000
"""Versions that a search looks at, the newest first."""

SORTS = {
    "size": _("the largest first"),
    "newest": _("the newest first"),
    "fooling": _("what fools models most first"),
}


@dataclass(slots=True)
class Family:
    """What the list tells of a family; public versions alone.

    Attributes:
        root: the number of the root's row.
        versions: how many were made of the root.
        deepest: the most steps from the root.
        newest: the number of the newest version's row.
        errors: the number of a model → how many versions it answered wrongly; a tie for what it is
            not worth.
        answered: the number of a model → how many versions it answered, ties too.
        ties: the number of a model → how many of its answers are ties.
        fooling: how many answers to its versions are wrong, of all current models together; a tie
            is no wrong answer, nobody is fooled by it.
        problem: the root, where it is on the page.
    """

    root: int
    versions: int
    deepest: int
    newest: int
    errors: dict[int, float] = field(default_factory=dict)
    answered: dict[int, int] = field(default_factory=dict)
    ties: dict[int, int] = field(default_factory=dict)
    fooling: int = 0
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of the list.

    Attributes:
        families: those on the page, each with its root.
        count: how many there are in all.
        page: the number of the page, from 1.
        pages: how many pages there are, 1 or more.
    """

    families: Sequence[Family]
    count: int
    page: int
    pages: int


_COUNTS = """SELECT v.root_id, count(*), max(v.step), max(v.problem_id)
    FROM perturb_version v JOIN problems_problem p ON p.id = v.problem_id
    WHERE v.step > 0 AND p.public GROUP BY v.root_id"""
_FROM = """
    FROM perturb_version v
    JOIN problems_problem p ON p.id = v.problem_id
    JOIN predict_prediction r ON r.problem_id = v.problem_id
    JOIN predict_model m ON m.id = r.model_id
    WHERE v.step > 0 AND m.current AND p.public"""
_ANSWERS = f"""SELECT v.root_id, r.model_id, count(*),
    sum(CASE WHEN r.tie OR r."right" THEN 0 ELSE 1 END), sum(CASE WHEN r.tie THEN 1 ELSE 0 END)
    {_FROM} AND (r.tie OR r."right" IS NOT NULL) GROUP BY v.root_id, r.model_id"""
_TIES = f"""SELECT v.root_id, r.model_id, r.choice, CAST(r.scores AS text), p.answer, count(*)
    {_FROM} AND r.tie GROUP BY 1, 2, 3, 4, 5"""


def families() -> list[Family]:
    """Return all families with a public version, counted now."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS)
        found = {row[0]: Family(*row) for row in cursor.fetchall()}
        cursor.execute(_ANSWERS)
        for root, model, answered, wrong, ties in cursor.fetchall():
            if root in found:
                found[root].answered[model] = answered
                found[root].errors[model] = wrong
                found[root].ties[model] = ties
                found[root].fooling += wrong
        cursor.execute(_TIES)
        for root, model, choice, scores, answer, ties in cursor.fetchall():
            if root in found and model in found[root].errors:
                missed = ties * (1 - worth(choice, json.loads(scores), answer))
                found[root].errors[model] = counted(found[root].errors[model] + missed)
    return list(found.values())


_FAMILIES = Kept(families)


def listed(terms: list[Term], sort: str, page: int) -> Listed:
    """Return a page of the families whose root is public.

    Args:
        terms: what a public version of the family, or its root, must say; empty for anything.
        sort: one of `SORTS`; anything else is "size".
        page: from 1; beyond the last, the last.
    """
    roots = set(_public_roots(terms))
    found = [family for family in _FAMILIES.latest() if family.root in roots]
    found.sort(key=_ORDERS.get(sort, _ORDERS["size"]))
    pages = max(1, -(-len(found) // SIZE))
    page = min(max(page, 1), pages)
    here = found[SIZE * (page - 1) : SIZE * page]
    problems = public_problems().in_bulk([family.root for family in here])
    shown = [
        replace(family, problem=problems[family.root]) for family in here if family.root in problems
    ]
    return Listed(shown, len(found), page, pages)


_ORDERS: dict[str, Any] = {
    "size": lambda family: (-family.versions, family.root),
    "newest": lambda family: -family.newest,
    "fooling": lambda family: (-family.fooling, -family.versions, family.root),
}


def _public_roots(terms: list[Term]) -> list[int]:
    """Return the rows of the public roots in whose families something public fits."""
    public = public_problems().select_related(None)
    roots = public.filter(pk__in=Version.objects.values("root")).order_by()
    if terms:
        found = matching(public.filter(version__isnull=False), terms).order_by("-place")
        said = found.values_list("version__root", flat=True)[:MOST_FOUND]
        roots = roots.filter(pk__in=set(said))
    return list(roots.values_list("pk", flat=True))
