"""Problems of the site as problems of the data, and back."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet

from winosmith import Dataset, Origin
from winosmith import Problem as Datum
from winosmith.lineage import UNVALIDATED
from winosmith.records import problem_of, problem_record
from winosmith.web.people.models import pseudonym
from winosmith.web.problems.models import Problem, State

CHUNK = 1000
"""Rows that are read at once: what an export holds in memory."""

_KEPT = ("pronoun", "lineage", "extra", "origin", "single")
"""What `Problem.record` may hold of a datum that no column does."""


def as_problem(row: Problem) -> Datum:
    """Return a row as a problem of the data; its contributor is a pseudonym.

    What was imported keeps the origin it came with. What was written here has the day on which it
    was written, never the hour, which could tell who wrote it. The mark of a generated problem
    (`winosmith.lineage.UNVALIDATED`) is off once the site's judges have found it valid.

    A lineage is told in full, with words of a parent that may not be public; for what leaves the
    site there is `winosmith.web.problems.lineages.as_public`.
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
    """Return the rows' numbers, from the oldest on, in 8 bytes each: what `rows` walks over."""
    found = query.values_list("id", flat=True)
    return array("q", found.iterator(chunk_size=10 * CHUNK))


def rows(of: Sequence[int], query: QuerySet[Problem]) -> Iterator[list[Problem]]:
    """Yield the rows of these numbers, those that are still in the query, a chunk at a time.

    No cursor stays open between chunks, however slowly somebody reads.
    """
    query = query.select_related("twin__contributor").order_by("id")
    for start in range(0, len(of), CHUNK):
        yield list(query.filter(id__in=of[start : start + CHUNK]))


def lean(query: QuerySet[Problem]) -> QuerySet[Problem]:
    """Return the rows with those columns alone that `as_problem` needs."""
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


def in_order(query: QuerySet[Problem]) -> Iterator[Problem]:
    """Yield the rows, from the oldest on."""
    for chunk in rows(numbers(query.order_by("id")), query):
        yield from chunk


def as_dataset(query: QuerySet[Problem], name: str = "") -> Dataset:
    """Return the rows, from the oldest on, as a data set."""
    return Dataset(map(as_problem, in_order(query)), name)


def twin_fields(datum: Datum) -> dict[str, Any]:
    """Return the columns of a `Twin` for an imported problem, all but `ref` and `contributor`.

    The two halves of a twin give the same, unless their origins differ.
    """
    origin = datum.origin or Origin()
    return {
        "source": (origin.source or "")[:80],
        "domain": (origin.domain or "")[:40],
        "anchor": (origin.anchor or "")[:200],
        "licence": (origin.licence or "")[:60],
    }


def row_fields(datum: Datum) -> dict[str, Any]:
    """Return the columns of a `Problem` for an imported one, all but `twin` and `state`.

    `as_problem` makes the same datum of the row again, provided that the twin's `ref` is the
    datum's `twin_id`.
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
