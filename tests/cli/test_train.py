"""`winosmith train` and `winosmith transfer`, on the command line."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from winosmith import Dataset, Problem, answers, formats
from winosmith.cli._main import group
from winosmith.errors import DataError, InputError, OutputError
from winosmith.models import load_choice_model
from winosmith.published import write_digests
from winosmith.recast import to_claims
from winosmith.solve import EncoderSolver

FAST = ["--learning-rate", "2e-2", "--epochs", "2"]


def _make_easy(count: int, seed: int = 0) -> Dataset:
    """Return distinct problems in which amber is always correct.

    The tiny encoder's vocabulary, which includes "basket16", has none of the incorrect options.
    It reads a word that it never saw in training like amber, and ties.
    """
    rivals = ("basket", "candle", "drawer")
    return Dataset(
        Problem(
            f"{seed}-{at}",
            f"they say that beside the {('garden', 'tunnel', 'kettle')[at % 3]} {seed} {at} the _ "
            "stood.",
            ("amber", f"{rivals[at % 3]}{seed}x{at}")[:: 1 if at % 2 else -1],
            0 if at % 2 else 1,
        )
        for at in range(count)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with training and dev problems."""
    made = tmp_path_factory.mktemp("data")
    formats.write(_make_easy(160).problems, made / "train.jsonl")
    formats.write(_make_easy(60, 1).problems, made / "dev.jsonl")
    return made


def _write_excerpt(path: Path, tag: str, rows: slice, to: Path) -> None:
    """Write some of the elements of a published XML file."""
    text = path.read_text("utf-8")
    found = list(re.finditer(rf"<{tag}[ >].*?</{tag}>", text, re.DOTALL))
    held = "\n".join(one[0] for one in found[rows])
    to.write_text(text[: found[0].start()] + held + text[found[-1].end() :], "utf-8")


def _run(*words: object) -> Result:
    return CliRunner().invoke(group, list(map(str, words)), catch_exceptions=False)


@pytest.mark.models
def test_grid_is_trained_and_runs_at_chance_are_reported(
    tiny_encoder: Path, folder: Path, tmp_path: Path
) -> None:
    shown = _run(
        "train", folder / "train.jsonl", "--dev", folder / "dev.jsonl", "--model",
        tiny_encoder, "--out", tmp_path / "t", *FAST, "--learning-rate", "1e-9", "--seeds", "5",
    )  # fmt: skip
    assert shown.exit_code == 0
    assert "160 training problems, 60 development problems" in shown.stdout
    assert "Best of 10 runs: lr0.02-ep2-bs16-s0, dev accuracy 100.0 % (60 of 60)" in shown.stdout
    assert "at chance and excluded from means" in shown.stdout
    assert "!" in shown.stdout
    assert "Signature: data:" in shown.stdout
    assert max(map(len, shown.stdout.splitlines()[:12])) <= 80
    assert EncoderSolver(tmp_path / "t").score(_make_easy(2))


@pytest.mark.models
@pytest.mark.parametrize(
    ("asked", "decay", "dropout", "signed"),
    [
        (["--grid", "winogrande", "--learning-rate", "1e-3"], 0.0, None, "dropout:own"),
        (["--grid", "winogrande", "--learning-rate", "1e-3", "--weight-decay", "0.2", "--dropout",
          "0.3"], 0.2, 0.3, "weight_decay:0.2|dropout:0.3"),
        (["--dropout", "own"], 0.01, None, "weight_decay:0.01|dropout:own"),
        ([], 0.01, 0.0, "weight_decay:0.01|dropout:0"),
    ],
)  # fmt: skip
def test_regularisation_is_that_of_the_grid_or_of_options(
    tiny_encoder: Path,
    folder: Path,
    tmp_path: Path,
    asked: list[str],
    decay: float,
    dropout: float | None,
    signed: str,
) -> None:
    """The winogrande grid has no weight decay and the model's own dropout."""
    shown = _run(
        "train", folder / "train.jsonl", "--dev", folder / "dev.jsonl", "--model",
        tiny_encoder, "--out", tmp_path / "t", "--epochs", "1", "--batch-size", "16", "--seeds",
        "1", *asked, "--json",
    )  # fmt: skip
    report = json.loads(shown.stdout)
    assert (report["settings"]["weight_decay"], report["settings"]["dropout"]) == (decay, dropout)
    assert signed in report["signature"]


@pytest.mark.models
def test_then_continues_from_the_first_model(
    tiny_encoder: Path, folder: Path, tmp_path: Path
) -> None:
    """On reversed keys, the model forgets every answer of dev."""
    flipped = [
        Problem(f"f{p.id}", p.sentence, p.options, 1 - (p.answer or 0)) for p in _make_easy(100, 2)
    ]
    formats.write(flipped, tmp_path / "flipped.jsonl")
    shown = _run(
        "train", folder / "train.jsonl", "--dev", folder / "dev.jsonl", "--model",
        tiny_encoder, "--out", tmp_path / "t", *FAST, "--then", tmp_path / "flipped.jsonl",
        "--then-dev", "20", "--on-all", "--json",
    )  # fmt: skip
    report = json.loads(shown.stdout)
    assert '"right_before": 60,' in shown.stdout  # a count, not 60.0
    known = report["forgetting"]
    assert (known["n"], known["right_before"], known["right_after"]) == (60, 60, 0)
    assert (known["change"], known["forgotten"], known["learned"]) == (-1, 60, 0)
    assert known["p_value"] < 0.001
    assert report["then"]["dev_accuracy"] > 0.9
    assert report["on_all"]["at_chance"] is False
    assert report["then"]["on_all"]["folder"].endswith("then/all/model")
    load_choice_model(tmp_path / "t" / "then" / "all")


@pytest.mark.models
def test_curve_writes_a_table_for_winosmith_curve(
    tiny_encoder: Path, folder: Path, tmp_path: Path
) -> None:
    for size in (40, 80, 160):
        formats.write(_make_easy(160)[:size].problems, tmp_path / f"{size}.jsonl")
    files = [tmp_path / f"{size}.jsonl" for size in (160, 40, 80)]
    shown = _run(
        "train", *files, "--dev", folder / "dev.jsonl", "--model", tiny_encoder, "--out",
        tmp_path / "t", *FAST, "--seeds", "2", "--curve",
    )  # fmt: skip
    assert re.search(r"^160 +100\.0 % +0 of 2 +51\.5", shown.stdout, re.MULTILINE)  # the paper's XS
    with (tmp_path / "t" / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["size"], row["seed"]) for row in rows] == [
        (size, seed) for size in ("40", "80", "160") for seed in "01"
    ]
    assert rows[-1]["accuracy"] == "1.000000"
    told = _run("curve", tmp_path / "t" / "curve.csv", "--json")
    assert told.exit_code == 0


@pytest.mark.models
def test_encoder_trained_on_claims_judges_claims(
    tiny_encoder: Path, folder: Path, tmp_path: Path
) -> None:
    shown = _run(
        "train", folder / "train.jsonl", "--dev", folder / "dev.jsonl", "--model",
        tiny_encoder, "--out", tmp_path / "t", *FAST, "--claims", "--json",
    )  # fmt: skip
    assert json.loads(shown.stdout)["n_train"] == 320
    solver = EncoderSolver(tmp_path / "t")
    claims = to_claims(_make_easy(20, 3))
    assert [score > 0 for score in solver.judge(claims)] == [claim.holds for claim in claims]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--then", "train.jsonl"], "--then and --then-dev must be given together"),
        (["--curve", "--on-all"], "can't be combined with --then or --on-all"),
        (["--dev", "nothing.jsonl"], "'nothing.jsonl' is neither a file nor a number"),
        (["--seeds", "2", "--epochs", "0"], "epochs is 0; it must be a whole number, 1 or more"),
    ],
)
def test_conflicting_options_are_refused(
    folder: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    given = ["train.jsonl", "--model", "none", "--out", "out"]
    if "--dev" not in arguments:
        given += ["--dev", "dev.jsonl"]
    with pytest.raises(InputError, match=message):
        _run("train", *given, *arguments)


@pytest.mark.models
def test_dev_texts_in_the_training_data_are_reported(
    tiny_encoder: Path, folder: Path, tmp_path: Path
) -> None:
    formats.write([*_make_easy(3), *_make_easy(40, 1)], tmp_path / "dev.jsonl")
    shown = _run(
        "train", folder / "train.jsonl", "--dev", tmp_path / "dev.jsonl", "--model",
        tiny_encoder, "--out", tmp_path / "t", "--epochs", "1",
    )  # fmt: skip
    assert "Warning: 3 texts of" in shown.stderr
    assert "'they say that beside the garden 0 0 the _ stood.'" in shown.stderr


@pytest.mark.models
def test_folder_of_other_settings_needs_force(
    tiny_encoder: Path, folder: Path, tmp_path: Path
) -> None:
    given = [
        folder / "train.jsonl", "--dev", folder / "dev.jsonl", "--model", tiny_encoder, "--out",
        tmp_path / "t", "--learning-rate", "2e-2", "--epochs",
    ]  # fmt: skip
    _run("train", *given, "1")
    with pytest.raises(OutputError, match="grid is"):
        _run("train", *given, "2")
    shown = _run("train", *given, "2", "--force", "--json")
    assert len(json.loads(shown.stdout)["epochs"]) == 2


def test_transfer_solves_all_data_sets_of_table_5(data_dir: Path, tmp_path: Path) -> None:
    shown = _run("transfer", data_dir, "--solver", "random", "--out", tmp_path / "t")
    assert shown.exit_code == 0
    for text in (
        "random",
        "RoBERTa-WinoGrande *",
        "RoBERTa, Wino (EvoGrad)",
        "140 of 273",  # equal to other commands with this seed
        "of 80",
        "of 1,267",
        "Humans (WinoGrande's crowd): 96.5 is impossible for 273 questions",
        "always answering false gives 63.5 %",
        "the gender gap can't be measured: the gender of the pronoun can't be",
    ):
        assert text in " ".join(shown.stdout.split())
    tables = [line for line in shown.stdout.splitlines() if re.match(r"( {4}|→|─)", line)]
    assert max(map(len, tables)) <= 80
    page = (tmp_path / "t" / "report.html").read_text("utf-8")
    assert "83.1 is impossible for 273 questions; 227 are 83.15" in page
    assert page.count("<h2") == 9
    results = json.loads((tmp_path / "t" / "results.json").read_text("utf-8"))
    found = {row["data"]: row for row in results["systems"]["random"]}
    assert found["pdp"]["comparisons"]["n"] == 80
    assert found["pdp"]["accuracy"]["n"] == 60
    assert found["winogender"]["gap"] is None
    assert "saw the blank instead of the pronoun" in found["winogender"]["notes"][0]
    again = _run("transfer", data_dir, "--solver", "random", "--out", tmp_path / "t", "--json")
    assert json.loads(again.stdout) == {"schema": "transfer 1", **results}


@pytest.mark.data
def test_transfer_omits_data_sets_that_training_may_include(data_dir: Path, tmp_path: Path) -> None:
    """A corpus that isn't available can't be compared, and is reported."""
    files = [data_dir / "dpr" / "test.c.txt", data_dir / "copa" / "copa-test.xml"]
    asked = [*files, "--solver", "random", "--out", tmp_path / "t", "--trained-on", "dpr"]
    shown = _run("transfer", *asked, "--trained-on", "other:Pile").stdout
    words = " ".join(shown.split())
    assert "DPR (Rahman and Ng 2012): No accuracy is shown for random: 564 of 564" in words
    assert "random was also trained on Pile, which is not available" in words
    assert "of 564 " not in re.sub("564 of 564", "", words)
    results = json.loads((tmp_path / "t" / "results.json").read_text())
    assert [one["data"] for one in results["systems"]["random"]] == ["copa"]
    assert "564 of 564" in results["withheld"]["dpr"]
    assert "No accuracy is shown for random" in (tmp_path / "t" / "report.html").read_text()
    with pytest.raises(DataError, match="no problems are left to solve: DPR"):
        _run("transfer", files[0], *asked[2:])
    with pytest.raises(InputError, match="the contents of 'xyzzy' are unknown"):
        _run("transfer", *asked, "--trained-on", "xyzzy")


@pytest.mark.data
def test_transfer_omits_training_data_found_by_digests(data_dir: Path, tmp_path: Path) -> None:
    dpr, tuned = data_dir / "dpr" / "test.c.txt", tmp_path / "tuned"
    tuned.mkdir()
    write_digests(tuned, formats.read(dpr))
    with pytest.raises(DataError, match=r"no problems are left to solve: DPR.* 564 of 564"):
        _run("transfer", dpr, "--model", tuned, "--out", tmp_path / "t")


@pytest.mark.models
@pytest.mark.filterwarnings("ignore:.*texts fill all")
def test_tune_solves_a_data_set_before_and_after_training(
    tiny_encoder: Path, data_dir: Path, tmp_path: Path
) -> None:
    copa = data_dir / "copa" / "copa-dev.xml"
    _write_excerpt(copa, "item", slice(40), tmp_path / "few.xml")
    _run(
        "train", tmp_path / "few.xml", "--dev", "10", "--model", tiny_encoder, "--out",
        tmp_path / "m", "--epochs", "1",
    )  # fmt: skip
    _write_excerpt(copa, "item", slice(40, 80), tmp_path / "test.xml")
    shown = _run(
        "transfer", tmp_path / "test.xml", "--model", tmp_path / "m", "--out",
        tmp_path / "t", "--tune", tmp_path / "few.xml", "--name", "Tiny",
    )  # fmt: skip
    assert len(re.findall(r"^→ +Tiny(?:-ft)?  ", shown.stdout, re.MULTILINE)) == 2
    assert (tmp_path / "t" / "tuned" / "copa" / "all" / "model").is_dir()
    assert (tmp_path / "t" / "predictions-ft" / "copa.jsonl").is_file()
    leaked = _run(
        "transfer", tmp_path / "test.xml", "--model", tmp_path / "m", "--out",
        tmp_path / "u", "--tune", tmp_path / "test.xml",
    )  # fmt: skip
    assert "40 texts in" in leaked.stderr


@pytest.mark.models
@pytest.mark.filterwarnings("ignore:.*texts fill all")
def test_encoder_tuned_on_claims_judges_each_claim(
    tiny_encoder: Path, folder: Path, data_dir: Path, tmp_path: Path
) -> None:
    _run(
        "train", folder / "train.jsonl", "--dev", "20", "--model", tiny_encoder, "--out",
        tmp_path / "m", "--epochs", "1", "--claims",
    )  # fmt: skip
    held = (data_dir / "superglue_wsc" / "train.jsonl").read_text("utf-8").splitlines(True)
    (tmp_path / "train.jsonl").write_text("".join(held[:60]), "utf-8")
    (tmp_path / "val.jsonl").write_text("".join(held[60:90]), "utf-8")
    shown = _run(
        "transfer", tmp_path / "val.jsonl", "--model", tmp_path / "m", "--out",
        tmp_path / "t", "--tune", tmp_path / "train.jsonl", "--json",
    )  # fmt: skip
    systems = json.loads(shown.stdout)["systems"]
    assert list(systems) == ["m", "m-ft"]
    (tuned,) = systems["m-ft"]
    assert tuned["accuracy"]["n"] == 30
    assert not any("compared with each other" in note for note in tuned["notes"])
    assert load_choice_model(tmp_path / "t" / "tuned" / "superglue-wsc" / "all").input_format.claims


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        (["a.jsonl"], [], "no data set of WinoGrande's table 5 has the format winosmith"),
        (["a.jsonl"], ["--tune", "a.jsonl"], "--tune trains an encoder"),
        (["wsc=a.jsonl", "wsc=b.jsonl"], [], "are both wsc; give only one of them"),
        (["empty"], [], "contains none of the data sets in WinoGrande's Table 5"),
    ],
)
def test_invalid_files_of_transfer_are_refused(
    files: list[str],
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        formats.write(_make_easy(4).problems, tmp_path / name)
    with pytest.raises(InputError, match=message):
        _run("transfer", *files, "--solver", "random", "--out", "out", *options)


def test_transfer_refuses_withheld_answers(data_dir: Path, tmp_path: Path) -> None:
    """SuperGLUE's test part has no labels."""
    with pytest.raises(InputError, match="146 of 146 answers are withheld"):
        _run(
            "transfer", data_dir / "superglue_wsc" / "test.jsonl", "--solver", "random",
            "--out", tmp_path / "t",
        )  # fmt: skip


@pytest.mark.models
@pytest.mark.filterwarnings("ignore:.*texts fill all")
def test_encoder_trained_on_pronouns_needs_pronouns(
    tiny_encoder: Path, folder: Path, data_dir: Path, tmp_path: Path
) -> None:
    dpr = formats.read(data_dir / "dpr" / "train.c.txt")
    formats.write(dpr[:40], tmp_path / "few.jsonl")
    options = ["--model", tiny_encoder, "--sees", "pronoun", "--epochs", "1"]
    shown = _run("train", tmp_path / "few.jsonl", "--dev", "10", "--out", tmp_path / "m", *options)
    assert "|sees:pronoun|" in shown.stdout
    solver = EncoderSolver(tmp_path / "m")
    assert solver.parameters["sees"] == "pronoun"
    with pytest.raises(DataError, match=r"the pronoun of 150 of 150 problems is unknown"):
        _run("train", folder / "train.jsonl", "--dev", "10", "--out", tmp_path / "n", *options)
    with pytest.raises(InputError, match="applies only to filled-in sentences"):
        _run(
            "train", tmp_path / "few.jsonl", "--dev", "10", "--out", tmp_path / "n", *options,
            "--split-point", "after_option",
        )  # fmt: skip
    _write_excerpt(data_dir / "copa" / "copa-dev.xml", "item", slice(5), tmp_path / "copa.xml")
    with pytest.raises(DataError, match=r"not every problem of copa has a known pronoun; omit"):
        _run("transfer", tmp_path / "copa.xml", "--model", tmp_path / "m", "--out",
             tmp_path / "t")  # fmt: skip


@pytest.mark.long
@pytest.mark.models
@pytest.mark.data
def test_transfer_shows_pronouns_of_winogender_to_the_model(
    make_language_model: Callable[..., Path], data_dir: Path, tmp_path: Path
) -> None:
    _write_excerpt(data_dir / "wsc/WSCollection.xml", "schema", slice(20), tmp_path / "wsc.xml")
    winogender = data_dir / "winogender/all_sentences.tsv"
    options = [
        tmp_path / "wsc.xml", winogender, "--solver", "causal", "--model",
        make_language_model("gpt2"),
    ]  # fmt: skip
    shown = _run("transfer", *options, "--out", tmp_path / "t")
    assert "Accuracy on Winogender by gender, and the gaps" in shown.stdout
    assert "the solver saw the pronoun and chose its referent" in shown.stdout
    for name, seen in (("wsc", "blank"), ("winogender", "pronoun")):
        found = answers.read_predictions(tmp_path / f"t/predictions/{name}.jsonl")
        assert found.parameters["sees"] == seen
    results = json.loads((tmp_path / "t/results.json").read_text("utf-8"))["systems"]
    (system,) = results.values()
    assert [row["data"] for row in system] == ["wsc", "winogender"]
    assert "sees:pronoun" in system[1]["gap"]["signature"]
    hidden = _run("transfer", *options, "--out", tmp_path / "u", "--sees", "blank", "--json")
    (system,) = json.loads(hidden.stdout)["systems"].values()
    assert system[1]["gap"] is None
    assert "the gender gap can't be measured" in system[1]["notes"][0]
