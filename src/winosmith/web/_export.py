"""The whole set as files: what is public, and next to it all that a moderator may know.

The same data give the same bytes, whichever database holds them; the digest over all files says so.
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
from winosmith.records import canonical, problem_record
from winosmith.web.judge.votes import iter_responses
from winosmith.web.people.models import Document, Person, pseudonym
from winosmith.web.predict.models import Prediction
from winosmith.web.problems.models import Event, Problem, Version
from winosmith.web.problems.records import as_problem, as_public
from winosmith.web.problems.states import public_problems
from winosmith.web.take.models import Round
from winosmith.web.take.results import write_round

Records = Iterable[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes:
        digest: SHA-256 over the names and checksums of all files; 64 hex digits.
        files: the checksum of each, by its name in the folder.
        counts: of the records of each.
    """

    digest: str
    files: dict[str, str]
    counts: dict[str, int]


def export(folder: str | Path, *, format_name: str = "winosmith", public: bool = False) -> Exported:
    """Write the set into a folder, new or from an earlier export of the same kind.

    `problems.*` holds the public problems, in any format. The rest goes below `private/`: all
    problems, where each stands (`states`), the judgements (`responses`), the audit log (`events`),
    each version's place in its family (`versions`), what models made of problems (`predictions`),
    people by pseudonym with what they agreed to (`people`), and those texts (`documents`); what the
    rounds of human tests are (`rounds`), and for each of them the folder `tests/NAME`, as
    `winosmith humans` reads it. Who took a test is there by the round's own codes alone.

    Args:
        folder: where to write.
        format_name: format name of the public problems: one that is written
            (`winosmith.formats.FORMATS`).
        public: the public problems alone.

    Raises:
        OutputError: the folder holds something else, or can't be written.
        FormatError: the format is unknown or only read, or can't hold a problem.
    """
    suffix = formats.writer_named(format_name).suffix
    recipe = {"command": "winosmith admin export", "format": format_name, "public": public}
    output = OutputFolder.open(folder, recipe)
    with output.discard_on_error(), one_moment():
        counts = {"problems": _write_public(output, format_name, suffix)}
        if not public:
            for name, records in _PRIVATE.items():
                counts[f"{PRIVATE}/{name}"] = _write(output, f"{PRIVATE}/{name}.jsonl", records())
            counts |= _write_tests(output)
    return Exported(_digest(output.files), dict(output.files), counts)


@contextmanager
def one_moment() -> Iterator[None]:
    """Let all that the block reads be of one moment, without making anybody who writes wait."""
    if connection.in_atomic_block:
        yield
        return
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
        return
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")  # `atomic` would take the lock of those who write
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def _write_public(output: OutputFolder, format_name: str, suffix: str) -> int:
    name = f"problems{suffix}"
    data = (one for rows in chunks(public_problems()) for one in as_public(rows))
    if format_name == "winosmith":
        with output.write(name) as file:
            return sum(1 for line in formats.lines(data, marked=True) if file.write(line))
    problems = list(data)
    formats.write(problems, output.path / name, format_name)
    output.add(name)
    return len(problems)


def _write(output: OutputFolder, name: str, records: Records) -> int:
    """Write one record a line; return how many there were."""
    count = 0
    with output.write(name) as file:
        for count, record in enumerate(records, 1):  # noqa: B007
            file.write(canonical(record) + "\n")
    return count


def _write_tests(output: OutputFolder) -> dict[str, int]:
    """Write each round of human tests; return how many answers each has."""
    counts = {}
    for round_ in Round.objects.order_by("pk"):
        name = f"{PRIVATE}/tests/{round_.name}"
        counts[name] = write_round(output, round_, f"{name}/")["answers"]
    return counts


def _problems() -> Records:
    query = Problem.objects.select_related("twin__contributor")
    for datum in map(as_problem, _by_number(query)):
        yield {**problem_record(datum), "twin_id": datum.twin_id}  # a single says that it is one


def _record(row: Any, *names: str) -> dict[str, Any]:
    """Return some columns of a row as JSON can hold them."""
    values = {name: getattr(row, name) for name in names}
    return {
        name: _time(value) if isinstance(value, datetime) else value
        for name, value in values.items()
    }


def _states() -> Records:
    names = ("state", "hints", "reasons", "gold", "released", "created", "decided")
    for row in _by_number(Problem.objects.select_related("twin__revises")):
        revises = row.twin.revises.ref if row.twin.revises else None
        about = {"id": row.ref, "topic": row.twin.topic, "revises": revises}
        yield {**about, **_record(row, *names)}


def _responses() -> Records:
    return map(asdict, iter_responses(_by_number(Problem.objects.all())))


def _events() -> Records:
    names = ("kind", "before", "after", "reason", "at")
    for event in _by_number(Event.objects.select_related("problem", "actor")):
        yield {
            "event": event.pk,
            "id": event.problem.ref,
            "actor": pseudonym(event.actor) if event.actor else None,
            "undoes": event.undoes_id,
            **_record(event, *names),
        }


def _versions() -> Records:
    for row in _by_number(Version.objects.select_related("problem", "root", "parent", "against")):
        yield {
            "id": row.problem.ref,
            "root": row.root.ref,
            "parent": row.parent.ref if row.parent else None,
            "against": row.against.name if row.against else None,
            "against_digest": row.against.digest if row.against else None,
            **_record(row, "step", "declared", "lineage", "edit"),
        }


def _predictions() -> Records:
    for row in _by_number(Prediction.objects.select_related("problem", "model")):
        yield {
            "id": row.problem.ref,
            "model": row.model.name,
            "asked": _time(row.asked_at),
            "answered": _time(row.answered_at),
            **_record(row.model, "revision", "digest"),
            **_record(row, "stand", "scores", "choice", "right", "tie", "input"),
        }


def _people() -> Records:
    for person in _by_number(Person.objects.prefetch_related("agreements__document")):
        agreements = sorted(person.agreements.all(), key=lambda agreement: agreement.pk)
        yield {
            "person": pseudonym(person),
            "judge": person.is_judge,
            "moderator": person.is_moderator,
            "admin": person.is_superuser,
            "active": person.is_active,
            "agreed": [
                [one.document.kind, one.document.version, _time(one.at)] for one in agreements
            ],
            **_record(person, "anonymous", "joined"),
        }


def _documents() -> Records:
    for document in _by_number(Document.objects.all()):
        yield _record(document, "kind", "version", "licence", "created", "text")


def _rounds() -> Records:
    names = ("title", "state", "data", "seed", "consent", "declared", "figures")
    for round_ in _by_number(Round.objects.all()):
        times = _record(round_, "created", "closed", "published")
        yield {"round": round_.name, **_record(round_, *names), **times}


_PRIVATE: dict[str, Callable[[], Records]] = {
    "problems": _problems,
    "states": _states,
    "responses": _responses,
    "events": _events,
    "versions": _versions,
    "predictions": _predictions,
    "people": _people,
    "documents": _documents,
    "rounds": _rounds,
}


def _by_number(query: Any) -> Iterator[Any]:
    """Yield rows in the order of their numbers, a chunk in memory at a time."""
    return chain.from_iterable(chunks(query))


def chunks(query: Any) -> Iterator[list[Any]]:
    """Yield rows in the order of their numbers, a thousand at a time."""
    query, last = query.order_by("pk"), 0
    while chunk := list(query.filter(pk__gt=last)[:1000]):
        yield chunk
        last = chunk[-1].pk


def _time(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat(timespec="microseconds") if at else None


def _digest(files: dict[str, str]) -> str:
    lines = "".join(f"{files[name]}  {name}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()
