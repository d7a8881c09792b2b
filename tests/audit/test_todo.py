"""The worklist of options to lengthen (`winosmith.audit.list_rewrites`)."""

from dataclasses import replace
from io import StringIO

from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith.audit import list_rewrites, write_rewrites
from winosmith.problem import Problem

LENGTHS = st.lists(st.integers(1, 6), min_size=2, max_size=5)


def problem(n: int, lengths: list[int], key: int) -> Problem:
    options = tuple(chr(97 + at) + "x" * length for at, length in enumerate(lengths))
    return Problem(f"q{n}", "Which?", options, key % len(options), blank=None)


def compute_surplus(problems: list[Problem]) -> float:
    """Return the number of items beyond chance whose key is the longest option."""
    found = 0.0
    for one in problems:
        lengths = [*map(len, one.options)]
        if len({*lengths}) > 1 and one.answer is not None:
            is_longest = lengths[one.answer] == max(lengths)
            found += is_longest / lengths.count(max(lengths)) - 1 / len(lengths)
    return found


@examples(100)
@given(items=st.lists(st.tuples(LENGTHS, st.integers(0, 4)), max_size=30))
def test_rewrites_bring_the_longest_option_to_chance(items):
    """No rewrite is superfluous: before each of them, a surplus is left."""
    problems = [problem(n, *one) for n, one in enumerate(items)]
    rewrites = list_rewrites(problems)
    at = {one.id: row for row, one in enumerate(problems)}
    left = compute_surplus(problems)
    for rewrite in rewrites:
        assert left > 0
        row = at[rewrite.id]
        options = [*problems[row].options]
        assert options[rewrite.option] == rewrite.text
        options[rewrite.option] += "x" * rewrite.missing
        problems[row] = replace(problems[row], options=tuple(options))
        left = compute_surplus(problems)
    keys = [(len(one.options[one.answer or 0]), sorted(map(len, one.options))) for one in problems]
    assert left < 1e-9 or not any(key > lengths[-2] for key, lengths in keys)
    assert [one.missing for one in rewrites] == sorted(one.missing for one in rewrites)


def test_table_and_problems_have_equal_rewrites():
    rows = [{"id": f"q{n}", "question": "Which?", "A": "a longer one", "B": "b", "answer": "A"}
            for n in range(4)]  # fmt: skip
    items = [Problem(f"q{n}", "Which?", ("a longer one", "b"), 0, blank=None) for n in range(4)]
    assert list_rewrites(rows) == list_rewrites(items) != []


def test_white_space_around_an_option_does_not_count():
    """The cue of the longest option ignores it, too."""
    padded = "a long one" + " " * 5
    items = [Problem(f"q{n}", "Which?", (padded, "bb but longer"), 0, blank=None) for n in range(4)]
    assert list_rewrites(items) == []


def test_markup_is_escaped_in_worklists():
    items = [Problem(f"q{n}", "Which?", ("a longer one", "=1<b>"), 0, blank=None) for n in range(4)]
    file = StringIO()
    write_rewrites(list_rewrites(items), file)
    assert "- [ ] q0: option 2, “\\=1\\<b\\>”: add 8 characters or more" in file.getvalue()
