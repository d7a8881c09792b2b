"""Make test sheets for a data set, and assign them to subjects.

The halves of a schema are assigned to different tests. No subject sees both halves of a schema, and
all sheets are used equally often. Sheets are assigned one at a time. Subjects can come in any order
and can take more than one sheet. An assignment depends only on the ledger, the seed and the
subject's code.

The ledger records the sheets of each subject across all sessions and data sets. Keep the ledger, a
JSON file, as long as subjects may come back. The ledger contains the sheets, so it records what
each subject saw even if the folder of sheets is deleted.

    winosmith   "ledger"
    version     1
    given       list of assignments, in chronological order; each an object:
        subject     the subject's code; never a name or an address
        sheet       the code of the sheet
        state       "given", "done" or "dropped"
    sheets      list of the assigned sheets, each as in its own JSON file
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from filelock import FileLock, Timeout
from pydantic import Field

from winosmith.blocks import find_blocks, join_blocks
from winosmith.dataset import Dataset, Dropped
from winosmith.errors import DataError, FormatError, InputError, OutputError
from winosmith.humans import _sheet
from winosmith.humans._handout import get_text_kind
from winosmith.humans._sheet import Item, Label, Sheet
from winosmith.options import Count, Seed, checked, declaration, from_table, match_pattern
from winosmith.outputs import atomic_write
from winosmith.problem import BLANK, Problem
from winosmith.records import parse_json
from winosmith.seen import check_blanks
from winosmith.text import compute_overlap

_TITLE, _QUESTION_TITLE = "Who or what is meant?", "Which option is correct?"
"""The default titles of sheets with schemas and of sheets with questions."""

MIN_SIMILARITY = 0.5
"""Fraction of words that a text shares with the previous one if a label states that they differ.
Halves of a schema share 70 % (WinoGrande, section 2), but are never on the same sheet."""


@dataclass(frozen=True, slots=True)
class Sheets:
    """The sheets of a data set.

    Attributes:
        sheets: each test in each of its orders, sorted by test name, with the common test last.
        omitted: the problems that are not on any sheet, with the reason.
    """

    sheets: tuple[Sheet, ...]
    omitted: tuple[Dropped, ...]


@checked
def make_sheets(
    dataset: Dataset,
    *,
    versions: Sequence[str] = ("a", "b"),
    orders: Annotated[
        Count,
        Field(description="Number of question orders per test; each starts with another part."),
    ] = 1,
    seed: Annotated[
        Seed, Field(description="Random seed for assigning halves and shuffling the questions.")
    ] = 0,
    title: Annotated[
        str | None,
        Field(description=f"Title of the sheets; by default {_TITLE!r} or {_QUESTION_TITLE!r}."),
    ] = None,
) -> Sheets:
    """Make test sheets: a test per version with one half of each schema, and a common test.

    Args:
        dataset: problems with a blank; their pronoun is optional.
        versions: names of the tests that get the halves.
        orders: number of orders of each test, at most the number of problems.
        seed: random seed for assigning halves and shuffling the questions.
        title: title of the sheets; None or "" for a question that fits the texts.

    Raises:
        RecipeError: `orders` or `seed` is out of range.
        DataError: there are no problems, a problem has no blank or more than 23 options, or a
            version's name or the number of orders is invalid.

    >>> made = make_sheets(Dataset([
    ...     Problem("1", "The cup hit the jug and _ broke.", ("jug", "cup"), 0, "t", "it"),
    ...     Problem("2", "The cup hit the jug and _ held.", ("jug", "cup"), 1, "t", "it"),
    ... ]))
    >>> [(sheet.name, sheet[1].options, sheet[1].text[1]) for sheet in made.sheets]
    [('a-1', ('cup', 'jug'), 'it'), ('b-1', ('cup', 'jug'), 'it')]
    """
    _check_arguments(dataset, versions, orders)
    tests, schemas, omitted = assign_to_tests(dataset, versions, seed)
    digest = dataset.blind().digest
    sheets = []
    for test, rows in tests.items():
        for order in range(1, orders + 1):
            ordered = order_rows(
                dataset, rows, seed=seed, test=test, order=order, order_count=orders
            )
            items = _make_items(dataset, ordered, schemas)
            sheet = Sheet(title or _TITLE, test, order, seed, digest, items)
            if get_text_kind(sheet) == "question":
                # The instructions for questions don't explain labels.
                items = tuple(replace(item, label=None) for item in items)
                sheet = replace(sheet, title=title or _QUESTION_TITLE, items=items)
            sheets.append(sheet)
    return Sheets(tuple(sheets), omitted)


def _check_arguments(dataset: Dataset, versions: Sequence[str], orders: int) -> None:
    if not len(dataset):
        raise DataError("the data set has no problems to make sheets from")
    advice = "to let people check the keys of questions, run: winosmith audit DATA --check N"
    check_blanks(dataset, "a test sheet", advice)
    for problem in dataset:
        if len(problem.options) > len(_sheet.LETTERS):
            raise DataError(
                f"{problem.id!r} has {len(problem.options)} options; a test sheet allows at most "
                f"{len(_sheet.LETTERS)}"
            )
    if len(versions) < 2 or len(set(versions)) < len(versions) or _sheet.COMMON_TEST in versions:
        raise DataError(
            f"invalid versions {', '.join(versions)!r}; give at least two different names, such "
            f"as a,b ({_sheet.COMMON_TEST!r} is reserved)"
        )
    for name in versions:
        if not name.isascii() or not name.isalnum() or not name.islower() or len(name) > 8:
            raise DataError(
                f"invalid version {name!r}; use up to 8 lower-case letters, such as a,b"
            )
    if orders > len(dataset):
        raise DataError(
            f"{len(dataset)} problems have at most {len(dataset)} orders; {orders} were requested"
        )


def _make_items(dataset: Dataset, rows: Sequence[int], schemas: Sequence[str]) -> tuple[Item, ...]:
    items: list[Item] = []
    previous: str | None = None
    for number, row in enumerate(rows, start=1):
        problem = dataset[row]
        shown = _sheet.order_options(problem)
        text = _sheet.make_text_key(problem)
        label: Label | None = None
        if text == previous:
            label = "SAME TEXT AS PREVIOUS QUESTION"
        elif previous and compute_overlap(previous.split(), text.split()) >= MIN_SIMILARITY:
            label = "TEXT IS DIFFERENT FROM PREVIOUS QUESTION"
        items.append(
            Item(
                number=number,
                problem_id=problem.id,
                schema=schemas[row],
                text=_sheet.split_text(problem),
                snippet=_sheet.make_snippet(problem),
                options=tuple(" ".join(problem.options[index].split()) for index in shown),
                shown=shown,
                label=label,
            )
        )
        previous = text
    return tuple(items)


_MIN_QUESTIONS = 10
"""Minimum number of unpaired questions for a common test; fewer questions go to every version."""


def make_sort_key(*keys: object) -> bytes:
    return hashlib.sha256("\0".join(map(str, keys)).encode()).digest()


def group_schemas(dataset: Dataset) -> list[list[int]]:
    """Group the rows of a data set so that a person may see only one text of each group.

    The groups are the blocks of `winosmith.blocks`: halves of a twin, families, duplicates and
    look-alikes (the same options and 70 % of the words), because reading one text influences the
    reading of others. Questions about the same text are in one group, but a person may see all of
    them, as in the tests of 2016. See Davis et al. (2016, section 2).

    >>> from winosmith import Problem
    >>> pair = [Problem(n, f"The cup hit the jug and _ {n}.", ("cup", "jug"), 0, "t")
    ...         for n in ("broke", "held")]
    >>> group_schemas(Dataset([*pair, Problem("3", "Ann saw Sue, and _ ran.", ("Ann", "Sue"))]))
    [[0, 1], [2]]
    """
    block_of = {row: at for at, rows in enumerate(find_blocks(dataset)) for row in rows}
    return join_blocks(
        [[row] for row in range(len(dataset))],
        [
            [("text", _sheet.make_text_key(problem)), ("block", block_of[row])]
            for row, problem in enumerate(dataset)
        ],
    )


def assign_to_tests(
    dataset: Dataset, versions: Sequence[str], seed: int
) -> tuple[dict[str, tuple[int, ...]], list[str], tuple[Dropped, ...]]:
    """Assign one text of each group from `group_schemas` to each test, at random.

    If a group has more texts than tests, a random schema with both halves is preferred to single
    halves, because both halves must be tested. See Davis et al. (2016, section 4.4).

    If a group has only one text, the text goes to the common test. If the common test would have
    fewer than ten questions, these texts go to every version, because no subject takes two
    versions. The assignment depends only on the seed and the texts, not on the order of the data,
    answers or ids.

    Returns:
        The rows of each test, in the order of the data; each row's group key; and the duplicates
        and texts that are in no test, with the reasons.
    """
    where: dict[int, str] = {}
    reasons: dict[int, str] = {}
    schema = [""] * len(dataset)
    for rows in group_schemas(dataset):
        key = min(dataset[row].id for row in rows)
        texts: dict[str, list[int]] = {}
        for row in rows:
            schema[row] = key
            texts.setdefault(_sheet.make_text_key(dataset[row]), []).append(row)
        names = [_sheet.COMMON_TEST] if len(texts) == 1 else list(versions)
        asked = _choose_texts(dataset, texts, len(names), seed)
        order = sorted(asked, key=lambda text: make_sort_key(seed, "half", text))
        tests = names if len(order) >= len(names) else sorted(
            names, key=lambda name: make_sort_key(seed, "test", name, key)
        )  # fmt: skip
        for name, text in zip(tests, order, strict=False):
            where.update(dict.fromkeys(texts[text], name))
        for text in texts.keys() - asked:
            reason = (
                f"each person sees only one of {len(texts)} related texts, and there are only "
                f"{len(names)} versions ({', '.join(names)}); give {len(texts)} to use all texts"
            )
            reasons.update(dict.fromkeys(texts[text], reason))
    first: dict[tuple[str, ...], int] = {}
    for row in sorted(where):
        asked_before = first.setdefault(_sheet.make_question_key(dataset[row]), row)
        if asked_before != row:
            reasons[row] = f"a copy of {dataset[asked_before].id!r}"
    rows_of = {
        name: tuple(row for row in sorted(where) if where[row] == name and row not in reasons)
        for name in (*versions, _sheet.COMMON_TEST)
    }
    common = rows_of[_sheet.COMMON_TEST]
    if len(common) < _MIN_QUESTIONS and any(rows_of[name] for name in versions):
        rows_of = {name: tuple(sorted(rows_of[name] + common)) for name in versions}
    tests_with_rows = {name: rows for name, rows in rows_of.items() if rows}
    return tests_with_rows, schema, dataset.drop(reasons, "sheets").dropped


def _choose_texts(dataset: Dataset, texts: dict[str, list[int]], limit: int, seed: int) -> set[str]:
    """Choose at most `limit` texts of a group: first schemas with both halves, then single texts.

    The order is random. A half is omitted if no test is left for the other half, unless no other
    text can be chosen.
    """
    if len(texts) <= limit:
        return set(texts)
    twins: dict[str, set[str]] = {}
    for text, rows in texts.items():
        twin = next((dataset[row].twin_id for row in rows if dataset[row].twin_id), None)
        twins.setdefault(f"text {text}" if twin is None else f"twin {twin}", set()).add(text)
    chosen: set[str] = set()
    units = sorted(
        twins.values(),
        key=lambda unit: (len(unit) < 2, make_sort_key(seed, "schema", *sorted(unit))),
    )
    for unit in units:
        if len(chosen) + len(unit) <= limit:
            chosen |= unit
    return chosen or set(
        sorted(units[0], key=lambda text: make_sort_key(seed, "half", text))[:limit]
    )


def order_rows(
    dataset: Dataset, rows: Sequence[int], *, seed: int, test: str, order: int, order_count: int
) -> list[int]:
    """Return the rows of a test in one of its orders, which are numbered from 1.

    Questions on the same text are consecutive, in the order of their pronouns. The texts are
    shuffled and divided into parts of about equal size, one for each order. From order to order,
    the parts are rotated by one position (a Latin square). Each question therefore appears once in
    each part of the sheet, so practice and fatigue affect all questions equally. Within a part, a
    text has different neighbours in each order. Each test is shuffled independently.
    """
    texts: dict[str, list[int]] = {}
    for row in rows:
        texts.setdefault(_sheet.make_text_key(dataset[row]), []).append(row)
    parts: list[list[str]] = [[] for _ in range(order_count)]
    before = 0
    for text in sorted(texts, key=lambda text: make_sort_key(seed, "part", test, text)):
        parts[before * order_count // len(rows)].append(text)
        before += len(texts[text])
    rotated = parts[order - 1 :] + parts[: order - 1]
    return [
        row
        for part in rotated
        for text in sorted(part, key=lambda text: make_sort_key(seed, "order", test, order, text))
        for row in sorted(texts[text], key=lambda row: len(_sheet.split_text(dataset[row])[0]))
    ]


_Key = tuple[str, str]
"""The digest of a data set, and the id of a problem in the data set."""


def assign(
    ledger: Ledger,
    sheets: Sequence[Sheet],
    subject: str,
    *,
    test: str | None = None,
    new_sheet: bool = False,
    seed: int = 0,
) -> tuple[Ledger, Sheet]:
    """Assign one of the sheets to a subject; return the new ledger and the sheet.

    Tests are excluded if the subject has seen a related text on any sheet in the ledger: the other
    half, a near-duplicate or the same text.

    Of the remaining tests, the one least often chosen as a subject's first (second, …) test is
    preferred, so that half of the subjects start with the common test. Next, the version with the
    fewest takers is preferred, and then the order with the fewest takers. The seed and the
    subject's code break ties. Dropped sheets count as seen, but not as taken.

    A subject with an unfinished sheet among `sheets` gets that sheet again.

    Args:
        ledger: the previous assignments.
        sheets: the available sheets.
        subject: code of the subject.
        test: name of a required test; None for any.
        new_sheet: whether the subject has finished the current sheet and gets a new sheet.
        seed: random seed for breaking ties.

    Returns:
        The ledger with the new assignment, and the assigned sheet.

    Raises:
        RecipeError: the code has invalid characters.
        DataError: the subject has seen related texts for every test; the message states where.
    """
    Assignment(subject, "")  # checks the code
    of_code = {sheet.code: sheet for sheet in sheets}
    tests = {
        name: [s for s in sheets if s.test == name] for name in sorted({s.test for s in sheets})
    }
    if test is not None and test not in tests:
        raise DataError(f"unknown test {test!r}; the tests are {', '.join(tests)}")
    own = ledger.get_assignments(subject)
    current = next((of_code.get(one.sheet) for one in own[::-1] if one.state == "given"), None)
    if current is not None and not new_sheet and test in (None, current.test):
        return ledger, current
    group = _number_item_groups([*ledger.sheets.values(), *sheets])
    seen = {
        group[_make_key(sheet, item)]: sheet
        for sheet in (ledger.sheets[given.sheet] for given in own)
        for item in sheet.items
    }
    open_tests, reasons = [], []
    for name in tests if test is None else [test]:
        sheet = tests[name][0]
        keys = ((item, group[_make_key(sheet, item)]) for item in sheet.items)
        met = [(item, seen[key]) for item, key in keys if key in seen]
        if not met:
            open_tests.append(name)
            continue
        (item, before), *more = met
        if (before.data, before.test) == (sheet.data, name):
            reasons.append(f"test {name} was already taken with sheet {before.code}")
        else:
            others = f" and {len(more)} more" if more else ""
            reasons.append(
                f"test {name} has {item.problem_id!r}{others}, related to questions on "
                f"{before.code}"
            )
    if not open_tests:
        raise DataError(f"{subject} can't take any test: {'; '.join(reasons)}")
    chosen = _choose_least_taken(ledger, tests, open_tests, group, subject, seed)
    sheet = min(
        tests[chosen],
        key=lambda s: (ledger.count_takers(s.code), make_sort_key(seed, subject, s.name)),
    )
    return ledger.add_assignment(subject, sheet), sheet


def _make_key(sheet: Sheet, item: Item) -> _Key:
    return sheet.data, item.problem_id


def _number_item_groups(sheets: Iterable[Sheet]) -> dict[_Key, int]:
    problems: dict[_Key, Problem] = {}
    for sheet in sheets:
        for item in sheet.items:
            problems[_make_key(sheet, item)] = Problem(
                f"{sheet.data}/{item.problem_id}",
                item.sentence,
                item.options,
                twin_id=f"{sheet.data}/{item.schema}",
                pronoun=None if item.text[1] == BLANK else item.text[1],
                blank=len(item.text[0]),
            )
    keys = list(problems)
    together = group_schemas(Dataset(problems.values()))
    return {keys[row]: at for at, rows in enumerate(together) for row in rows}


def _choose_least_taken(
    ledger: Ledger,
    tests: dict[str, list[Sheet]],
    open_tests: list[str],
    group: dict[_Key, int],
    subject: str,
    seed: int,
) -> str:
    test_of = {sheet.code: sheet.test for orders in tests.values() for sheet in orders}
    shows = {
        name: {group[_make_key(orders[0], item)] for item in orders[0].items}
        for name, orders in tests.items()
    }  # versions of the same schemas are represented by their first version
    rivals = {name: next(other for other in tests if shows[other] & shows[name]) for name in tests}
    at = len(ledger.get_assignments(subject))
    places: dict[str, int] = {}
    came = dict.fromkeys(rivals.values(), 0)
    for given in ledger.assignments:
        here = places.get(given.subject, 0)
        places[given.subject] = here + 1
        if here == at and given.sheet in test_of and given.state != "dropped":
            came[rivals[test_of[given.sheet]]] += 1
    takers = {name: sum(ledger.count_takers(s.code) for s in tests[name]) for name in open_tests}
    return min(
        open_tests,
        key=lambda name: (
            came[rivals[name]],
            make_sort_key(seed, subject, rivals[name]),
            takers[name],
            make_sort_key(seed, subject, name),
        ),
    )


_VERSION = 1

_LOCK_TIMEOUT = 10.0
"""Maximum wait for another process that writes the ledger, in seconds."""

State = Literal["given", "done", "dropped"]
"""The subject is working on the sheet, has completed it, or has abandoned it."""

Code = Annotated[
    str,
    match_pattern(
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,15}",
        "up to 16 letters, digits, dots and dashes, such as S07, and not a name",
    ),
]


@declaration
class Assignment:
    """An assignment of a sheet to a subject."""

    subject: Code
    """The subject's code."""
    sheet: str
    """Code of the sheet."""
    state: State = "given"
    """Whether the subject is working on the sheet, has completed it, or has abandoned it."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The sheets assigned to each subject.

    Attributes:
        assignments: the assignments, in chronological order.
        sheets: the assigned sheets by their codes.
    """

    assignments: tuple[Assignment, ...] = ()
    sheets: Mapping[str, Sheet] = field(default_factory=dict)

    def get_assignments(self, subject: str) -> tuple[Assignment, ...]:
        """Return a subject's assignments, in chronological order."""
        return tuple(each for each in self.assignments if each.subject == subject)

    def count_takers(self, sheet: str) -> int:
        """Return the number of subjects who are working on a sheet or have completed it."""
        return sum(each.sheet == sheet and each.state != "dropped" for each in self.assignments)

    def add_assignment(self, subject: str, sheet: Sheet) -> Ledger:
        """Return the ledger with a new assignment; the subject's previous sheet becomes "done"."""
        kept = self.with_state(subject, "done").assignments
        return Ledger((*kept, Assignment(subject, sheet.code)), {**self.sheets, sheet.code: sheet})

    def with_state(self, subject: str, state: State) -> Ledger:
        """Return the ledger with a new state for the subject's current sheet."""
        assignments = tuple(
            replace(each, state=state)
            if each.subject == subject and each.state == "given"
            else each
            for each in self.assignments
        )
        return Ledger(assignments, self.sheets)


def read_ledger(path: str | Path) -> Ledger:
    """Read a ledger from a file; return an empty ledger if the file does not exist.

    Raises:
        FormatError: the file is not a ledger, or lacks the content of an assigned sheet.
    """
    path = Path(path)
    if not path.exists():
        return Ledger()
    try:
        record = parse_json(path.read_text("utf-8"))
        if record["winosmith"] != "ledger" or record["version"] != _VERSION:
            raise FormatError("this is not a ledger of `winosmith humans assign`", path)
        assignments = tuple(from_table(Assignment, each) for each in record["given"])
        sheets = {
            sheet.code: sheet for sheet in (_sheet.parse_sheet(s, path) for s in record["sheets"])
        }
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(str(error), path) from error
    except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise FormatError(f"the ledger can't be read: {error!r}", path) from error
    missing = {each.sheet for each in assignments} - sheets.keys()
    if missing:
        raise FormatError(f"the ledger lacks the content of the sheet {min(missing)!r}", path)
    return Ledger(assignments, sheets)


@contextmanager
def lock_ledger(path: str | Path) -> Iterator[None]:
    """Lock a ledger while the block reads, changes and writes it.

    Without the lock, one of two simultaneous assignments would be lost. If a process is killed, the
    operating system releases the lock.

    Raises:
        OutputError: another process held the lock for ten seconds, or the folder is missing.
    """
    try:
        lock = FileLock(f"{path}.lock").acquire(timeout=_LOCK_TIMEOUT)
    except Timeout:
        raise OutputError(
            f"another process has kept {path} locked for {_LOCK_TIMEOUT:g} s; try again"
        ) from None
    except OSError as error:
        raise OutputError(f"{path} can't be written: {error.strerror}") from error
    with lock:
        yield


def write_ledger(ledger: Ledger, path: str | Path) -> None:
    """Write a ledger atomically."""
    record = {
        "winosmith": "ledger",
        "version": _VERSION,
        "given": [asdict(each) for each in ledger.assignments],
        "sheets": [_sheet.make_sheet_record(ledger.sheets[code]) for code in sorted(ledger.sheets)],
    }
    with atomic_write(path) as file:
        json.dump(record, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")
