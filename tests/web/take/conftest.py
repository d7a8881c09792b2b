"""Rounds of handwritten twins, and sheets that are filled in."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.web.making import fresh
from tests.web.working import work_off
from winosmith import Dataset, Problem as Datum, practice

_numbers = itertools.count(1)


def asked(sitting: Any) -> set[str]:
    """Return the ids of the problems on a sheet."""
    return {item["problem"] for item in sitting.sheet.record["items"]}


@pytest.fixture
def usual() -> dict[str, Any]:
    """Return rules without gold questions."""
    return {"gold_every": 0}


def twins(count: int, start: int = 0, singles: int = 0) -> Dataset:
    """Return handwritten twins, and singles from other twins, under ids of this call only."""
    mark = next(_numbers)
    held = practice.read_handwritten()
    pairs = [[held[row] for row in rows] for rows in held.twins[start : start + count + singles]]
    whole = [
        replace(half, id=f"h{mark}-{at}-{n}", twin_id=f"h{mark}-{at}")
        for at, pair in enumerate(pairs[:count])
        for n, half in enumerate(pair)
    ]
    lone: list[Datum] = [
        replace(pair[0], id=f"h{mark}-lone-{at}", twin_id=None)
        for at, pair in enumerate(pairs[count:])
    ]
    return Dataset([*whole, *lone], f"set{mark}")


@pytest.fixture
def opened(rules: Any) -> Callable[..., Any]:
    """Return a function that opens a round: `opened(twins(6), orders=2)`."""
    from winosmith.web.take.rounds import open_round

    def make(dataset: Dataset | None = None, **options: Any) -> Any:
        name = options.pop("name", f"round-{next(_numbers)}")
        return open_round(dataset if dataset is not None else twins(6), name, **options)[0]

    return make


def closed(round_: Any, **options: Any) -> Any:
    """Close a round, and compute its results; return the round."""
    from winosmith.web.take.rounds import close_round

    close_round(round_.name, **options)
    work_off()
    return fresh(round_)


def fill(person: Any, sitting: Any, *, seed: int = 0, finish: bool = True) -> dict[int, str]:
    """Answer every question of a sheet except the third; return the letters by number."""
    from winosmith.web.take.sheets import read_sheet, store_answer, submit_sheet as hand_in

    rng, given = np.random.default_rng(seed), {}
    for item in read_sheet(sitting.sheet).items:
        if item.number == 3:
            continue
        given[item.number] = str(rng.choice([*item.letters, *item.letters, "X"]))
        seconds = round(float(rng.uniform(4, 30)), 1)
        store_answer(
            person,
            sitting.ref,
            item.number,
            given[item.number],
            seconds,
            to=item.number + 1,
        )
    if finish:
        hand_in(person, sitting.ref)
    return given
