"""Solvers without a model: majority, random, word association, local context and two-way."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from winosmith import Dataset, Problem, metrics, practice, solve
from winosmith.errors import DataError, InputError, ProblemError
from winosmith.testing import make_twins
from winosmith.text import get_local_context

FIVE = ("cup", "jug", "pot", "pan", "mug")


def with_answers(answers: Sequence[int], options: int = 2) -> Dataset:
    """Return problems with these answers."""
    return Dataset(
        Problem(f"p{row}", f"Beside the jar the _ stood {row}.", FIVE[:options], answer)
        for row, answer in enumerate(answers)
    )


def right(solver: solve.Solver, data: Dataset) -> int:
    """Return the number of problems that a solver answers correctly."""
    pairs = zip(solve.predict(solver, data), data, strict=True)
    return sum(prediction.choice == problem.answer for prediction, problem in pairs)


def test_majority_predicts_the_most_frequent_index():
    """Its scores are the fractions in the training data; other indices score 0."""
    solver = solve.Majority.trained_on(with_answers([1, 0, 1, 1]))
    assert solver.shares == (0.25, 0.75)
    assert right(solver, with_answers([1, 0, 1])) == 2
    five = solve.Majority.trained_on(with_answers([4, 4, 1], options=5))
    assert five.score(with_answers([0])) == [(0.0, 1 / 3)]
    two = solve.Majority.trained_on(with_answers([1, 1]))
    assert two.score(with_answers([0], options=4)) == [(0.0, 1.0, 0.0, 0.0)]


def test_random_depends_only_on_seed_and_id():
    """It predicts each index equally often."""
    data = with_answers([0] * 20)
    first = solve.Random(1).score(data)
    assert solve.Random(2).score(data) != first
    reworded = [replace(p, sentence=f"Now {p.sentence}") for p in data]
    assert solve.Random(1).score(reworded[::-1]) == first[::-1]
    assert len(set(first)) == 20
    many = with_answers([0] * 4000, options=4)
    counts = Counter(p.choice for p in solve.predict(solve.Random(5), many))
    expected, deviation = 1000, math.sqrt(4000 * 0.25 * 0.75)
    assert all(abs(counts[place] - expected) < 4 * deviation for place in range(4))


def planted(count: int, seed: int) -> Dataset:
    """Return problems whose answer is the first option with "early", the second with "late"."""
    rng = np.random.default_rng(seed)
    answers = rng.integers(2, size=count).tolist()
    return Dataset(
        Problem(
            f"{seed}-{row}",
            f"Number {row} says the _ came {('early', 'late')[answer]}.",
            ("bus", "tram"),
            answer,
        )
        for row, answer in enumerate(answers)
    )


def test_association_learns_words_that_predict_an_index():
    solver = solve.WordAssociation.trained_on(planted(200, 0))
    assert right(solver, planted(100, 1)) == 100


def test_association_weights_are_the_pmi_with_the_answer():
    """As a label, the answer is whether the option mentioned first is correct."""
    train = make_twins(50)
    counts, words = metrics.count_words(train)
    labels = np.array(train.answers) != metrics.find_first_mentioned_options(train)
    pmi = metrics.compute_pmi_with_answers(counts, labels, metrics.PMI_SMOOTHING)[0]
    solver = solve.WordAssociation.trained_on(train)
    found = {word: pair[0] for word, pair in solver.weights.items()}
    assert found == dict(zip(words, pmi.tolist(), strict=True))


def test_association_by_words_sums_the_pmi_over_words():
    """The counts are written out here."""
    train = with_answers([0, 0, 1])
    solver = solve.WordAssociation.trained_on(train, smoothing=1)
    words = ["beside", "the", "jar", "the", "stood", "0", "."]
    always = ("beside", "the", "jar", "stood", ".")
    counts = dict.fromkeys(always, (3, 2)) | {"0": (2, 1), "1": (2, 1), "2": (1, 2)}
    total = sum(map(sum, counts.values()))
    by_place = [sum(count[place] for count in counts.values()) for place in (0, 1)]
    expected = [
        sum(
            math.log(counts[word][place] * total / (sum(counts[word]) * by_place[place]))
            for word in words
        )
        for place in (0, 1)
    ]
    [scores] = solver.score([replace(train[0], answer=None)])
    assert scores == pytest.approx(expected)


def test_association_by_pairs_follows_the_option():
    """With `pairs`, only the option's words count, not its index."""
    train = Dataset(
        Problem(str(row), "It floats, so it is the _.", options, options.index("cork"))
        for row, options in enumerate([("cork", "lead"), ("lead", "cork")] * 20)
    )
    solver = solve.WordAssociation.trained_on(train, features="pairs", smoothing=1)
    asked = Problem("new", "It floats, we say of the _.", ("stone", "lead", "cork"))
    [scores] = solver.score([asked])
    assert scores.index(max(scores)) == 2
    assert scores[0] == 0.0  # unseen words score 0
    assert right(solver, train) == 40


def test_association_by_pairs_is_tied_if_only_rounding_errors_differ():
    twins = practice.generate_corpus(100).dataset
    solver = solve.WordAssociation.trained_on(twins[:150], features="pairs")
    scores = np.array(solver.score(twins[150:].blind()))
    apart = abs(np.diff(scores)).ravel()
    assert (apart == 0).any()
    assert apart[apart > 0].min() > 1e-8


def test_association_by_words_follows_the_mention():
    """With `words`, the option mentioned first counts, not the option listed first."""
    problems = [
        Problem(f"{row}", f"The {first} hit the {second} and the _ broke.", options,
                options.index(first))
        for row, (first, second) in enumerate([("cup", "jug"), ("jug", "cup")] * 20)
        for options in [("cup", "jug")]
    ]  # fmt: skip
    mixed = Dataset([*problems, *(
        replace(p, id=f"{p.id}+", sentence=p.sentence.replace("broke", "held"), answer=1 - p.answer)
        for p in problems
    )])  # fmt: skip
    solver = solve.WordAssociation.trained_on(mixed, smoothing=1)
    assert right(solver, mixed) == 80
    [scores] = solver.score([problems[1]])
    turned = replace(problems[1], options=problems[1].options[::-1])
    assert [scores[::-1]] == list(solver.score([turned]))


def test_association_is_at_chance_on_balanced_twins():
    solver = solve.WordAssociation.trained_on(make_twins(200, seed=1))
    assert 150 < right(solver, make_twins(200, seed=2)) < 250


@pytest.mark.parametrize("learner", [solve.Majority, solve.WordAssociation])
def test_learners_refuse_empty_and_unanswered_data(learner):
    with pytest.raises(DataError, match="there are no problems to learn from"):
        learner.trained_on(Dataset())
    with pytest.raises(DataError, match=r"10 of the 10 .* no answer \('0-0', '0-1', '1-0', …\)"):
        learner.trained_on(make_twins(5).blind())


def test_association_refuses_unsupported_settings_and_data():
    """Words are counted by which of two options is mentioned first."""
    three = Problem("three", "They say the _ fell.", ("cup", "jug", "pot"), 2)
    with pytest.raises(DataError, match="supports only two options"):
        solve.WordAssociation.trained_on(Dataset([three]))
    with pytest.raises(InputError, match="unknown features 'bigrams'; use 'words' or 'pairs'"):
        solve.WordAssociation.trained_on(planted(4, 0), features="bigrams")
    with pytest.raises(InputError, match="smoothing is 0; choose a number above 0"):
        solve.WordAssociation.trained_on(planted(4, 0), smoothing=0)
    solver = solve.WordAssociation.trained_on(planted(4, 0))
    with pytest.raises(DataError, match=r"1 of 1 .* \('p0'\); .* choose `features=.pairs.`, or"):
        solver.score(with_answers([0], options=3))


class Shown:
    """A solver that records its problems."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def score(self, problems: Sequence[Problem]) -> list[tuple[float, ...]]:
        """Return the lengths of the options."""
        self.problems += problems
        return [tuple(map(float, map(len, p.options))) for p in problems]


def test_local_context_starts_two_words_before_the_blank():
    """Ids and options stay unchanged. In Japanese, the words before it can't be determined."""
    text = "The trophy doesn't fit into the suitcase because the _ is too large."
    trophy, shown = Problem("t", text, ("a", "b"), 0), Shown()
    assert solve.LocalContext(shown).score([trophy]) == [(1.0, 1.0)]
    assert shown.problems == [replace(trophy, sentence="because the _ is too large.")]
    assert solve.cut_to_local_context([trophy], width=0)[0].sentence == "_ is too large."
    japanese = Problem("j", "茶碗が急須に当たって_が割れた。", ("茶碗", "急須"), 0)
    with pytest.raises(ProblemError, match="has no spaces between words"):
        solve.cut_to_local_context([japanese])
    with pytest.raises(ProblemError, match="so it has no local context"):
        solve.LocalContext(Shown()).score([japanese])
    assert get_local_context(japanese.sentence) == japanese.sentence


def test_two_way_compares_every_pair_of_options():
    """Four options are six comparisons; a problem of two options is asked as it is."""
    shown = Shown()
    four = Problem("q", "A _ b.", ("a", "bb", "ccc", "dddd"), 2)
    two = Problem("r", "A _ b.", ("x", "yy"))
    scores = solve.TwoWay(shown).score([four, two])
    assert [p.options for p in shown.problems[:2]] == [("a", "bb"), ("a", "ccc")]
    assert len(shown.problems) == 7
    assert shown.problems[-1] == two
    assert all(problem.answer is None for problem in shown.problems)
    assert scores[1] == (1.0, 2.0)
    assert scores[0] == pytest.approx([(4 * own - 10) / 3 for own in (1, 2, 3, 4)])


class Given:
    """A solver with fixed scores, or a function from a problem to its scores."""

    def __init__(self, scores: Any):
        self.scores = scores

    def score(self, problems: Sequence[Problem]) -> Any:
        """Return the scores."""
        return [self.scores(p) for p in problems] if callable(self.scores) else self.scores


def test_two_way_keeps_the_order_of_independent_scores():
    data = with_answers([0] * 30, options=5)
    solver = Given(
        lambda p: tuple(math.sin(0.7 * sum(map(ord, p.sentence + o))) for o in p.options)
    )
    own, paired = solver.score(data), solve.TwoWay(solver).score(data)
    assert [np.argsort(s).tolist() for s in paired] == [np.argsort(s).tolist() for s in own]


def test_first_option_wins_ties():
    even = Given(lambda p: (0.5,) * len(p.options))
    assert {p.choice for p in solve.predict(even, with_answers([1] * 3, options=3))} == {0}


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([(1.0, 2.0)], "1 results for 2 problems"),
        (
            [(1.0, 2.0), (1.0,)],
            r"the scores \(1.0,\) for 'p1'; it must return one finite score for each of the 2",
        ),
        ([(1.0, math.nan), (1.0, 2.0)], r"returned the scores \(1.0, nan\) for 'p0'"),
        ([(1.0, 2.0), (math.inf, 2.0)], r"returned the scores \(inf, 2.0\) for 'p1'"),
    ],
)
def test_invalid_scores_are_reported_with_the_problem(scores, message):
    """Scores are missing, too many or not finite."""
    with pytest.raises(DataError, match=message):
        solve.predict(Given(scores), with_answers([0, 1]))


def test_solvers_never_see_answers():
    shown = Shown()
    data = with_answers([0, 1])
    solve.predict(shown, data)
    assert shown.problems == [problem.blind() for problem in data]
