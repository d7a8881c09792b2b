"""Problems of the site as problems of the data, and back; lineages without hidden texts.

A version's edits, its sentence and its parent's sentence determine each other: two of them give the
third. So the edits from a parent that is not public never leave the site. Depths do: the number of
changed tokens reveals no word.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from winosmith import Extra, Origin, Problem as Datum
from winosmith.lineage import MEASURED, UNVALIDATED
from winosmith.records import problem_of, problem_record
from winosmith.web.people.models import pseudonym
from winosmith.web.problems.models import Problem, State, Version

CHUNK = 1000
"""Rows that are read at once, so the number that an export has in memory."""

_KEPT = ("pronoun", "lineage", "extra", "origin", "single")
"""What `Problem.record` may have of a datum without a column."""


def as_problem(row: Problem) -> Datum:
    """Return a row as a problem of the data; its contributor is a pseudonym.

    An imported problem keeps its origin. A problem written here has the day of its creation, not
    the hour, which could reveal its author. The mark of a generated problem
    (`winosmith.lineage.UNVALIDATED`) is removed once the site's judges have found it valid.

    The lineage is complete, with words of a parent that may not be public; use `as_public` for data
    that leaves the site.
    """
    record = row.record
    return problem_of(
        {
            "id": row.ref,
            "sentence": row.sentence,
            "options": row.options,
            "answer": row.answer,
            "twin_id": None if record.get("single") else row.twin.ref,
            "pronoun": record.get("pronoun"),
            "origin": record["origin"] if "origin" in record else _origin(row),
            "lineage": record.get("lineage"),
            "embargo": row.embargo,
            "extra": _extra(row),
        }
    )


def _extra(row: Problem) -> dict[str, Any]:
    extra = row.record.get("extra") or {}
    if UNVALIDATED in extra and row.record.get("validated") and row.state == State.VALID:
        return {key: value for key, value in extra.items() if key != UNVALIDATED}
    return extra


def numbers(query: QuerySet[Problem]) -> array[int]:
    """Return the rows' numbers, the oldest first, in 8 bytes each, for `rows`."""
    found = query.values_list("id", flat=True)
    return array("q", found.iterator(chunk_size=10 * CHUNK))


def rows(of: Sequence[int], query: QuerySet[Problem]) -> Iterator[list[Problem]]:
    """Yield the rows of these numbers that are still in the query, a chunk at a time.

    No cursor stays open between chunks, even for a slow reader.
    """
    query = query.select_related("twin__contributor").order_by("id")
    for start in range(0, len(of), CHUNK):
        yield list(query.filter(id__in=of[start : start + CHUNK]))


def lean(query: QuerySet[Problem]) -> QuerySet[Problem]:
    """Return the rows with only the columns that `as_problem` needs."""
    problem = "ref", "sentence", "options", "answer", "embargo", "record", "state", "twin"
    twin = (
        "ref",
        "source",
        "domain",
        "anchor",
        "licence",
        "created",
        "contributor",
        "contributor__salt",
    )
    return query.only(*problem, *(f"twin__{name}" for name in twin))


def twin_fields(datum: Datum) -> dict[str, Any]:
    """Return the columns of a `Twin` for an imported problem, except `ref` and `contributor`.

    Both halves of a twin give the same, unless their origins differ.
    """
    origin = datum.origin or Origin()
    return {
        "source": (origin.source or "")[:80],
        "domain": (origin.domain or "")[:40],
        "anchor": (origin.anchor or "")[:200],
        "licence": (origin.licence or "")[:60],
    }


def row_fields(datum: Datum) -> dict[str, Any]:
    """Return the columns of a `Problem` for an imported one, except `twin` and `state`.

    `as_problem` returns the same datum for that row, if the twin's `ref` is the datum's `twin_id`.
    """
    record = problem_record(datum)
    kept: dict[str, Any] = {key: record[key] for key in _KEPT if key in record}
    kept["origin"] = record.get("origin")
    if datum.twin_id is None:
        kept["single"] = True
    return {
        "ref": datum.id,
        "sentence": datum.sentence,
        "options": list(datum.options),
        "answer": datum.answer,
        "embargo": datum.embargo,
        "record": kept,
    }


def _origin(row: Problem) -> Mapping[str, Any]:
    twin = row.twin
    return {
        "source": twin.source or None,
        "author": pseudonym(twin.contributor) if twin.contributor else None,
        "created": twin.created.date().isoformat(),
        "domain": twin.domain or None,
        "anchor": twin.anchor or None,
        "licence": twin.licence or None,
    }


def as_public(rows: Sequence[Problem]) -> list[Datum]:
    """Return public rows as problems of the data for everybody.

    Root and parent stay, public or not, because an id reveals nothing. Edits from a parent that is
    not public are omitted. If anything on the path from the root is not public, nobody else can
    count the depths: the site's own are in `extra` (`winosmith.lineage.MEASURED`), so that results
    from the data equal those of the site.
    """
    data = [as_problem(row) for row in rows]
    hidden = _hidden_ancestors(data)
    perturbed = [row.pk for row, datum in zip(rows, data, strict=True) if datum.lineage]
    measured = _measured_below_hidden(perturbed)
    return [
        _without_hidden(datum, hidden, measured.get(row.pk)) if datum.lineage else datum
        for row, datum in zip(rows, data, strict=True)
    ]


def of_family(query: QuerySet[Problem], ref: str) -> QuerySet[Problem]:
    """Filter problems by family: the root of a problem, and all versions of it.

    Args:
        query: problems.
        ref: the id of any problem of the family; a problem without versions is found alone.
    """
    root = Version.objects.filter(problem__ref=ref).values_list("root", flat=True).first()
    if root is None:
        return query.filter(ref=ref)
    return query.filter(pk__in=Version.objects.filter(root=root).values("problem"))


def of_kind(query: QuerySet[Problem], kind: str) -> QuerySet[Problem]:
    """Filter problems by kind: "perturbed" or "original".

    Versions are found by their own table, however few they are; originals by walking the problems.
    """
    perturbed = Version.objects.filter(parent__isnull=False)
    if kind == "perturbed":
        return query.filter(pk__in=perturbed.values("problem"))
    return query.filter(~Exists(perturbed.filter(problem=OuterRef("pk"))))


def _hidden_ancestors(data: Iterable[Datum]) -> set[str]:
    """Return the roots and parents that are problems of the site but not public."""
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


def _without_hidden(
    datum: Datum, hidden: set[str], depths: tuple[int | None, int | None] | None
) -> Datum:
    """Return a version without edits from a hidden parent, and with the given depths."""
    lineage = datum.lineage
    if lineage is not None and lineage.parent in hidden:
        datum = replace(datum, lineage=replace(lineage, edits=()))
    if depths is None:
        return datum
    lineage_depth, edit_depth = depths
    by_name = {MEASURED["lineage"]: lineage_depth, MEASURED["edit"]: edit_depth}
    known = {key: depth for key, depth in by_name.items() if depth is not None}
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
    """Return the lineage and edit depths of the versions below a hidden one."""
    if not keys:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_BELOW_HIDDEN % ", ".join(["%s"] * len(keys)), list(keys))
        return {key: (lineage, edit) for key, lineage, edit in cursor.fetchall()}
