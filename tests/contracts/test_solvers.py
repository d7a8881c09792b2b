"""The contract of every solver."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from winosmith import Dataset, Extra, Problem, chat, models, solve
from winosmith.errors import DataError
from winosmith.seen import Sees
from winosmith.testing import make_twins

pytestmark = pytest.mark.filterwarnings("ignore:.* texts fill all .* tokens that the model reads")
"""The tiny encoder reads only 64 tokens, and warns about it."""

MADE = make_twins(8, singles=2)

ODD = (
    Problem("start", "_ stood near the kettle.", ("amber", "The yarn")),
    Problem("end", "Beside the kettle there was the _", ("amber", "yarn")),
    Problem("alone", "_", ("amber", "yarn")),
    Problem("regex", "They said (twice): a+b? The _ [was] 3.5$ \\d | ^up*.", (".*", "(a|b)+$")),
    Problem("backslash", "They said the _ was there.", ("\\1", "\\g<0>")),
    Problem(
        "unicode", "Der Bär sah die Füchsin, weil _ – 狐 🦊 – müde war.", ("Bär", "Füchsin 狐")
    ),
    Problem("query", 'The cup OR "the jug" AND NOT NEAR(_ cup) broke*.', ('"cup"', "NOT jug*")),
    Problem("long", f"The kettle {'and the lamp ' * 10}said the _ was up.", ("kettle", "lamp")),
    Problem("inside", "They say that _'s kettle was warm.", ("Ann", "Beth")),
    Problem("piece", "The kettlelike _-shaped thing was warm.", ("kettle", "thing kettle")),
    Problem("same", "The jug saw the _.", ("jug", "Jug")),
)
"""Valid but unusual problems."""

MORE = tuple(
    Problem(f"{n}-options", "The amber saw a yarn and a kettle; the _ fell.",
            ("amber", "yarn", "kettle", "ladder", "old lamp")[:n])
    for n in (3, 4, 5)
)  # fmt: skip

QUESTIONS = tuple(
    Problem(f"{n} choices", "Which of these is in __init__.py, or in the kettle?",
            ("amber", "the yarn", "a kettle_lid", "ladder", "an old lamp", "it")[:n], blank=None)
    for n in range(2, 7)
)  # fmt: skip
"""Questions, whose options follow them; the texts may contain `_`."""

PLACES = (
    Problem("place", "The amber called __init__ on the _ of yarn.", ("amber_", "yarn"), blank=33),
)
"""A problem whose blank is one of several `_`."""

PROBLEMS = Dataset((*MADE, *ODD))


class OwnSolver:
    """A solver of a user, without our base classes."""

    def score(self, problems: Sequence[Problem]) -> list[tuple[float, ...]]:
        """Return the lengths of the options."""
        return [tuple(float(len(option)) for option in p.options) for p in problems]


def _make_knowledge_hunting(folder: Path) -> solve.Solver:
    lines = [f"They said that the {n} was up because it stood near the lamp." for n in "abc"]
    lines += [p.fill(1) for p in make_twins(40, seed=3)]
    (folder / "texts.txt").write_text("\n\n".join(lines), "utf-8")
    return solve.KnowledgeHunting(solve.FullTextIndex.open(folder / "texts.txt", folder / "index"))


def _reply(messages: chat.Messages) -> chat.Reply:
    """Return an arbitrary but deterministic answer, from the length of the last message."""
    said = messages[-1].content
    return chat.Reply(f"Option {1 + len(said) % max(2, said.count('Option'))}.")


def train_encoder(encoder: Path, folder: Path, sees: Sees = "blank") -> solve.Solver:
    """Train an encoder for one epoch on problems with the pronoun "she"."""
    settings = models.TrainingSettings(epochs=1, learning_rate=1e-3, sees=sees)
    data = Dataset(replace(problem, pronoun="she") for problem in make_twins(16, seed=11))
    models.train_multiple_choice(
        data[:24], data[24:], model=encoder, out=folder / sees, settings=settings
    )
    return solve.EncoderSolver(folder / sees)


SIMPLE: dict[str, Callable[[], solve.Solver]] = {
    "own": OwnSolver,
    "random": lambda: solve.Random(2),
    "majority": lambda: solve.Majority.trained_on(make_twins(9, seed=7)),
    "association": lambda: solve.WordAssociation.trained_on(make_twins(30, seed=7)),
    "association of pairs": lambda: solve.WordAssociation.trained_on(
        make_twins(30, seed=7), features="pairs"
    ),
    "two-way association": lambda: solve.TwoWay(SIMPLE["association"]()),
    "local association": lambda: solve.LocalContext(SIMPLE["association"]()),
    "local two-way pairs": lambda: solve.LocalContext(
        solve.TwoWay(SIMPLE["association of pairs"]())
    ),
    "chat": lambda: solve.ChatSolver(_reply),
    "chat with shots": lambda: solve.ChatSolver.with_shots(
        _reply, make_twins(9, seed=8), 3, draws=2, swap=True
    ),
    "vote": lambda: solve.Ensemble((solve.Random(1), OwnSolver(), solve.Random(3)), "vote"),
}

LANGUAGE: dict[str, tuple[str, Callable[[Path], solve.Solver]]] = {
    "causal": ("gpt2", solve.Causal),
    "causal per token": ("gpt2", lambda folder: solve.Causal(folder, "full_per_token")),
    "masked": ("bert", solve.Masked),
    "masked option": ("bert", lambda folder: solve.Masked(folder, "option_per_token")),
    "local causal": ("gpt2", lambda folder: solve.LocalContext(solve.Causal(folder))),
}

TWO_ONLY = {"association", "local association"}
"""Solvers that refuse problems with more than two options."""


@pytest.fixture(params=[*SIMPLE, "hunting", "encoder", *LANGUAGE], scope="module")
def named_solver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """Return each solver, with its name."""
    if request.param in SIMPLE:
        return request.param, SIMPLE[request.param]()
    if request.param == "hunting":
        return request.param, _make_knowledge_hunting(tmp_path_factory.mktemp("hunting"))
    if request.param == "encoder":
        folder = request.getfixturevalue("tiny_encoder")
        return request.param, train_encoder(folder, tmp_path_factory.mktemp("encoder"))
    architecture, made = LANGUAGE[request.param]
    folder = request.getfixturevalue("make_language_model")(architecture)
    return request.param, made(folder)


@pytest.fixture(scope="module")
def solver(named_solver: tuple[str, solve.Solver]) -> solve.Solver:
    return named_solver[1]


@pytest.fixture(scope="module")
def scores(solver: solve.Solver) -> solve.Scores:
    """Return each solver's scores of all problems, without answers, in one call."""
    return solver.score(PROBLEMS.blind())


def are_close(one: solve.Scores, other: solve.Scores) -> bool:
    """Return whether all scores differ by at most 1e-4."""
    return all(np.allclose(a, b, rtol=0, atol=1e-4) for a, b in zip(one, other, strict=True))


def test_every_option_has_a_finite_score(scores):
    assert len(scores) == len(PROBLEMS)
    for problem, own in zip(PROBLEMS, scores, strict=True):
        assert len(own) == len(problem.options)
        assert all(isinstance(score, float) and math.isfinite(score) for score in own)


TOLD: dict[str, Callable[[Problem], Problem]] = {
    "kept": lambda p: p,
    "flipped": lambda p: replace(p, answer=1 - (p.answer or 0)),
    "extra": lambda p: replace(p, extra=Extra({"file.answer": p.answer})),
}
"""Functions that reveal answers to a solver."""


@pytest.mark.parametrize("what", TOLD)
def test_answers_make_no_difference(solver, scores, what):
    """Neither does `extra`."""
    assert list(solver.score([*map(TOLD[what], PROBLEMS)])) == list(scores)


def test_scores_do_not_depend_on_the_order_of_problems(solver, scores):
    order = np.random.default_rng(1).permutation(len(PROBLEMS)).tolist()
    shuffled = solver.score([PROBLEMS[row].blind() for row in order])
    assert are_close(shuffled, [scores[row] for row in order])


def test_the_batch_makes_no_difference(solver, scores):
    one_by_one = [own for problem in PROBLEMS.blind() for own in solver.score([problem])]
    assert are_close(one_by_one, scores)
    parts = [*solver.score(PROBLEMS.blind()[:5]), *solver.score(PROBLEMS.blind()[5:])]
    assert are_close(parts, scores)


BY_PLACE = {
    "majority": "its answer is a place",
    "chat": "it is asked in one order; `swap` asks in both",
}
"""Solvers whose scores depend on the order of the options, each with its reason."""

TURNED = {"chat with shots"}
"""Solvers that ask in two orders, which are all possible orders only of two options."""


def test_score_of_an_option_does_not_depend_on_its_position(named_solver):
    name, solver = named_solver
    if name in BY_PLACE:
        pytest.skip(BY_PLACE[name])
    asked = [*PROBLEMS.blind(), *(() if name in TWO_ONLY | TURNED else MORE)]
    turned = [replace(p, options=p.options[1:] + p.options[:1]) for p in asked]
    found, other = solve.predict(solver, asked), solve.predict(solver, turned)
    assert are_close([p.scores for p in found], [(p.scores[-1], *p.scores[:-1]) for p in other])
    for problem, one, two in zip(asked, found, other, strict=True):
        if max(one.scores) - sorted(one.scores)[-2] > 2e-4 or len(one.chosen) > 1:
            chosen = {(option + 1) % len(problem.options) for option in two.chosen}
            assert chosen == set(one.chosen), problem.id


def test_no_problems_give_no_scores(solver):
    assert list(solver.score([])) == []


def test_problems_with_more_options_are_scored_or_refused_by_id(named_solver):
    name, solver = named_solver
    if name in TWO_ONLY:
        with pytest.raises(DataError, match=r"3 of 27 .*'3-options', '4-options', '5-options'"):
            solver.score([*PROBLEMS[:24], *MORE])
        return
    found = solver.score([*PROBLEMS.blind()[:2], *MORE])
    assert [len(own) for own in found] == [2, 2, 3, 4, 5]
    assert all(math.isfinite(score) for own in found for score in own)
    again = solver.score(MORE[::-1])
    assert are_close(again[::-1], found[2:])


def test_predict_chooses_the_option_with_the_highest_score(solver, scores):
    found = solve.predict(solver, PROBLEMS)
    assert [p.problem_id for p in found] == list(PROBLEMS.ids)
    for prediction, own in zip(found, scores, strict=True):
        assert own[prediction.choice] == pytest.approx(max(own), abs=1e-4)


def test_parameters_of_solvers_can_be_stored_as_json(solver):
    if not isinstance(solver, OwnSolver):
        told = solver.parameters
        assert json.loads(json.dumps(told)) == told


NEED_A_BLANK = {"local association", "local two-way pairs", "local causal", "hunting"}
"""Solvers that refuse questions."""


def test_questions_are_scored_or_refused_with_the_reason(named_solver):
    name, solver = named_solver
    for question in QUESTIONS:
        refused = name in NEED_A_BLANK or (name in TWO_ONLY and len(question.options) > 2)
        if refused:
            with pytest.raises(DataError, match=r"needs sentences with a blank|two options"):
                solver.score([question])
            continue
        [scores] = solver.score([question])
        assert len(scores) == len(question.options)
        assert all(map(math.isfinite, scores))


def test_sentences_with_several_underscores_are_scored(solver):
    [scores] = solver.score(PLACES)
    assert len(scores) == 2
    assert all(map(math.isfinite, scores))
