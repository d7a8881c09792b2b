"""Solvers either see pronouns, or give equal scores to texts that differ only in a pronoun."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest

from tests.contracts.test_solvers import TOLD, are_close, train_encoder
from winosmith import Dataset, Extra, chat, solve
from winosmith.errors import DataError, InputError, SameInputError
from winosmith.metrics import grade, score
from winosmith.seen import Sees
from winosmith.testing import make_twins

pytestmark = pytest.mark.filterwarnings("ignore:.* texts fill all .* tokens that the model reads")

OF = {"female": "she", "male": "he"}


def set_pronoun(problems: Dataset, pronoun: str) -> Dataset:
    """Return the problems with that pronoun."""
    return Dataset(replace(problem, pronoun=pronoun) for problem in problems)


TRAIN = Dataset(
    replace(problem, pronoun=("she", "he")[(problem.answer or 0) ^ (row % 4 == 0)])
    for row, problem in enumerate(make_twins(30, seed=7))
)
"""Solved problems in which the pronoun is associated with the answer."""

DATA = make_twins(5, singles=2)
SHE, HE = set_pronoun(DATA, "she"), set_pronoun(DATA, "he")


def _reply(messages: chat.Messages) -> chat.Reply:
    """Return an answer that depends on the text but not on the order of the options."""
    said = messages[-1].content
    question, *options = said.split("\nOption ")
    told_apart = [option.split(": ")[1] for option in options]
    chosen = sorted(told_apart)[crc32(question.encode()) % len(told_apart)]
    return chat.Reply(str(1 + told_apart.index(chosen)))


def _make_language_solver(architecture: str, kind: str) -> Callable[[Path, Sees], solve.Solver]:
    if architecture == "gpt2":
        return lambda folder, sees: solve.Causal(folder, kind, sees=sees)
    return lambda folder, sees: solve.Masked(folder, kind, sees=sees)


SIMPLE: dict[str, Callable[[Sees], solve.Solver]] = {
    "association": lambda sees: solve.WordAssociation.trained_on(TRAIN, sees=sees),
    "association of pairs": lambda sees: solve.WordAssociation.trained_on(
        TRAIN, features="pairs", sees=sees
    ),
    "chat": lambda sees: solve.ChatSolver(_reply, sees=sees),
    "chat with shots": lambda sees: solve.ChatSolver.with_shots(_reply, TRAIN, 2, sees=sees),
    "two-way": lambda sees: solve.TwoWay(SIMPLE["association of pairs"](sees)),
    "local": lambda sees: solve.LocalContext(SIMPLE["chat"](sees)),
    "ensemble": lambda sees: solve.Ensemble((SIMPLE["association of pairs"](sees),) * 2),
}
LANGUAGE = {
    f"{architecture} {kind}": (architecture, _make_language_solver(architecture, kind))
    for architecture, kinds in {
        "gpt2": ("partial", "full_per_token"),
        "bert": ("sentence", "option_per_token"),
    }.items()
    for kind in kinds
}
Made = Callable[[Sees], solve.Solver]


@pytest.fixture(params=[*SIMPLE, "encoder", *LANGUAGE], scope="module")
def named_maker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Made]:
    """Return the factory of each solver that can see pronouns, with its name."""
    if request.param in SIMPLE:
        return request.param, SIMPLE[request.param]
    if request.param == "encoder":
        make = request.getfixturevalue("make_encoder")  # large weights, so that every word matters
        encoder, folder = make("bert", initializer_range=0.5), tmp_path_factory.mktemp("encoder")
        return request.param, lambda sees: train_encoder(encoder, folder, sees)
    architecture, made = LANGUAGE[request.param]
    model = request.getfixturevalue("make_language_model")(architecture)
    return request.param, lambda sees: made(model, sees)


@pytest.fixture(scope="module")
def solver(named_maker: tuple[str, Made]) -> solve.Solver:
    """Return each solver, set to see the pronoun."""
    return named_maker[1]("pronoun")


@pytest.fixture(scope="module")
def scores(solver: solve.Solver) -> solve.Scores:
    """Return each solver's scores of the problems with "she"."""
    return solver.score(SHE.blind())


def test_solver_that_sees_pronouns_scores_he_and_she_differently(solver, scores):
    assert not are_close(solver.score(HE.blind()), scores)
    assert solver.parameters["sees"] == "pronoun"


def test_solver_that_sees_the_blank_scores_he_and_she_equally(named_maker):
    blank = named_maker[1]("blank")
    assert are_close(blank.score(HE.blind()), blank.score(SHE.blind()))
    assert blank.parameters["sees"] == "blank"


@pytest.mark.parametrize("what", TOLD)
def test_answers_make_no_difference(solver, scores, what):
    """Neither does `extra`."""
    assert list(solver.score([*map(TOLD[what], SHE)])) == list(scores)


def test_batch_and_order_of_options_make_no_difference(solver, scores):
    one_by_one = [own for problem in SHE.blind() for own in solver.score([problem])]
    assert are_close(one_by_one, scores)
    beside = solver.score([*set_pronoun(HE.blind(), "they"), *SHE.blind()])
    assert are_close(beside[len(HE) :], scores)
    turned = [replace(problem, options=problem.options[::-1]) for problem in SHE.blind()]
    assert are_close([own[::-1] for own in solver.score(turned)], scores)


def test_problems_without_a_pronoun_are_refused(solver):
    """The error contains their ids and the remedy."""
    ids = ", ".join(map(repr, DATA.ids[:3]))
    with pytest.raises(
        DataError, match=rf"12 of 12 problems is unknown \({ids}, …\).*sees=.blank."
    ):
        solver.score(DATA.blind())


def make_gender_versions() -> Dataset:
    """Return each problem once for each gender of its pronoun."""
    return Dataset(
        replace(problem, id=f"{problem.id}-{gender}", twin_id=None, pronoun=pronoun,
                extra=Extra({"made.gender": gender}))
        for problem in DATA
        for gender, pronoun in OF.items()
    )  # fmt: skip


def test_genders_are_compared_only_if_the_solver_sees_pronouns(named_maker):
    data = make_gender_versions()
    for sees in ("blank", "pronoun"):
        solver = named_maker[1](sees)
        found = score(
            grade(data, solve.predict(solver, data), parameters=solver.parameters),
            by=["made.gender"],
        )
        assert ("made.gender" in found.groups) is (sees == "pronoun")
        assert ("made.gender" in found.refused) is (sees == "blank")


@pytest.mark.parametrize(
    "solver",
    [solve.Random(3), solve.Majority((0.25, 0.75))],
    ids=["random", "majority"],
)
def test_random_and_majority_do_not_see_pronouns(solver):
    assert list(solver.score(HE.blind())) == list(solver.score(SHE.blind()))
    assert solver.parameters["sees"] == "blank"


def test_encoder_refuses_an_input_other_than_in_training(tiny_encoder, tmp_path):
    """It was trained with the blank and gets the pronoun, or the reverse."""
    for sees, other in (("blank", "pronoun"), ("pronoun", "blank")):
        trained = train_encoder(tiny_encoder, tmp_path, sees)
        asked = replace(trained, sees=other)
        with pytest.raises(InputError, match=f"was trained with the {sees}.*--sees {other}"):
            asked.score(SHE.blind())
        assert list(replace(trained, sees=sees).score(SHE[:2])) == list(trained.score(SHE[:2]))


def test_same_input_error_is_a_data_error():
    assert issubclass(SameInputError, DataError)
