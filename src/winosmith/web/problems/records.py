"""Conversion between rows and `winosmith.Problem`, and removal of hidden texts from lineages.

A version's edits, its sentence and its parent's sentence determine each other: any two of them give
the third. So edits from a parent that is not public never leave the site. Depths are published,
because the number of changed tokens reveals no words.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from winosmith import Extra, Origin, Problem as Datum
from winosmith.lineage import MEASURED, UNVALIDATED
from winosmith.records import make_problem_record, parse_problem
from winosmith.web.people.models import get_pseudonym
from winosmith.web.problems.models import Problem, State, Version
from winosmith.web.problems.states import get_public_problems

CHUNK = 1000
"""Number of rows that an export reads, and keeps in memory, at a time."""

_STORED_FIELDS = ("pronoun", "lineage", "extra", "origin", "single")
"""Fields of a `winosmith.Problem` that `Problem.record` stores because they have no column."""


def as_problem(row: Problem) -> Datum:
    """Convert a row to a `winosmith.Problem`; its contributor becomes a pseudonym.

    An imported problem keeps its origin. A problem written on the site gets only the day of its
    creation, because the hour could reveal its author. The flag of a generated problem
    (`winosmith.lineage.UNVALIDATED`) is removed once the site's judges have found it valid.

    The lineage is complete, including words of a parent that may not be public; use `as_public` for
    data that leave the site.
    """
    record = row.record
    extra = record.get("extra") or {}
    if record.get("validated") and row.state == State.VALID:
        extra = {key: value for key, value in extra.items() if key != UNVALIDATED}
    twin = row.twin
    if "origin" in record:
        origin = record["origin"]
    else:
        origin = {
            "source": twin.source or None,
            "author": get_pseudonym(twin.contributor) if twin.contributor else None,
            "created": twin.created.date().isoformat(),
            "domain": twin.domain or None,
            "anchor": twin.anchor or None,
            "licence": twin.licence or None,
        }
    return parse_problem(
        {
            "id": row.ref,
            "sentence": row.sentence,
            "options": row.options,
            "answer": row.answer,
            "twin_id": None if record.get("single") else twin.ref,
            "pronoun": record.get("pronoun"),
            "origin": origin,
            "lineage": record.get("lineage"),
            "embargo": row.embargo,
            "extra": extra,
        }
    )


def load_keys(query: QuerySet[Problem]) -> array[int]:
    found = query.values_list("id", flat=True)
    return array("q", found.iterator(chunk_size=10 * CHUNK))


def iter_public_rows(keys: Sequence[int]) -> Iterator[list[Problem]]:
    """Yield the public problems with the given keys, one chunk at a time, for `as_public`.

    No cursor stays open between chunks, even if the reader is slow.
    """
    query = select_columns(get_public_problems()).order_by("id")
    for start in range(0, len(keys), CHUNK):
        yield list(query.filter(id__in=keys[start : start + CHUNK]))


def select_columns(query: QuerySet[Problem]) -> QuerySet[Problem]:
    """Restrict a query to the columns that `as_problem` needs."""
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


def map_to_twin(datum: Datum) -> dict[str, Any]:
    """Return the `Twin` fields for an imported problem, except `ref` and `contributor`.

    The fields are the same for both halves of a twin, unless the halves have different origins.
    """
    origin = datum.origin or Origin()
    return {
        "source": (origin.source or "")[:80],
        "domain": (origin.domain or "")[:40],
        "anchor": (origin.anchor or "")[:200],
        "licence": (origin.licence or "")[:60],
    }


def map_to_problem(datum: Datum) -> dict[str, Any]:
    """Return the `Problem` fields for an imported problem, except `twin` and `state`.

    `as_problem` converts the row back to an equal problem if the twin's `ref` is its `twin_id`.
    """
    record = make_problem_record(datum)
    kept: dict[str, Any] = {key: record[key] for key in _STORED_FIELDS if key in record}
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


def as_public(rows: Sequence[Problem]) -> list[Datum]:
    """Convert public rows to problems without hidden information.

    The ids of root and parent are always included, because they reveal nothing. Edits from a parent
    that is not public are omitted. If part of the path from the root is not public, readers can't
    compute the depths. Therefore, `extra` contains them (`winosmith.lineage.MEASURED`), so that the
    same results can be computed from the data as on the site.
    """
    data = [as_problem(row) for row in rows]
    lineages = {row.pk: datum.lineage for row, datum in zip(rows, data, strict=True)}
    perturbed = {key: lineage for key, lineage in lineages.items() if lineage}
    named = {name for lineage in perturbed.values() for name in (lineage.root, lineage.parent)}
    ancestors = Problem.objects.filter(ref__in=named).exclude(public=True)
    hidden = set(ancestors.values_list("ref", flat=True))
    measured: dict[int, tuple[int | None, int | None]] = {}
    if perturbed:
        with connection.cursor() as cursor:
            cursor.execute(_BELOW_HIDDEN % ", ".join(["%s"] * len(perturbed)), list(perturbed))
            measured = {key: depths for key, *depths in cursor.fetchall()}
    for at, row in enumerate(rows):
        lineage = perturbed.get(row.pk)
        if lineage and lineage.parent in hidden:
            data[at] = replace(data[at], lineage=replace(lineage, edits=()))
        if row.pk in measured:
            by_name = zip(MEASURED.values(), measured[row.pk], strict=True)
            known = {name: depth for name, depth in by_name if depth is not None}
            data[at] = replace(data[at], extra=Extra({**data[at].extra, **known}))
    return data


def filter_by_family(query: QuerySet[Problem], ref: str) -> QuerySet[Problem]:
    """Return the family of the problem `ref`; a problem without versions is its own family."""
    root = Version.objects.filter(problem__ref=ref).values_list("root", flat=True).first()
    if root is None:
        return query.filter(ref=ref)
    return query.filter(pk__in=Version.objects.filter(root=root).values("problem"))


def filter_by_kind(query: QuerySet[Problem], kind: str) -> QuerySet[Problem]:
    """Return the problems of a kind: "perturbed" or "original".

    Perturbed problems are found in the table of versions; originals need a scan of all problems.
    """
    perturbed = Version.objects.filter(parent__isnull=False)
    if kind == "perturbed":
        return query.filter(pk__in=perturbed.values("problem"))
    return query.filter(~Exists(perturbed.filter(problem=OuterRef("pk"))))


_BELOW_HIDDEN = """
WITH RECURSIVE path(start, above) AS (
    SELECT problem_id, parent_id FROM perturb_version
    WHERE parent_id IS NOT NULL AND problem_id IN (%s)
    UNION
    SELECT path.start, v.parent_id FROM path JOIN perturb_version v ON v.problem_id = path.above
    WHERE v.parent_id IS NOT NULL
)
SELECT v.problem_id, v.lineage, v.edit FROM perturb_version v WHERE v.problem_id IN (
    SELECT path.start FROM path JOIN problems_problem p ON p.id = path.above
    WHERE NOT p.public
)
"""
