"""Statistics over all problems: current on a small site, cached on a large one."""

import time

import pytest

from winosmith.web._cache import RefreshedValue, get_cached_stats, get_cached_stats_by_key

pytestmark = pytest.mark.usefixtures("forgotten")


def test_stats_of_fewer_than_1000_problems_are_not_cached(site):
    found = iter(((7, "a"), (999, None), (8, "c")))
    assert [get_cached_stats("small", lambda: next(found)) for _ in range(3)] == ["a", None, "c"]


@pytest.mark.parametrize(("problems", "seconds"), [(1000, 1), (50_999, 50), (10**6, 600)])
def test_stats_of_more_problems_are_cached_for_longer(site, monkeypatch, problems, seconds):
    """One second per thousand problems, and at most ten minutes; each name has its own entry."""
    now = time.time()
    found = iter(((problems, None), (5, 5), (6, 6)))

    def figures(name: str) -> int | None:
        return get_cached_stats(name, lambda: next(found))

    monkeypatch.setattr(time, "time", lambda: now)
    assert [figures("large"), figures("large"), figures("other")] == [None, None, 5]
    monkeypatch.setattr(time, "time", lambda: now + seconds - 0.5)
    assert figures("large") is None
    monkeypatch.setattr(time, "time", lambda: now + seconds + 0.5)
    assert figures("large") == 6


def test_by_key_only_small_and_new_stats_are_recomputed(site):
    asked: list[list[int]] = []

    def count(keys: list[int]) -> dict[int, tuple[int, int]]:
        asked.append(keys)
        return {key: (key, -key) for key in keys}

    for keys in ([5, 900_000], [5, 900_000, 7]):
        assert get_cached_stats_by_key("each", keys, count) == {key: -key for key in keys}
    assert asked == [[5, 900_000], [5, 7]]


def test_failed_refresh_keeps_the_old_value():
    """The first failure is raised, as there is no value yet."""
    values: list[int | None] = [None, 1, None, 2]

    def make() -> int:
        value = values.pop(0)
        if value is None:
            raise OSError("the database is away")
        return value

    kept = RefreshedValue(make)
    with pytest.raises(OSError, match="away"):
        kept.get()
    assert [kept.get(), kept.get(), kept.get()] == [1, 1, 1]
    assert values == [2]
    kept.clear()
    assert kept.get() == 2
