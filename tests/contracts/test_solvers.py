"""What every solver promises."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from winosmith import Dataset, Extra, Problem, chat, models, solve
from winosmith.errors import DataError
from winosmith.testing import make_twins

pytestmark = pytest.mark.filterwarnings("ignore:.* texts fill all .* tokens that the model reads")
"""The tiny encoder reads 64 tokens, and says so."""

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
"""Problems that are well-formed, and unlike the ones that are thought of first."""

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
"""Questions, whose options come after them; they may hold `_`."""

PLACES = (
    Problem("place", "The amber called __init__ on the _ of yarn.", ("amber_", "yarn"), blank=33),
)
"""A blank beside other `_`."""

PROBLEMS = Dataset((*MADE, *ODD))


class Own:
    """A solver of a user's own, by no class of ours."""

    def score(self, problems: Sequence[Problem]) -> list[tuple[float, ...]]:
        """Return the lengths of the filled-in sentences' options."""
        return [tuple(float(len(option)) for option in p.options) for p in problems]


def _hunting(folder: Path) -> solve.Solver:
    lines = [f"They said that the {n} was up because it stood near the lamp." for n in "abc"]
    lines += [p.fill(1) for p in make_twins(40, seed=3)]
    (folder / "texts.txt").write_text("\n\n".join(lines), "utf-8")
    return solve.KnowledgeHunting(solve.FullTextIndex.open(folder / "texts.txt", folder / "index"))


def _replies(messages: chat.Messages) -> chat.Reply:
    """Answer as no model would, but always the same: by the length of what was asked last."""
    said = messages[-1].content
    return chat.Reply(f"Option {1 + len(said) % max(2, said.count('Option'))}.")


def _trained(encoder: Path, folder: Path) -> solve.Solver:
    settings = models.TrainingSettings(epochs=1, learning_rate=1e-3)
    data = make_twins(16, seed=11)
    models.train_multiple_choice(
        data[:24], data[24:], model=encoder, out=folder / "run", settings=settings
    )
    return solve.EncoderSolver(folder / "run")


SIMPLE: dict[str, Callable[[], solve.Solver]] = {
    "own": Own,
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
    "chat": lambda: solve.ChatSolver(_replies),
    "chat with shots": lambda: solve.ChatSolver.with_shots(
        _replies, make_twins(9, seed=8), 3, draws=2, swap=True
    ),
    "vote": lambda: solve.Ensemble((solve.Random(1), Own(), solve.Random(3)), "vote"),
}

LANGUAGE: dict[str, tuple[str, Callable[[Path], solve.Solver]]] = {
    "causal": ("gpt2", solve.Causal),
    "causal per token": ("gpt2", lambda folder: solve.Causal(folder, "full_per_token")),
    "masked": ("bert", solve.Masked),
    "masked option": ("bert", lambda folder: solve.Masked(folder, "option_per_token")),
    "local causal": ("gpt2", lambda folder: solve.LocalContext(solve.Causal(folder))),
}

TWO_ONLY = {"association", "local association"}
"""Those that refuse more than two options, by name."""


@pytest.fixture(params=[*SIMPLE, "hunting", "encoder", *LANGUAGE], scope="module")
def named(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """Return each solver with its name."""
    if request.param in SIMPLE:
        return request.param, SIMPLE[request.param]()
    if request.param == "hunting":
        return request.param, _hunting(tmp_path_factory.mktemp("hunting"))
    if request.param == "encoder":
        folder = request.getfixturevalue("tiny_encoder")
        return request.param, _trained(folder, tmp_path_factory.mktemp("encoder"))
    architecture, made = LANGUAGE[request.param]
    folder = request.getfixturevalue("make_language_model")(architecture)
    return request.param, made(folder)


@pytest.fixture(scope="module")
def solver(named: tuple[str, solve.Solver]) -> solve.Solver:
    """Return each solver."""
    return named[1]


@pytest.fixture(scope="module")
def scores(solver: solve.Solver) -> solve.Scores:
    """Return each solver's scores of all the problems, asked at once and without answers."""
    return solver.score(PROBLEMS.blind())


def close(one: solve.Scores, other: solve.Scores) -> bool:
    """Tell whether scores differ by less than 1e-4."""
    return all(np.allclose(a, b, rtol=0, atol=1e-4) for a, b in zip(one, other, strict=True))


def test_there_is_one_finite_score_an_option(scores: solve.Scores) -> None:
    """Each problem has a tuple of finite floats, one an option, however odd the problem."""
    assert len(scores) == len(PROBLEMS)
    for problem, own in zip(PROBLEMS, scores, strict=True):
        assert len(own) == len(problem.options)
        assert all(isinstance(score, float) and math.isfinite(score) for score in own)


@pytest.mark.parametrize("what", ["kept", "flipped", "extra"])
def test_answers_make_no_difference(solver: solve.Solver, scores: solve.Scores, what: str) -> None:
    """Asked again, with answers kept, flipped or absent, or `extra`, the scores are the same."""
    told = {
        "kept": lambda p: p,
        "flipped": lambda p: replace(p, answer=1 - (p.answer or 0)),
        "extra": lambda p: replace(p, extra=Extra({"file.answer": p.answer})),
    }[what]
    assert list(solver.score([told(problem) for problem in PROBLEMS])) == list(scores)


def test_the_order_makes_no_difference(solver: solve.Solver, scores: solve.Scores) -> None:
    """In another order each problem has the same scores, within 1e-4."""
    order = np.random.default_rng(1).permutation(len(PROBLEMS)).tolist()
    shuffled = solver.score([PROBLEMS[row].blind() for row in order])
    assert close(shuffled, [scores[row] for row in order])


def test_the_batch_makes_no_difference(solver: solve.Solver, scores: solve.Scores) -> None:
    """Asked one by one, or in parts, each problem has the same scores, within 1e-4."""
    one_by_one = [own for problem in PROBLEMS.blind() for own in solver.score([problem])]
    assert close(one_by_one, scores)
    parts = [*solver.score(PROBLEMS.blind()[:5]), *solver.score(PROBLEMS.blind()[5:])]
    assert close(parts, scores)


BY_PLACE = {
    "majority": "its answer is a place",
    "chat": "it is asked in one order; `swap` asks in both",
}
"""Solvers whose scores depend on which option is written first, each with its reason."""

TURNED = {"chat with shots"}
"""Those that ask in two orders, which are all of them for two options alone."""


def test_the_place_of_an_option_makes_no_difference(named: tuple[str, solve.Solver]) -> None:
    """An option has the same score, within 1e-4, wherever it is written; the same is chosen."""
    name, solver = named
    if name in BY_PLACE:
        pytest.skip(BY_PLACE[name])
    asked = [*PROBLEMS.blind(), *(() if name in TWO_ONLY | TURNED else MORE)]
    turned = [replace(p, options=p.options[1:] + p.options[:1]) for p in asked]
    found, other = solve.predict(solver, asked), solve.predict(solver, turned)
    assert close([p.scores for p in found], [(p.scores[-1], *p.scores[:-1]) for p in other])
    for problem, one, two in zip(asked, found, other, strict=True):
        if max(one.scores) - sorted(one.scores)[-2] > 2e-4 or len(one.chosen) > 1:
            chosen = {(option + 1) % len(problem.options) for option in two.chosen}
            assert chosen == set(one.chosen), problem.id


def test_nothing_asked_is_nothing_scored(solver: solve.Solver) -> None:
    """No problems have no scores."""
    assert list(solver.score([])) == []


def test_more_options_are_solved_or_refused_by_name(named: tuple[str, solve.Solver]) -> None:
    """Three to five options get a finite score each, or the problems are refused and named."""
    name, solver = named
    if name in TWO_ONLY:
        with pytest.raises(DataError, match=r"3 of 27 .*'3-options', '4-options', '5-options'"):
            solver.score([*PROBLEMS[:24], *MORE])
        return
    found = solver.score([*PROBLEMS.blind()[:2], *MORE])
    assert [len(own) for own in found] == [2, 2, 3, 4, 5]
    assert all(math.isfinite(score) for own in found for score in own)
    again = solver.score(MORE[::-1])
    assert close(again[::-1], found[2:])


def test_a_prediction_is_the_best_option(solver: solve.Solver, scores: solve.Scores) -> None:
    """`predict` takes the option with the highest score, and keeps the scores and ids."""
    found = solve.predict(solver, PROBLEMS)
    assert [p.problem_id for p in found] == list(PROBLEMS.ids)
    for prediction, own in zip(found, scores, strict=True):
        assert own[prediction.choice] == pytest.approx(max(own), abs=1e-4)


def test_what_determines_the_scores_is_told(solver: solve.Solver) -> None:
    """A solver of ours has parameters that JSON can hold, and a header can."""
    import json

    if not isinstance(solver, Own):
        told = solver.parameters
        assert json.loads(json.dumps(told)) == told


NEED_A_BLANK = {"local association", "local two-way pairs", "local causal", "hunting"}
"""Those that refuse questions, by name."""


def test_questions_are_answered_or_refused_by_name(named: tuple[str, solve.Solver]) -> None:
    """Questions of two to six options get a score an option, or are refused with the reason."""
    name, solver = named
    for question in QUESTIONS:
        refused = name in NEED_A_BLANK or (name in TWO_ONLY and len(question.options) > 2)
        if refused:
            with pytest.raises(DataError, match=r"needs sentences with a blank|two options"):
                solver.score([question])
            continue
        [scores] = solver.score([question])
        assert len(scores) == len(question.options)
        assert all(map(math.isfinite, scores))


def test_a_blank_beside_other_underscores_is_asked_about(solver: solve.Solver) -> None:
    """Where a sentence holds several `_`, there is a finite score an option all the same."""
    [scores] = solver.score(PLACES)
    assert len(scores) == 2
    assert all(map(math.isfinite, scores))
