"""`winosmith score` measures predictions, and refuses those that don't fit the data."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase
from typing import ClassVar

import numpy as np
import pytest

from tests.cli.conftest import Cli
from winosmith import Prediction, Problem, Response, answers, formats, study
from winosmith.cli.transfer import _read_women
from winosmith.metrics import switch_options
from winosmith.testing import make_twins
from winosmith.validate import write_votes

DATA = make_twins(30, singles=4)
RNG = np.random.default_rng(0)
CHOICES = [(p.answer or 0) ^ int(RNG.random() < 0.2) for p in DATA]
SCORED = [
    Prediction(p.id, c, (float(-c), float(c - 1))) for p, c in zip(DATA, CHOICES, strict=True)
]


@pytest.fixture(autouse=True)
def _folder(cli: Cli) -> None:
    """Work in a folder with a data set and predictions of several sources."""
    formats.write(DATA, "dev.jsonl")
    answers.write_predictions(SCORED, "ours.jsonl", DATA, solver="toy")
    Path("list.lst").write_text("".join(f"{c + 1}\n" for c in CHOICES))
    rows = [f"{p.id},{c + 1}" for p, c in zip(DATA, CHOICES, strict=True)]
    Path("table.csv").write_text("\n".join(["qID,prediction", *rows, ",,"]) + "\n")
    rows = [f"{p.id},{'AB'[c]}" for p, c in zip(DATA, CHOICES, strict=True)]
    Path("answers.csv").write_text("\n".join(["ID,m", *rows]))
    Path("models.csv").write_text("\n".join(["id,m1,m2", *(f"{row},A" for row in rows)]))


@pytest.mark.parametrize("command", ["score", "compare"])
def test_ties_and_choices_against_scores_are_reported(command, cli):
    ties = [Prediction(p.id, 0, (-7.5, -7.5), (0, 1)) for p in DATA]
    answers.write_predictions(ties, "ties.jsonl", DATA, solver="even")
    odd = [replace(said, scores=said.scores[::-1]) for said in SCORED[:3]] + SCORED[3:]
    answers.write_predictions(odd, "odd.jsonl", DATA, solver="odd")
    shown = " ".join(cli(command, "dev.jsonl", "ties.jsonl", "odd.jsonl").split())
    assert "50.0 % (64 ties)" in shown
    assert "counts as 1 / (options tied)" in shown
    assert "3 of odd's choices are not the option with its best score" in shown
    assert "ties" not in cli(command, "dev.jsonl", "ours.jsonl", "odd.jsonl")


def test_table_with_a_column_per_model_has_several_solvers(cli):
    """`compare` needs only this file. Equal names get the name of their file."""
    found = cli.told("score dev.jsonl models.csv answers.csv")["solvers"]
    right = [sum(c == p.answer for c, p in zip(CHOICES, DATA, strict=True)),
             sum(p.answer == 0 for p in DATA)]  # fmt: skip
    assert list(found) == ["m1", "m2", "m"]
    assert [found[name]["accuracy"]["correct"] for name in found] == [*right, right[0]]
    assert "m1 " in cli("compare dev.jsonl models.csv")
    Path("copy.csv").write_text(Path("models.csv").read_text())
    again = cli.told("score dev.jsonl models.csv copy.csv")["solvers"]
    assert list(again) == ["m1", "m2", "copy.csv: m1", "copy.csv: m2"]
    Path("again").mkdir()
    Path("again/ours.jsonl").write_text(Path("ours.jsonl").read_text())
    again = cli.told("score dev.jsonl ours.jsonl again/ours.jsonl")["solvers"]
    assert list(again) == ["ours", "again/ours.jsonl: ours"]
    twice = cli.refused("compare dev.jsonl ours.jsonl ./ours.jsonl")
    assert "ours.jsonl: the file is given twice" in twice
    table, last = Path("models.csv").read_text(), DATA[-1].id
    Path("gap.csv").write_text(table[:-1])
    refused = cli.refused("score dev.jsonl gap.csv")
    assert f"m2: 1 of 64 problems have no prediction ({last!r})" in refused
    Path("typo.csv").write_text(table.replace(f"{last},", "typo,"))
    refused = cli.refused("score dev.jsonl typo.csv")
    assert "('typo'); 1 of 64 problems have no prediction" in refused
    assert "is this a misspelled id? If not, add --partial to score only 63 problems" in refused
    refused = cli.refused("score models.csv dev.jsonl")
    assert "it looks like models' answers, not problems" in refused


@pytest.mark.parametrize("data", ["utf-8", "cp1252"])
@pytest.mark.parametrize("command", ["score {} a.csv", "compare {} a.csv b.csv",
                                     "audit {} --no-probes --answers a.csv"])  # fmt: skip
def test_encoding_option_also_applies_to_answers(command, data, cli):
    """The answers are in cp1252; the data are in either encoding."""
    items = "".join(f"q{n},“{n}” is?,café,thé,{'AB'[n % 2]}\n" for n in range(20))
    Path("quiz.csv").write_bytes(f"id,question,A,B,answer\n{items}".encode(data))
    said = "".join(f"q{n},{('café', 'thé')[n % 2]}\n" for n in range(20))
    for name in "ab":
        Path(f"{name}.csv").write_bytes(f"id,{name}\n{said}".encode("cp1252"))
    command = command.format("quiz.csv")
    assert "name its encoding with --encoding cp1252" in cli.refused(command)
    assert "100.0 %" in cli(f"{command} --encoding cp1252").replace("\xa0", " ")


def test_tables_number_options_from_1_beyond_9(cli):
    options = tuple(f"the {letter}" for letter in ascii_lowercase[:12])
    formats.write([Problem("q", "Which of them is it?", options, 11, blank=None)], "q.jsonl")
    numbers = range(12, 0, -1)
    names, scores = (",".join(f"{of}{n}" for n in numbers) for of in ("score_", ""))
    Path("q.csv").write_text(f"id,choice,{names}\nq,12,{scores}\n")
    shown = cli("score q.jsonl q.csv")
    assert "100.0 %" in shown
    assert "is not the option with its best score" not in shown


def test_partial_is_only_advised_if_it_helps(cli):
    """An invalid choice remains invalid with it."""
    head, first, *rest = Path("ours.jsonl").read_text().splitlines()
    third = {"id": json.loads(first)["id"], "choice": 2}
    Path("third.jsonl").write_text("\n".join([head, json.dumps(third), *rest]) + "\n")
    told = cli.refused("score dev.jsonl third.jsonl")
    assert "is not one of 2 options, which are numbered from 0" in told
    assert "--partial" not in told


def test_skip_bad_is_advised_for_invalid_records(cli):
    lines = Path("dev.jsonl").read_text("utf-8").splitlines()
    broken = json.dumps({**json.loads(lines[0]), "options": ["x", "x"]})
    Path("my data").write_text("\n".join([broken, *lines[1:]]) + "\n", encoding="utf-8")
    command = ["score", "my data", "table.csv", "--from", "winosmith"]
    told = cli.refused(*command)
    assert "my data:1: two options are equal" in told
    assert "add --skip-bad bad.jsonl" in told
    command += ["--skip-bad", "bad.jsonl"]
    for one in ("table.csv", "answers.csv", "list.lst", "ours.jsonl"):
        (found,) = cli.told(*command[:2], one, *command[3:])["solvers"].values()
        right = [c == p.answer for c, p in zip(CHOICES, DATA, strict=True)]
        assert (found["accuracy"]["correct"], found["accuracy"]["n"]) == (sum(right[1:]), 63)
        assert "my data: 1 record omitted; see bad.jsonl" in cli.err
    Path("more.csv").write_text(Path("answers.csv").read_text() + "\nx,A")
    told = cli.refused(*command[:2], "more.csv", *command[3:])
    assert "2 predictions with an unknown id" in told
    assert "; add --partial to score only " in told


def test_labels_score_data_without_answers(cli):
    formats.write(DATA.blind(), "test.jsonl")
    told = cli.refused("score test.jsonl list.lst")
    assert "the answers of 64 of 64 problems are withheld" in told
    with Path("labels.lst").open("w") as file:
        answers.write_labels([p.answer or 0 for p in DATA], file)
    found = cli.told("score test.jsonl list.lst --labels labels.lst")["solvers"]
    plain = cli.told("score dev.jsonl list.lst")["solvers"]
    plain["list"]["signature"] = found["list"]["signature"]
    assert found == plain
    Path("labels.lst").write_text("1\n2\n")
    told = cli.refused("score test.jsonl list.lst --labels labels.lst")
    assert "labels.lst: the list has 2 labels, but there are 64 problems" in told
    many = [{"id": f"q{at}", "question": f"Why {at}?", "choices": [*"éxyz"]} for at in range(4)]
    Path("many.jsonl").write_text("".join(json.dumps(one) + "\n" for one in many))
    Path("m.lst").write_text("A\nB\nC\nD\n")
    command = "score many.jsonl m.lst --labels labels.lst --encoding cp1252"
    for keys in ("1\n2\n3\n4\n", "A\nB\nC\nD\n", "id,key\nq3,z\nq2,y\nq0,é\nq1,x\n"):
        Path("labels.lst").write_text(keys, "cp1252")
        accuracy = cli.told(command)["solvers"]["m"]["accuracy"]
        assert (accuracy["correct"], accuracy["n"]) == (4, 4)
    for keys, why in (
        ("1\n2\n3\n5\n", "the labels of 'q3' are not"),
        ("id,a,b\nq0,A,B\n", "several"),
    ):
        Path("labels.lst").write_text(keys)
        assert why in cli.refused("score many.jsonl m.lst --labels labels.lst")


def test_page_has_a_calibration_diagram_and_the_signature(cli):
    shown = cli("score dev.jsonl ours.jsonl --out scores.html")
    page = Path("scores.html").read_text("utf-8")
    assert "ours: calibration" in page
    assert shown.split("Signature of ours: ")[1].split("\n")[0] in page


def test_people_are_scored_on_the_same_problems(cli):
    said = [
        Response(p.id, f"{who}{row % 2}", "test", (p.answer or 0) ^ (row % 3 == who))
        for row, p in enumerate(DATA)
        for who in range(3)
    ]
    write_votes(said, "people.csv")
    found = cli.told("score dev.jsonl list.lst --people people.csv")
    assert found["people_majority"]["accuracy"] == 1.0
    assert found["people_single"]["value"] == pytest.approx(2 / 3)
    shown = cli("score dev.jsonl list.lst --people people.csv --out people.html")
    assert "people, majority" in shown
    assert "a single person" in shown
    drawn = Path("people.html").read_text("utf-8").partition("guessing 50.0\xa0%; ")[2]
    assert re.match(r"list [\d.]+\xa0% .*; people, majority 100.0\xa0% .*; a single person", drawn)
    only = "Only one person answered, so the interval does not generalise to other people"
    assert only not in " ".join(shown.split())
    write_votes([r for r in said if r.participant == "00"], "one.csv")
    assert only in " ".join(cli("score dev.jsonl list.lst --people one.csv").split())


def test_consistency_is_measured_on_switched_problems(cli):
    """A solver that ignores the sentence has consistency 0."""
    other = switch_options(DATA).kept
    formats.write(other, "switched.jsonl")
    Path("switched.lst").write_text("".join(f"{c + 1}\n" for c in CHOICES))
    score = "score dev.jsonl list.lst --switched switched.lst"
    found = cli.told(f"{score} --switched-data switched.jsonl")
    assert found["switched"]["list"]["consistent"]["value"] == 0.0
    assert "--switched and --switched-data must be given together" in cli.refused(score)


@pytest.mark.data
def test_wsc_subsets_of_trichelair_are_scored_separately(data_dir, cli):
    """Trichelair et al. marked 37 associative and 131 switchable problems."""
    Path("first.lst").write_text("1\n" * 285)
    marks = (f"--marks {data_dir}/trichelair/WSC_{of}_label.json" for of in
             ("associative", "switched"))  # fmt: skip
    found = cli.told(f"score {data_dir}/wsc/WSCollection.xml first.lst {' '.join(marks)}")
    groups = found["solvers"]["first"]["groups"]
    assert groups["trichelair.associative"]["True"]["n"] == 37
    assert groups["trichelair.switchable"]["True"]["n"] == 131


@pytest.mark.data
def test_gender_gap_has_120_sentences_per_cell_by_answer(data_dir, cli):
    """The layout is that of WinoGrande's table 7."""
    folder = data_dir / "winogender"
    ids = formats.read(folder / "all_sentences.tsv").ids
    rows = [f"{name},{1 + ('.female' in name)}\n" for name in ids]
    Path("occupation.csv").write_text("id,choice\n" + "".join(rows))
    score = (
        f"score {folder}/all_sentences.tsv occupation.csv "
        f"--occupations {folder}/occupations-stats.tsv"
    )
    found = cli.told(score)["gender_gap"]["occupation"]
    assert list(found) == [f"{c}, by the {r}" for c in ("bls", "bergsma") for r in
                           ("answer", "occupation")]  # fmt: skip
    gap = found["bls, by the answer"]
    assert "0 of 240 got the same answer with every pronoun" in gap["note"]
    assert [gap[g][c]["n"] for g in ("female", "male") for c in ("plain", "gotcha")] == [120] * 4
    shown = cli(score)
    assert "ΔF" in shown
    assert "of 120, 120 / 120, 120 sentences" in shown
    assert max(map(len, shown.partition("Signature")[0].splitlines())) <= 80


class _ByPronoun:
    """A solver that chooses by the pronoun and the length of the sentence."""

    parameters: ClassVar = {"solver": "by-pronoun", "sees": "pronoun"}

    def score(self, problems: Sequence[Problem]) -> list[tuple[float, ...]]:
        return [(float(len(p.sentence) % 3), float(p.pronoun in ("she", "her"))) for p in problems]


@pytest.mark.data
def test_score_and_transfer_have_equal_gender_gaps(data_dir, tmp_path, cli):
    """Of several definitions of "gotcha", `score` prints the one of `transfer` first."""
    target = study.read_target(data_dir / "winogender/all_sentences.tsv")
    transferred = study.solve_target(target, _ByPronoun(), tmp_path, women=_read_women(target)).gap
    assert transferred is not None
    occupations = data_dir / "winogender/occupations-stats.tsv"
    score = f"score {target.file} winogender.jsonl --occupations {occupations}"
    (scored,) = cli.told(score)["gender_gap"].values()
    name, first = next(iter(scored.items()))
    assert name == "bls, by the answer"
    for gender in ("female", "male", "both"):
        assert first[gender] == transferred.record()[gender]
    shown = cli(score)
    tables = [line for line in shown.splitlines() if line.startswith("Gender gap")]
    assert tables[0] == "Gender gap on Winogender, with the majority of bls, by the answer"


@pytest.mark.data
def test_gender_gap_of_a_solver_that_saw_blanks_is_refused(data_dir, cli):
    """Its inputs are equal for both genders. Solvers that saw the pronoun are still measured."""
    sentences = data_dir / "winogender/all_sentences.tsv"
    occupations = f"--occupations {data_dir}/winogender/occupations-stats.tsv"
    data = formats.read(sentences)
    for name, sees in (("hidden", "blank"), ("shown", "pronoun")):
        given = [Prediction(p.id, int(p.extra["winogender.gender"] == "male")) for p in data]
        seen = {"sees": sees}
        answers.write_predictions(given, f"{name}.jsonl", data, solver=name, parameters=seen)
    for asked in (occupations, "--by winogender.gender"):
        said = cli.refused(f"score {sentences} hidden.jsonl {asked}")
        assert "can't be compared: the 240 inputs of 'female' and 'male' are the same" in said
        assert "let it see the pronoun (`winosmith solve --sees pronoun`)" in said
        shown = " ".join(cli(f"score {sentences} hidden.jsonl shown.jsonl {asked}").split())
        assert "hidden: the gender of" in shown or "hidden: winogender.gender can't be" in shown
    found = cli.told(f"score {sentences} hidden.jsonl shown.jsonl {occupations}")
    assert list(found["gender_gap"]) == ["shown"]
    assert list(found["gender_gap_refused"]) == ["hidden"]


@pytest.mark.data
def test_published_predictions_score_966_of_1267(data_dir, cli):
    """The CSV of a public repository has a summary row."""
    path = data_dir / "winogrande_predictions/cuichenx_dev_preds.csv"
    found = cli.told(f"score {data_dir}/winogrande/dev.jsonl {path}")["solvers"]
    accuracy = found["cuichenx_dev_preds"]["accuracy"]
    assert (accuracy["correct"], accuracy["n"]) == (966, 1267)


def test_eee_records_of_score_are_read_by_score_and_audit(cli):
    first = cli.told("score dev.jsonl list.lst --eee records.jsonl")["solvers"]
    again = cli.told("score dev.jsonl records.jsonl")["solvers"]
    accuracy = {name: one["accuracy"] for name, one in first.items()}
    assert accuracy == {name: one["accuracy"] for name, one in again.items()}
    audited = cli.told("audit dev.jsonl --answers records.jsonl --no-probes")
    (split,) = audited["splits"].values()
    assert [*split["answers"]["models"]] == ["list"]
