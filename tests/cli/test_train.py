"""`winosmith train` and `winosmith transfer`, on the command line."""

import csv
import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from winosmith import Dataset, Problem, answers, formats
from winosmith.metrics import grade
from winosmith.models import load_choice_model
from winosmith.published import write_digests
from winosmith.recast import to_claims
from winosmith.solve import EncoderSolver, predict

FAST = "--learning-rate 2e-2 --epochs 2"


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


@pytest.fixture(autouse=True)
def _data(cli: Cli) -> None:
    """Write training and dev problems into the current folder."""
    formats.write(_make_easy(160).problems, "train.jsonl")
    formats.write(_make_easy(60, 1).problems, "dev.jsonl")


@pytest.fixture
def train(tiny_encoder: Path) -> str:
    """Return a command that trains a tiny encoder in the folder `t`."""
    return f"train train.jsonl --dev dev.jsonl --model {tiny_encoder} --out t"


def _write_excerpt(path: Path, tag: str, rows: slice, to: str) -> None:
    """Write some of the elements of a published XML file."""
    text = path.read_text("utf-8")
    found = list(re.finditer(rf"<{tag}[ >].*?</{tag}>", text, re.DOTALL))
    held = "\n".join(one[0] for one in found[rows])
    Path(to).write_text(text[: found[0].start()] + held + text[found[-1].end() :], "utf-8")


@pytest.mark.models
def test_grid_is_trained_and_runs_at_chance_are_reported(train, cli):
    shown = cli(f"{train} {FAST} --learning-rate 1e-9 --seeds 5")
    assert "160 training problems, 60 development problems" in shown
    assert "Best of 10 runs: lr0.02-ep2-bs16-s0, dev accuracy 100.0 % (60 of 60)" in shown
    assert "at chance and excluded from means" in shown
    assert "!" in shown
    assert "Signature: data:" in shown
    assert max(map(len, shown.splitlines()[:12])) <= 80
    assert EncoderSolver("t").score(_make_easy(2))


@pytest.mark.models
@pytest.mark.parametrize(
    ("asked", "decay", "dropout", "signed"),
    [
        ("--grid winogrande --learning-rate 1e-3", 0.0, None, "dropout:own"),
        ("--grid winogrande --learning-rate 1e-3 --weight-decay 0.2 --dropout 0.3", 0.2, 0.3,
         "weight_decay:0.2|dropout:0.3"),
        ("--dropout own", 0.01, None, "weight_decay:0.01|dropout:own"),
        ("", 0.01, 0.0, "weight_decay:0.01|dropout:0"),
    ],
)  # fmt: skip
def test_regularisation_is_that_of_the_grid_or_of_options(
    train, cli, asked, decay, dropout, signed
):
    """The winogrande grid has no weight decay and the model's own dropout."""
    report = cli.told(f"{train} --epochs 1 --batch-size 16 --seeds 1 {asked}")
    assert (report["settings"]["weight_decay"], report["settings"]["dropout"]) == (decay, dropout)
    assert signed in report["signature"]


@pytest.mark.models
def test_training_continues_from_an_earlier_model(train, cli):
    """On reversed keys, the model forgets every answer of dev."""
    flipped = [
        Problem(f"f{p.id}", p.sentence, p.options, 1 - (p.answer or 0)) for p in _make_easy(100, 2)
    ]
    formats.write(flipped, "flipped.jsonl")
    report = cli.told(f"{train} {FAST} --on-all")
    assert report["on_all"]["at_chance"] is False
    assert report["on_all"]["folder"].endswith("all/model")
    load_choice_model("t/all")
    then = "train flipped.jsonl --dev 20 --model t/model --out then"
    assert cli.told(f"{then} {FAST}")["dev_accuracy"] > 0.9
    dev = formats.read("dev.jsonl")
    before, after = (grade(dev, predict(EncoderSolver(folder), dev)) for folder in ("t", "then"))
    assert (before.credit.mean(), after.credit.mean()) == (1, 0)


@pytest.mark.models
def test_curve_writes_a_table_for_winosmith_curve(tiny_encoder, cli):
    for size in (40, 80, 160):
        formats.write(_make_easy(160)[:size].problems, f"{size}.jsonl")
    shown = cli(
        f"train 160.jsonl 40.jsonl 80.jsonl --dev dev.jsonl --model {tiny_encoder} --out t {FAST} "
        "--seeds 2 --curve"
    )
    assert re.search(r"^160 +100\.0 % +0 of 2 +51\.5", shown, re.MULTILINE)  # the paper's XS
    with Path("t/curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["size"], row["seed"]) for row in rows] == [
        (size, seed) for size in ("40", "80", "160") for seed in "01"
    ]
    assert rows[-1]["accuracy"] == "1.000000"
    cli.told("curve t/curve.csv")


@pytest.mark.models
def test_encoder_trained_on_claims_judges_claims(train, cli):
    assert cli.told(f"{train} {FAST} --claims")["n_train"] == 320
    claims = to_claims(_make_easy(20, 3))
    scores = EncoderSolver("t").judge(claims)
    assert [score > 0 for score in scores] == [claim.holds for claim in claims]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--dev dev.jsonl --curve --on-all", "--curve can't be combined with --on-all"),
        ("--dev nothing.jsonl", "'nothing.jsonl' is neither a file nor a number"),
        ("--dev dev.jsonl --epochs 0", "epochs is 0; it must be a whole number, 1 or more"),
    ],
)
def test_conflicting_options_are_refused(arguments, message, cli):
    assert message in cli.refused(f"train train.jsonl --model none --out out {arguments}")


@pytest.mark.models
def test_dev_texts_in_the_training_data_are_reported(train, cli):
    formats.write([*_make_easy(3), *_make_easy(40, 1)], "dev.jsonl")
    told = cli.aside(f"{train} --epochs 1")
    assert "Warning: 3 texts of" in told
    assert "'they say that beside the garden 0 0 the _ stood.'" in told


@pytest.mark.models
def test_folder_of_other_settings_needs_force(train, cli):
    cli(f"{train} --learning-rate 2e-2 --epochs 1")
    assert "grid is" in cli.refused(f"{train} --learning-rate 2e-2 --epochs 2")
    report = cli.told(f"{train} --learning-rate 2e-2 --epochs 2 --force")
    assert len(report["epochs"]) == 2


def test_transfer_solves_all_data_sets_of_table_5(data_dir, cli):
    shown = cli(f"transfer {data_dir} --solver random --out t")
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
        assert text in " ".join(shown.split())
    tables = [line for line in shown.splitlines() if re.match(r"( {4}|→|─)", line)]
    assert max(map(len, tables)) <= 80
    page = Path("t/report.html").read_text("utf-8")
    assert "83.1 is impossible for 273 questions; 227 are 83.15" in page
    assert page.count("<h2") == 9
    results = json.loads(Path("t/results.json").read_text("utf-8"))
    found = {row["data"]: row for row in results["systems"]["random"]}
    assert found["pdp"]["comparisons"]["n"] == 80
    assert found["pdp"]["accuracy"]["n"] == 60
    assert found["winogender"]["gap"] is None
    assert "saw the blank instead of the pronoun" in found["winogender"]["notes"][0]
    assert cli.told(f"transfer {data_dir} --solver random --out t") == results


@pytest.mark.data
def test_transfer_omits_data_sets_that_training_may_include(data_dir, cli):
    """A corpus that isn't available can't be compared, and is reported."""
    dpr, copa = data_dir / "dpr/test.c.txt", data_dir / "copa/copa-test.xml"
    asked = "--solver random --out t --trained-on dpr"
    words = " ".join(cli(f"transfer {dpr} {copa} {asked} --trained-on other:Pile").split())
    assert "DPR (Rahman and Ng 2012): No accuracy is shown for random: 564 of 564" in words
    assert "random was also trained on Pile, which is not available" in words
    assert "of 564 " not in re.sub("564 of 564", "", words)
    results = json.loads(Path("t/results.json").read_text())
    assert [one["data"] for one in results["systems"]["random"]] == ["copa"]
    assert "564 of 564" in results["withheld"]["dpr"]
    assert "No accuracy is shown for random" in Path("t/report.html").read_text()
    assert "no problems are left to solve: DPR" in cli.refused(f"transfer {dpr} {asked}")
    assert "the contents of 'xyzzy' are unknown" in cli.refused(
        f"transfer {dpr} {copa} {asked} --trained-on xyzzy"
    )


@pytest.mark.data
def test_transfer_omits_training_data_found_by_digests(data_dir, cli):
    dpr = data_dir / "dpr/test.c.txt"
    Path("tuned").mkdir()
    write_digests(Path("tuned"), formats.read(dpr))
    said = cli.refused(f"transfer {dpr} --model tuned --out t")
    assert re.search(r"no problems are left to solve: DPR.* 564 of 564", said)


@pytest.mark.models
@pytest.mark.filterwarnings("ignore:.*texts fill all")
def test_tune_solves_a_data_set_before_and_after_training(tiny_encoder, data_dir, cli):
    copa = data_dir / "copa/copa-dev.xml"
    _write_excerpt(copa, "item", slice(40), "few.xml")
    _write_excerpt(copa, "item", slice(40, 80), "test.xml")
    cli(f"train few.xml --dev 10 --model {tiny_encoder} --out m --epochs 1")
    shown = cli("transfer test.xml --model m --out t --tune few.xml --name Tiny")
    assert len(re.findall(r"^→ +Tiny(?:-ft)?  ", shown, re.MULTILINE)) == 2
    assert Path("t/tuned/copa/all/model").is_dir()
    assert Path("t/predictions-ft/copa.jsonl").is_file()
    leaked = cli.aside("transfer test.xml --model m --out u --tune test.xml")
    assert "40 texts in" in leaked


@pytest.mark.models
@pytest.mark.filterwarnings("ignore:.*texts fill all")
def test_encoder_tuned_on_claims_judges_each_claim(tiny_encoder, data_dir, cli):
    cli(f"train train.jsonl --dev 20 --model {tiny_encoder} --out m --epochs 1 --claims")
    held = (data_dir / "superglue_wsc/train.jsonl").read_text("utf-8").splitlines(True)
    Path("train.jsonl").write_text("".join(held[:60]), "utf-8")
    Path("val.jsonl").write_text("".join(held[60:90]), "utf-8")
    systems = cli.told("transfer val.jsonl --model m --out t --tune train.jsonl")["systems"]
    assert list(systems) == ["m", "m-ft"]
    (tuned,) = systems["m-ft"]
    assert tuned["accuracy"]["n"] == 30
    assert not any("compared with each other" in note for note in tuned["notes"])
    assert load_choice_model("t/tuned/superglue-wsc/all").input_format.claims


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("train.jsonl", "no data set of WinoGrande's table 5 has the format winosmith"),
        ("train.jsonl --tune train.jsonl", "--tune trains an encoder"),
        ("wsc=train.jsonl wsc=dev.jsonl", "are both wsc; give only one of them"),
        ("empty", "contains none of the data sets in WinoGrande's Table 5"),
    ],
)
def test_invalid_files_of_transfer_are_refused(files, message, cli):
    Path("empty").mkdir()
    assert message in cli.refused(f"transfer {files} --solver random --out out")


def test_transfer_refuses_withheld_answers(data_dir, cli):
    """The test part of SuperGLUE has no labels."""
    file = data_dir / "superglue_wsc/test.jsonl"
    reason = cli.refused(f"transfer {file} --solver random --out out")
    assert "146 of 146 answers are withheld" in reason


@pytest.mark.models
@pytest.mark.filterwarnings("ignore:.*texts fill all")
def test_encoder_trained_on_pronouns_needs_pronouns(tiny_encoder, data_dir, cli):
    formats.write(formats.read(data_dir / "dpr/train.c.txt")[:40], "few.jsonl")
    options = f"--dev 10 --model {tiny_encoder} --sees pronoun --epochs 1"
    assert "|sees:pronoun|" in cli(f"train few.jsonl --out m {options}")
    assert EncoderSolver("m").parameters["sees"] == "pronoun"
    _write_excerpt(data_dir / "copa/copa-dev.xml", "item", slice(5), "copa.xml")
    for command, message in (
        (f"train train.jsonl --out n {options}", "the pronoun of 150 of 150 problems is unknown"),
        (f"train few.jsonl --out n {options} --split-point after_option",
         "applies only to filled-in sentences"),
        ("transfer copa.xml --model m --out t",
         "not every problem of copa has a known pronoun; omit"),
    ):  # fmt: skip
        assert message in cli.refused(command)


@pytest.mark.long
@pytest.mark.models
@pytest.mark.data
def test_transfer_shows_pronouns_of_winogender_to_the_model(make_language_model, data_dir, cli):
    _write_excerpt(data_dir / "wsc/WSCollection.xml", "schema", slice(20), "wsc.xml")
    winogender = data_dir / "winogender/all_sentences.tsv"
    transfer = (
        f"transfer wsc.xml {winogender} --solver causal --model {make_language_model('gpt2')}"
    )
    shown = cli(f"{transfer} --out t")
    assert "Accuracy on Winogender by gender, and the gaps" in shown
    assert "the solver saw the pronoun and chose its referent" in shown
    for name, seen in (("wsc", "blank"), ("winogender", "pronoun")):
        found = answers.read_predictions(f"t/predictions/{name}.jsonl")
        assert found.parameters["sees"] == seen
    (system,) = json.loads(Path("t/results.json").read_text("utf-8"))["systems"].values()
    assert [row["data"] for row in system] == ["wsc", "winogender"]
    assert "sees:pronoun" in system[1]["gap"]["signature"]
    (system,) = cli.told(f"{transfer} --out u --sees blank")["systems"].values()
    assert system[1]["gap"] is None
    assert "the gender gap can't be measured" in system[1]["notes"][0]
