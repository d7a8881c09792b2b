"""Subjects: a code each, what they declared, how long they took, the sheets they were handed."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from winosmith.errors import DataError, FormatError
from winosmith.humans._answers import Noted, Sitting
from winosmith.records import parsed


@dataclass(frozen=True, slots=True)
class Remark:
    """What a subject said about a problem: a text recognised, a word asked about.

    Attributes:
        problem: its id; None when none was named.
        text: what they said.
    """

    problem: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Taken:
    """A sheet that a subject was handed.

    Attributes:
        sheet: its code.
        test: "a", "b" or "common".
        problems: their ids in the order in which they were asked.
    """

    sheet: str
    test: str
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """One person who took human tests, by a code.

    Attributes:
        code: as on the sheets; never a name.
        native: whether English is their first language; None when not declared.
        attributes: what else they declared.
        seconds: over all sheets; None when they were not timed.
        taken: the sheets, in the order in which they were entered; empty where that is not known.
        recognised, words: what they said about texts and words.
    """

    code: str
    native: bool | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    taken: tuple[Taken, ...] = ()
    recognised: tuple[Remark, ...] = ()
    words: tuple[Remark, ...] = ()


def subjects_of(
    sittings: Sequence[Sitting], declared: Iterable[Subject] = ()
) -> tuple[Subject, ...]:
    """Return the subjects of filled-in sheets, with what a file of subjects says about them.

    Numbers of questions in the file's remarks are those of the subject's only sheet.

    Raises:
        DataError: the file knows a subject who has no sheet, or says something else than the
            subject's form.
    """
    known = {subject.code: subject for subject in declared}
    own: dict[str, list[Sitting]] = {}
    for sitting in sittings:
        own.setdefault(sitting.subject, []).append(sitting)
    strangers = [code for code in known if code not in own]
    if strangers:
        raise DataError(
            f"the subject {strangers[0]!r} has no answers; those with answers are "
            f"{', '.join(sorted(own))}"
        )
    return tuple(_subject(code, mine, known.get(code)) for code, mine in own.items())


def _subject(code: str, sittings: Sequence[Sitting], declared: Subject | None) -> Subject:
    native = next((s.native for s in sittings if s.native is not None), None)
    attributes = {name: value for s in sittings for name, value in s.attributes.items()}
    timed = [seconds for s in sittings if (seconds := _taken_seconds(s)) is not None]
    subject = Subject(
        code,
        native,
        attributes,
        sum(timed) if len(timed) == len(sittings) else None,
        tuple(
            Taken(s.sheet.code, s.sheet.test, tuple(item.problem_id for item in s.sheet.items))
            for s in sittings
        ),
        tuple(_remark(noted, s) for s in sittings for noted in s.recognised),
        tuple(_remark(noted, s) for s in sittings for noted in s.words),
    )
    return subject if declared is None else _merged(subject, declared, sittings)


def _taken_seconds(sitting: Sitting) -> float | None:
    """Return how long a sheet took: as measured, else from first to last, else by question."""
    if sitting.seconds is not None:
        return sitting.seconds
    whole = between(sitting.started, sitting.ended)
    if whole is not None:
        return whole
    each = [answer.seconds for answer in sitting.answers.values()]
    known = [seconds for seconds in each if seconds is not None]
    return sum(known) if known and len(known) == len(each) else None


def _remark(noted: Noted, sitting: Sitting) -> Remark:
    problem = None if noted.number is None else sitting.sheet[noted.number].problem_id
    return Remark(problem, noted.text)


def _merged(subject: Subject, declared: Subject, sittings: Sequence[Sitting]) -> Subject:
    if None not in (subject.native, declared.native) and subject.native != declared.native:
        raise DataError(f"{subject.code!r} is a native speaker in one file and not in the other")
    for name, value in declared.attributes.items():
        if subject.attributes.get(name, value) != value:
            raise DataError(
                f"{subject.code!r} has {name} {value!r} in the file of subjects and "
                f"{subject.attributes[name]!r} on the form; have two subjects one code?"
            )
    return replace(
        subject,
        native=declared.native if subject.native is None else subject.native,
        attributes={**subject.attributes, **declared.attributes},
        seconds=subject.seconds if declared.seconds is None else declared.seconds,
        recognised=subject.recognised + _named(declared.recognised, sittings),
        words=subject.words + _named(declared.words, sittings),
    )


def _named(remarks: Iterable[Remark], sittings: Sequence[Sitting]) -> tuple[Remark, ...]:
    """Return remarks with the problem's id for the number of a question on the only sheet."""
    return tuple(
        _remark(Noted(int(r.problem), r.text), sittings[0])
        if r.problem is not None and r.problem.isdigit() and len(sittings) == 1
        else r
        for r in remarks
    )


def subject_record(subject: Subject) -> dict[str, Any]:
    """Return a subject as JSON can hold it: a line of subjects.jsonl."""
    record: dict[str, Any] = {
        "subject": subject.code,
        "native": subject.native,
        "attributes": dict(subject.attributes),
        "seconds": subject.seconds,
        "taken": [
            {"sheet": t.sheet, "test": t.test, "problems": list(t.problems)} for t in subject.taken
        ],
        "recognised": [{"problem": r.problem, "text": r.text} for r in subject.recognised],
        "words": [{"problem": r.problem, "text": r.text} for r in subject.words],
    }
    return {key: value for key, value in record.items() if value not in (None, {}, [])}


def between(started: str | None, ended: str | None) -> float | None:
    """Return the seconds between two times; None where one is not known."""
    if started is None or ended is None:
        return None
    try:
        seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()
    except (TypeError, ValueError):
        raise DataError(
            f"started {started!r} and ended {ended!r} must be times such as 2026-11-21T14:05"
        ) from None
    if seconds < 0:
        raise DataError(f"it ended at {ended}, before it started at {started}")
    return seconds


_YES_NO = {"": None, "yes": True, "no": False, "1": True, "0": False}
_KNOWN = {"subject", "native", "started", "ended", "recognised", "words"}


def read_subjects(path: str | Path) -> tuple[Subject, ...]:
    """Read subjects from JSON Lines (as `enter` writes them) or CSV.

    A CSV has a row for each subject, with the columns subject, native (yes, no or empty), started
    and ended (ISO 8601), recognised and words ("12: a novel; 40: a film"), all but the first
    optional; every other column is an attribute.

    Raises:
        FormatError: it can't be read, or two subjects have one code; with the line.
    """
    try:
        text = Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"the subjects can't be read: {error}", path) from error
    lines = _json_lines(text, path) if text.lstrip().startswith("{") else _csv_lines(text, path)
    found: dict[str, Subject] = {}
    first: dict[str, int] = {}
    for line, subject in lines:
        if not subject.code:
            raise FormatError("the subject has no code", path, line)
        if subject.code in found:
            raise FormatError(
                f"two subjects have the code {subject.code!r}; the other is in line "
                f"{first[subject.code]}",
                path,
                line,
            )
        found[subject.code], first[subject.code] = subject, line
    return tuple(found.values())


def _json_lines(text: str, path: str | Path) -> Iterator[tuple[int, Subject]]:
    for line, each in enumerate(text.split("\n"), 1):
        if not each.strip():
            continue
        try:
            record = _checked(parsed(each))
            yield (
                line,
                Subject(
                    record["subject"],
                    record.get("native"),
                    record.get("attributes", {}),
                    record.get("seconds"),
                    tuple(
                        Taken(t["sheet"], t["test"], tuple(t["problems"]))
                        for t in record.get("taken", ())
                    ),
                    tuple(Remark(r["problem"], r["text"]) for r in record.get("recognised", ())),
                    tuple(Remark(r["problem"], r["text"]) for r in record.get("words", ())),
                ),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"this is no subject: {error!r}", path, line) from error


def _checked(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the record of a subject; raises TypeError when a value is of a wrong kind."""
    kinds: Mapping[str, Any] = {
        "subject": str, "native": bool | None, "attributes": dict, "seconds": int | float | None
    }  # fmt: skip
    for key, kind in kinds.items():
        if key in record and not isinstance(record[key], kind):
            raise TypeError(f"{key} can't be {record[key]!r}")
    return record


def _csv_lines(text: str, path: str | Path) -> Iterator[tuple[int, Subject]]:
    first = text.split("\n", 1)[0]
    reader = csv.DictReader(text.splitlines(), delimiter=max(",;\t", key=first.count))
    try:
        yield from _rows(reader, path)
    except csv.Error as error:
        raise FormatError(f"the row is not CSV: {error}", path, reader.line_num) from None


def _rows(reader: csv.DictReader[str], path: str | Path) -> Iterator[tuple[int, Subject]]:
    names = {name: name.strip().lower() for name in reader.fieldnames or ()}
    if "subject" not in names.values():
        raise FormatError("the subjects need a column 'subject'", path, 1)
    for cells in reader:
        if None in cells or None in cells.values():
            raise FormatError("the row has more or fewer cells than the header", path,
                              reader.line_num)  # fmt: skip
        row = {names[name]: cell.strip() for name, cell in cells.items()}
        try:
            yield reader.line_num, _of_row(row)
        except ValueError as error:
            raise FormatError(str(error), path, reader.line_num) from None


def _of_row(row: Mapping[str, str]) -> Subject:
    native = row.get("native", "").lower()
    if native not in _YES_NO:
        raise ValueError(f"native is {native!r}; it is yes, no or empty")
    started, ended = row.get("started") or None, row.get("ended") or None
    return Subject(
        row["subject"],
        _YES_NO[native],
        {name: cell for name, cell in row.items() if name not in _KNOWN and cell},
        between(started, ended),
        (),
        tuple(_remarks(row.get("recognised", ""))),
        tuple(_remarks(row.get("words", ""))),
    )


def _remarks(cell: str) -> Iterator[Remark]:
    """Yield the remarks of a cell: "12: a novel; a film"."""
    for part in filter(None, map(str.strip, cell.split(";"))):
        found = re.fullmatch(r"(\S+?)\s*:\s*(.+)", part)
        yield Remark(found[1], found[2]) if found else Remark(None, part)
