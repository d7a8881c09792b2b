"""Who takes which sheet: nobody sees two halves of a schema, and all sheets are taken alike often.

Subjects come one at a time, in any order, and may come back. What somebody gets depends on the
ledger, the seed and the subject's code, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.humans._assign_ledger import Given, Ledger
from winosmith.humans._assign_schemas import place, schemas
from winosmith.humans._item import Item
from winosmith.humans._sheet import Sheet
from winosmith.problem import BLANK, Problem

__all__ = ["assign"]

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
