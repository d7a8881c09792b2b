"""Test sheets of any data set: the halves dealt to tests, the items put in order and labelled."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from winosmith.blocks import blocks, joined
from winosmith.dataset import Dataset, Dropped
from winosmith.errors import DataError
from winosmith.humans._sheet import (
    COMMON,
    LETTERS,
    Item,
    Label,
    Sheet,
    option_order,
    pieces,
    question_key,
    snippet,
    text_key,
)
from winosmith.problem import Problem
from winosmith.seen import check_blanks
from winosmith.text import overlap

TITLE = "Who or what is meant?"
"""What stands at the top of a sheet when nothing else is asked for."""

ALIKE = 0.5
"""The share of words from which two texts in succession are easily taken for one. Halves of one
schema share 70 % (WinoGrande, section 2) but never meet; half of that text again is alike enough
that a reader who skips the beginning mistakes it."""


@dataclass(frozen=True, slots=True)
class Sheets:
    """The sheets of a data set.

    Attributes:
        sheets: each test in each of its orders; tests by name, the common one last.
        left_out: the problems on no sheet, with the reason.
    """

    sheets: tuple[Sheet, ...]
    left_out: tuple[Dropped, ...]


def make_sheets(
    dataset: Dataset,
    *,
    versions: Sequence[str] = ("a", "b"),
    orders: int = 1,
    seed: int = 0,
    title: str = TITLE,
    alike: float = ALIKE,
) -> Sheets:
    """Make test sheets: one half of each schema on each, and a common one for what has no half.

    Args:
        dataset: problems with a blank, with or without the pronoun that stood there.
        versions: names of the tests that the halves are dealt to.
        orders: how many orders of each test there are.
        seed: deals the halves and draws the orders.
        title: what stands at the top.
        alike: the share of words, 0–1, from which a text after another is labelled different.

    Raises:
        DataError: there are no problems, one is a question or has more than 5 options, or
            names or numbers that can't be used.

    >>> made = make_sheets(Dataset([
    ...     Problem("1", "The cup hit the jug and _ broke.", ("jug", "cup"), 0, "t", "it"),
    ...     Problem("2", "The cup hit the jug and _ held.", ("jug", "cup"), 1, "t", "it"),
    ... ]))
    >>> [(sheet.name, sheet[1].options, sheet[1].text[1]) for sheet in made.sheets]
    [('a-1', ('cup', 'jug'), 'it'), ('b-1', ('cup', 'jug'), 'it')]
    """
    _check(dataset, versions, orders)
    dealt = deal(dataset, versions, seed)
    digest = dataset.blind().digest
    sheets = [
        Sheet(
            title,
            test,
            order,
            seed,
            digest,
            _items(
                dataset,
                ordered(dataset, rows, seed=seed, test=test, order=order, orders=orders),
                dealt,
                alike,
            ),
        )
        for test, rows in dealt.tests.items()
        for order in range(1, orders + 1)
    ]
    return Sheets(tuple(sheets), dealt.left_out)


def _check(dataset: Dataset, versions: Sequence[str], orders: int) -> None:
    if not len(dataset):
        raise DataError("there are no problems to make sheets of")
    check_blanks(dataset, "a test sheet")
    many = next((problem for problem in dataset if len(problem.options) > len(LETTERS)), None)
    if many is not None:
        raise DataError(
            f"{many.id!r} has {len(many.options)} options; a test sheet has places for "
            f"{len(LETTERS)}"
        )
    if len(versions) < 2 or len(set(versions)) < len(versions) or COMMON in versions:
        raise DataError(
            f"the versions {', '.join(versions)!r} can't be used; at least two different names "
            f"are needed, such as a,b, and {COMMON!r} is taken"
        )
    for name in versions:
        if not name.isascii() or not name.isalnum() or not name.islower() or len(name) > 8:
            raise DataError(
                f"a version can't be named {name!r}; use up to 8 small letters, such as a,b"
            )
    if not 1 <= orders <= len(dataset):
        raise DataError(f"{orders} orders of {len(dataset)} problems can't be made")


def _items(dataset: Dataset, rows: Sequence[int], dealt: Dealt, alike: float) -> tuple[Item, ...]:
    items: list[Item] = []
    previous: Problem | None = None
    for number, row in enumerate(rows, start=1):
        problem = dataset[row]
        shown = option_order(problem)
        items.append(
            Item(
                number=number,
                problem_id=problem.id,
                schema=dealt.schema[row],
                text=pieces(problem),
                snippet=snippet(problem),
                options=tuple(" ".join(problem.options[index].split()) for index in shown),
                shown=shown,
                label=_label(previous, problem, alike),
            )
        )
        previous = problem
    return tuple(items)


def _label(previous: Problem | None, problem: Problem, alike: float) -> Label | None:
    if previous is None:
        return None
    if text_key(previous) == text_key(problem):
        return "SAME TEXT AS PREVIOUS QUESTION"
    if overlap(_words(previous), _words(problem)) >= alike:
        return "TEXT IS DIFFERENT FROM PREVIOUS QUESTION"
    return None


def _words(problem: Problem) -> list[str]:
    return text_key(problem).split()


_STAGE = "sheets"

_FEWEST = 10
"""Questions without a half that make a test of their own; fewer are asked on every version."""


def place(*keys: object) -> bytes:
    """Return a random place that depends on nothing but the keys: a seed, and what is placed."""
    return hashlib.sha256("\0".join(map(str, keys)).encode()).digest()


def schemas(dataset: Dataset) -> list[list[int]]:
    """Return the rows in groups of which one person may see one text only.

    They are the blocks of `winosmith.blocks`: the halves of a twin, a family, copies of one text,
    and look-alikes (the same options, 70 % of the words), be they halves whose id got lost or
    whole schemas on nearly one text; who has read the one reads the other by it. Several questions
    on one text are in one group, too, and may be seen together, as in the tests of 2016 (Davis et
    al., section 2).

    >>> from winosmith import Problem
    >>> pair = [Problem(n, f"The cup hit the jug and _ {n}.", ("cup", "jug"), 0, "t")
    ...         for n in ("broke", "held")]
    >>> schemas(Dataset([*pair, Problem("3", "Ann saw Sue, and _ ran.", ("Ann", "Sue"))]))
    [[0, 1], [2]]
    """
    block_of = {row: at for at, rows in enumerate(blocks(dataset)) for row in rows}
    return joined(
        [[row] for row in range(len(dataset))],
        [
            [("text", text_key(problem)), ("block", block_of[row])]
            for row, problem in enumerate(dataset)
        ],
    )


@dataclass(frozen=True, slots=True)
class Dealt:
    """The rows of each test.

    Attributes:
        tests: the rows of each test by its name, in the order of the data; no test is empty.
        schema: for each row a key that it shares with what may not be seen beside it.
        left_out: copies, and texts for which there is no test, with the reason.
    """

    tests: dict[str, tuple[int, ...]]
    schema: tuple[str, ...]
    left_out: tuple[Dropped, ...]


def deal(dataset: Dataset, versions: Sequence[str], seed: int) -> Dealt:
    """Deal the texts of each group that `schemas` tells to tests at random, one a test.

    Where there are more texts than tests, the halves of one schema are dealt rather than those of
    several, for both halves must be tested (Davis et al. 2016, section 4.4); which schema, is
    drawn.

    What has one text only goes to the common test, or, where that would be fewer than ten
    questions, on every version: nobody takes two of those. Which half goes where depends on the
    seed and the texts alone: not on the order of the data, nor on answers or ids.

    Args:
        dataset: the problems.
        versions: the names of the tests, such as ("a", "b").
        seed: of the deal.
    """
    where: dict[int, str] = {}
    reasons: dict[int, str] = {}
    schema = [""] * len(dataset)
    for rows in schemas(dataset):
        key = min(dataset[row].id for row in rows)
        texts: dict[str, list[int]] = {}
        for row in rows:
            schema[row] = key
            texts.setdefault(text_key(dataset[row]), []).append(row)
        names = [COMMON] if len(texts) == 1 else list(versions)
        asked = _asked(dataset, texts, len(names), seed)
        order = sorted(asked, key=lambda text: place(seed, "half", text))
        tests = names if len(order) >= len(names) else sorted(
            names, key=lambda name: place(seed, "test", name, key)
        )  # fmt: skip
        for name, text in zip(tests, order, strict=False):
            where.update(dict.fromkeys(texts[text], name))
        for text in texts.keys() - asked:
            reasons.update(dict.fromkeys(texts[text], _no_test(len(texts), names)))
    reasons |= _copies(dataset, where)
    rows_of = {
        name: tuple(row for row in sorted(where) if where[row] == name and row not in reasons)
        for name in (*versions, COMMON)
    }
    common = rows_of[COMMON]
    if len(common) < _FEWEST and any(rows_of[name] for name in versions):
        rows_of = {name: tuple(sorted(rows_of[name] + common)) for name in versions}
    return Dealt(
        {name: rows for name, rows in rows_of.items() if rows},
        tuple(schema),
        dataset.drop(reasons, _STAGE).dropped,
    )


def _asked(dataset: Dataset, texts: dict[str, list[int]], tests: int, seed: int) -> set[str]:
    """Return the texts of a group that are asked, as many as there are tests at most.

    Whole schemas come first, then what is alone, each drawn by the seed; a half whose other half
    finds no test is left out, unless nothing else is there.
    """
    if len(texts) <= tests:
        return set(texts)
    twins: dict[str, set[str]] = {}
    for text, rows in texts.items():
        twin = next((dataset[row].twin_id for row in rows if dataset[row].twin_id), None)
        twins.setdefault(f"text {text}" if twin is None else f"twin {twin}", set()).add(text)
    asked: set[str] = set()
    units = sorted(
        twins.values(),
        key=lambda unit: (len(unit) < 2, place(seed, "schema", *sorted(unit))),
    )
    for unit in units:
        if len(asked) + len(unit) <= tests:
            asked |= unit
    return asked or set(sorted(units[0], key=lambda text: place(seed, "half", text))[:tests])


def _no_test(texts: int, names: Sequence[str]) -> str:
    return (
        f"of {texts} texts that are halves or look alike, a person sees one, and there are "
        f"{len(names)} tests"
    )


def _copies(dataset: Dataset, where: dict[int, str]) -> dict[int, str]:
    """Return the rows whose question was asked before on the same test."""
    first: dict[str, int] = {}
    copies: dict[int, str] = {}
    for row in sorted(where):
        problem = dataset[row]
        asked = first.setdefault(question_key(problem), row)
        if asked != row:
            copies[row] = f"a copy of {dataset[asked].id!r}"
    return copies


def ordered(
    dataset: Dataset, rows: Sequence[int], *, seed: int, test: str, order: int, orders: int
) -> list[int]:
    """Return the rows of a test in one of its orders.

    The questions on one text follow each other, in the order of their pronouns. The texts are
    shuffled and cut into as many parts as there are orders, with about as many questions each;
    from order to order the parts move on by one place (a Latin square), so that over all orders
    each question stands once in each part of the sheet, and practice and fatigue fall on all
    alike. Within its part a text has another neighbour in each order.

    Args:
        dataset: the problems.
        rows: those of the test.
        seed: of the shuffle.
        test: the test's name, so that two tests are shuffled independently.
        order: which order, from 1 to `orders`.
        orders: how many there are.
    """
    texts: dict[str, list[int]] = {}
    for row in rows:
        texts.setdefault(text_key(dataset[row]), []).append(row)
    parts: list[list[str]] = [[] for _ in range(orders)]
    before = 0
    for text in sorted(texts, key=lambda text: place(seed, "part", test, text)):
        parts[before * orders // len(rows)].append(text)
        before += len(texts[text])
    turned = parts[order - 1 :] + parts[: order - 1]
    return [
        row
        for part in turned
        for text in sorted(part, key=lambda text: place(seed, "order", test, order, text))
        for row in sorted(texts[text], key=lambda row: _pronoun_at(dataset[row]))
    ]


def _pronoun_at(problem: Problem) -> int:
    return len(pieces(problem)[0])
