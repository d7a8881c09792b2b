"""Which option is written first means nothing: no figure over answers depends on it.

The law and its exemptions: docs/decisions/0019-order-of-options.md.
"""

import json
from collections.abc import Callable
from dataclasses import replace
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

Orders = tuple[tuple[int, ...], ...]
"""For each problem the places that its options had before."""


def _many() -> list[Problem]:
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

DATA = Dataset([*make_twins(8, singles=3), *_many(), *make_families([1, 2, 4], [3, 3], [1, 2]),
                *WINOGENDER])  # fmt: skip
"""Twins, singles, three to five options, families, and Winogender's."""


def reordered(problem: Problem, order: tuple[int, ...]) -> Problem:
    """Return a problem with its options written in another order, and its answer with them."""
    answer = None if problem.answer is None else order.index(problem.answer)
    return replace(problem, options=tuple(problem.options[at] for at in order), answer=answer)


def following(prediction: Prediction, order: tuple[int, ...]) -> Prediction:
    """Return a prediction for the problem in that order; of a tie the first is the choice."""
    tied = tuple(sorted(order.index(option) for option in prediction.tied))
    scores = tuple(prediction.scores[at] for at in order) if prediction.scores else ()
    chosen = [order.index(option) for option in prediction.chosen]
    return Prediction(prediction.problem_id, min(chosen), scores, tied)


SCORES = st.one_of(st.sampled_from([-3.0, -1.0, -1.0 - 1e-9, 0.0]), st.floats(-9, 9))


@st.composite
def answers(draw: st.DrawFn, *, scored: bool = False) -> tuple[Prediction, ...]:
    """Draw a solver's predictions: with scores, without, tied, partly tied, against its scores."""
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


def _same(one: Any, other: Any, where: str = "") -> None:
    """Compare two records, numbers within 1e-6, but for the signatures of the data."""
    assert type(one) is type(other) or isinstance(one, int | float), (where, one, other)
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one.keys() - {"signature"}:
            _same(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for at, pair in enumerate(zip(one, other, strict=True)):
            _same(*pair, f"{where}/{at}")
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
        g, {p.id: ["NN"] * len(metrics_tokens(p.sentence)) for p in g.dataset}
    ).record(),
    "gender gap": lambda g: [
        metrics.measure_gender_gap(_of_winogender(g), WOMEN, reading=reading).record()
        for reading in ("answer", "occupation")
    ],
    "roots": lambda g: sorted(find_unsolved_ids(g.dataset, [g.predictions])),
    "next round": lambda g: _next(g),
}
"""Every figure over one solver's predictions."""

TWO: dict[str, Callable[[Graded, Graded], Any]] = {
    "compare": lambda a, b: metrics.compare({"a": a, "b": b}).record(),
    "agreement": lambda a, b: vars_of(metrics.measure_agreement(a, b)),
    "forgetting": lambda a, b: metrics.measure_forgetting(a, b).record(),
    "survival": lambda a, b: metrics.compare_survival(a, b, draws=200).record(),
}
"""Every figure over two solvers' predictions."""


def metrics_tokens(sentence: str) -> list[str]:
    """Return the tokens of a sentence."""
    from winosmith.text import tokenize

    return list(tokenize(sentence))


def vars_of(found: Any) -> dict[str, Any]:
    """Return the attributes of a slotted dataclass."""
    from dataclasses import asdict

    return asdict(found)


def _of_winogender(graded: Graded) -> Graded:
    rows = [row for row, p in enumerate(graded.dataset) if p.id.startswith("gender")]
    return grade(graded.dataset.select(rows), [graded.predictions[row] for row in rows])


def _next(graded: Graded) -> list[Any]:
    pool = {problem.id: problem for problem in graded.dataset}
    found = plan_next_round(graded.dataset, {"one": graded.predictions}, 3, 0, pool)
    return [found.roots.ids, found.fooling.ids, dict(found.fooled_solvers)]


@examples(6)
@given(answers(), orders())
@pytest.mark.parametrize("figure", ONE)
def test_no_figure_depends_on_it(figure: str, said: tuple[Prediction, ...], new: Orders) -> None:
    """Options in any order, and the answers with them, give each solver the same figures."""
    found = ONE[figure](grade(DATA, said))
    data = Dataset(map(reordered, DATA, new))
    _same(found, ONE[figure](grade(data, [*map(following, said, new)])), figure)


@examples(6)
@given(answers(scored=True), orders())
def test_no_figure_of_scores_depends_on_it(said: tuple[Prediction, ...], new: Orders) -> None:
    """Calibration, margins and two-way comparisons are the same in any order."""
    data = Dataset(map(reordered, DATA, new))
    found = metrics.score(grade(DATA, said))
    assert found.calibration
    assert found.margins
    assert found.comparisons
    moved = metrics.score(grade(data, [*map(following, said, new)]))
    _same(found.record(), moved.record())


@examples(6)
@given(answers(), answers(), orders())
@pytest.mark.parametrize("figure", TWO)
def test_no_comparison_depends_on_it(
    figure: str, one: tuple[Prediction, ...], other: tuple[Prediction, ...], new: Orders
) -> None:
    """Two solvers compare the same whatever the order of the options, ties and all."""
    found = TWO[figure](grade(DATA, one), grade(DATA, other))
    data = Dataset(map(reordered, DATA, new))
    moved = [grade(data, [*map(following, said, new)]) for said in (one, other)]
    _same(found, TWO[figure](*moved), figure)


@examples(6)
@given(st.data(), orders())
def test_no_figure_of_people_depends_on_it(data: st.DataObject, new: Orders) -> None:
    """The accuracy of people, alone and by majority, and how deep their errors are, stay."""
    votes, moved = [], []
    for problem, order in zip(DATA, new, strict=True):
        for who in "abc":
            choice = data.draw(st.sampled_from(range(len(problem.options))))
            votes.append(Response(problem.id, who, "test", choice))
            moved.append(replace(votes[-1], choice=order.index(choice)))
    other = Dataset(map(reordered, DATA, new))
    for figure in (metrics.measure_human_accuracy, metrics.measure_person_accuracy):
        _same(vars_of(figure(DATA, votes)), vars_of(figure(other, moved)))
    far = [1 if problem.lineage else None for problem in DATA]
    told = [
        metrics.measure_annotators(d, v, far).record() for d, v in ((DATA, votes), (other, moved))
    ]
    for record in told:
        del record["kappa"], record["alpha"]  # their categories are places
    _same(*told)


def test_what_is_undecided_has_half_and_proves_nothing() -> None:
    """957 ties of 959 score as guessing does: about 50 %, told as ties, with a p that is large."""
    data = make_twins(0, singles=959)
    said = [
        Prediction(p.id, 0, (-7.5, -7.5)) if row < 957 else Prediction(p.id, p.answer or 0)
        for row, p in enumerate(data)
    ]
    for answer in (None, 0, 1):  # as they are, and all in one place
        here = data if answer is None else Dataset(replace(p, answer=answer) for p in data)
        found = metrics.score(grade(here, said))
        assert (found.accuracy.ties, found.accuracy.n) == (957, 959)
        assert found.accuracy.value == pytest.approx(0.5, abs=2e-3)
        assert found.p_value >= 0.25
        assert json.loads(json.dumps(found.record()))["accuracy"]["ties"] == 957


def test_a_perturbed_problem_keeps_its_place_in_the_comparison_with_its_root() -> None:
    """Roots and versions are compared by what is right, in any order of either's options."""
    root = Problem("r", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)
    child = make_child(root, "The mug hit the jug and the _ broke.", ("mug", "jug"), 1, source="x")
    child = replace(child, extra=Extra({"made.by": "x"}))
    data = Dataset([root, child])
    said = [Prediction(root.id, 0, (0.5, 0.5)), Prediction(child.id, 1)]
    found = [metrics.compare_with_roots(grade(data, said), "origin.source")]
    new = ((1, 0), (1, 0))
    other = Dataset(map(reordered, data, new))
    moved = [*map(following, said, new)]
    found.append(metrics.compare_with_roots(grade(other, moved), "origin.source"))
    _same(*([one.record() for one in some] for some in found))
    assert (found[0][0].won, found[0][0].lost) == (0.5, 0)
