"""`winosmith release` and `winosmith verify` from end to end."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.conftest import installed
from winosmith import formats, practice

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
    installed("pyarrow")
    formats.write(practice.generate_corpus(60, seed=6).dataset.problems, tmp_path / "twins.jsonl")
    (tmp_path / "release.toml").write_text(ABOUT, "utf-8")
    return tmp_path


def _release(place: Path, *more: object) -> list[object]:
    about, out = place / "release.toml", place / "out"
    return ["release", place / "twins.jsonl", "--about", about, "--out", out, *more]


def _folder(place: Path, version: str = "1.0.0") -> Path:
    found = list((place / "out").glob(f"trial-{version}-*"))
    assert len(found) == 1
    return found[0]


def test_file_is_split_released_and_verified(place: Path, cli: Cli) -> None:
    told = cli(*_release(place, "--disjoint", "twin"))
    folder = _folder(place)
    assert told.startswith("120 problems: train 9")
    key = place / "out" / "private" / folder.name
    assert f"The release is in {folder}" in told
    assert f"Your private files, such as the answers to the test split, are in {key}." in cli.err
    said = " ".join(cli.err.split())
    assert (
        "10 fields about responsible AI in croissant.json are not stated; add to release.toml: "
        in said
    )
    assert "datasheet.biases (rai:dataBiases), " in said
    assert "Not checked whether ids or other fields reveal test answers: test has 7 blocks" in said
    assert cli("verify", folder, "--private", key) == f"{folder} is valid: 120 problems\n"
    again = cli.aside(*_release(place, "--disjoint", "twin"))
    assert "An identical release already existed." in again


def test_columns_of_a_quiz_can_be_named(place: Path, cli: Cli) -> None:
    rows = [f"Q{n},What is {n} + {n}?,{2 * n},{2 * n + 1},A" for n in range(1, 40)]
    (place / "twins.jsonl").write_text("Item,Frage,P,R,Key\n" + "\n".join(rows), "utf-8")
    (place / "release.toml").write_text(ABOUT.replace('"practice"', '"*"'), "utf-8")
    cli(*_release(place, "--question", "Frage", "--choices", "P,R", "--id", "Item"))
    released = formats.read(_folder(place) / "data" / "problems.jsonl")
    assert released.ids == tuple(f"Q{n}" for n in range(1, 40))


def test_changes_since_the_previous_release_are_counted(place: Path, cli: Cli) -> None:
    cli(*_release(place))
    first = _folder(place)
    formats.write(practice.generate_corpus(60, seed=6).dataset.problems[4:], place / "twins.jsonl")
    report = cli.told(*_release(place, "--previous", first, "--version", "1.1.0"))
    assert report["changes"] == {
        "added": 0, "withdrawn": 4, "edited": 0, "changed": 0, "moved": 0,
    }  # fmt: skip
    assert report["folder"] == str(_folder(place, "1.1.0"))
    cli("verify", report["folder"])
    refused = cli.refused(*_release(place, "--previous", first))
    assert "1.0.0 is the version of the previous release" in refused


def test_missing_or_unsuitable_release_toml_is_refused(place: Path, cli: Cli) -> None:
    assert "--template prints a release.toml" in cli.refused("release", place / "twins.jsonl")
    (place / "release.toml").write_text(ABOUT.replace('"practice"', '"else"'), "utf-8")
    refused = cli.refused(*_release(place))
    assert "no licence is stated for the source 'practice'" in refused
    assert not (place / "out").exists()
    assert '[[source]]\nname = "*"' in cli("release --template")
    assert "so this is not a release" in cli("verify", place, code=1)
    (place / "recipe.toml").touch()
    assert "is a build, not a release; run: winosmith release" in cli("verify", place, code=1)
