"""No metric of predictions depends on the order in which options are written.

The rule and its exceptions: docs/decisions/0019-order-of-options.md.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Extra, Prediction, Problem, Response, metrics
from winosmith.evolve import find_unsolved_ids
from winosmith.lineage import make_child
from winosmith.metrics import Graded, grade
from winosmith.prediction import find_best_options
from winosmith.rounds._solving import plan_next_round
from winosmith.testing import make_families, make_twins
from winosmith.text import tokenize

Orders = tuple[tuple[int, ...], ...]
"""For each problem, the previous positions of its options."""


def _make_many() -> list[Problem]:
    """Return problems with 3 to 5 options."""
    names = ("cup", "jug", "pot", "lamp", "bowl")
    return [
        Problem(f"many-{n}", f"Someone put {word} things near the _ today.", names[: 3 + n % 3], 0)
        for n, word in enumerate(("red", "green", "blue", "odd", "old", "big"))
    ]


WINOGENDER = [
    Problem(
        f"gender-{n}-{gender}-{answer}",
        f"The {job} met the visitor number {n} and the _ spoke {gender} {answer}.",
        (f"the {job}", "the visitor"),
        answer,
        extra=Extra({"winogender.occupation": job, "winogender.gender": gender}),
    )
    for n, job in enumerate(("nurse", "plumber"))
    for gender in ("female", "male")
    for answer in (0, 1)
]

DATA = Dataset([*make_twins(8, singles=3), *_make_many(), *make_families([1, 2, 4], [3, 3], [1, 2]),
                *WINOGENDER])  # fmt: skip
"""Twins, singles, problems with three to five options, families, and Winogender problems."""


def reorder_options(problem: Problem, order: tuple[int, ...]) -> Problem:
    """Return a problem with its options in another order, and its answer adjusted."""
    answer = None if problem.answer is None else order.index(problem.answer)
    return replace(problem, options=tuple(problem.options[at] for at in order), answer=answer)


def reorder_prediction(prediction: Prediction, order: tuple[int, ...]) -> Prediction:
    """Return a prediction with its options in that order. Of tied options, the first is chosen."""
    tied = tuple(sorted(order.index(option) for option in prediction.tied))
    scores = tuple(prediction.scores[at] for at in order) if prediction.scores else ()
    chosen = [order.index(option) for option in prediction.chosen]
    return Prediction(prediction.problem_id, min(chosen), scores, tied)


SCORES = st.one_of(st.sampled_from([-3.0, -1.0, -1.0 - 1e-9, 0.0]), st.floats(-9, 9))


@st.composite
def answers(draw: st.DrawFn, *, scored: bool = False) -> tuple[Prediction, ...]:
    """Draw predictions of a solver: scored, only chosen, tied, or contradicting their scores."""
    found = []
    kinds = ["scores"] if scored else ["scores", "choice", "tied", "against"]
    for problem in DATA:
        options = range(len(problem.options))
        kind = draw(st.sampled_from(kinds))
        scores = tuple(draw(SCORES) for _ in options) if kind in ("scores", "against") else ()
        best = find_best_options(scores) if scores else ()
        choice = best[0] if kind == "scores" else draw(st.sampled_from(options))
        tied: tuple[int, ...] = ()
        if kind == "tied":
            others = draw(st.sets(st.sampled_from(options), min_size=1))
            tied = tuple(sorted({choice, *others}))
            tied = tied if len(tied) > 1 else ()
        found.append(Prediction(problem.id, choice, scores, tied))
    return tuple(found)


@st.composite
def orders(draw: st.DrawFn) -> Orders:
    """Draw an order of the options for each problem."""
    return tuple(tuple(draw(st.permutations(range(len(p.options))))) for p in DATA)


def _assert_same(one: Any, other: Any, where: str = "") -> None:
    """Compare two records, with numbers within 1e-6, except for the data's signatures."""
    assert type(one) is type(other) or isinstance(one, int | float), (where, one, other)
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one.keys() - {"signature"}:
            _assert_same(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for at, pair in enumerate(zip(one, other, strict=True)):
            _assert_same(*pair, f"{where}/{at}")
    elif isinstance(one, int | float):
        assert other == pytest.approx(one, rel=1e-6, abs=1e-6), where
    else:
        assert one == other, where


WOMEN = {"nurse": 90.0, "plumber": 5.0}
ONE: dict[str, Callable[[Graded], Any]] = {
    "score": lambda g: metrics.score(g).record(),
    "guessing": lambda g: [metrics.guessing_p_value(g), g.chances.mean()],
    "stability": lambda g: metrics.measure_stability(g, draws=200).record(),
    "kinds": lambda g: metrics.count_edit_kinds(
        g, {p.id: ["NN"] * len(tokenize(p.sentence)) for p in g.dataset}
    ).record(),
    "gender gap": lambda g: [
        metrics.measure_gender_gap(_select_winogender(g), WOMEN, reading=reading).record()
        for reading in ("answer", "occupation")
    ],
    "roots": lambda g: sorted(find_unsolved_ids(g.dataset, [g.predictions])),
    "next round": lambda g: _plan_next_round(g),
}
"""All metrics of one solver's predictions."""

TWO: dict[str, Callable[[Graded, Graded], Any]] = {
    "compare": lambda a, b: metrics.compare({"a": a, "b": b}).record(),
    "agreement": lambda a, b: asdict(metrics.measure_agreement(a, b)),
    "forgetting": lambda a, b: metrics.measure_forgetting(a, b).record(),
    "survival": lambda a, b: metrics.compare_survival(a, b, draws=200).record(),
}
"""All metrics of two solvers' predictions."""


def _select_winogender(graded: Graded) -> Graded:
    rows = [row for row, p in enumerate(graded.dataset) if p.id.startswith("gender")]
    return grade(graded.dataset.select(rows), [graded.predictions[row] for row in rows])


def _plan_next_round(graded: Graded) -> list[Any]:
    pool = {problem.id: problem for problem in graded.dataset}
    found = plan_next_round(graded.dataset, {"one": graded.predictions}, 3, 0, pool)
    return [found.roots.ids, found.fooling.ids, dict(found.fooled_solvers)]


@examples(6)
@given(answers(), orders())
@pytest.mark.parametrize("figure", ONE)
def test_metrics_of_one_solver_ignore_the_order_of_options(figure, said, new):
    found = ONE[figure](grade(DATA, said))
    data = Dataset(map(reorder_options, DATA, new))
    _assert_same(found, ONE[figure](grade(data, [*map(reorder_prediction, said, new)])), figure)


@examples(6)
@given(answers(scored=True), orders())
def test_metrics_of_scores_ignore_the_order_of_options(said, new):
    data = Dataset(map(reorder_options, DATA, new))
    found = metrics.score(grade(DATA, said))
    assert found.calibration
    assert found.margins
    assert found.comparisons
    moved = metrics.score(grade(data, [*map(reorder_prediction, said, new)]))
    _assert_same(found.record(), moved.record())


@examples(6)
@given(answers(), answers(), orders())
@pytest.mark.parametrize("figure", TWO)
def test_metrics_of_two_solvers_ignore_the_order_of_options(figure, one, other, new):
    found = TWO[figure](grade(DATA, one), grade(DATA, other))
    data = Dataset(map(reorder_options, DATA, new))
    moved = [grade(data, [*map(reorder_prediction, said, new)]) for said in (one, other)]
    _assert_same(found, TWO[figure](*moved), figure)


@examples(6)
@given(st.data(), orders())
def test_metrics_of_people_ignore_the_order_of_options(data, new):
    votes, moved = [], []
    for problem, order in zip(DATA, new, strict=True):
        for who in "abc":
            choice = data.draw(st.sampled_from(range(len(problem.options))))
            votes.append(Response(problem.id, who, "test", choice))
            moved.append(replace(votes[-1], choice=order.index(choice)))
    other = Dataset(map(reorder_options, DATA, new))
    for figure in (metrics.measure_human_accuracy, metrics.measure_person_accuracy):
        _assert_same(asdict(figure(DATA, votes)), asdict(figure(other, moved)))
    far = [1 if problem.lineage else None for problem in DATA]
    told = [
        metrics.measure_annotators(d, v, far).record() for d, v in ((DATA, votes), (other, moved))
    ]
    for record in told:
        del record["kappa"], record["alpha"]  # their categories are positions
    _assert_same(*told)


def test_tied_answers_count_half_and_are_not_significant():
    """With 957 ties of 959, the accuracy is about 50 %."""
    data = make_twins(0, singles=959)
    said = [
        Prediction(p.id, 0, (-7.5, -7.5)) if row < 957 else Prediction(p.id, p.answer or 0)
        for row, p in enumerate(data)
    ]
    for answer in (None, 0, 1):  # unchanged, and all at one position
        here = data if answer is None else Dataset(replace(p, answer=answer) for p in data)
        found = metrics.score(grade(here, said))
        assert (found.accuracy.ties, found.accuracy.n) == (957, 959)
        assert found.accuracy.value == pytest.approx(0.5, abs=2e-3)
        assert found.p_value >= 0.25
        assert json.loads(json.dumps(found.record()))["accuracy"]["ties"] == 957


def test_comparison_with_roots_ignores_the_order_of_options():
    root = Problem("r", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)
    child = make_child(root, "The mug hit the jug and the _ broke.", ("mug", "jug"), 1, source="x")
    child = replace(child, extra=Extra({"made.by": "x"}))
    data = Dataset([root, child])
    said = [Prediction(root.id, 0, (0.5, 0.5)), Prediction(child.id, 1)]
    found = [metrics.compare_with_roots(grade(data, said), "origin.source")]
    new = ((1, 0), (1, 0))
    other = Dataset(map(reorder_options, data, new))
    moved = [*map(reorder_prediction, said, new)]
    found.append(metrics.compare_with_roots(grade(other, moved), "origin.source"))
    _assert_same(*([one.record() for one in some] for some in found))
    assert (found[0][0].won, found[0][0].lost) == (0.5, 0)
