"""`winosmith release` and `verify` from end to end, and commands that read a Hub address."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.conftest import installed
from winosmith import formats, practice
from winosmith.testing import make_twins

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


TWINS = practice.generate_corpus(60, seed=6).dataset.problems

RELEASE = "release twins.jsonl --about release.toml --out out"


@pytest.fixture(autouse=True)
def _folder(cli: Cli) -> None:
    """Work in a folder with 60 twins in one file and a release.toml."""
    installed("pyarrow")
    formats.write(TWINS, "twins.jsonl")
    Path("release.toml").write_text(ABOUT, "utf-8")


def _get_release(version: str = "1.0.0") -> Path:
    (found,) = Path("out").glob(f"trial-{version}-*")
    return found


def test_file_is_split_released_and_verified(cli):
    told = cli(f"{RELEASE} --disjoint twin")
    folder = _get_release()
    assert told.startswith("120 problems: train 9")
    key = f"out/private/{folder.name}"
    assert f"The release is in {folder.resolve()}" in told
    unchecked = (
        "Not checked whether ids or other fields reveal test answers: test has {} blocks with "
        "known answers, and 30 are needed."
    )
    for part in (
        f"Your private files, such as the answers to the test split, are in {key}.",
        "10 fields about responsible AI in croissant.json are not stated; add to release.toml: ",
        "datasheet.biases (rai:dataBiases), ",
        unchecked.format(7),
    ):
        assert part in cli.err
    assert cli(f"verify {folder} --private {key}") == f"{folder} is valid: 120 problems\n"
    assert unchecked.format(7) in cli.err
    assert unchecked.format(0) in cli.aside(f"verify {folder}")
    assert "An identical release already existed." in cli.aside(f"{RELEASE} --disjoint twin")


def test_columns_of_a_quiz_can_be_named(cli):
    rows = [f"Q{n},What is {n} + {n}?,{2 * n},{2 * n + 1},A" for n in range(1, 40)]
    Path("twins.jsonl").write_text("Item,Frage,P,R,Key\n" + "\n".join(rows), "utf-8")
    Path("release.toml").write_text(ABOUT.replace('"practice"', '"*"'), "utf-8")
    cli(f"{RELEASE} --question Frage --choices P,R --id Item")
    released = formats.read(_get_release() / "data/problems.jsonl")
    assert released.ids == tuple(f"Q{n}" for n in range(1, 40))


def test_changes_since_the_previous_release_are_counted(cli):
    cli(RELEASE)
    first = _get_release()
    formats.write(TWINS[4:], "twins.jsonl")
    report = cli.told(f"{RELEASE} --previous {first} --version 1.1.0")
    changes = {"added": 0, "withdrawn": 4, "edited": 0, "changed": 0, "moved": 0}
    assert report["changes"] == changes
    assert report["folder"] == str(_get_release("1.1.0"))
    cli("verify", report["folder"])
    refused = cli.refused(f"{RELEASE} --previous {first}")
    assert "1.0.0 is the version of the previous release" in refused


def test_missing_or_unsuitable_release_toml_is_refused(cli):
    assert "--template prints a release.toml" in cli.refused("release twins.jsonl")
    Path("release.toml").write_text(ABOUT.replace('"practice"', '"else"'), "utf-8")
    refused = cli.refused(RELEASE)
    assert "no licence is stated for the source 'practice'" in refused
    assert not Path("out").exists()
    assert '[[source]]\nname = "*"' in cli("release --template")
    assert "so this is not a release" in cli("verify .", code=1)
    Path("recipe.toml").touch()
    assert "is a build, not a release; run: winosmith release" in cli("verify .", code=1)


def test_stats_audit_and_release_read_a_hub_address(tmp_path, cli, monkeypatch):
    installed("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    Path("one").mkdir()
    formats.write(make_twins(9).problems, "one/train.jsonl")
    formats.write(make_twins(14).problems[18:], "one/test.jsonl")
    train, test = (f"hf:{tmp_path}/one[{split}]" for split in ("train", "test"))
    of_file, of_address = (cli.told(f"stats {of}") for of in ("one/train.jsonl", train))
    assert of_address["problems"] == of_file["problems"]
    told = cli.told(f"audit {train} --draws 20 --no-probes")
    assert [one["items"] for one in told["splits"].values()] == [18]
    pooled = cli.told(f"audit {train} one/train.jsonl --pool --draws 20 --no-probes")
    assert [one["items"] for one in pooled["splits"].values()] == [36]
    refused = cli.refused(f"audit {train} --fix")
    assert f"--fix changes files, and {train} is not a file" in refused
    Path("release.toml").write_text(ABOUT.replace('"practice"', '"*"'), "utf-8")
    released = cli.told(f"release {train} {test} --about release.toml --out out")
    assert [released["counts"][part]["problems"] for part in ("train", "test")] == [18, 10]
