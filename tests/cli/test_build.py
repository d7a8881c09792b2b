"""`winosmith build`, `debias`, `practice` and `demo`, on the command line."""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import forking
from tests.waiting import LONGEST, until
from winosmith import formats, practice
from winosmith.testing import make_twins


@pytest.fixture
def twins(cli):
    """Write 60 generated twins and a recipe into the current folder; return the twins."""
    formats.write(make_twins(60).problems, "twins.jsonl")
    Path("recipe.toml").write_text(
        'name = "mine"\ndata = "twins.jsonl"\n[embed]\ndimensions = 8\n[measure]\nsplits = 1\n'
        "[filter]\nensemble_size = 8\ntrain_size = 40\ncutoff = 4\nagain = false\n"
    )
    return formats.read("twins.jsonl")


BUILD = "build recipe.toml --out out"

DEBIAS = "debias twins.jsonl --out out --no-again --splits 0"
"""A filter without the slow parts of its report."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder for the finished build; only `built` writes to it."""
    return tmp_path_factory.mktemp("whole")


@pytest.fixture
def built(twins, whole, cli):
    """Put the finished build of the recipe into the current folder; return its output."""
    if not (whole / "out").exists():
        (whole / "printed").write_text(cli(BUILD), "utf-8")
        shutil.copytree("out", whole / "out")
    else:
        shutil.copytree(whole / "out", "out")
    return (whole / "printed").read_text("utf-8")


def _read_dropped():
    lines = Path("out/dropped.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _write_vectors(twins, told):
    """Write vectors of the twins, of which the first `told` reveal their answers."""
    X = np.random.default_rng(0).normal(size=(120, 4))
    X[:told, 0] += 6 * (2 * np.array(twins.answers[:told]) - 1)
    np.savez("vectors.npz", X=X, ids=np.array(twins.ids))


def test_build_prints_the_path_and_results_of_its_report(built, cli):
    """Both warn that a dev set of a dozen can't show differences between models."""
    assert cli.told(BUILD)["recipe"]["name"] == "mine"
    printed = cli(BUILD)
    warning = "no difference between two models can be detected"
    assert warning in cli.err
    assert warning in Path("out/report.html").read_text("utf-8")
    assert str(Path("out/report.html").resolve()) in printed
    record = json.loads(Path("out/report.json").read_text("utf-8"))
    assert f"Kept {record['funnel']['steps'][-1]['kept']['problems']} of 120 coll" in printed
    accuracy = record["measures"]["verified"]["before"]["linear"]["accuracy"]
    assert f"{100 * accuracy:.1f} % →" in printed.replace("\u202f", " ").replace("\xa0", " ")


def test_finished_build_is_shown_again_without_work(twins, cli):
    first = cli(BUILD)
    before = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*")}
    assert cli(BUILD) == first
    assert "out contains the finished build of this recipe; add --force" in cli.err
    assert {path: path.stat().st_mtime_ns for path in Path("out").rglob("*")} == before
    assert cli(f"{BUILD} --force") == first
    assert Path("out/report.html").stat().st_mtime_ns > max(before.values())


def test_finished_build_with_a_changed_file_is_built_again(built, cli):
    kept = Path("out/dev.jsonl").read_bytes()
    Path("out/dev.jsonl").write_text("spoiled")
    assert "finished build" not in cli.aside(BUILD)
    assert Path("out/dev.jsonl").read_bytes() == kept


def test_debias_writes_kept_and_dropped_problems_with_reasons(twins, cli):
    _write_vectors(twins, 40)
    shown = cli(f"{DEBIAS} --embeddings vectors.npz --train-size 40 --cutoff 10")
    kept, dropped = formats.read("out/kept.jsonl"), _read_dropped()
    assert {*kept.ids} | {record["id"] for record in dropped} == {*twins.ids}
    assert len(kept) + len(dropped) == 120
    assert len(dropped) >= 20
    assert all("of the ensemble in phase" in record["reason"] for record in dropped)
    assert " of 120 problems" in shown


def test_finished_filter_is_shown_again_without_work(twins, cli):
    command = f"{DEBIAS} --method random --keep 70"
    first = cli(command)
    assert cli(command) == first
    assert "out contains the finished results of this command" in cli.err
    assert cli(f"{command} --force") == first
    cli.refused(f"{command} --seed 1")


def test_null_report_changes_no_result_and_shows_chance(twins, cli):
    """On random vectors, each phase shows how many candidates are expected by chance."""
    np.save("noise.npy", np.random.default_rng(1).normal(size=(120, 6)))
    command = (
        f"{DEBIAS} --embeddings noise.npy --train-size 40 --threshold 0.6 --target-size 110 "
        "--ensemble-size 16 --null-draws 20"
    )
    cli(command)
    kept = Path("out/kept.jsonl").read_bytes()
    cli(f"{command} --null report --force")
    assert Path("out/kept.jsonl").read_bytes() == kept
    record = json.loads(Path("out/report.json").read_text("utf-8"))["aflite"]
    assert record["phases"][0]["chance"]["high"] >= record["phases"][0]["candidates"]
    assert record["by_chance"] > 0
    html = Path("out/report.html").read_text("utf-8")
    title = "Problems that reach the threshold in each phase, with the real answers and by chance: "
    assert title in html
    assert "At most 5 % of these draws exceed the chance limit." in html


def test_whole_twins_are_removed_by_fraction_down_to_target(twins, cli):
    _write_vectors(twins, 80)
    options = "--train-size 40 --remove twins --target-size 90 --cutoff 0.1"
    cli(f"{DEBIAS} --embeddings vectors.npz {options}")
    kept = formats.read("out/kept.jsonl")
    assert (len(kept), kept.singles) == (90, ())
    record = json.loads(Path("out/report.json").read_text("utf-8"))
    assert [phase["removed"] for phase in record["aflite"]["phases"]] == [12, 10, 8]
    assert record["aflite"]["stopped"] == "target size"
    assert "|k:0.1|" in record["signature"]
    assert "|target:90|remove:twins|" in record["signature"]


@pytest.mark.parametrize("cutoff", ["many", "0", "1.5", "1e999", "nan"])
def test_cutoff_that_is_neither_count_nor_fraction_is_refused(twins, cutoff, cli):
    assert "cutoff" in cli.refused(f"debias twins.jsonl --out out --cutoff {cutoff}")
    assert not Path("out").exists()


def test_problems_that_tuned_the_encoder_are_dropped_first(twins, cli):
    """The array of embeddings has no rows for these problems."""
    rows = np.random.default_rng(0).normal(size=(110, 4))
    tuned_on = {"train_ids": np.array(twins.ids[2:8]), "dev_ids": np.array(twins.ids[8:12])}
    np.savez("tuned.npz", X=rows, ids=np.array([*twins.ids[:2], *twins.ids[12:]]), **tuned_on)
    shown = cli(f"{DEBIAS} --embeddings tuned.npz --method random --keep 60")
    assert "Kept 60 of 120 problems" in shown
    kept, dropped = formats.read("out/kept.jsonl"), _read_dropped()
    aside = [record["id"] for record in dropped if record["stage"] == "embed split"]
    assert aside == list(twins.ids[2:12])
    assert {*kept.ids} | {record["id"] for record in dropped} == {*twins.ids}
    rows = [twins.row(record["id"]) for record in dropped]
    assert rows == sorted(rows)


def test_recipe_of_practice_builds_its_corpus(cli):
    cli("practice --out pool --twins 60")
    with Path("pool/recipe.toml").open("a") as file:
        file.write("[filter]\nensemble_size = 8\nagain = false\n[measure]\nsplits = 0\n")
    record = cli.told("build pool/recipe.toml --out out")
    assert record["measures"]["found"]["AFLite"]["by_kind"].keys() == set(practice.ARTIFACTS)
    assert [step["stage"] for step in record["funnel"]["steps"]] == ["structure", "votes", "aflite"]


def test_practice_writes_symmetric_or_handwritten_twins(cli):
    cli("practice --out pool --twins 40 --symmetric")
    made = practice.generate_corpus(40, symmetric=True).dataset
    assert formats.read("pool/twins.jsonl").answers == made.answers
    assert made.answers != practice.generate_corpus(40).dataset.answers
    cli("practice --out own --handwritten")
    data = formats.read("own/twins.jsonl")
    assert len(data.twins) >= 60
    assert not data.singles


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("--twins 0", "0 is not in the range x>=1"),
        ("--strength 2", "2.0 is not in the range 0<=x<=1"),
    ],
)
def test_practice_names_the_option_with_an_invalid_value(cli, given, why):
    said = cli.refused(f"practice --out pool {given}")
    assert f"Invalid value for '{given.split()[0]}': {why}" in said


@pytest.mark.long
def test_build_stopped_by_ctrl_c_exits_with_130_and_resumes(cli):
    cli("practice --out pool --twins 100")
    recipe = Path("pool/recipe.toml")
    recipe.write_text(recipe.read_text() + "[filter]\nensemble_size = 32\ncutoff = 2\n"
                      "again = false\n[measure]\nsplits = 1\n")  # fmt: skip
    started = subprocess.Popen(
        [sys.executable, "-m", "winosmith", "build", recipe, "--out", "stopped"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    until(lambda: Path("stopped/private/aflite.npz").exists() or started.poll() is not None)
    started.send_signal(signal.SIGINT)
    told = started.communicate(timeout=LONGEST)[1]
    assert started.returncode == 130
    assert "The same command continues" in told
    assert not Path("stopped/report.html").exists()
    for folder in ("stopped", "whole"):
        again = ("build", str(recipe), "--out", folder)
        assert forking.run(again, os.environ).returncode == 0
    for path in sorted(Path("whole").rglob("*")):
        if path.is_file() and path.name != "run.json":
            other = Path("stopped", path.relative_to("whole"))
            assert other.read_bytes() == path.read_bytes(), path.name


def test_demo_reports_planted_artifacts_found_by_each_method(cli, monkeypatch):
    monkeypatch.setattr(importlib.import_module("winosmith.cli.demo"), "TWINS", 120)
    found = cli.told("demo --out demo")["measures"]["found"]
    assert {"all", "AFLite", "random"} <= found.keys()
    assert found["all"]["recall"]["count"] == 0
    assert found["AFLite"]["recall"]["total"] == found["random"]["recall"]["total"] > 0


def test_filter_on_equal_vectors_exits_with_1(twins, cli):
    np.save("zeros.npy", np.zeros((120, 4), np.float32))
    reason = "not measured: for 60 of 60 twins and singles the vectors don't depend on the answer"
    for _ in range(2):
        printed = cli("debias twins.jsonl --out blind --embeddings zeros.npy", code=1)
        assert reason in " ".join(printed.split())
        assert "Kept 120 of 120 problems" in printed
    Path("zeros.toml").write_text(
        'name = "blind"\ndata = "twins.jsonl"\n[embed]\narray = "zeros.npy"\n'
    )
    record = json.loads(cli("build zeros.toml --out built --json", code=1))
    assert record["blind"]
    assert record["verdict"].startswith("Not measured: ")
