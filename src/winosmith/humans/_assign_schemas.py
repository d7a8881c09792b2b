"""Which problems one person may not see together, and how their versions are dealt to tests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from winosmith.blocks import blocks, joined
from winosmith.dataset import Dataset, Dropped
from winosmith.humans._sheet import COMMON
from winosmith.humans._sheet_text import question_key, text_key

__all__ = ["Dealt", "deal", "place", "schemas"]

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
