"""The ledger: who was given which sheet, in all sessions and from all data sets.

A ledger is one JSON file, kept for as long as the subjects are; its sheets stand in it whole, so
that what somebody saw is known when the folder of the sheets is gone.

    winosmith   "ledger"
    version     1, of this form
    given       a list, in the order in which the sheets were given; each an object:
        subject     the subject's code; never a name or an address
        sheet       the code of the sheet
        state       "given", "done" or "dropped"
    sheets      a list: the sheets that were given, each as in its own JSON file
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from winosmith.errors import DataError, FormatError, InputError, OutputError
from winosmith.humans._sheet import Sheet
from winosmith.humans._sheet_json import sheet_of, sheet_record
from winosmith.outputs import write_aside
from winosmith.records import parsed

__all__ = ["Given", "Ledger", "State", "ledger_held", "read_ledger", "write_ledger"]

_VERSION = 1

_PATIENCE = 10.0
"""Seconds to wait for somebody else's writing, which takes a fraction of one."""

_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,15}")

State = Literal["given", "done", "dropped"]
"""A sheet is out, answered, or was given up; seen it was in any case."""


@dataclass(frozen=True, slots=True)
class Given:
    """A sheet that a subject was given.

    Attributes:
        subject: the subject's code: up to 16 letters, digits, dots and dashes.
        sheet: the code of the sheet.
        state: see `State`.

    Raises:
        DataError: a code or a state that can't be one.
    """

    subject: str
    sheet: str
    state: State = "given"

    def __post_init__(self) -> None:
        if not _CODE.fullmatch(self.subject):
            raise DataError(
                f"{self.subject!r} can't be a subject's code; use up to 16 letters, digits, "
                "dots and dashes, such as S07, and no name"
            )
        if self.state not in get_args(State):
            raise DataError(f"the state {self.state!r} is none of {', '.join(get_args(State))}")


@dataclass(frozen=True, slots=True)
class Ledger:
    """Who was given what.

    Attributes:
        given: in the order in which the sheets were given.
        sheets: the sheets that were given, by code.
    """

    given: tuple[Given, ...] = ()
    sheets: Mapping[str, Sheet] = field(default_factory=dict)

    def of(self, subject: str) -> tuple[Given, ...]:
        """Return what a subject was given, in order."""
        return tuple(given for given in self.given if given.subject == subject)

    def takers(self, sheet: str) -> int:
        """Return how many subjects have that sheet, or had it to the end."""
        return sum(given.sheet == sheet and given.state != "dropped" for given in self.given)

    def give(self, subject: str, sheet: Sheet) -> Ledger:
        """Return the ledger in which the subject has the sheet; a sheet before it is done."""
        kept = self.marked(subject, "done").given
        return Ledger((*kept, Given(subject, sheet.code)), {**self.sheets, sheet.code: sheet})

    def marked(self, subject: str, state: State) -> Ledger:
        """Return the ledger in which what the subject has out is done, or was dropped."""
        given = tuple(
            replace(each, state=state)
            if each.subject == subject and each.state == "given"
            else each
            for each in self.given
        )
        return Ledger(given, self.sheets)


def read_ledger(path: str | Path) -> Ledger:
    """Read a ledger; one that does not exist is empty.

    Raises:
        FormatError: it is no ledger, or names a sheet that it does not hold.
    """
    path = Path(path)
    if not path.exists():
        return Ledger()
    try:
        record = parsed(path.read_text("utf-8"))
        if record["winosmith"] != "ledger" or record["version"] != _VERSION:
            raise FormatError("this is not a ledger of `winosmith humans assign`", path)
        given = tuple(Given(**each) for each in record["given"])
        sheets = {sheet.code: sheet for sheet in (sheet_of(s, path) for s in record["sheets"])}
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(str(error), path) from error
    except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise FormatError(f"the ledger can't be read: {error!r}", path) from error
    missing = {each.sheet for each in given} - sheets.keys()
    if missing:
        raise FormatError(f"the ledger names {min(missing)!r} and does not hold it", path)
    return Ledger(given, sheets)


@contextmanager
def ledger_held(path: str | Path) -> Iterator[None]:
    """Keep a ledger for one's own while the block reads, changes and writes it.

    Two desks that enrol at once would lose one of two people otherwise.

    Raises:
        OutputError: it was held by somebody else for ten seconds, or its folder is missing.
    """
    lock = Path(f"{path}.lock")
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            lock.touch(exist_ok=False)
            break
        except FileExistsError:
            if time.monotonic() > until:
                raise OutputError(
                    f"{path} is being written by somebody else; try again, or remove {lock} when "
                    "nobody is"
                ) from None
            time.sleep(0.05)
        except OSError as error:
            raise OutputError(f"{path} can't be written: {error.strerror}") from error
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def write_ledger(ledger: Ledger, path: str | Path) -> None:
    """Write a ledger; the old one stays until the new one is complete."""
    record = {
        "winosmith": "ledger",
        "version": _VERSION,
        "given": [
            {"subject": each.subject, "sheet": each.sheet, "state": each.state}
            for each in ledger.given
        ],
        "sheets": [sheet_record(ledger.sheets[code]) for code in sorted(ledger.sheets)],
    }
    with write_aside(path) as file:
        json.dump(record, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")
