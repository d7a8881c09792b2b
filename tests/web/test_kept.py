"""Figures over all problems are those of this moment on a small site, and kept on a large one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pytest

from winosmith.web._kept import RefreshedValue, cached, cached_each

pytestmark = pytest.mark.usefixtures("forgotten")


@dataclass
class Found:
    """Figures of so many problems."""

    problems: int


def test_small_figures_are_of_this_moment(site: Any) -> None:
    """Below a thousand problems every call counts anew."""
    numbers = iter((7, 999, 8))
    assert [cached("small", lambda: Found(next(numbers))).problems for _ in range(3)] == [7, 999, 8]


@pytest.mark.parametrize(("problems", "seconds"), [(1000, 1), (50_999, 50), (10**6, 600)])
def test_large_figures_are_kept_for_longer(
    site: Any, monkeypatch: pytest.MonkeyPatch, problems: int, seconds: int
) -> None:
    """They last a second for every thousand problems, ten minutes at most; others are others'."""
    now = time.time()
    numbers = iter((problems, 5, 6))

    def figures(name: str) -> int:
        return cached(name, lambda: Found(next(numbers))).problems

    monkeypatch.setattr(time, "time", lambda: now)
    assert [figures("large"), figures("large"), figures("other")] == [problems, problems, 5]
    monkeypatch.setattr(time, "time", lambda: now + seconds - 0.5)
    assert figures("large") == problems
    monkeypatch.setattr(time, "time", lambda: now + seconds + 0.5)
    assert figures("large") == 6


def test_each_of_several_is_kept_for_its_own_number(site: Any) -> None:
    """Of several only those are counted again, all at once, that have few problems."""
    asked: list[list[int]] = []

    def count(keys: list[int]) -> dict[int, Found]:
        asked.append(keys)
        return {key: Found(key) for key in keys}

    for keys in ([5, 900_000], [5, 900_000, 7]):
        found = cached_each("each", keys, count)
        assert {key: one.problems for key, one in found.items()} == {key: key for key in keys}
    assert asked == [[5, 900_000], [5, 7]]


def test_a_value_that_cannot_be_made_again_stays() -> None:
    """The first fault is raised, as there is nothing to show; a later one leaves the old value."""
    values: list[int | None] = [None, 1, None, 2]

    def make() -> int:
        value = values.pop(0)
        if value is None:
            raise OSError("the database is away")
        return value

    kept = RefreshedValue(make)
    with pytest.raises(OSError, match="away"):
        kept.latest()
    assert [kept.latest(), kept.latest(), kept.latest()] == [1, 1, 1]
    assert values == [2]
    kept.clear()
    assert kept.latest() == 2
