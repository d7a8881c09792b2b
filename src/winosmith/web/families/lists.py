"""The lists over all families: how large each is and what fails in it, and who made what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.paginator import Page, Paginator
from django.db import connection
from django.utils.translation import gettext_lazy as _

from winosmith.metrics import counted
from winosmith.web._kept import Refreshed
from winosmith.web.families.figures import worth
from winosmith.web.people.models import Person, pseudonym
from winosmith.web.predict.models import Model
from winosmith.web.problems.models import Problem, Version
from winosmith.web.problems.search import Term, matching
from winosmith.web.problems.states import public_problems

FAMILIES = 20
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

    def told_of(self, model: Model) -> dict[str, Any]:
        """Return a model's name, how often it is wrong, of how many answers, and its ties."""
        return {
            "model": model.name,
            "wrong": self.errors.get(model.pk, 0),
            "answered": self.answered.get(model.pk, 0),
            "ties": self.ties.get(model.pk, 0),
        }


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


_FAMILIES = Refreshed(families)


def listed(terms: list[Term], sort: str, page: object) -> Page:
    """Return a page of the families whose root is public, each with its root.

    Args:
        terms: what a public version of the family, or its root, must say; empty for anything.
        sort: one of `SORTS`; anything else is "size".
        page: from 1; beyond the last, the last.
    """
    roots = set(_public_roots(terms))
    found = [family for family in _FAMILIES.latest() if family.root in roots]
    found.sort(key=_ORDERS.get(sort, _ORDERS["size"]))
    shown = Paginator(found, FAMILIES).get_page(page)
    problems = public_problems().in_bulk([family.root for family in shown])
    shown.object_list = [
        replace(family, problem=problems[family.root])
        for family in shown
        if family.root in problems
    ]
    return shown


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


PEOPLE = 50
"""People on a page."""

BOARD_SORTS = {
    "fools": _("models fooled"),
    "versions": _("versions"),
    "families": _("families begun"),
    "deepest": _("the deepest version that fooled a model"),
}


@dataclass(slots=True)
class Entry:
    """What one contributor did; only what is valid and public counts.

    Attributes:
        name: the pseudonym.
        versions: perturbed problems.
        families: families in which theirs is the first version of all.
        fools: the number of a current model → how many of the versions fooled it.
        deepest: the greatest edit depth of a version that fooled a current model; None without.
        rank: by what the board is sorted by; who has as much has the same.
    """

    name: str
    versions: int = 0
    families: int = 0
    fools: dict[int, int] = field(default_factory=dict)
    deepest: int | None = None
    rank: int = 0

    @property
    def fooled(self) -> int:
        """How many answers of current models are wrong, together."""
        return sum(self.fools.values())


_BY_PEOPLE = """FROM perturb_version v
    JOIN problems_problem p ON p.id = v.problem_id
    JOIN problems_twin t ON t.id = p.twin_id"""
_WHERE = """WHERE v.step > 0 AND t.contributor_id IS NOT NULL AND p.public"""
_VERSIONS = f"SELECT t.contributor_id, count(*) {_BY_PEOPLE} {_WHERE} GROUP BY 1"
_FIRST = f"""SELECT t.contributor_id, count(*) {_BY_PEOPLE} {_WHERE} AND v.problem_id IN (
    SELECT min(v.problem_id) FROM perturb_version v
    JOIN problems_problem p ON p.id = v.problem_id
    WHERE v.step > 0 AND p.public GROUP BY v.root_id
    ) GROUP BY 1"""  # noqa: S608
_FOOLS = f"""SELECT t.contributor_id, r.model_id, count(*), coalesce(max(v.edit), 0) {_BY_PEOPLE}
    JOIN predict_prediction r ON r.problem_id = v.problem_id
    JOIN predict_model m ON m.id = r.model_id
    {_WHERE} AND m.current AND NOT r."right" GROUP BY 1, 2"""


def entries() -> list[Entry]:
    """Return what each contributor did, counted now, in no order."""
    rows: dict[str, Sequence[Any]] = {}
    with connection.cursor() as cursor:
        for name, query in (("versions", _VERSIONS), ("families", _FIRST), ("fools", _FOOLS)):
            cursor.execute(query)
            rows[name] = cursor.fetchall()
    people = Person.objects.only("pk", "salt").in_bulk([row[0] for row in rows["versions"]])
    found = {number: Entry(pseudonym(person)) for number, person in people.items()}
    for number, versions in rows["versions"]:
        found[number].versions = versions
    for number, begun in rows["families"]:
        if number in found:
            found[number].families = begun
    for number, model, fools, deepest in rows["fools"]:
        if number in found:
            entry = found[number]
            entry.fools[model] = fools
            entry.deepest = deepest if entry.deepest is None else max(deepest, entry.deepest)
    return list(found.values())


_ENTRIES = Refreshed(entries)


def board(sort: str, page: object) -> Page:
    """Return a page of the entries of the board, each with its rank.

    Args:
        sort: one of `BOARD_SORTS`; anything else is "fools".
        page: from 1; beyond the last, the last.
    """
    value = _VALUES.get(sort, _VALUES["fools"])
    found = sorted(_ENTRIES.latest(), key=lambda entry: (-value(entry), entry.name))
    values = [value(entry) for entry in found]
    ranks = {value: place for place, value in reversed(list(enumerate(values, 1)))}
    shown = Paginator(found, PEOPLE).get_page(page)
    shown.object_list = [replace(entry, rank=ranks[value(entry)]) for entry in shown]
    return shown


_VALUES: dict[str, Any] = {
    "fools": lambda entry: entry.fooled,
    "versions": lambda entry: entry.versions,
    "families": lambda entry: entry.families,
    "deepest": lambda entry: entry.deepest or 0,
}
