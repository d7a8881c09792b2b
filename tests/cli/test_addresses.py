"""Commands read data sets of the Hub by their address, and write records for other tools."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_release import ABOUT
from tests.conftest import installed
from winosmith import formats
from winosmith.testing import make_twins


def test_stats_audit_and_release_read_a_hub_address(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    file = tmp_path / "one/train.jsonl"
    file.parent.mkdir()
    formats.write(make_twins(9).problems, file)
    address = f"hf:{tmp_path}/one[train]"
    assert cli.told("stats", address)["problems"] == cli.told("stats", file)["problems"]
    told = cli.told("audit", address, "--draws", "20", "--no-probes")
    assert [one["items"] for one in told["splits"].values()] == [18]
    refused = cli.refused("audit", address, "--fix")
    assert f"--fix changes files, and {address} is not a file" in refused
    formats.write(make_twins(14).problems[18:], file.with_name("test.jsonl"))
    about = tmp_path / "about.toml"
    about.write_text(ABOUT.replace('"practice"', '"*"'), "utf-8")
    splits = (address, address.replace("train", "test"))
    released = cli.told("release", *splits, "--about", about, "--out", tmp_path / "out")
    assert [released["counts"][part]["problems"] for part in ("train", "test")] == [18, 10]
    pooled = cli.told("audit", address, file, "--pool", "--draws", "20", "--no-probes")
    assert [one["items"] for one in pooled["splits"].values()] == [36]


def test_eee_records_of_score_are_read_by_score_and_audit(tmp_path: Path, cli: Cli) -> None:
    data = make_twins(12, singles=2)
    formats.write(data.problems, tmp_path / "data.jsonl")
    labels = "".join(f"{1 + n % 2}\n" for n in range(len(data)))
    (tmp_path / "half.lst").write_text(labels, "utf-8")
    records = tmp_path / "records.jsonl"
    first = cli.told("score", tmp_path / "data.jsonl", tmp_path / "half.lst", "--eee", records)
    again = cli.told("score", tmp_path / "data.jsonl", records)
    accuracy = {name: one["accuracy"] for name, one in first["solvers"].items()}
    assert accuracy == {name: one["accuracy"] for name, one in again["solvers"].items()}
    audited = cli.told("audit", tmp_path / "data.jsonl", "--answers", records, "--no-probes")
    (split,) = audited["splits"].values()
    assert [*split["answers"]["models"]] == ["half"]
