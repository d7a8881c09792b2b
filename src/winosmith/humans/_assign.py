"""Who takes which sheet: nobody sees two halves of a schema, and all sheets are taken alike often.

Subjects come one at a time, in any order, and may come back. What somebody gets depends on the
ledger, the seed and the subject's code, and on nothing else.

The ledger tells who was given which sheet, in all sessions and from all data sets. It is one JSON
file, kept for as long as the subjects are; its sheets stand in it whole, so that what somebody saw
is known when the folder of the sheets is gone.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError, InputError, OutputError
from winosmith.humans._sheet import Item, Sheet, sheet_of, sheet_record
from winosmith.humans._sheet_make import place, schemas
from winosmith.outputs import write_aside
from winosmith.problem import BLANK, Problem
from winosmith.records import parsed

_Key = tuple[str, str]
"""A problem of any data set: the digest of the data, and the id."""


def assign(
    ledger: Ledger,
    sheets: Sequence[Sheet],
    subject: str,
    *,
    test: str | None = None,
    another: bool = False,
    seed: int = 0,
) -> tuple[Ledger, Sheet]:
    """Give a subject a sheet.

    Of the tests that show nothing of what the subject has seen on any sheet of the ledger (no
    other half, no look-alike, no text twice), it is one of those that have come at this place of
    a subject's session least often, so that half of the subjects begin with the common test;
    among versions of the same schemas it is the one with the fewest takers, and of its orders the
    one with the fewest. Ties are settled by the seed and the subject's code. Sheets that were
    given up count as seen, and not as taken.

    Who has one of these sheets out is given the same again.

    Args:
        ledger: who was given what.
        sheets: what may be given.
        subject: the subject's code.
        test: the name of the test that is to be given, when it must be that one.
        another: the subject is done with the sheet that is out, and takes a further one.
        seed: settles ties.

    Returns:
        The ledger with what was given, and the sheet.

    Raises:
        DataError: the code can't be one, or the subject has seen a part of every sheet; the
            message names what.
    """
    Given(subject, "")  # says what is wrong with the code
    of_code = {sheet.code: sheet for sheet in sheets}
    tests = {
        name: [s for s in sheets if s.test == name] for name in sorted({s.test for s in sheets})
    }
    if test is not None and test not in tests:
        raise DataError(f"there is no test {test!r}; there are {', '.join(tests)}")
    out = [given.sheet for given in ledger.of(subject) if given.state == "given"]
    if out and out[-1] in of_code and not another and test in (None, of_code[out[-1]].test):
        return ledger, of_code[out[-1]]
    group = _groups([*ledger.sheets.values(), *sheets])
    seen = _seen(ledger, subject, group)
    wanted = {name: tests[name] for name in tests if test in (None, name)}
    open_ones = [name for name in wanted if not _met(tests[name][0], seen, group)]
    if not open_ones:
        raise DataError(_refused(ledger, subject, wanted, seen, group))
    chosen = _least_taken(ledger, tests, open_ones, group, subject, seed)
    sheet = min(
        tests[chosen],
        key=lambda s: (ledger.takers(s.code), place(seed, subject, s.name)),
    )
    return ledger.give(subject, sheet), sheet


def _key(sheet: Sheet, item: Item) -> _Key:
    return sheet.data, item.problem_id


def _groups(sheets: Iterable[Sheet]) -> dict[_Key, int]:
    """Return for each problem of all sheets the group of which one person may see one text."""
    problems: dict[_Key, Problem] = {}
    for sheet in sheets:
        for item in sheet.items:
            pronoun = None if item.text[1] == BLANK else item.text[1]
            problems[_key(sheet, item)] = Problem(
                f"{sheet.data}/{item.problem_id}",
                item.sentence,
                item.options,
                twin_id=f"{sheet.data}/{item.schema}",
                pronoun=pronoun,
                blank=len(item.text[0]),
            )
    keys = list(problems)
    together = schemas(Dataset(problems.values()))
    return {keys[row]: at for at, rows in enumerate(together) for row in rows}


def _seen(ledger: Ledger, subject: str, group: dict[_Key, int]) -> dict[int, str]:
    """Return the groups that a subject has seen, with the sheet on which."""
    given = [ledger.sheets[each.sheet] for each in ledger.of(subject)]
    return {group[_key(sheet, item)]: sheet.code for sheet in given for item in sheet.items}


def _met(sheet: Sheet, seen: dict[int, str], group: dict[_Key, int]) -> list[tuple[Item, str]]:
    """Return the items that show what was seen already, with the sheet on which."""
    met = ((item, seen.get(group[_key(sheet, item)])) for item in sheet.items)
    return [(item, where) for item, where in met if where is not None]


def _refused(
    ledger: Ledger,
    subject: str,
    tests: dict[str, list[Sheet]],
    seen: dict[int, str],
    group: dict[_Key, int],
) -> str:
    reasons = []
    for name, orders in tests.items():
        met = _met(orders[0], seen, group)
        (item, where), more = met[0], len(met) - 1
        before = ledger.sheets[where]
        if (before.data, before.test) == (orders[0].data, name):
            reasons.append(f"test {name} was taken as {where}")
        else:
            others = f" and {more} more" if more else ""
            reasons.append(
                f"test {name} asks {item.problem_id!r}{others}, of which {where} asked another "
                "version or the same"
            )
    return f"{subject} can take none of the tests: {'; '.join(reasons)}"


def _least_taken(
    ledger: Ledger,
    tests: dict[str, list[Sheet]],
    open_ones: list[str],
    group: dict[_Key, int],
    subject: str,
    seed: int,
) -> str:
    """Return the test that comes next: first which schemas, then which version of them."""
    test_of = {sheet.code: sheet.test for orders in tests.values() for sheet in orders}
    rivals = _rivals(tests, group)
    at = len(ledger.of(subject))
    places: dict[str, int] = {}
    came = dict.fromkeys(rivals.values(), 0)
    for given in ledger.given:
        here = places.get(given.subject, 0)
        places[given.subject] = here + 1
        if here == at and given.sheet in test_of and given.state != "dropped":
            came[rivals[test_of[given.sheet]]] += 1
    takers = {name: sum(ledger.takers(s.code) for s in tests[name]) for name in open_ones}
    return min(
        open_ones,
        key=lambda name: (
            came[rivals[name]],
            place(seed, subject, rivals[name]),
            takers[name],
            place(seed, subject, name),
        ),
    )


def _rivals(tests: dict[str, list[Sheet]], group: dict[_Key, int]) -> dict[str, str]:
    """Return for each test the first of the tests that show versions of the same schemas."""
    shows = {
        name: {group[_key(orders[0], item)] for item in orders[0].items}
        for name, orders in tests.items()
    }
    return {name: next(one for one in tests if shows[one] & shows[name]) for name in tests}


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
