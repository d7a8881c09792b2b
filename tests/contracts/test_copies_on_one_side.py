"""Copies are one observation: what holds one out has learnt from none of the others."""

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
"""Every problem three times over, in twins that know nothing of each other."""

NOISE = np.random.default_rng(0).standard_normal((len(ONCE), 90)).astype(np.float32)
"""Vectors that say nothing of the answers, but tell each problem from all others."""


@cache
def measured(copies: int, method: Any) -> tuple[build.FilterRun, build.Measures]:
    """Return a filter on the problems once or more, and its figures."""
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


def test_every_problem_thrice_has_the_figure_of_every_problem_once() -> None:
    """What a linear model guesses is within noise the same, and its interval no narrower."""
    once, thrice = (measured(copies, "none")[1].before for copies in (1, COPIES))
    assert once is not None
    assert thrice is not None
    assert thrice.n == COPIES * once.n
    assert thrice.accuracy == pytest.approx(once.accuracy, abs=0.06)
    assert thrice.high - thrice.low > 0.95 * (once.high - once.low)
    assert thrice.accuracy < 0.6


def test_what_a_direction_is_read_on_it_was_not_fitted_on() -> None:
    """The answer axis shows nothing where problems can be told apart by their copies alone."""
    [subset] = measured(COPIES, "none")[1].assessment.subsets
    assert subset.axis.null is not None
    assert subset.axis.null.p > 0.05


def test_a_null_flips_copies_together() -> None:
    """AFLite finds copies by copies, and so does its null: the excess is none."""
    excess = measured(COPIES, "aflite")[1].threshold_null
    assert excess is not None
    assert excess.value > 20
    assert excess.value <= excess.high


def test_one_half_of_the_data_does_not_tell_of_copies_in_the_other() -> None:
    """Across halves no problem is asked of whom a copy or its other half was learnt."""
    run, _ = measured(COPIES, "none")
    found = debias.verify(run.X, run.y, lambda rows: rows, blocks=run.blocks, splits=2, draws=20)
    assert found.before[debias.LINEAR].accuracy < 0.6
    assert found.before[debias.TWO_PIECE].accuracy < 0.6


def test_copies_are_no_clue() -> None:
    """Words of one twin, written down twelve times, meet the right option in no other twin."""
    twin = make_twins(1)
    data = Dataset(
        replace(half, id=f"{half.id}, {copy}", twin_id=f"{copy}")
        for copy in range(12)
        for half in twin
    )
    assert debias.find_associations(data, z=0.1).count_clue_directions(range(24)).toward == 0


def test_fine_tuning_is_above_chance_by_different_problems_alone() -> None:
    """Five rights of one problem that is there five times are one, with p = 1/2."""
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
