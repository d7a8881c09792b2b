"""The baselines: filtering by PMI, and random reduction."""

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Problem, debias, formats, metrics, practice
from winosmith.errors import DataError, InputError
from winosmith.problem import BLANK
from winosmith.testing import make_twins
from winosmith.text import tokenize

VARIANTS = ("signed", "absolute", "max", "pairwise")


def half(number: int, twin: str | None, word: str, answer: int, start: str = "They say") -> Problem:
    """Return a problem whose sentence ends in the given word."""
    return Problem(
        id=f"{number:03}",
        sentence=f"{start} the cup fits the bag because the _ is {word}.",
        options=("cup", "bag"),
        answer=answer,
        twin_id=twin,
    )


def make_leaning_twins(twins: int = 30) -> Dataset:
    """Return twins, every other one with "tiny" for option 1 and "huge" for option 2."""
    problems = []
    for twin in range(twins):
        words = ("tiny", "huge") if twin % 2 else (f"a{twin}", f"b{twin}")
        first = twin // 2 % 2  # which half comes first
        for place in (first, 1 - first):
            problems.append(half(len(problems), f"w{twin}", words[place], place))
    return Dataset(problems)


def score_by_formula(data: Dataset, variant: str, smoothing: float) -> list[float]:
    """Return each row's score by the formula, with dictionaries and loops.

    In all of these data the first option is the one that is mentioned first.
    """
    bags = []
    for problem in data:
        words = [token.lower() for token in tokenize(problem.sentence) if token != BLANK]
        pairs = [tuple(sorted(pair)) for pair in combinations(sorted(set(words)), 2)]
        bags.append(Counter(pairs if variant == "pairwise" else words))
    counts = Counter(
        (feature, problem.answer)
        for problem, bag in zip(data, bags, strict=True)
        for feature in bag
    )
    features = {feature for bag in bags for feature in bag}
    smooth = {(f, y): counts[f, y] + smoothing for f in features for y in (0, 1)}
    total = sum(smooth.values())
    p_y = [sum(smooth[f, y] for f in features) / total for y in (0, 1)]

    def pmi(feature: object, y: int) -> float:
        p_w = (smooth[feature, 0] + smooth[feature, 1]) / total
        return math.log(smooth[feature, y] / total / (p_w * p_y[y]))

    scores = [math.nan] * len(data)
    for twin in data.twins:
        if variant == "max":
            score = max(pmi(w, data[row].answer) for row in twin for w in bags[row])
        else:
            first, second = twin if data[twin[0]].answer == 0 else twin[::-1]
            sums = [sum(n * pmi(w, 0) for w, n in bags[row].items()) for row in (first, second)]
            score = sums[0] - sums[1]
        for row in twin:
            scores[row] = abs(score) if variant == "absolute" else score
    return scores


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("smoothing", [100.0, 0.5])
def test_scores_match_the_formula(variant, smoothing):
    trio = [half(500 + n, "trio", f"c{n}", n % 2) for n in range(3)]
    data = Dataset([*make_twins(12, singles=5, seed=3), *make_leaning_twins(8), *trio])
    result = debias.pmi(data, size=10, variant=variant, smoothing=smoothing)
    np.testing.assert_allclose(
        result.scores, score_by_formula(data, variant, smoothing), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_option_1_label_scores_match_the_formula(variant):
    """It is the paper's reading of y = 1: the first option as written."""
    data = swap_every_other_twin(Dataset([*make_twins(12, seed=3), *make_leaning_twins(8)]))
    result = debias.pmi(data, size=10, variant=variant, label="option-1")
    assert result.label == "option-1"
    np.testing.assert_allclose(result.scores, score_by_formula(data, variant, 100.0), atol=1e-12)
    default = debias.pmi(data, size=10, variant=variant)
    assert np.abs(result.scores - default.scores).max() > 1e-6


def swap_every_other_twin(data: Dataset) -> Dataset:
    """Return the data with the options of every other twin in the other order."""
    return Dataset(
        replace(problem, options=problem.options[::-1], answer=1 - problem.answer)
        if row // 2 % 2
        else problem
        for row, problem in enumerate(data)
    )


def test_two_readings_of_the_label_keep_different_sets():
    """On 12 sets of 1,000 twins, they share 361 of 800 kept problems on average; chance is 320.

    Here three sets are enough.
    """
    shared = []
    for seed in range(3):
        data = practice.generate_corpus(1000, seed=seed).dataset
        mentioned, written = (
            debias.pmi(data, size=800, label=label).kept
            for label in ("first-mentioned", "option-1")
        )
        shared.append(len({*mentioned} & {*written}))
    assert 320 < np.mean(shared) < 400


def compute_word_pmi(data: Dataset, smoothing: float = metrics.PMI_SMOOTHING) -> dict[str, float]:
    """Return each word's PMI with the option that is mentioned first."""
    counts, vocabulary = metrics.count_words(data)
    labels = np.array(data.answers) != metrics.find_first_mentioned_options(data)
    pmi = metrics.compute_pmi_with_answers(counts, labels, smoothing)[0]
    return dict(zip(vocabulary, pmi.tolist(), strict=True))


def test_word_pmi_matches_hand_computed_values():
    data = Dataset([half(0, "t", "good", 0), half(1, "t", "bad", 1)])
    words = compute_word_pmi(data, smoothing=1.0)
    shared = len({"they", "say", "the", "cup", "fits", "bag", "because", "is", "."})
    total = shared * 4 + 6
    p_good, p_y = 3 / total, 0.5
    assert words["good"] == pytest.approx(math.log((2 / total) / (p_good * p_y)))
    assert words["bad"] == pytest.approx(math.log((1 / total) / (p_good * p_y)))
    assert words["cup"] == pytest.approx(0.0)
    assert (max(words, key=words.get), min(words, key=words.get)) == ("good", "bad")
    assert "_" not in words


@pytest.mark.parametrize("variant", VARIANTS)
def test_twins_with_planted_words_are_removed_first(variant):
    data = make_leaning_twins()
    result = debias.pmi(data, size=30, variant=variant)
    clean = [row for row, problem in enumerate(data) if int(problem.twin_id[1:]) % 2 == 0]
    assert result.kept.tolist() == clean
    assert sorted([*result.kept, *result.removed]) == list(range(60))


def test_misleading_twin_is_kept_only_by_signed():
    """Its f is negative, which is small, but |f| is large."""
    wrong = [half(90, "w", "huge", 0), half(91, "w", "tiny", 1)]
    data = Dataset([*make_leaning_twins(), *wrong])
    signed = debias.pmi(data, size=2, variant="signed")
    assert signed.kept.tolist() == [60, 61]
    assert signed.scores[60] == signed.scores[61] < 0
    absolute = debias.pmi(data, size=32, variant="absolute")
    assert not {60, 61} & set(absolute.kept.tolist())


def test_shared_words_do_not_change_a_twins_score():
    plain = make_leaning_twins(10)
    told = Dataset([half(200 + n, None, "so", 0, "Surely") for n in range(9)])
    shared = Dataset(
        [half(300, "s", "a0", 0, "Surely"), half(301, "s", "b0", 1, "Surely"), *plain, *told]
    )
    assert compute_word_pmi(shared)["surely"] > 0.02
    assert debias.pmi(shared, size=1).scores[0] == pytest.approx(
        debias.pmi(shared, size=1).scores[2], abs=1e-12
    )


@given(order=st.permutations(range(24)), variant=st.sampled_from(VARIANTS))
@examples(25)
def test_result_does_not_depend_on_the_order_of_problems(order, variant):
    """Ties are drawn by id."""
    data = Dataset([*make_leaning_twins(10), *make_twins(0, singles=4)])
    kept = debias.pmi(data, size=11, variant=variant, seed=2).kept
    permuted = data.select(order)
    again = debias.pmi(permuted, size=11, variant=variant, seed=2).kept
    assert {permuted.ids[row] for row in again} == {data.ids[row] for row in kept}


@given(size=st.integers(0, 17), variant=st.sampled_from(VARIANTS), twins=st.sampled_from([0, 7]))
@examples(25)
def test_requested_size_is_kept_in_whole_twins(size, variant, twins):
    """One problem fewer is kept if only half a twin would fit. Without twins, scores are NaN."""
    data = make_twins(twins, singles=17 - 2 * twins)
    result = debias.pmi(data, size=size, variant=variant)
    assert len(result.kept) in (size, size - bool(twins))
    kept = set(result.kept.tolist())
    assert all((a in kept) == (b in kept) for a, b in data.twins)
    assert np.isnan(result.scores[list(data.singles)]).all()


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"size": 99}, "0 to 10"),
        ({"size": 1, "variant": "square"}, 'variant is .square.; it must be "signed", "absolute"'),
        ({"size": 1, "smoothing": 0}, "above 0"),
        (
            {"size": 1, "label": "option-2"},
            'label is .option-2.; it must be "first-mentioned" or "option-1"',
        ),
    ],
)
def test_invalid_parameters_and_withheld_answers_are_refused(chosen, message):
    with pytest.raises(InputError, match=message):
        debias.pmi(make_twins(5), **chosen)
    with pytest.raises(DataError, match="withheld"):
        debias.pmi(make_twins(3).blind(), size=2)


def test_singles_are_removed_at_random_at_the_rate_of_twins():
    data = Dataset([*make_leaning_twins(40), *make_twins(0, singles=100).problems])
    by_size = debias.pmi(data, size=90, seed=3)
    singles = [row for row in by_size.kept if row in set(data.singles)]
    assert (len(by_size.kept), len(singles)) == (90, 50)
    other = debias.pmi(data, size=90, seed=4).kept
    assert singles != [row for row in other if row in set(data.singles)]


def test_removal_of_singles_does_not_depend_on_answers():
    """A score of one sentence by its label would keep one answer and remove the other."""
    singles = [half(200 + n, None, ("huge", "tiny")[n % 2], n % 2) for n in range(60)]
    turned = [replace(problem, answer=1 - problem.answer) for problem in singles]
    found = [
        debias.pmi(Dataset([*make_leaning_twins(10), *those]), size=40)
        for those in (singles, turned)
    ]
    kept = [[row for row in one.kept.tolist() if row >= 20] for one in found]
    assert kept[0] == kept[1]
    assert np.isnan(found[0].scores[20:]).all()
    answers = [singles[row - 20].answer for row in kept[0]]
    assert 0.25 < np.mean(answers) < 0.75


def test_kept_problems_of_winogrande_have_balanced_answers(data_dir):
    path = data_dir / "winogrande" / "train_debiased.jsonl"
    data = formats.read(path)
    answers = np.array(data.answers)
    kept = answers[debias.pmi(data, size=1000).kept]
    assert abs(kept.mean() - answers.mean()) < 0.03


@given(rows=st.integers(0, 120), share=st.floats(0, 1), seed=st.integers(0, 9))
def test_subsample_keeps_the_requested_number(rows, share, seed):
    size = round(share * rows)
    kept = debias.subsample(rows, size, seed=seed)
    assert len(kept) == size
    assert (np.diff(kept) > 0).all()
    assert set(kept.tolist()) <= set(range(rows))
    assert kept.tobytes() == debias.subsample(rows, size, seed=seed).tobytes()


def test_subsample_keeps_each_row_equally_often():
    counts = sum(np.isin(np.arange(20), debias.subsample(20, 5, seed=s)) for s in range(4000))
    assert np.abs(counts / 4000 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 4000)


def test_invalid_subsample_arguments_are_refused():
    with pytest.raises(InputError, match="0 to 5"):
        debias.subsample(5, 6)
    with pytest.raises(InputError, match="0 to 5"):
        debias.subsample(5, -1)
