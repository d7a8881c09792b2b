"""`winosmith release` and `winosmith verify` from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import absent
from winosmith import formats, practice
from winosmith.cli import main

ABOUT = """
name = "trial"
version = "1.0.0"
date = 2026-11-21
title = "A trial"
description = "Twins to try a release on."
licence = "Apache-2.0"
language = "en"
authors = ["We"]
[[source]]
name = "practice"
licence = "Apache-2.0"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with 60 twins in one file and a release.toml."""
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        absent("pyarrow is not installed (the extra `release`)")
    formats.write(practice.corpus(60, seed=6).dataset.problems, tmp_path / "twins.jsonl")
    (tmp_path / "release.toml").write_text(ABOUT, "utf-8")
    return tmp_path


def _release(place: Path, *more: str) -> int:
    return main(["release", str(place / "twins.jsonl"), "--about", str(place / "release.toml"),
                 "--out", str(place / "out"), *more])  # fmt: skip


def _folder(place: Path, version: str = "1.0.0") -> Path:
    found = list((place / "out").glob(f"trial-{version}-*"))
    assert len(found) == 1
    return found[0]


def test_a_file_is_split_released_and_proved(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`release --disjoint twin` splits a file and says where it is; `verify` finds it sound."""
    assert _release(place, "--disjoint", "twin") == 0
    told = capsys.readouterr()
    folder = _folder(place)
    assert told.out.startswith("120 problems: train 9")
    key = place / "out" / "private" / folder.name
    assert f"The release is {folder}" in told.out
    assert f"What is yours alone, such as answers of test, is in {key}." in told.err
    assert main(["verify", str(folder), "--private", str(key)]) == 0
    assert capsys.readouterr().out == f"{folder} is sound: 120 problems\n"
    assert _release(place, "--disjoint", "twin") == 0
    assert "It was there already, with the same bytes." in capsys.readouterr().err


def test_faults_are_listed_and_counted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A broken release ends with 1, and every fault says where, what, and what to do."""
    assert _release(place) == 0
    folder = _folder(place)
    path = folder / "data/problems.jsonl"
    path.write_text(path.read_text("utf-8").replace('"answer":0', '"answer":1'), "utf-8")
    capsys.readouterr()
    assert main(["verify", str(folder)]) == 1
    said = capsys.readouterr().out
    assert "data/problems.jsonl: its SHA-256 is not the one in release.json; get it anew" in said
    assert "faults in " in said
    assert main(["verify", str(folder), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["sound"] is False
    assert {"where", "what", "do"} == report["faults"][0].keys()
    assert report["faults"][0]["where"] == "data/problems.jsonl"


def test_the_next_version_is_told_from_the_last(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--previous` and `--version` make a changelog; `--json` counts what changed."""
    assert _release(place) == 0
    first = _folder(place)
    formats.write(practice.corpus(60, seed=6).dataset.problems[4:], place / "twins.jsonl")
    capsys.readouterr()
    assert _release(place, "--previous", str(first), "--version", "1.1.0", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["changes"] == {
        "added": 0, "withdrawn": 4, "edited": 0, "changed": 0, "moved": 0,
    }  # fmt: skip
    assert report["folder"] == str(_folder(place, "1.1.0"))
    assert main(["verify", report["folder"]]) == 0
    assert _release(place, "--previous", str(first)) == 2
    assert "1.0.0 is the version of the release before" in capsys.readouterr().err


def test_what_is_missing_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --about, or with a release.toml that does not fit, the command says what to do."""
    assert main(["release", str(place / "twins.jsonl")]) == 2
    assert "--template prints a release.toml" in capsys.readouterr().err
    (place / "release.toml").write_text(ABOUT.replace('"practice"', '"else"'), "utf-8")
    assert _release(place) == 2
    assert "no licence is stated for the source 'practice'" in capsys.readouterr().err
    assert not (place / "out").exists()
    assert main(["release", "--template"]) == 0
    assert '[[source]]\nname = "*"' in capsys.readouterr().out
    assert main(["verify", str(place)]) == 1
    assert "so this is no release" in capsys.readouterr().out
