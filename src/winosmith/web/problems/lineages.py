"""Lineages of problems in the data: true, and without a word of what is not public.

A version's edits, its sentence and its parent's determine each other: who knows two of them knows
the third. So the edits from a parent that is not public never leave the site. Depths do: how many
tokens were touched tells no word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from winosmith import Extra
from winosmith import Problem as Datum
from winosmith.lineage import DISTANCE, MEASURED
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import as_problem


def as_public(rows: Sequence[Problem]) -> list[Datum]:
    """Return public rows as problems of the data, as everyone may have them.

    Root and parent stay as they are, public or not: an id tells nothing. Edits from a parent of
    the site that is not public are left out. Where anything on the way from the root is not
    public, nobody else can count the depths: the site's own stand in `extra`
    (`winosmith.lineage.MEASURED`), so that figures from the data are those of the site.
    """
    data = [as_problem(row) for row in rows]
    hidden = _hidden(data)
    perturbed = [row.pk for row, datum in zip(rows, data, strict=True) if datum.lineage]
    measured = _measured_below_hidden(perturbed)
    return [
        _told(datum, hidden, measured.get(row.pk)) if datum.lineage else datum
        for row, datum in zip(rows, data, strict=True)
    ]


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
    rows = Problem.objects.filter(ref__in=named).exclude(public=True)
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


def _told(datum: Datum, hidden: set[str], depths: tuple[int | None, int | None] | None) -> Datum:
    """Return a version without edits from a hidden parent, and with the depths that are given."""
    lineage = datum.lineage
    if lineage is not None and lineage.parent in hidden:
        datum = replace(datum, lineage=replace(lineage, edits=()))
    if depths is None:
        return datum
    told = {MEASURED[kind]: depth for kind, depth in zip(("lineage", "edit"), depths, strict=True)}
    known = {key: depth for key, depth in told.items() if depth is not None}
    return replace(datum, extra=Extra({**datum.extra, **known}))


_BELOW_HIDDEN = """
WITH RECURSIVE way(start, above) AS (
    SELECT problem_id, parent_id FROM perturb_version
    WHERE parent_id IS NOT NULL AND problem_id IN (%s)
    UNION
    SELECT way.start, v.parent_id FROM way JOIN perturb_version v ON v.problem_id = way.above
    WHERE v.parent_id IS NOT NULL
)
SELECT v.problem_id, v.lineage, v.edit FROM perturb_version v WHERE v.problem_id IN (
    SELECT way.start FROM way JOIN problems_problem p ON p.id = way.above
    WHERE NOT p.public
)
"""


def _measured_below_hidden(keys: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
    """Return the lineage and edit depths of those versions that stand below a hidden one."""
    if not keys:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_BELOW_HIDDEN % ", ".join(["%s"] * len(keys)), list(keys))
        return {key: (lineage, edit) for key, lineage, edit in cursor.fetchall()}
