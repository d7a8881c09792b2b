"""The gender gap of WinoGrande's table 7, in both readings."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from tests.metrics.answering import choosing, right_but
from winosmith import Dataset, Prediction, Problem, formats
from winosmith.errors import DataError, SameInputError
from winosmith.metrics import Graded, find_possible_counts, grade, measure_gender_gap
from winosmith.problem import Extra
from winosmith.testing import make_twins

TABLE_7 = {
    "RULE": (38.3, 51.7, 10.0, 37.5, 28.3, 14.2),
    "STATS": (50.8, 61.7, 45.8, 40.0, 5.0, 21.7),
    "NEURAL": (50.8, 49.2, 36.7, 46.7, 14.1, 2.5),
    "RoBERTa-DPR": (98.3, 96.7, 96.7, 95.8, 1.6, 0.9),
    "RoBERTa-WG": (97.5, 96.7, 96.7, 97.5, 0.8, 0.8),
}
"""System → not gotcha F, M; gotcha F, M; |ΔF|, |ΔM| in percent, as printed (AAAI 2020)."""

FROM_COUNTS = {
    "RULE": (28.3, 14.2),
    "STATS": (5.0, 21.7),
    "NEURAL": (14.2, 2.5),
    "RoBERTa-DPR": (1.7, 0.8),
    "RoBERTa-WG": (0.8, -0.8),
}
"""System → ΔF, ΔM from the counts of 120, with their signs."""

WOMEN = {f"job{n}": 80.0 if n < 25 else 20.0 for n in range(60)}
"""Percentage of women: 25 of 60 occupations are mostly female."""


def schemas() -> Dataset:
    """Return 720 problems with Winogender's structure: 60 occupations with 12 problems each."""
    return Dataset(
        Problem(
            id=f"{job}.{other}.{answer}.{gender}",
            sentence=f"The {job} told the {other} that _ {('can', 'must')[answer]} {gender}.",
            options=(f"the {job}", f"the {other}"),
            answer=answer,
            extra=Extra({"winogender.occupation": job, "winogender.gender": gender}),
        )
        for job in WOMEN
        for answer in (0, 1)
        for other in (f"visitor-{job}", f"someone-{job}")
        for gender in ("female", "male", "neutral")
    )


DATA = schemas()


def is_gotcha(problem: Problem) -> bool:
    """Return whether the pronoun's gender is the minority in the correct answer, as captioned."""
    female = problem.extra["winogender.gender"] == "female"
    mostly = WOMEN[str(problem.extra["winogender.occupation"])] > 50
    return female != (mostly if problem.answer == 0 else not mostly)


def grade_cells(counts: dict[tuple[bool, str], int]) -> Graded:
    """Return the data graded so that each cell (gotcha, gender) has that many correct answers."""
    left, wrong = dict(counts), list[str]()
    for problem in DATA:
        cell = (is_gotcha(problem), str(problem.extra["winogender.gender"]))
        if left.get(cell, 1) <= 0:
            wrong.append(problem.id)
        left[cell] = left.get(cell, 1) - (cell in left)
    return right_but(DATA, wrong)


@pytest.mark.parametrize("system", TABLE_7)
def test_every_cell_of_table_7_is_a_count_of_120(system):
    """Each percentage is possible for one count only; printed gaps are of the rounded cells."""
    *cells, printed_f, printed_m = TABLE_7[system]
    counts = [find_possible_counts(f"{cell:.1f}", 120) for cell in cells]
    assert all(len(found) == 1 for found in counts)
    names = [(False, "female"), (False, "male"), (True, "female"), (True, "male")]
    found = measure_gender_gap(
        grade_cells(dict(zip(names, (c[0] for c in counts), strict=True))), WOMEN
    )
    female, male = found.female, found.male
    shown = [female.plain, male.plain, female.gotcha, male.gotcha]
    assert [cell.n for cell in shown] == [120] * 4
    assert [round(100 * cell.value, 1) for cell in shown] == cells
    assert (abs(female.of_rounded), abs(male.of_rounded)) == (printed_f, printed_m)
    from_counts = (round(100 * female.value, 1), round(100 * male.value, 1))
    assert from_counts == FROM_COUNTS[system]
    assert female.interval[0] <= female.value <= female.interval[1]
    assert found.both.value == pytest.approx((female.value + male.value) / 2)


def test_occupation_reading_has_cells_of_100_and_140():
    """Gotchas by the occupation's majority only: 25 of 60 are mostly female."""
    found = measure_gender_gap(right_but(DATA), WOMEN, reading="occupation")
    sizes = (found.female.plain.n, found.female.gotcha.n, found.male.plain.n, found.male.gotcha.n)
    assert sizes == (100, 140, 140, 100)
    assert "gotcha:occupation" in str(found.signature)


def test_stereotyped_solver_has_the_largest_gap():
    """It is incorrect exactly for gotchas."""
    graded = right_but(DATA, is_gotcha)
    found = measure_gender_gap(graded, WOMEN)
    assert (found.female.value, found.male.value, found.both.value) == (1.0, 1.0, 1.0)
    assert "same sentences: +100.0 points (+" in found.pronoun_effect
    by_occupation = measure_gender_gap(graded, WOMEN, reading="occupation")
    assert (by_occupation.female.value, by_occupation.male.value) == (0.0, 0.0)


def test_interval_of_a_zero_gap_has_a_width():
    """So few occupations can't exclude a small gap."""
    found = measure_gender_gap(right_but(DATA), WOMEN)
    for gap in (found.female, found.male, found.both):
        low, high = gap.interval
        assert gap.value == 0
        assert -0.2 < low < 0 < high < 0.2
        assert low == pytest.approx(-high, abs=0.01)


def test_other_data_and_unknown_occupations_are_refused():
    with pytest.raises(DataError, match="needs Winogender problems"):
        measure_gender_gap(right_but(make_twins(3)), WOMEN)
    with pytest.raises(DataError, match="the percentage of women is missing for 'job0'"):
        measure_gender_gap(right_but(DATA), {k: v for k, v in WOMEN.items() if k != "job0"})


@examples(10)  # each resamples the occupations
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_gap_of_a_solver_without_the_pronoun_is_refused(seed, told):
    """For versions with equal inputs, ΔM = −ΔF by arithmetic.

    It is refused whether the predictions file states the solver's input or not.
    """
    hidden = Dataset(
        replace(p, sentence=p.sentence.rsplit(" ", 1)[0] + ".", pronoun=("he", "she")[female])
        for p in DATA
        if (female := p.extra["winogender.gender"] == "female") or p.id.endswith(".male")
    )
    rng = np.random.default_rng(seed)
    answers: dict[str, int] = {}
    given = [
        Prediction(p.id, answers.setdefault(p.id.rsplit(".", 1)[0], int(rng.integers(2))))
        for p in hidden
    ]
    blank = grade(hidden, given, parameters={"sees": "blank"} if told else None)
    with pytest.raises(SameInputError, match="can't be compared: the 240 inputs of 'female'"):
        measure_gender_gap(blank, WOMEN)
    seen = measure_gender_gap(grade(hidden, given, parameters={"sees": "pronoun"}), WOMEN)
    assert seen.male.value == pytest.approx(-seen.female.value)
    assert seen.both.value == 0.0  # the pronoun had no effect, whatever ΔF and ΔM are
    assert "sees:pronoun" in str(seen.signature)


@pytest.mark.data
@pytest.mark.parametrize("column", ["bls_pct_female", "bergsma_pct_female"])
def test_published_sentences_have_cells_of_120(data_dir, column):
    data = formats.read(data_dir / "winogender/all_sentences.tsv")
    with (data_dir / "winogender/occupations-stats.tsv").open() as file:
        women = {
            row["occupation"]: float(row[column]) for row in csv.DictReader(file, delimiter="\t")
        }
    choices = np.random.default_rng(0).integers(0, 2, 720)
    found = measure_gender_gap(choosing(data, choices), women)
    cells = (found.female.plain, found.female.gotcha, found.male.plain, found.male.gotcha)
    assert [cell.n for cell in cells] == [120] * 4
    assert found.accuracy.n == 720
