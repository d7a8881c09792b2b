"""`winosmith build`, `debias`, `practice` and `demo`, on the command line."""

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from tests import forking
from tests.waiting import LONGEST, until
from winosmith import formats, practice
from winosmith.cli import main
from winosmith.testing import make_twins


@pytest.fixture
def twins(tmp_path, monkeypatch):
    """Write 60 generated twins and a recipe into the current folder."""
    monkeypatch.chdir(tmp_path)
    formats.write(make_twins(60).problems, "twins.jsonl")
    (tmp_path / "recipe.toml").write_text(
        'name = "mine"\ndata = "twins.jsonl"\n[embed]\ndimensions = 8\n[measure]\nsplits = 1\n'
        "[filter]\nensemble_size = 8\ntrain_size = 40\ncutoff = 4\nagain = false\n"
    )
    return tmp_path


BUILD = ["build", "recipe.toml", "--out", "out"]

QUICK = ["--no-again", "--splits", "0"]
"""Options that skip the slow parts of the report of a filter."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder for the finished build; only `built` writes to it."""
    return tmp_path_factory.mktemp("whole")


@pytest.fixture
def built(twins, whole, cli):
    """Put the finished build of the recipe into the current folder; return its output."""
    if not (whole / "out").exists():
        (whole / "printed").write_text(cli(*BUILD), "utf-8")
        shutil.copytree("out", whole / "out")
    else:
        shutil.copytree(whole / "out", "out")
    return (whole / "printed").read_text("utf-8")


def test_build_prints_the_path_and_results_of_its_report(twins, built, cli):
    """Both warn that a dev set of a dozen can't show differences between models."""
    assert cli.told(*BUILD)["recipe"]["name"] == "mine"
    printed = cli(*BUILD)
    assert "no difference between two models can be detected" in cli.err
    assert "no difference between two models can be detected" in (
        twins / "out" / "report.html"
    ).read_text("utf-8")
    assert str(twins / "out" / "report.html") in printed
    record = json.loads((twins / "out" / "report.json").read_text("utf-8"))
    assert f"Kept {record['funnel']['steps'][-1]['kept']['problems']} of 120 coll" in printed
    accuracy = record["measures"]["verified"]["before"]["linear"]["accuracy"]
    assert f"{100 * accuracy:.1f} % →" in printed.replace("\u202f", " ").replace("\xa0", " ")


def test_finished_build_is_shown_again_without_work(twins, cli):
    first = cli(*BUILD)
    before = {path: path.stat().st_mtime_ns for path in (twins / "out").rglob("*")}
    assert cli(*BUILD) == first
    assert "out contains the finished build of this recipe; add --force" in cli.err
    assert {path: path.stat().st_mtime_ns for path in (twins / "out").rglob("*")} == before
    assert cli(*BUILD, "--force") == first
    assert (twins / "out" / "report.html").stat().st_mtime_ns > max(before.values())


def test_finished_build_with_a_changed_file_is_built_again(twins, built, cli):
    kept = (twins / "out" / "dev.jsonl").read_bytes()
    (twins / "out" / "dev.jsonl").write_text("spoiled")
    assert "finished build" not in cli.aside(*BUILD)
    assert (twins / "out" / "dev.jsonl").read_bytes() == kept


def test_debias_writes_kept_and_dropped_problems_with_reasons(twins, cli):
    rng = np.random.default_rng(0)
    data = formats.read("twins.jsonl")
    X = rng.normal(size=(120, 4))
    X[:40, 0] += 6 * (2 * np.array(data.answers[:40]) - 1)
    np.savez("vectors.npz", X=X, ids=np.array(data.ids))
    command = ["debias", "twins.jsonl", "--out", "out", "--embeddings", "vectors.npz"]
    shown = cli(*command, "--train-size", "40", "--cutoff", "10", *QUICK)
    kept = formats.read("out/kept.jsonl")
    lines = (twins / "out" / "dropped.jsonl").read_text("utf-8").splitlines()
    dropped = [json.loads(line) for line in lines]
    assert {*kept.ids} | {record["id"] for record in dropped} == {*data.ids}
    assert len(kept) + len(dropped) == 120
    assert len(dropped) >= 20
    assert all("of the ensemble in phase" in record["reason"] for record in dropped)
    assert " of 120 problems" in shown


def test_finished_filter_is_shown_again_without_work(twins, cli):
    command = ["debias", "twins.jsonl", "--out", "out", "--method", "random", "--keep", "70"]
    command += QUICK
    first = cli(*command)
    assert cli(*command) == first
    assert "out contains the finished results of this command" in cli.err
    assert cli(*command, "--force") == first
    cli.refused(*command, "--seed", "1")


def test_null_report_changes_no_result_and_shows_chance(twins):
    """On random vectors, each phase shows how many candidates are expected by chance."""
    data = formats.read("twins.jsonl")
    np.save("noise.npy", np.random.default_rng(1).normal(size=(len(data), 6)))
    command = ["debias", "twins.jsonl", "--embeddings", "noise.npy", "--train-size", "40"]
    command += ["--threshold", "0.6", "--target-size", "110", "--ensemble-size", "16", *QUICK]
    command += ["--null-draws", "20", "--out"]
    assert main([*command, "without"]) == 0
    assert main([*command, "with", "--null", "report"]) == 0
    kept = [(twins / name / "kept.jsonl").read_bytes() for name in ("without", "with")]
    assert kept[0] == kept[1]
    record = json.loads((twins / "with" / "report.json").read_text("utf-8"))["aflite"]
    assert record["phases"][0]["chance"]["high"] >= record["phases"][0]["candidates"]
    assert record["by_chance"] > 0
    html = (twins / "with" / "report.html").read_text("utf-8")
    assert (
        "Problems that reach the threshold in each phase, with the real answers and by chance: "
        in html
    )
    assert re.search(r"the draws.{1,6} range", html)


def test_whole_twins_are_removed_by_fraction_down_to_target(twins):
    data = formats.read("twins.jsonl")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    X[:80, 0] += 6 * (2 * np.array(data.answers[:80]) - 1)
    np.savez("vectors.npz", X=X, ids=np.array(data.ids))
    command = ["debias", "twins.jsonl", "--out", "out", "--embeddings", "vectors.npz"]
    command += ["--train-size", "40", "--remove", "twins", "--target-size", "90"]
    assert main([*command, "--cutoff", "0.1", *QUICK]) == 0
    kept = formats.read("out/kept.jsonl")
    assert (len(kept), kept.singles) == (90, ())
    record = json.loads((twins / "out" / "report.json").read_text("utf-8"))
    assert [phase["removed"] for phase in record["aflite"]["phases"]] == [12, 10, 8]
    assert record["aflite"]["stopped"] == "target size"
    assert "|k:0.1|" in record["signature"]
    assert "|target:90|remove:twins|" in record["signature"]


@pytest.mark.parametrize("cutoff", ["many", "0", "1.5", "1e999", "nan"])
def test_cutoff_that_is_neither_count_nor_fraction_is_refused(twins, cutoff, cli):
    assert "cutoff" in cli.refused("debias", "twins.jsonl", "--out", "out", "--cutoff", cutoff)
    assert not (twins / "out").exists()


def test_problems_that_tuned_the_encoder_are_dropped_first(twins, cli):
    """The array of embeddings has no rows for these problems."""
    data = formats.read("twins.jsonl")
    rows = np.random.default_rng(0).normal(size=(110, 4))
    tuned_on = {"train_ids": np.array(data.ids[2:8]), "dev_ids": np.array(data.ids[8:12])}
    ids = [*data.ids[:2], *data.ids[12:]]
    np.savez("tuned.npz", X=rows, ids=np.array(ids), **tuned_on)
    command = ["debias", "twins.jsonl", "--out", "out", "--embeddings", "tuned.npz"]
    assert "Kept 60 of 120 problems" in cli(*command, "--method", "random", "--keep", "60", *QUICK)
    kept = formats.read("out/kept.jsonl")
    lines = (twins / "out" / "dropped.jsonl").read_text("utf-8").splitlines()
    dropped = [json.loads(line) for line in lines]
    aside = [record["id"] for record in dropped if record["stage"] == "embed split"]
    assert aside == list(data.ids[2:12])
    assert {*kept.ids} | {record["id"] for record in dropped} == {*data.ids}
    assert [data.row(record["id"]) for record in dropped] == sorted(
        data.row(record["id"]) for record in dropped
    )


def test_recipe_of_practice_builds_its_corpus(tmp_path, monkeypatch, cli):
    monkeypatch.chdir(tmp_path)
    cli("practice --out pool --twins 60")
    with (tmp_path / "pool" / "recipe.toml").open("a") as file:
        file.write("[filter]\nensemble_size = 8\nagain = false\n[measure]\nsplits = 0\n")
    record = cli.told("build pool/recipe.toml --out out")
    assert record["measures"]["found"]["AFLite"]["by_kind"].keys() == set(practice.ARTIFACTS)
    assert [step["stage"] for step in record["funnel"]["steps"]] == ["structure", "votes", "aflite"]


def test_practice_writes_symmetric_twins(tmp_path):
    assert main(["practice", "--out", str(tmp_path), "--twins", "40", "--symmetric"]) == 0
    made = practice.generate_corpus(40, symmetric=True).dataset
    assert formats.read(tmp_path / "twins.jsonl").answers == made.answers
    assert made.answers != practice.generate_corpus(40).dataset.answers


def test_practice_writes_the_handwritten_twins(tmp_path):
    assert main(["practice", "--out", str(tmp_path / "pool"), "--handwritten"]) == 0
    data = formats.read(tmp_path / "pool" / "twins.jsonl")
    assert len(data.twins) >= 60
    assert not data.singles


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("--twins", 0), "0 is not in the range x>=1"),
        (("--strength", 2), "2.0 is not in the range 0<=x<=1"),
    ],
)
def test_practice_names_the_option_with_an_invalid_value(tmp_path, cli, given, why):
    said = cli.refused("practice", "--out", tmp_path / "pool", *given)
    assert f"Invalid value for '{given[0]}': {why}" in said


@pytest.mark.long
def test_build_stopped_by_ctrl_c_exits_with_130_and_resumes(tmp_path):
    run = [sys.executable, "-m", "winosmith"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    pool = tmp_path / "pool"
    made = forking.run(("practice", "--out", str(pool), "--twins", "100"), os.environ)
    assert made.returncode == 0
    recipe = pool / "recipe.toml"
    recipe.write_text(recipe.read_text() + "[filter]\nensemble_size = 32\ncutoff = 2\n"
                      "again = false\n[measure]\nsplits = 1\n")  # fmt: skip
    build = [*run, "build", recipe, "--out"]
    started = subprocess.Popen(
        [*build, tmp_path / "stopped"], stderr=subprocess.PIPE, text=True, env=environment
    )
    phases = tmp_path / "stopped" / "private" / "aflite.npz"
    until(lambda: phases.exists() or started.poll() is not None)
    started.send_signal(signal.SIGINT)
    told = started.communicate(timeout=LONGEST)[1]
    assert started.returncode == 130
    assert "The same command continues" in told
    assert not (tmp_path / "stopped" / "report.html").exists()
    for folder in ("stopped", "whole"):
        again = ("build", str(recipe), "--out", str(tmp_path / folder))
        assert forking.run(again, os.environ).returncode == 0
    for path in sorted((tmp_path / "whole").rglob("*")):
        if path.is_file() and path.name != "run.json":
            other = tmp_path / "stopped" / path.relative_to(tmp_path / "whole")
            assert other.read_bytes() == path.read_bytes(), path.name


def test_demo_reports_planted_artifacts_found_by_each_method(tmp_path, cli, monkeypatch):
    monkeypatch.setattr(importlib.import_module("winosmith.cli.demo"), "TWINS", 120)
    found = cli.told("demo", "--out", tmp_path / "demo")["measures"]["found"]
    assert {"all", "AFLite", "random"} <= found.keys()
    assert found["all"]["recall"]["count"] == 0
    assert found["AFLite"]["recall"]["total"] == found["random"]["recall"]["total"] > 0


def test_filter_on_equal_vectors_exits_with_1(twins, capsys):
    np.save("zeros.npy", np.zeros((120, 4), np.float32))
    command = ["debias", "twins.jsonl", "--out", "blind", "--embeddings", "zeros.npy"]
    for _ in range(2):
        assert main(command) == 1
        printed = capsys.readouterr().out
        assert (
            "not measured: for 60 of 60 twins and singles the vectors don't depend on the answer"
            in (" ".join(printed.split()))
        )
        assert "Kept 120 of 120 problems" in printed
    (twins / "zeros.toml").write_text(
        'name = "blind"\ndata = "twins.jsonl"\n[embed]\narray = "zeros.npy"\n'
    )
    assert main(["build", "zeros.toml", "--out", "built", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["blind"]
    assert record["verdict"].startswith("Not measured: ")
