"""Lineages of problems in the data: true, and without a word of what is not public.

A version's edits, its sentence and its parent's determine each other: who knows two of them knows
the third. So the edits from a parent that is not public never leave the site.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from django.db.models import Exists, OuterRef, QuerySet

from winosmith import Extra
from winosmith import Problem as Datum
from winosmith.web.problems.models import Problem
from winosmith.web.problems.public import PUBLIC
from winosmith.web.problems.records import as_problem

__all__ = ["DISTANCE", "as_public", "of_family", "of_kind", "with_distances"]

DISTANCE = "evograd.distance"
"""The extra key of a depth that can't be counted from the data (`winosmith.formats`, EvoGrad)."""


def as_public(rows: Sequence[Problem]) -> list[Datum]:
    """Return public rows as problems of the data, as everyone may have them.

    Root and parent stay as they are, public or not: an id tells nothing. Edits from a parent of
    the site that is not public are left out. Where that is so of the root, nobody else can count
    the distance to it: the site's own stands in `DISTANCE`, unless a depth was declared.
    """
    data = [as_problem(row) for row in rows]
    hidden = _hidden(data)
    if not hidden:
        return data
    rootless = [
        at
        for at, datum in enumerate(data)
        if datum.lineage and datum.lineage.root in hidden and datum.lineage.declared is None
    ]
    measured = _measured([rows[at].pk for at in rootless])
    for at in rootless:
        data[at] = _with_distance(data[at], measured.get(rows[at].pk))
    return [_without_edits(d) if d.lineage and d.lineage.parent in hidden else d for d in data]


def with_distances(rows: Sequence[Problem], data: Sequence[Datum]) -> list[Datum]:
    """Return the data with the site's edit depth in `DISTANCE` wherever no depth was declared.

    For a file that may hold a version without its root.
    """
    silent = [d.lineage is not None and d.lineage.declared is None for d in data]
    measured = _measured([row.pk for row, wanted in zip(rows, silent, strict=True) if wanted])
    return [
        _with_distance(datum, measured.get(row.pk)) if wanted else datum
        for row, datum, wanted in zip(rows, data, silent, strict=True)
    ]


def of_family(query: QuerySet[Problem], ref: str) -> QuerySet[Problem]:
    """Keep of problems those of a family: the root of a problem, and what was perturbed from it.

    Args:
        query: problems.
        ref: the id of any of the family; of a problem that nobody perturbed it finds that alone.
    """
    from winosmith.web.perturb.models import Version

    root = Version.objects.filter(problem__ref=ref).values_list("root", flat=True).first()
    if root is None:
        return query.filter(ref=ref)
    return query.filter(pk__in=Version.objects.filter(root=root).values("problem"))


def of_kind(query: QuerySet[Problem], kind: str) -> QuerySet[Problem]:
    """Keep of problems the "perturbed" ones, or the "original" ones.

    Versions are found by their own table, however few of a million problems they are; originals
    by walking the problems.
    """
    from winosmith.web.perturb.models import Version

    perturbed = Version.objects.filter(parent__isnull=False)
    if kind == "perturbed":
        return query.filter(pk__in=perturbed.values("problem"))
    return query.filter(~Exists(perturbed.filter(problem=OuterRef("pk"))))


def _hidden(data: Iterable[Datum]) -> set[str]:
    """Return which roots and parents are problems of the site that are not public."""
    named = {
        name
        for datum in data
        if datum.lineage
        for name in (datum.lineage.root, datum.lineage.parent)
    }
    if not named:
        return set()
    rows = Problem.objects.filter(ref__in=named).exclude(PUBLIC)
    return set(rows.values_list("ref", flat=True))


def _measured(keys: Sequence[int]) -> dict[int, int | None]:
    """Return the edit depths of versions, as the site measured them."""
    from winosmith.web.perturb.models import Version

    if not keys:
        return {}
    return dict(Version.objects.filter(problem__in=keys).values_list("problem", "edit"))


def _with_distance(datum: Datum, depth: int | None) -> Datum:
    if depth is None:
        return datum
    return replace(datum, extra=Extra({**datum.extra, DISTANCE: depth}))


def _without_edits(datum: Datum) -> Datum:
    return replace(datum, lineage=datum.lineage and replace(datum.lineage, edits=()))
