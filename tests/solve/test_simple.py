"""The solvers that need no model: majority, chance, association, local context, two-way."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from winosmith import Dataset, Problem, metrics, solve
from winosmith.errors import DataError, InputError, ProblemError
from winosmith.testing import make_twins
from winosmith.text import get_local_context

FIVE = ("cup", "jug", "pot", "pan", "mug")


def with_answers(answers: Sequence[int], options: int = 2) -> Dataset:
    """Return problems with those answers."""
    return Dataset(
        Problem(f"p{row}", f"Beside the jar the _ stood {row}.", FIVE[:options], answer)
        for row, answer in enumerate(answers)
    )


def right(solver: solve.Solver, data: Dataset) -> int:
    """Return how many problems a solver gets right."""
    pairs = zip(solve.predict(solver, data), data, strict=True)
    return sum(prediction.choice == problem.answer for prediction, problem in pairs)


def test_the_majority_is_that_of_the_training_part() -> None:
    """The place that is right most often is chosen, with its share as the score."""
    solver = solve.Majority.trained_on(with_answers([1, 0, 1, 1]))
    assert solver.shares == (0.25, 0.75)
    assert right(solver, with_answers([1, 0, 1])) == 2


def test_the_majority_has_places_for_more_options() -> None:
    """A place that never was there scores 0; places that a problem lacks are left out."""
    five = solve.Majority.trained_on(with_answers([4, 4, 1], options=5))
    assert five.score(with_answers([0])) == [(0.0, 1 / 3)]
    two = solve.Majority.trained_on(with_answers([1, 1]))
    assert two.score(with_answers([0], options=4)) == [(0.0, 1.0, 0.0, 0.0)]


def test_chance_is_even() -> None:
    """Of 4,000 problems with four options each place is chosen a quarter of the time."""
    data = with_answers([0] * 4000, options=4)
    counts = Counter(p.choice for p in solve.predict(solve.Random(5), data))
    expected, deviation = 1000, math.sqrt(4000 * 0.25 * 0.75)
    assert all(abs(counts[place] - expected) < 4 * deviation for place in range(4))


def test_chance_follows_from_seed_and_id_alone() -> None:
    """Another seed or id is another draw; other sentences and places in the list are not."""
    data = with_answers([0] * 20)
    first = solve.Random(1).score(data)
    assert solve.Random(2).score(data) != first
    reworded = [replace(p, sentence=f"Now {p.sentence}") for p in data]
    assert solve.Random(1).score(reworded[::-1]) == first[::-1]
    assert len(set(first)) == 20


def planted(count: int, seed: int) -> Dataset:
    """Return problems where "early" goes with the first option and "late" with the second."""
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


def test_association_finds_words_that_go_with_a_place() -> None:
    """A word that goes with one place in training decides new problems."""
    solver = solve.WordAssociation.trained_on(planted(200, 0))
    assert right(solver, planted(100, 1)) == 100


def test_association_by_words_has_the_filters_weights() -> None:
    """The weight of a word is its PMI with the option that is mentioned first."""
    train = make_twins(50)
    counts, words = metrics.count_words(train)
    labels = np.array(train.answers) != metrics.find_first_mentioned_options(train)
    pmi = metrics.compute_pmi_with_answers(counts, labels, metrics.PMI_SMOOTHING)[0]
    solver = solve.WordAssociation.trained_on(train)
    found = {word: pair[0] for word, pair in solver.weights.items()}
    assert found == dict(zip(words, pmi.tolist(), strict=True))


def test_association_by_words_says_what_it_tells_apart() -> None:
    """Three options are refused, since words are counted by which of two is mentioned first."""
    three = Problem("three", "They say the _ fell.", ("cup", "jug", "pot"), 2)
    with pytest.raises(DataError, match="supports only two options"):
        solve.WordAssociation.trained_on(Dataset([three]))


def test_association_by_words_sums_over_words() -> None:
    """A score is the sum of PMI(y; w) over the words, by the counts written out."""
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


def test_association_by_pairs_follows_the_option() -> None:
    """With `pairs` it is the option's own words that count, whatever its place."""
    train = Dataset(
        Problem(str(row), "It floats, so it is the _.", options, options.index("cork"))
        for row, options in enumerate([("cork", "lead"), ("lead", "cork")] * 20)
    )
    solver = solve.WordAssociation.trained_on(train, features="pairs", smoothing=1)
    asked = Problem("new", "It floats, we say of the _.", ("stone", "lead", "cork"))
    [scores] = solver.score([asked])
    assert scores.index(max(scores)) == 2
    assert scores[0] == 0.0  # a word that was not seen counts for nothing
    assert right(solver, train) == 40


def test_association_by_words_follows_the_mention() -> None:
    """With `words` it counts which option is mentioned first, not which is written first."""
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


def test_on_balanced_twins_association_is_at_chance() -> None:
    """Where no word goes with an answer, new problems are solved about half of the time."""
    solver = solve.WordAssociation.trained_on(make_twins(200, seed=1))
    assert 150 < right(solver, make_twins(200, seed=2)) < 250


@pytest.mark.parametrize("learner", [solve.Majority, solve.WordAssociation])
def test_learners_refuse_problems_without_answers(
    learner: type[solve.Majority] | type[solve.WordAssociation],
) -> None:
    """Nothing to learn from, or a withheld answer, is told with the first three ids."""
    with pytest.raises(DataError, match="there are no problems to learn from"):
        learner.trained_on(Dataset())
    with pytest.raises(DataError, match=r"10 of the 10 .* no answer \('0-0', '0-1', '1-0', …\)"):
        learner.trained_on(make_twins(5).blind())


def test_association_tells_what_it_can_not_do() -> None:
    """Parameters out of range, and more options than places, are refused by name."""
    with pytest.raises(InputError, match="unknown features 'bigrams'; use 'words' or 'pairs'"):
        solve.WordAssociation.trained_on(planted(4, 0), features="bigrams")
    with pytest.raises(InputError, match="smoothing is 0; choose a number above 0"):
        solve.WordAssociation.trained_on(planted(4, 0), smoothing=0)
    solver = solve.WordAssociation.trained_on(planted(4, 0))
    with pytest.raises(DataError, match=r"1 of 1 .* \('p0'\); .* choose `features=.pairs.`, or"):
        solver.score(with_answers([0], options=3))


class Shown:
    """A solver that keeps what it was shown."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def score(self, problems: Sequence[Problem]) -> list[tuple[float, ...]]:
        """Return the lengths of the options."""
        self.problems += problems
        return [tuple(map(float, map(len, p.options))) for p in problems]


def test_text_without_spaces_has_no_local_context() -> None:
    """In Japanese the words before the blank can't be told, and the baseline is refused."""
    japanese = Problem("j", "茶碗が急須に当たって_が割れた。", ("茶碗", "急須"), 0)
    with pytest.raises(ProblemError, match="has no spaces between words"):
        solve.cut_to_local_context([japanese])
    with pytest.raises(ProblemError, match="so it has no local context"):
        solve.LocalContext(Shown()).score([japanese])
    assert get_local_context(japanese.sentence) == japanese.sentence


def test_the_local_context_is_all_that_is_shown() -> None:
    """The solver sees the words from two before the blank; ids and options are as they were."""
    trophy = Problem(
        "t", "The trophy doesn't fit into the suitcase because the _ is too large.", ("a", "b"), 0
    )
    shown = Shown()
    assert solve.LocalContext(shown).score([trophy]) == [(1.0, 1.0)]
    assert shown.problems == [replace(trophy, sentence="because the _ is too large.")]
    assert solve.cut_to_local_context([trophy], width=0)[0].sentence == "_ is too large."


def test_two_way_asks_about_every_pair() -> None:
    """Four options are six comparisons of two; a problem of two options is asked as it is."""
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


def test_two_way_orders_options_as_their_own_scores_do() -> None:
    """When a solver's scores stand on their own, the comparisons keep their order."""
    data = with_answers([0] * 30, options=5)

    class Fixed:
        def score(self, problems: Sequence[Problem]) -> list[tuple[float, ...]]:
            return [tuple(math.sin(hash_of(p, o)) for o in p.options) for p in problems]

    def hash_of(problem: Problem, option: str) -> float:
        return sum(map(ord, problem.sentence + option)) * 0.7

    own = Fixed().score(data)
    paired = solve.TwoWay(Fixed()).score(data)
    assert [np.argsort(s).tolist() for s in paired] == [np.argsort(s).tolist() for s in own]


def test_the_first_of_equals_is_chosen() -> None:
    """Equal scores make the first option the prediction."""

    class Even:
        def score(self, problems: Sequence[Problem]) -> list[tuple[float, ...]]:
            return [(0.5,) * len(p.options) for p in problems]

    assert {p.choice for p in solve.predict(Even(), with_answers([1] * 3, options=3))} == {0}


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
def test_a_solver_that_breaks_its_promise_is_told(
    scores: list[tuple[float, ...]], message: str
) -> None:
    """Scores that are missing, too many or not finite name the problem."""

    class Broken:
        def score(self, problems: Sequence[Problem]) -> list[tuple[float, ...]]:
            return scores

    with pytest.raises(DataError, match=message):
        solve.predict(Broken(), with_answers([0, 1]))


def test_a_solver_never_sees_an_answer() -> None:
    """`predict` hands over the problems without answers and extra."""
    shown = Shown()
    data = with_answers([0, 1])
    solve.predict(shown, data)
    assert shown.problems == [problem.blind() for problem in data]


def test_pairs_are_counted_alike_one_by_one():
    """What counts pairs of problems that come one by one is the solver of their data set."""
    data = Dataset(make_twins(20))
    whole = solve.WordAssociation.trained_on(data, features="pairs", smoothing=2)
    assert solve.WordAssociation.trained_on_pairs(iter(data), smoothing=2) == whole
    assert len(whole.weights) > 20
