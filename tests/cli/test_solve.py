"""`winosmith solve` writes predictions, reports the accuracy, and resumes after an interrupt."""

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import Cli
from tests.conftest import installed
from winosmith import Dataset, Prediction, Problem, answers, formats, models, solve
from winosmith.chat import Message, Reply
from winosmith.testing import chat_server, make_twins

PROBLEMS = make_twins(12)


@pytest.fixture(autouse=True)
def _folder(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with problems, training problems and a text collection."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    formats.write(PROBLEMS, "dev.jsonl")
    formats.write(PROBLEMS.blind(), "test.jsonl")
    formats.write(make_twins(20, seed=5), "train.jsonl")
    Path("texts").mkdir()
    Path("texts/a.txt").write_text(
        "\n\n".join(p.fill(p.answer or 0) for p in make_twins(40, seed=9)), "utf-8"
    )


def _read() -> tuple[Prediction, ...]:
    return answers.read_predictions("p.jsonl", PROBLEMS).predictions


def _have_close_scores(solver: solve.Solver) -> bool:
    """Return whether the written scores are those of a solver."""
    pairs = zip(_read(), solve.predict(solver, PROBLEMS), strict=True)
    return all(one.scores == pytest.approx(other.scores, abs=1e-4) for one, other in pairs)


def test_predictions_are_written_and_accuracy_is_printed(cli):
    shown = cli("solve dev.jsonl --solver association --train train.jsonl --out p.jsonl")
    found = answers.read_predictions("p.jsonl", PROBLEMS)
    train = formats.read("train.jsonl")
    assert found.predictions == solve.predict(solve.WordAssociation.trained_on(train), PROBLEMS)
    assert found.parameters["train"] == train.digest[:12]
    right = sum(p.choice == q.answer for p, q in zip(found.predictions, PROBLEMS, strict=True))
    assert f"{right / 24 * 100:.1f} % ({right} of 24)" in shown
    assert f"Signature: data:{PROBLEMS.blind().digest[:12]}|n:24|solver:association|" in shown
    assert "winosmith score dev.jsonl p.jsonl" in shown


def test_training_on_the_measured_problems_is_reported(cli):
    """Both `solve` and `score` warn. Copies are found despite other ids."""
    copies = [replace(problem, id=f"x{problem.id}", twin_id=None) for problem in PROBLEMS[:5]]
    formats.write(Dataset([*copies, *formats.read("train.jsonl")]), "part.jsonl")
    said = {
        name: cli.aside(f"solve dev.jsonl --solver association --train {name} --out {name}-p")
        for name in ("train.jsonl", "part.jsonl", "dev.jsonl")
    }
    assert "Warning" not in said["train.jsonl"]
    assert "Warning: 5 of 24 problems of dev are also in --train; " in said["part.jsonl"]
    assert "Warning: 24 of 24 problems of dev are also in --train; " in said["dev.jsonl"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        said_by_score = cli.aside("score dev.jsonl dev.jsonl-p train.jsonl-p")
    assert said_by_score.count("the solver was trained on these problems") == 1


def test_options_that_the_majority_never_chooses_are_reported(cli):
    """Training data with two options can't show how often the third is correct."""
    formats.write(Dataset([Problem("a", "Which?", ("x", "y", "z"), 2, blank=None)]), "three.jsonl")
    said = cli.aside("solve three.jsonl --solver majority --train train.jsonl --out p.jsonl")
    assert "three have up to 3 options, and those of --train 2; the solver never" in said
    assert not cli.aside("solve dev.jsonl --solver majority --train three.jsonl --out q.jsonl")


def test_withheld_answers_have_no_accuracy(cli):
    assert "the answers are withheld" in cli("solve test.jsonl --solver random --out p.jsonl")
    cli("solve dev.jsonl --solver random --out q.jsonl")
    assert Path("p.jsonl").read_bytes() == Path("q.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("options", "made"),
    [
        ("majority --train train.jsonl", lambda train: solve.Majority.trained_on(train)),
        (
            "association --train train.jsonl --features pairs",
            lambda train: solve.WordAssociation.trained_on(train, features="pairs"),
        ),
        (
            "association --train train.jsonl --local-context",
            lambda train: solve.LocalContext(
                solve.WordAssociation.trained_on(Dataset(solve.cut_to_local_context(train)))
            ),
        ),
        (
            "hunting --collection texts --snippets 5",
            lambda _: solve.KnowledgeHunting(solve.FullTextIndex.open("texts", "index"), 5),
        ),
        ("hunting", lambda _: solve.KnowledgeHunting(solve.FullTextIndex.open(None, "index"))),
    ],
)
def test_each_solver_name_gives_the_predictions_of_its_class(options, made, cli):
    cli(f"solve dev.jsonl --out p.jsonl --solver {options}")
    assert _read() == solve.predict(made(formats.read("train.jsonl")), PROBLEMS)


def test_language_model_options_give_predictions_of_their_class(make_language_model, cli):
    gpt, bert = make_language_model("gpt2"), make_language_model("bert")
    train = formats.read("train.jsonl")
    for options, solver in (
        (f"causal --model {gpt} --scoring full", solve.Causal(gpt, "full")),
        (
            f"causal --model {gpt} --shots 3 --train train.jsonl --seed 2",
            solve.Causal(gpt, prompt=solve.make_prompt(train, 3, seed=2)),
        ),
        (f"masked --model {bert} --scoring option", solve.Masked(bert, "option")),
        (
            f"masked --model {bert} --model {bert} --combine vote",
            solve.Ensemble((solve.Masked(bert), solve.Masked(bert)), "vote"),
        ),
    ):
        cli(f"solve dev.jsonl --device cpu --out p.jsonl --force --solver {options}")
        assert _have_close_scores(solver), options


def test_trained_encoder_is_solver_encoder(tiny_encoder, cli):
    settings = models.TrainingSettings(epochs=1)
    train = make_twins(16, seed=11)
    models.train_multiple_choice(
        train[:24], train[24:], model=tiny_encoder, out="run", settings=settings
    )
    cli("solve dev.jsonl --solver encoder --model run --device cpu --out p.jsonl")
    assert _have_close_scores(solve.EncoderSolver("run", device="cpu"))


class Endpoint(NamedTuple):
    """A command that asks a chat model, and the requests; the model always chooses option 2."""

    solve: str
    asked: list[list[Message]]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    installed("openai", "tenacity")
    asked: list[list[Message]] = []

    def said(messages: list[Message]) -> Reply:
        asked.append(messages)
        return Reply("It is option 2.", 50, 5)

    with chat_server(said) as url:
        yield Endpoint(f"solve dev.jsonl --solver chat --model m --base-url {url}", asked)


def test_chat_model_gets_30_shots_and_position_bias_is_reported(endpoint, cli):
    command = f"{endpoint.solve} --train train.jsonl --swap --out p.jsonl"
    shown = cli(command)
    assert len(endpoint.asked) == 48
    assert len(endpoint.asked[0]) == 61
    for part in ("clear replies that choose the first option 0.0 %",
                 "same position when the options are swapped 100.0 %",
                 "replies 48", "unclear 0", "input tokens 2,400", "output tokens 240"):  # fmt: skip
        assert part in " ".join(shown.split())
    found = answers.read_predictions("p.jsonl", PROBLEMS)
    assert (found.solver, found.parameters["model"], found.parameters["shots"]) == ("chat", "m", 30)
    assert {p.scores for p in found.predictions} == {(0.5, 0.5)}
    cli(f"{command} --force")
    assert len(endpoint.asked) == 48  # replies are cached


def test_chat_budget_stops_before_it_is_exceeded(endpoint, cli):
    """Without --train, the prompt has no examples."""
    command = f"{endpoint.solve} --out p.jsonl"
    told = cli.told(f"{command} --no-cache")["interview"]
    assert (told["problems"], told["replies"], told["unclear"]) == (24, 24, 0)
    assert len(endpoint.asked) == 24
    assert len(endpoint.asked[0]) == 1
    said = cli.refused(f"{command} --force --max-spent 3")
    assert "the budget of 3 tokens does not allow" in said
    assert len(endpoint.asked) == 24


def test_ties_of_three_options_add_up_to_a_whole_number(cli):
    """Six ties are 2 correct answers, not 1.99…98."""
    three = [
        Problem(f"{word}-{n}", f"{word}{n} {word} _", tuple(f"{word}{n}{at}" for at in "abc"), n)
        for n in range(3) for word in ("zaw", "zub")
    ]  # fmt: skip
    formats.write(three, "three.jsonl")
    solve_it = "solve three.jsonl --solver association --train train.jsonl --out p.jsonl"
    report = cli.told(solve_it)
    assert (report["ties"], report["correct"], report["accuracy"]) == (6, 2, 1 / 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--solver majority", "the solver 'majority' needs --train"),
        ("--solver random --train train.jsonl", "--train is not for the solver 'random'; it takes"),
        ("--solver causal", "the solver 'causal' needs --model"),
        ("--solver chat --model a --model b", "asks one model"),
        ("--solver chat --model a --base-url http://127.0.0.1:9/v1 --scoring x",
         """scoring is 'x'; it must be "reply" or "logprobs\""""),
        ("--solver masked --model a --shots 3", "--shots is not for the solver 'masked'"),
        ("--solver random --no-cache", "--no-cache is not for the solver 'random'"),
        ("--solver oracle", "'oracle' is not one of 'random', 'majority'"),
        ("--solver majority --train test.jsonl", "24 of the 24 problems to learn from have no"),
        ("--solver causal --model x --shots 3", "name them with --train"),
        ("--solver hunting --collection dev.jsonl",
         "dev.jsonl:1: the line is not a JSON object with"),
        ("--solver random --out dev.jsonl",
         "was not written by winosmith solve; choose another file"),
        ("--sees pronoun --solver random",
         "--sees is not for the solver 'random', which does not read the sentence"),
        ("--sees pronoun --solver hunting --collection texts", "whose queries have no subject"),
        ("--sees pronoun --solver association --train train.jsonl",
         "the pronoun of 40 of 40 problems is"),
        ("--sees pronoun --solver chat --model m --base-url http://localhost:1",
         "of 24 problems is unknown"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_and_nothing_is_written(arguments, message, cli):
    """The message has advice."""
    out = "" if "--out" in arguments else "--out p.jsonl"
    before = Path("dev.jsonl").read_bytes()
    assert message in cli.refused(f"solve dev.jsonl {arguments} {out}")
    assert not Path("p.jsonl").exists()
    assert Path("dev.jsonl").read_bytes() == before


SLOW = """
import sys, time
from winosmith import solve
from winosmith.cli import main
first = solve.Random.score
def score(self, problems):
    print("chunk", flush=True)
    time.sleep(0.6)
    return first(self, problems)
solve.Random.score = score
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt is a signal on POSIX")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_command_resumes(stop):
    """After Ctrl-C (code 130) or a kill, the same command solves only the rest."""
    many = make_twins(400)
    formats.write(many, "many.jsonl")
    command = [
        sys.executable,
        "-c",
        SLOW,
        *"solve many.jsonl --solver random --out p.jsonl".split(),
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["chunk\n"] * 3
        os.kill(process.pid, stop)
        _, told = process.communicate()
    assert process.returncode == (130 if stop == signal.SIGINT else -stop)
    if stop == signal.SIGINT:
        assert "The same command continues" in told
    assert not Path("p.jsonl").exists()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.count("chunk\n") == 2  # two of four were finished
    found = answers.read_predictions("p.jsonl", many)
    assert found.predictions == solve.predict(solve.Random(), many)


def _set_pronoun(pronoun: str, count: int = 6) -> list[Problem]:
    """Return problems with the given pronoun in the place of their blanks."""
    return [
        replace(problem, id=f"{problem.id}-{pronoun}", twin_id=None, pronoun=pronoun)
        for problem in make_twins(count)
    ]


def _sees(path: str = "p.jsonl") -> object:
    """Return what the solver saw, as stated in a file of predictions."""
    return answers.read_predictions(path).parameters["sees"]


def test_language_model_sees_pronouns_if_problems_differ_in_them(make_language_model, cli):
    """If the pronouns of the shots are unknown, it sees the blank."""
    model = make_language_model("gpt2")
    both = Dataset([*_set_pronoun("she"), *_set_pronoun("he")])
    formats.write(both, "both.jsonl")
    command = f"solve both.jsonl --solver causal --model {model} --out p.jsonl"
    assert "|sees:pronoun|" in cli(command)
    assert "so the solver sees the pronoun (--sees pronoun)" in cli.err
    expected = solve.predict(solve.Causal(model, sees="pronoun"), both)
    assert answers.read_predictions("p.jsonl", both).predictions == expected
    assert "sees is 'pronoun', not 'blank'" in cli.refused(f"{command} --sees blank")
    cli(f"{command} --sees blank --force")
    assert _sees() == "blank"
    formats.write(_set_pronoun("she"), "she.jsonl")
    cli(f"solve she.jsonl --solver causal --model {model} --out q.jsonl")
    assert _sees("q.jsonl") == "blank"
    formats.write(_set_pronoun("it", 9), "its.jsonl")
    for shots, seen in (("train.jsonl", "blank"), ("its.jsonl", "pronoun")):
        cli(f"{command} --shots 2 --train {shots} --force")
        assert _sees() == seen
