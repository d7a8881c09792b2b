"""Which problems one person may not see together, and how their versions are dealt to tests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from winosmith.blocks import blocks, joined
from winosmith.dataset import Dataset, Dropped
from winosmith.humans._sheet import COMMON
from winosmith.humans._sheet_text import question_key, text_key
from winosmith.problem import Problem

__all__ = ["Dealt", "deal", "place", "schemas"]

_STAGE = "sheets"

_FEWEST = 10
"""Questions without a half that make a test of their own; fewer are asked on every version."""


def place(*keys: object) -> bytes:
    """Return a random place that depends on nothing but the keys: a seed, and what is placed."""
    return hashlib.sha256("\0".join(map(str, keys)).encode()).digest()


def schemas(dataset: Dataset) -> list[list[int]]:
    """Return the rows in groups of which one person may see one text only.

    The halves of a twin, a family, and copies of one text belong together; and so do look-alikes
    (the same options, 70 % of the words: `winosmith.blocks`) that have no half of their own here,
    for they may be halves whose id got lost. Two complete twins that are alike stay apart: on a
    sheet they are told to be different texts, as in Davis et al. 2016, section 3. Several
    questions on one text are in one group, and may be seen together.

    >>> pair = [Problem(n, f"The cup hit the jug and _ {n}.", ("cup", "jug"), 0, "t")
    ...         for n in ("broke", "held")]
    >>> schemas(Dataset([*pair, Problem("3", "Ann saw Sue, and _ ran.", ("Ann", "Sue"))]))
    [[0, 1], [2]]
    """
    texts = [text_key(problem) for problem in dataset]
    groups = _joined(len(dataset), (_ties(p, t) for p, t in zip(dataset, texts, strict=True)))
    group_of = {row: at for at, rows in enumerate(groups) for row in rows}
    lone = [len({texts[row] for row in rows}) == 1 for rows in groups]
    alike = {row: at for at, rows in enumerate(blocks(dataset)) for row in rows}
    return _joined(
        len(dataset),
        (
            [("group", group_of[row]), *([("alike", alike[row])] if lone[group_of[row]] else [])]
            for row in range(len(dataset))
        ),
    )


def _ties(problem: Problem, text: str) -> list[tuple[str, object]]:
    ties: list[tuple[str, object]] = [("text", text)]
    if problem.twin_id is not None:
        ties.append(("twin", problem.twin_id))
    ties.append(("family", problem.root))
    return ties


def _joined(rows: int, ties: Iterable[Iterable[tuple[str, object]]]) -> list[list[int]]:
    """Return the rows that share a tie, from neighbour to neighbour, in order."""
    return joined([[row] for row in range(rows)], list(ties))


@dataclass(frozen=True, slots=True)
class Dealt:
    """The rows of each test.

    Attributes:
        tests: the rows of each test by its name, in the order of the data; no test is empty.
        schema: for each row a key that it shares with what may not be seen beside it.
        left_out: copies, and versions for which there is no test, with the reason.
    """

    tests: dict[str, tuple[int, ...]]
    schema: tuple[str, ...]
    left_out: tuple[Dropped, ...]


def deal(dataset: Dataset, versions: Sequence[str], seed: int) -> Dealt:
    """Deal the versions of each schema to tests at random, one a test.

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
        order = sorted(texts, key=lambda text: place(seed, "half", text))
        tests = names if len(texts) >= len(names) else sorted(
            names, key=lambda name: place(seed, "test", name, key)
        )  # fmt: skip
        for name, text in zip(tests, order, strict=False):
            where.update(dict.fromkeys(texts[text], name))
        for text in order[len(names) :]:
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


def _no_test(texts: int, names: Sequence[str]) -> str:
    return f"its schema has {texts} versions, and there are {len(names)} tests"


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
