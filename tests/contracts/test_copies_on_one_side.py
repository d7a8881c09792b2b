"""Copies of a problem are one observation: no split has them in both training and test."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from winosmith import Dataset, build, debias
from winosmith.build._filtering import Filtering
from winosmith.models._texts import read_questions
from winosmith.outputs import OutputFolder
from winosmith.parallel import no_progress
from winosmith.testing import make_twins

COPIES = 3
ONCE = make_twins(60, seed=4)
THRICE = Dataset(
    replace(problem, id=f"{problem.id}, {copy}", twin_id=f"{problem.twin_id}, {copy}")
    for copy in range(COPIES)
    for problem in ONCE
)
"""Three copies of each problem, in twins with separate ids."""

NOISE = np.random.default_rng(0).standard_normal((len(ONCE), 90)).astype(np.float32)
"""Vectors that are independent of the answers but identify each problem."""


@cache
def run_and_measure(copies: int, method: Any) -> tuple[build.FilterRun, build.Measures]:
    """Return a filter's run on one or three copies of the problems, and its measures."""
    data = ONCE if copies == 1 else THRICE
    chosen = build.FilterRecipe(
        method=method,
        ensemble_size=16,
        train_size=20 * copies,
        cutoff=4 * copies,
        null_draws=40,
    )
    run = build.run_filter(data, np.tile(NOISE, (copies, 1)), chosen, seed=0)
    filtering = Filtering(
        build.EmbedRecipe(), chosen, 0, 0, OutputFolder("unused", {}), no_progress
    )
    return run, filtering.measure(run, digest=data.digest, n=len(data), shown=())


def test_copies_change_neither_accuracy_nor_its_interval():
    """The accuracy of a linear model differs only by noise; its interval is not narrower."""
    once, thrice = (run_and_measure(copies, "none")[1].before for copies in (1, COPIES))
    assert once is not None
    assert thrice is not None
    assert thrice.n == COPIES * once.n
    assert thrice.accuracy == pytest.approx(once.accuracy, abs=0.06)
    assert thrice.high - thrice.low > 0.95 * (once.high - once.low)
    assert thrice.accuracy < 0.6


def test_copies_do_not_make_the_answer_axis_significant():
    """The axis is never tested on copies of the problems to which it was fitted."""
    [subset] = run_and_measure(COPIES, "none")[1].assessment.subsets
    assert subset.axis.null is not None
    assert subset.axis.null.p > 0.05


def test_null_flips_the_answers_of_copies_together():
    """AFLite learns from copies, and so does its null. Hence, there is no excess."""
    excess = run_and_measure(COPIES, "aflite")[1].threshold_null
    assert excess is not None
    assert excess.value > 20
    assert excess.value <= excess.high


def test_copies_do_not_raise_the_accuracy_of_verify():
    """No problem is predicted from its copy or from the other half of its twin."""
    run, _ = run_and_measure(COPIES, "none")
    found = debias.verify(run.X, run.y, lambda rows: rows, blocks=run.blocks, splits=2, draws=20)
    assert found.before[debias.LINEAR].accuracy < 0.6
    assert found.before[debias.TWO_PIECE].accuracy < 0.6


def test_words_repeated_only_in_copies_are_not_clues():
    twin = make_twins(1)
    data = Dataset(
        replace(half, id=f"{half.id}, {copy}", twin_id=f"{copy}")
        for copy in range(12)
        for half in twin
    )
    assert debias.find_associations(data, z=0.1).count_clue_directions(range(24)).toward == 0


def test_p_value_of_fine_tuning_counts_copies_once():
    """Five copies of one correct problem have p = 1/2; five different problems have 1/32."""
    singles = make_twins(0, singles=5, seed=1)
    copied = Dataset(replace(singles[0], id=f"{n}", twin_id=None) for n in range(5))
    p_values = []
    for data in (singles, copied):
        asked = read_questions(data, "measure")
        scores = np.array([[a == 0, a == 1] for a in asked.answers], np.float32).reshape(-1)
        right, p_value = asked.evaluate(scores)
        assert right == 5
        p_values.append(p_value)
    assert p_values == [1 / 32, 1 / 2]
