"""What tells a mutant's tests, and puts its code in place."""

from __future__ import annotations

import pytest

from tests.mutants.changes import Spot, replaced, spot

TEXT = """
import functools

LIMIT = 3


@functools.cache
def made(count=2):
    if (
        count > LIMIT
    ):
        return [n for n in range(count)]
    return []


class Kept:
    size = 1

    def held(self):
        return self.size


TABLE = made()
"""


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("LIMIT = 3", "LIMIT = 4", Spot(4, True, frozenset(), frozenset({"LIMIT"}))),
        ("count=2", "count=3", Spot(8, True, frozenset({9, 10, 11, 12, 13}), frozenset({"made"}))),
        ("count > LIMIT", "count < LIMIT", Spot(10, True, frozenset({9, 10, 11}))),
        ("size = 1", "size = 2", Spot(17, True, frozenset(), frozenset({"size"}))),
        ("self.size", "not self.size", Spot(20, False, frozenset({20}))),
    ],
)
def test_a_change_is_sought_where_it_is_executed(one: str, other: str, found: Spot) -> None:
    """In a function those are its statement's lines, and else those of what it defines.

    What a module calls while it is loaded is executed then.
    """
    assert spot(TEXT, TEXT.replace(one, other)) == found


def test_a_function_gets_the_code_that_was_changed_within_it() -> None:
    """So does one that was made within another; what is executed on loading is loaded anew."""
    codes = [
        compile(TEXT.replace("range(count)", f"range({count})"), "made.py", "exec")
        for count in ("count", "count - 1")
    ]
    pairs = replaced(*codes)
    assert pairs is not None
    assert [one.co_name for one, _ in pairs] == ["made", "<listcomp>"][: len(pairs)]
    names: dict[str, object] = {}
    exec(codes[0], names)  # noqa: S102 - this file's own text
    made = names["made"].__wrapped__  # type: ignore[attr-defined]
    assert made.__code__ == pairs[0][0]
    made.__code__ = pairs[0][1]
    assert made(5) == [0, 1, 2, 3]
    anew = compile(TEXT.replace("LIMIT = 3", "LIMIT = 4"), "made.py", "exec")
    assert replaced(codes[0], anew) is None
