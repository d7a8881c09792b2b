"""`winosmith solve` writes predictions, tells the accuracy, and goes on where it was stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from winosmith import Dataset, Problem, formats, solve
from winosmith.cli import main
from winosmith.testing import made_twins

TEXT = pytest.CaptureFixture[str]

PROBLEMS = made_twins(12)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with problems, problems to learn from, and a text collection."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    formats.write(PROBLEMS, "dev.jsonl")
    formats.write(PROBLEMS.blind(), "test.jsonl")
    formats.write(made_twins(20, seed=5), "train.jsonl")
    Path("texts").mkdir()
    Path("texts/a.txt").write_text(
        "\n\n".join(p.fill(p.answer or 0) for p in made_twins(40, seed=9)), "utf-8"
    )
    return tmp_path


def test_predictions_and_accuracy_come_out(capsys: TEXT) -> None:
    """The file holds the solver's predictions; the screen tells accuracy, n and what is next."""
    arguments = "solve dev.jsonl --solver association --train train.jsonl --out p.jsonl"
    assert main(arguments.split()) == 0
    found = formats.read_predictions("p.jsonl", PROBLEMS)
    train = formats.read("train.jsonl")
    solver = solve.WordAssociation.trained_on(train)
    assert found.predictions == solve.predict(solver, PROBLEMS)
    assert found.parameters["train"] == train.digest[:12]
    right = sum(p.choice == q.answer for p, q in zip(found.predictions, PROBLEMS, strict=True))
    shown = capsys.readouterr().out
    assert f"{right / 24 * 100:.1f} % ({right} of 24)" in shown
    assert f"Signature: data:{PROBLEMS.blind().digest[:12]}|n:24|solver:association|" in shown
    assert "winosmith score dev.jsonl p.jsonl" in shown


def test_the_report_is_json(capsys: TEXT) -> None:
    """With --json the report alone is printed, the accuracy and its signature in it."""
    assert main("solve dev.jsonl --solver random --seed 3 --out p.jsonl --json".split()) == 0
    report = json.loads(capsys.readouterr().out)
    found = formats.read_predictions("p.jsonl", PROBLEMS)
    right = sum(p.choice == q.answer for p, q in zip(found.predictions, PROBLEMS, strict=True))
    assert (report["right"], report["answers_known"]) == (right, 24)
    assert report["accuracy"] == right / 24
    assert "|solver:random|seed:3|" in report["signature"]


def test_withheld_answers_have_no_accuracy(capsys: TEXT) -> None:
    """Problems without answers are solved alike, and no accuracy is made up for them."""
    assert main("solve test.jsonl --solver random --out p.jsonl".split()) == 0
    assert "the answers are withheld" in capsys.readouterr().out
    assert main("solve dev.jsonl --solver random --out q.jsonl".split()) == 0
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
                solve.WordAssociation.trained_on(Dataset(solve.local_only(train)))
            ),
        ),
        (
            "hunting --collection texts --snippets 5",
            lambda _: solve.KnowledgeHunting(solve.FullTextIndex.of("texts", "index"), 5),
        ),
    ],
)
def test_each_name_is_its_solver(options: str, made: Callable[[Dataset], solve.Solver]) -> None:
    """What the command writes is what the solver of that name says in Python."""
    assert main(f"solve dev.jsonl --out p.jsonl --solver {options}".split()) == 0
    expected = solve.predict(made(formats.read("train.jsonl")), PROBLEMS)
    assert formats.read_predictions("p.jsonl", PROBLEMS).predictions == expected


def test_language_models_have_names_too(make_language_model: Callable[..., Path]) -> None:
    """Causal and masked models, an ensemble of two, and shots in the prompt."""
    gpt, bert = make_language_model("gpt2"), make_language_model("bert")
    train = formats.read("train.jsonl")
    for options, solver in (
        (f"causal --model {gpt} --scoring full", solve.Causal(gpt, "full")),
        (
            f"causal --model {gpt} --shots 3 --train train.jsonl --seed 2",
            solve.Causal(gpt, prompt=solve.shots(train, 3, seed=2)),
        ),
        (f"masked --model {bert} --scoring option", solve.Masked(bert, "option")),
        (
            f"masked --model {bert} --model {bert} --combine vote",
            solve.Ensemble((solve.Masked(bert), solve.Masked(bert)), "vote"),
        ),
    ):
        command = f"solve dev.jsonl --device cpu --out p.jsonl --force --solver {options}"
        assert main(command.split()) == 0
        found = formats.read_predictions("p.jsonl", PROBLEMS).predictions
        expected = solve.predict(solver, PROBLEMS)
        for one, other in zip(found, expected, strict=True):
            assert one.scores == pytest.approx(other.scores, abs=1e-4)


def test_problems_of_five_options_are_solved() -> None:
    """A solver of two options is asked about every pair."""
    five = Problem("five", "They say the _ fell.", ("cup", "jug", "pot", "pan", "mug"), 2)
    formats.write([five, replace(PROBLEMS[0], twin_id=None)], "five.jsonl")
    assert (
        main("solve five.jsonl --solver association --train train.jsonl --out p.jsonl".split()) == 0
    )
    found = formats.read_predictions("p.jsonl", formats.read("five.jsonl"))
    assert [len(p.scores) for p in found.predictions] == [5, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--solver majority", "the solver 'majority' needs --train"),
        ("--solver random --train train.jsonl", "--train is not for the solver 'random'; it takes"),
        ("--solver hunting", "the solver 'hunting' needs --collection"),
        ("--solver causal", "the solver 'causal' needs --model"),
        ("--solver oracle", "'oracle' is not one of 'majority', 'random'"),
        ("--solver majority --train test.jsonl", "24 of the 24 problems to learn from have no"),
        ("--solver causal --model x --shots 3", "name them with --train"),
        ("--solver hunting --collection dev.jsonl", "dev.jsonl:1: the line is no JSON object with"),
        ("--solver random --out none/p.jsonl", "none: there is no such folder; make it first"),
        (
            "--solver random --out dev.jsonl",
            "was not written by winosmith solve; name another file",
        ),
    ],
)
def test_bad_input_is_told(arguments: str, message: str, capsys: TEXT) -> None:
    """What can't be done is refused with code 2 and what to do, and nothing is written."""
    out = [] if "--out" in arguments else ["--out", "p.jsonl"]
    before = Path("dev.jsonl").read_bytes()
    assert main(["solve", "dev.jsonl", *arguments.split(), *out]) == 2
    assert message in capsys.readouterr().err
    assert not Path("p.jsonl").exists()
    assert Path("dev.jsonl").read_bytes() == before


def test_a_model_that_is_not_there_is_told(quiet_models: None, capsys: TEXT) -> None:
    """A folder or hub id that holds no model is refused with code 2."""
    assert main("solve dev.jsonl --solver causal --model ./none --out p.jsonl".split()) == 2
    assert "none" in capsys.readouterr().err


def test_other_parameters_are_refused(capsys: TEXT) -> None:
    """A file of another run is refused with what differs, and replaced with --force."""
    command = "solve dev.jsonl --solver random --out p.jsonl".split()
    assert main(command) == 0
    first = Path("p.jsonl").read_bytes()
    assert main(command) == 0
    assert main([*command, "--seed", "8"]) == 2
    assert "(seed is 0 there, 8 here); name another file, or add --force" in capsys.readouterr().err
    assert Path("p.jsonl").read_bytes() == first
    assert main([*command, "--seed", "8", "--force"]) == 0
    assert Path("p.jsonl").read_bytes() != first


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


@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt is a signal on POSIX")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_command_goes_on(stop: signal.Signals) -> None:
    """After Ctrl-C (code 130) or a kill, the same command solves only the rest."""
    many = made_twins(400)
    formats.write(many, "many.jsonl")
    command = "solve many.jsonl --solver random --out p.jsonl".split()
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["chunk\n"] * 3
        os.kill(process.pid, stop)
        _, told = process.communicate()
    assert process.returncode == (130 if stop == signal.SIGINT else -stop)
    if stop == signal.SIGINT:
        assert "Run the same command again" in told
    assert not Path("p.jsonl").exists()
    done = subprocess.run(
        [sys.executable, "-c", SLOW, *command], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("chunk\n") == 2  # two of four were finished
    found = formats.read_predictions("p.jsonl", many)
    assert found.predictions == solve.predict(solve.Random(), many)


def test_the_help_names_every_solver(capsys: TEXT) -> None:
    """Each solver stands in the help with a line of its own."""
    assert main(["solve", "--help"]) == 0
    shown = capsys.readouterr().out
    from winosmith.cli._solvers import SOLVERS, TAKES

    assert SOLVERS.keys() == TAKES.keys()
    for name in SOLVERS:
        assert f"\n      {name} " in shown
