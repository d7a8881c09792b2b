"""Export a site's data to files: the public problems, and the data that moderators may see.

On SQLite and PostgreSQL, the same data gives the same bytes, and thus the same digest of all files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from winosmith import formats
from winosmith.outputs import PRIVATE, OutputFolder
from winosmith.records import dump_json, make_problem_record
from winosmith.web.judge.votes import iter_responses
from winosmith.web.people.models import Document, Person, get_pseudonym
from winosmith.web.predict.models import Prediction
from winosmith.web.problems.models import Event, Problem, Version
from winosmith.web.problems.records import as_problem, as_public
from winosmith.web.problems.states import get_public_problems
from winosmith.web.take.models import Round
from winosmith.web.take.results import write_round

Records = Iterable[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The result of an export.

    Attributes:
        digest: The SHA-256 of the names and checksums of all files, as 64 hex digits.
        files: The SHA-256 checksum of each file, by name.
        counts: The number of records in each file or human test, by its name without extension.
    """

    digest: str
    files: dict[str, str]
    counts: dict[str, int]


def export(folder: str | Path, *, public: bool = False) -> ExportResult:
    """Export the data to a new folder, or replace an earlier export of the same kind.

    `problems.jsonl` contains the public problems. Unless `public` is true, the folder `private/`
    contains the other files: all problems, their states (`states`), the judges' answers
    (`responses`), the audit log (`events`), the families of perturbed problems (`versions`), the
    models' predictions (`predictions`), the people's pseudonyms and consents (`people`), the texts
    of the consents (`documents`), and the human tests (`rounds`). Each human test also has a folder
    `tests/NAME`, which `winosmith humans` can read. These folders identify respondents only by
    their codes in that test.
    """
    output = OutputFolder.open(folder, {"command": "winosmith admin export", "public": public})
    with output.discard_on_error(), read_snapshot():
        data = chain.from_iterable(map(as_public, iter_chunks(get_public_problems())))
        with output.write("problems.jsonl") as file:
            lines = formats.to_lines(data, marked=True)
            counts = {"problems": sum(1 for line in lines if file.write(line))}
        if not public:
            for name, records in _PRIVATE.items():
                with output.write(f"{PRIVATE}/{name}.jsonl") as file:
                    lines = (dump_json(record) + "\n" for record in records())
                    counts[f"{PRIVATE}/{name}"] = sum(1 for line in lines if file.write(line))
            for round_ in Round.objects.order_by("pk"):
                name = f"{PRIVATE}/tests/{round_.name}"
                counts[name] = write_round(output, round_, f"{name}/")
    listing = "".join(f"{output.files[name]}  {name}\n" for name in sorted(output.files))
    digest = hashlib.sha256(listing.encode()).hexdigest()
    return ExportResult(digest, dict(output.files), counts)


@contextmanager
def read_snapshot() -> Iterator[None]:
    """Run all queries in the block on one snapshot of the database, without blocking writers."""
    if connection.in_atomic_block:
        yield
        return
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
        return
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")  # `atomic` would lock out writers
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def _row_to_record(row: Any, *names: str, **paths: str) -> dict[str, Any]:
    """Convert a database row to a record for JSON.

    `names` are columns. `paths` maps further keys to paths such as "problem.ref", whose value is
    None if a related row is missing.
    """
    found = {}
    for name, path in {**paths, **dict(zip(names, names, strict=True))}.items():
        value = row
        for part in path.split("."):
            value = None if value is None else getattr(value, part)
        if isinstance(value, Person):
            value = get_pseudonym(value)
        found[name] = _format_time(value) if isinstance(value, datetime) else value
    return found


def _iter_person_records() -> Records:
    roles = {"judge": "is_judge", "moderator": "is_moderator", "admin": "is_superuser"}
    for person in _iter_rows(Person.objects.prefetch_related("agreements__document")):
        agreements = sorted(person.agreements.all(), key=lambda agreement: agreement.pk)
        yield {
            "person": get_pseudonym(person),
            "agreed": [
                [one.document.kind, one.document.version, _format_time(one.at)]
                for one in agreements
            ],
            **_row_to_record(person, "anonymous", "joined", active="is_active", **roles),
        }


def _make_table_reader(rows: Any, *names: str, **paths: str) -> Callable[[], Records]:
    return lambda: (_row_to_record(row, *names, **paths) for row in _iter_rows(rows))


_PRIVATE: dict[str, Callable[[], Records]] = {
    "problems": lambda: (
        {**make_problem_record(datum), "twin_id": datum.twin_id}  # null marks a single
        for rows in iter_chunks(Problem.objects.select_related("twin__contributor"))
        for datum in map(as_problem, rows)
    ),
    "states": _make_table_reader(
        Problem.objects.select_related("twin__revises"),
        "state", "hints", "reasons", "gold", "released", "created", "decided",
        id="ref", topic="twin.topic", revises="twin.revises.ref",
    ),
    "responses": lambda: map(asdict, iter_responses(_iter_rows(Problem.objects.all()))),
    "events": _make_table_reader(
        Event.objects.select_related("problem", "actor"),
        "kind", "before", "after", "reason", "at", "actor",
        event="pk", id="problem.ref", undoes="undoes_id",
    ),
    "versions": _make_table_reader(
        Version.objects.select_related("problem", "root", "parent", "against"),
        "step", "declared", "lineage", "edit",
        id="problem.ref", root="root.ref", parent="parent.ref",
        against="against.name", against_digest="against.digest",
    ),
    "predictions": _make_table_reader(
        Prediction.objects.select_related("problem", "model"),
        "stand", "scores", "choice", "right", "tie", "input",
        id="problem.ref", model="model.name", asked="asked_at", answered="answered_at",
        revision="model.revision", digest="model.digest",
    ),
    "people": _iter_person_records,
    "documents": _make_table_reader(
        Document.objects.all(), "kind", "version", "licence", "created", "text"
    ),
    "rounds": _make_table_reader(
        Round.objects.all(),
        "title", "state", "data", "seed", "consent", "figures",
        "created", "closed", "published",
        round="name",
    ),
}  # fmt: skip


def _iter_rows(query: Any) -> Iterator[Any]:
    return chain.from_iterable(iter_chunks(query))


def iter_chunks(query: Any) -> Iterator[list[Any]]:
    query, last = query.order_by("pk"), 0
    while chunk := list(query.filter(pk__gt=last)[:1000]):
        yield chunk
        last = chunk[-1].pk


def _format_time(time: datetime | None) -> str | None:
    return time.astimezone(UTC).isoformat(timespec="microseconds") if time else None
