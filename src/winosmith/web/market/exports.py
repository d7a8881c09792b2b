"""A market's export of submissions, read strictly: each fault with its line."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TypeVar

from winosmith.cells import unguarded
from winosmith.errors import InputError
from winosmith.web.market.models import APPROVED, REJECTED, RETURNED, WAITING
from winosmith.web.market.providers import PROVIDERS

__all__ = ["FORMATS", "Format", "Row", "read_export"]


FAULTS = 20
"""Faults that are told at once."""


@dataclass(frozen=True, slots=True)
class Row:
    """What an export says of one submission.

    Attributes:
        line: of the file.
        worker, submission: the market's ids; the submission may be "".
        said: the market's word for where it stands.
        verdict: what that means here.
        part: it is paid for a part of the work.
        code: that the worker entered, or "".
        seconds: by the market's clock; None where it says nothing.
        paid: what the market names as paid; None where it names nothing.
    """

    line: int
    worker: str = field(repr=False)
    submission: str = field(repr=False)
    said: str
    verdict: str
    part: bool
    code: str
    seconds: int | None
    paid: Decimal | None


@dataclass(frozen=True, slots=True)
class Format:
    """The columns of an export, and what its words mean.

    Attributes:
        needed: columns that must be there: of the worker, the submission and the status.
        worker, submission, status: what these are called; the submission may be absent.
        code, seconds, paid: columns that may be there.
        words: what each status means.
        part: statuses of what is paid in part.
    """

    worker: str
    submission: str
    status: str
    code: str
    seconds: str
    paid: str
    words: Mapping[str, str]
    part: tuple[str, ...] = ()
    needs_submission: bool = True

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which a file is no export."""
        always = (self.worker, self.status)
        return (*always, self.submission) if self.needs_submission else always


FORMATS = {
    "prolific": Format(
        "Participant id",
        "Submission id",
        "Status",
        "Completion code",
        "Time taken",
        "",
        {
            "RESERVED": WAITING,
            "ACTIVE": WAITING,
            "AWAITING REVIEW": WAITING,
            "APPROVED": APPROVED,
            "PARTIALLY APPROVED": APPROVED,
            "SCREENED OUT": APPROVED,
            "REJECTED": REJECTED,
            "RETURNED": RETURNED,
            "TIMED-OUT": RETURNED,
        },
        ("PARTIALLY APPROVED", "SCREENED OUT"),
    ),
    "mturk": Format(
        "WorkerId",
        "AssignmentId",
        "AssignmentStatus",
        "Answer.code",
        "WorkTimeInSeconds",
        "Reward",
        {
            "SUBMITTED": WAITING,
            "APPROVED": APPROVED,
            "REJECTED": REJECTED,
        },
    ),
    "generic": Format(
        "worker",
        "submission",
        "status",
        "code",
        "seconds",
        "paid",
        {
            "WAITING": WAITING,
            "APPROVED": APPROVED,
            "REJECTED": REJECTED,
            "RETURNED": RETURNED,
        },
        needs_submission=False,
    ),
}
"""Prolific's as of its demographic export (columns "Submission id,Participant id,Status, … ,Time
taken,Completion code, …") and the statuses of its API; MTurk's as of the results file of its
requester site, where `Answer.code` is the field of our ExternalQuestion; generic: our own."""


def read_export(path: Path, provider: str) -> list[Row]:
    """Return the rows of an export.

    Raises:
        InputError: it is no export of this market; every fault with its file and line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows, faults = _read(csv.DictReader(file, strict=True), provider, path)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: this is no table of CSV in UTF-8: {error}") from None
    faults += _twice(path, rows)
    if faults:
        more = len(faults) - FAULTS
        told = [*faults[:FAULTS], f"and {more} more"] if more > 0 else faults
        raise InputError("\n".join(told))
    return rows


def _read(table: csv.DictReader[str], provider: str, path: Path) -> tuple[list[Row], list[str]]:
    """Return the rows that can be read, and the faults of the others."""
    format_, rows, faults = FORMATS[provider], [], []
    header = [name.strip() for name in table.fieldnames or ()]
    if absent := [name for name in format_.needed if name not in header]:
        raise InputError(
            f"{path}:1: the column {absent[0]!r} is missing; export all submissions of the study "
            f"from {PROVIDERS[provider].title}, and change no column"
        )
    if twice := [name for name, n in Counter(header).items() if name and n > 1]:
        raise InputError(f"{path}:1: two columns are called {twice[0]!r}")
    table.fieldnames = header
    for cells in table:
        if None in cells or None in cells.values():
            faults.append(f"{path}:{table.line_num}: not as many cells as columns ({len(header)})")
            continue
        named = {name: unguarded(text.strip()) for name, text in cells.items()}
        try:
            rows.append(_row(table.line_num, named, format_, provider))
        except InputError as error:
            faults.append(f"{path}:{table.line_num}: {error}")
    return rows, faults


def _row(line: int, cells: Mapping[str, str], format_: Format, provider: str) -> Row:
    form = PROVIDERS[provider].form
    worker, submission = cells[format_.worker], cells.get(format_.submission, "")
    if not form.fullmatch(worker):
        raise InputError(f"{format_.worker!r} holds no id")
    if (submission or format_.needs_submission) and not form.fullmatch(submission):
        raise InputError(f"{format_.submission!r} holds no id")
    said = re.sub(r"[ _]+", " ", cells[format_.status]).upper().replace("TIMED OUT", "TIMED-OUT")
    if said not in format_.words:
        known = ", ".join(format_.words)
        raise InputError(
            f"{format_.status!r} is {cells[format_.status]!r}, which is none of {known}"
        )
    return Row(
        line,
        worker,
        submission,
        said,
        format_.words[said],
        said in format_.part,
        cells.get(format_.code, ""),
        _cell(cells, format_.seconds, lambda text: int(float(text))),
        _cell(cells, format_.paid, lambda text: Decimal(text.lstrip("$£€ "))),
    )


Number = TypeVar("Number", int, Decimal)


def _cell(cells: Mapping[str, str], name: str, read: Callable[[str], Number]) -> Number | None:
    """Return what a cell holds; None where it is empty or the column is not there."""
    text = cells.get(name, "") if name else ""
    if not text:
        return None
    try:
        value = read(text)
    except (ValueError, InvalidOperation, OverflowError):
        raise InputError(f"{name!r} is {text!r}, which is no number") from None
    if not 0 <= value < 10**7:
        raise InputError(f"{name!r} is {text!r}, which is out of range")
    return value


def _twice(path: Path, rows: list[Row]) -> list[str]:
    """Return faults for submissions, or workers without one, that stand in the file twice."""
    seen: dict[tuple[str, str], int] = {}
    faults = []
    for row in rows:
        key = ("", row.submission) if row.submission else (row.worker, "")
        if key in seen:
            faults.append(f"{path}:{row.line}: the same submission as in line {seen[key]}")
        seen.setdefault(key, row.line)
    return faults
