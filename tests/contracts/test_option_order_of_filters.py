"""Filters, probes and the numbers in a filter's report ignore which option is written first.

Exceptions concern the position itself: the number of answers at each position, vectors of
`concat` and imported vectors, whose probes have an intercept, and the agreement of judges, whose
categories are the positions. Another is PMI filtering with the label "option-1", as in the
paper, where the label is the first option. AFLite's classifiers have an intercept, as in
Algorithm 1; its effect is noise, like that of another seed.
"""

from collections.abc import Collection
from dataclasses import replace
from itertools import combinations
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Problem, blocks, build, debias, embed, metrics, practice
from winosmith.build._filtering import Filtering
from winosmith.outputs import OutputFolder
from winosmith.parallel import no_progress
from winosmith.testing import make_twins

CROSSED = (
    Problem("x-a", "Ann thanked Beth as _ was glad.", ("Ann", "Beth"), 0, "x"),
    Problem("x-b", "Beth thanked Ann as _ was kind.", ("Ann", "Beth"), 0, "x"),
    Problem("y-a", "The _ fell.", ("cup", "jug"), 1, "y"),
    Problem("y-b", "The _ rose.", ("jug", "cup"), 1, "y"),
    Problem("z-a", "They saw old Ann and new Ann, and the _ won.", ("old Ann", "new Ann"), 0, "z"),
    Problem("z-b", "They saw old Ann and new Ann, and the _ lost.", ("new Ann", "old Ann"), 0, "z"),
)
"""Twins that mention their options in two orders or not at all, or write them in two orders."""

COPIES = tuple(
    replace(problem, id=f"{problem.id}, copied", twin_id="copied", options=problem.options[::-1],
            answer=1 - (problem.answer or 0))
    for problem in make_twins(1)
)  # fmt: skip

DATA = Dataset([*make_twins(14, singles=9, seed=2), *CROSSED, *COPIES])
ROWS = range(len(DATA))
SWAPS = st.sets(st.sampled_from(ROWS))


def swap_options_of(data: Dataset, rows: Collection[int]) -> Dataset:
    """Return the data with the options and answers of some problems swapped."""
    return Dataset(
        replace(problem, options=problem.options[::-1], answer=1 - problem.answer)
        if row in rows and problem.answer is not None
        else problem
        for row, problem in enumerate(data)
    )


@pytest.mark.parametrize("variant", get_args(debias.PmiVariant))
@given(rows=SWAPS, size=st.integers(0, len(DATA)))
@examples(40)
def test_pmi_filtering_ignores_the_order_of_options(variant, rows, size):
    there, turned = (
        debias.pmi(data, size=size, variant=variant) for data in (DATA, swap_options_of(DATA, rows))
    )
    np.testing.assert_array_equal(there.scores, turned.scores)
    assert there.kept.tolist() == turned.kept.tolist()


def test_halves_of_a_twin_share_their_first_mentioned_option():
    """The halves may mention their options in different orders."""
    data = Dataset(CROSSED)
    first = [
        data[row].options[k] for row, k in enumerate(metrics.find_first_mentioned_options(data))
    ]
    assert first == ["Ann", "Ann", "cup", "cup", "old Ann", "old Ann"]
    assert metrics.find_first_mentioned(data[1]) == 1  # without its twin, Beth is first


@given(rows=SWAPS, seed=st.integers(0, 9))
def test_block_shuffle_ignores_the_order_of_options(rows, seed):
    orders = [blocks.shuffle(data, seed) for data in (DATA, swap_options_of(DATA, rows))]
    assert orders[0][0].ids == orders[1][0].ids
    assert orders[0][1] == orders[1][1]


@given(rows=SWAPS)
def test_clues_ignore_the_order_of_options(rows):
    cars = [
        Problem(f"c{n}", f"In {n} a red car passed the blue car and the _ was fast.",
                ("red car", "blue car"), 0)
        for n in range(12)
    ]  # fmt: skip
    made = Dataset([*cars, *practice.generate_corpus(40, seed=5).dataset])
    told = []
    for data in (made, swap_options_of(made, rows)):
        clues = debias.find_associations(data, z=1.5).clues
        told.append(
            [
                [(c.kind, c.words, data[row].options[c.option], c.toward, c.right, c.wrong, c.z)
                 for c in found]
                for row, found in enumerate(clues)
            ]
        )  # fmt: skip
    assert told[0] == told[1]


@pytest.mark.parametrize("method", ["mirror", "pmi", "random", "none"])
@given(rows=SWAPS)
@examples(8)
def test_filter_measures_ignore_the_order_of_options(method, rows):
    keep = None if method in ("mirror", "none") else 20
    chosen = build.FilterRecipe(method=method, keep=keep, aim="chance", null_draws=20)
    records = []
    for data in (DATA, swap_options_of(DATA, rows)):
        X = embed.LightEmbedder(64).embed(data)
        run = build.run_filter(data, X, chosen, seed=1)
        filtering = Filtering(
            build.EmbedRecipe(), chosen, 0, 1, OutputFolder("unused", {}), no_progress
        )
        measures = filtering.measure(run, digest=DATA.digest, n=len(DATA), shown=ROWS)
        record = measures.record()
        for subset in record["assessment"]["subsets"]:
            del subset["answers"]  # depends on the order of options by definition
        records.append((run.kept.tolist(), run.reasons, record))
    assert records[0] == records[1]


def test_swapped_options_change_aflite_no_more_than_a_seed():
    data = practice.generate_corpus(150, seed=7, strength=0.5).dataset
    m, k = debias.suggest_sizes(len(data))

    def removed(which: Dataset, seed: int) -> frozenset[int]:
        X = embed.LightEmbedder(64).embed(which)
        y = debias.get_problem_labels(which)
        found = debias.aflite(X, y, train_size=m, cutoff=k, ids=which.ids, seed=seed)
        return frozenset(range(len(which))) - set(found.kept.tolist())

    rng = np.random.default_rng(0)
    turned = [
        swap_options_of(data, set(np.flatnonzero(rng.random(len(data)) < 0.5))) for _ in range(4)
    ]
    by_seed = [removed(data, seed) for seed in range(4)]
    by_swap = [removed(other, 0) for other in turned]
    alike_by_seed = [_jaccard(a, b) for a, b in combinations(by_seed, 2)]
    alike_by_swap = [_jaccard(by_seed[0], other) for other in by_swap]
    assert np.mean(alike_by_swap) > np.mean(alike_by_seed) - 0.1
    sizes = [len(found) for found in by_seed]
    spread = 4 * (np.std(sizes) + 3)
    assert all(abs(len(found) - np.mean(sizes)) < spread for found in by_swap)


def _jaccard(a: frozenset[int], b: frozenset[int]) -> float:
    return len(a & b) / len(a | b)
