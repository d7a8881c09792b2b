"""The exact probability that guessing does as well, with twins kept together."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from tests.metrics.answering import choosing
from winosmith import Dataset, Prediction, Problem
from winosmith.metrics import find_clusters, grade, guessing_p_value
from winosmith.testing import make_twins


def make_problems(count: int, options: int) -> Dataset:
    """Return similar problems with this many options, the first of which is correct."""
    return Dataset(
        Problem(f"{n}", f"Number {n} of {options} says _ here. {f'{options}-{n}' * 9}",
                tuple("abcde"[:options]), 0)
        for n in range(count)
    )  # fmt: skip


def make_copies(groups: int, times: int) -> Dataset:
    """Return problems of three options, each copied with its options in random orders."""
    rng = np.random.default_rng(7)
    names = np.array(["a", "b", "c"])
    rows = []
    for group in range(groups):
        words = " ".join(f"{letter}{group}x" for letter in "pqrst")
        for time in range(times):
            options = tuple(rng.permutation(names).tolist())
            sentence = f"{words} says _ here."
            rows.append(Problem(f"{group}-{time}", sentence, options, options.index("a")))
    return Dataset(rows)


@pytest.mark.parametrize("right", [0, 10, 14, 20])
def test_p_value_of_singles_is_the_binomial_tests(right):
    data = make_twins(0, singles=20)
    choices = [(p.answer or 0) ^ (row >= right) for row, p in enumerate(data)]
    expected = binom.sf(right - 1, 20, 0.5)
    assert guessing_p_value(choosing(data, choices)) == pytest.approx(expected)


def test_chance_of_four_options_is_one_quarter():
    """Similar problems are one cluster: three correct answers have p = 1/4, not 1/64."""
    data = make_problems(3, 4)
    found = choosing(data, [0] * 3)
    assert found.chances.mean() == 0.25
    assert len(set(found.clusters)) == 1
    assert guessing_p_value(found) == 0.25
    apart = Dataset(
        replace(p, sentence=f"Some {word} words of {word} and _ for {word}.")
        for p, word in zip(data, ("red", "green", "blue"), strict=True)
    )
    assert len(set(choosing(apart, [0] * 3).clusters)) == 3
    assert guessing_p_value(choosing(apart, [0] * 3)) == pytest.approx(1 / 64)
    six = make_problems(6, 4)
    assert len({*find_clusters(six)}) == 1
    for choices, p_value in (([0, 0, 1, 1, 1, 1], 0.5), ([0, 1, 2, 3, 3, 3], 1.0)):
        assert guessing_p_value(choosing(six, choices)) == p_value


def test_ties_are_counted_under_each_shift_of_the_key():
    """A copy tied between two of three options has 1/2 in two of the shifts, and 0 in the third."""
    data = make_copies(1, 2)
    sure = Prediction(data.ids[0], data[0].options.index("a"))
    pair = sorted(data[1].options.index(name) for name in "ab")
    tie = Prediction(data.ids[1], pair[0], tied=tuple(pair))
    assert guessing_p_value(grade(data, [sure, tie])) == pytest.approx(1 / 3)
    other = Prediction(data.ids[0], data[0].options.index("c"))
    assert guessing_p_value(grade(data, [other, tie])) == pytest.approx(1)


@pytest.mark.parametrize(
    ("ties", "within"), [([17, 19, 23, 25] * 2, 1e-9), ([17, 19, 23, 24, 25] * 2, 0.015)]
)
def test_p_value_with_ties_among_many_options_is_exact(ties, within):
    """Or near the exact value, if shifts are drawn at random."""
    data = Dataset(
        Problem(f"q{n}", f"Which is {n}?", tuple(f"{chr(97 + at)}{n}" for at in range(26)), 0,
                blank=None)
        for n in range(len(ties))
    )  # fmt: skip
    given = [Prediction(f"q{n}", 0, tied=tuple(range(tie))) for n, tie in enumerate(ties)]
    given[-1] = Prediction(data.ids[-1], 25, tied=tuple(range(1, 26)))
    seen = sum(1 / tie for tie in ties[:-1])
    exact = 0.0
    for right in product((False, True), repeat=len(ties)):
        if sum(is_ / tie for is_, tie in zip(right, ties, strict=True)) >= seen - 1e-9:
            shares = [t / 26 if is_ else 1 - t / 26 for is_, t in zip(right, ties, strict=True)]
            exact += float(np.prod(shares))
    assert guessing_p_value(grade(data, given)) == pytest.approx(exact, abs=within)


def test_p_value_of_ties_only_is_1():
    data = make_twins(0, singles=9)
    ties = [Prediction(p.id, 0, tied=(0, 1)) for p in data]
    assert guessing_p_value(grade(data, ties)) == 1.0
    knows = [Prediction(data.ids[0], data[0].answer or 0), *ties[1:]]
    assert guessing_p_value(grade(data, knows)) == 0.5


def test_p_value_of_always_the_first_option_is_1():
    """Such a solver is correct for one half of each twin."""
    assert guessing_p_value(choosing(make_twins(40), [0] * 80)) == 1.0


@pytest.mark.parametrize("valid", [0, 8, 16, 20])
def test_invalid_answers_are_guesses_under_the_null(valid):
    """All valid answers are correct; guesses on all 20 problems are right as often as 20 coins."""
    data = make_twins(0, singles=20)
    said = [Prediction(p.id, p.answer) for p in data]
    said[valid:] = [Prediction(p.id, None) for p in data[valid:]]
    expected = binom.sf(valid - 1, 20, 0.5)
    assert guessing_p_value(grade(data, said)) == pytest.approx(expected)


@pytest.mark.parametrize(("right", "p_value"), [(False, 1 / 64), (True, 1.0)])
def test_invalid_answers_are_incorrect_in_the_lower_tail(right, p_value):
    """Each of six twins has an invalid answer; the other half is incorrect or correct."""
    said = [
        Prediction(p.id, None if at % 2 else (p.answer or 0) ^ (not right))
        for at, p in enumerate(make_twins(6))
    ]
    assert guessing_p_value(grade(make_twins(6), said), lower_tail=True) == p_value


@pytest.mark.long
def test_guessers_on_twins_rarely_have_small_p_values():
    data = make_twins(40)
    rng = np.random.default_rng(3)
    lucky = 0
    for _ in range(400):
        same = rng.random(40) < 0.7  # twins with the same guess for both halves
        first = rng.integers(0, 2, 40)
        second = np.where(same, first, 1 - first)
        choices = np.stack([first, second], axis=1).ravel().tolist()
        lucky += guessing_p_value(choosing(data, choices)) <= 0.05
    assert lucky <= binom.ppf(0.999, 400, 0.05)


@pytest.mark.long
@pytest.mark.parametrize("alike", [1.0, 0.8])
def test_guessers_on_copies_rarely_have_small_p_values(alike):
    data = make_copies(20, 8)
    known = find_clusters(data)
    assert len(set(known)) == 20
    rng = np.random.default_rng(11)
    lucky = 0
    for _ in range(500):
        group = rng.integers(0, 3, 20).repeat(8)  # one guess for all copies
        own = rng.integers(0, 3, 160)
        named = np.where(rng.random(160) < alike, group, own)
        found = [
            Prediction(p.id, p.options.index("abc"[name]))
            for p, name in zip(data, named, strict=True)
        ]
        lucky += guessing_p_value(grade(data, found, known)) <= 0.05
    assert lucky <= 0.06 * 500
