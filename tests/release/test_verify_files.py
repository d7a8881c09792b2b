"""A fault in one file of a release is found, though every checksum fits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.release.conftest import found, seal
from tests.release.plants import Plant, in_line, in_record, in_text, placed  # type: ignore[import-not-found]


def _parquet(change: Callable[[object], object], metadata: bool = True) -> Plant:
    """Return a plant that changes the table of dev."""

    def plant(folder: Path) -> None:
        path = folder / "data/dev.parquet"
        table = pyarrow.parquet.read_table(path)
        changed = change(table)
        if metadata:
            changed = changed.replace_schema_metadata(table.schema.metadata)  # type: ignore[attr-defined]
        pyarrow.parquet.write_table(changed, path)

    return plant


def _croissant(change: Callable[[dict], object]) -> Plant:  # type: ignore[type-arg]
    def plant(folder: Path) -> None:
        told = json.loads((folder / "croissant.json").read_text("utf-8"))
        change(told)
        (folder / "croissant.json").write_text(json.dumps(told, indent=1), "utf-8")

    return plant


def _swapped(table):  # type: ignore[no-untyped-def]
    """Return a table whose first two rows have changed places."""
    return table.take([1, 0, *range(2, len(table))])


def _test_in_harness(folder: Path) -> None:
    told = json.loads((folder / "data/test.jsonl").read_text("utf-8").splitlines()[0])
    before, _, rest = told["sentence"].partition("_")
    path = folder / "harness/lm_eval/partial.jsonl"
    task = json.loads(path.read_text("utf-8").splitlines()[0])
    task |= {"id": told["id"], "before": before, "rest": rest, "label": 0}
    path.write_text(path.read_text("utf-8") + json.dumps(task) + "\n", "utf-8")


IN_FILES: dict[str, tuple[Plant, str]] = {
    "a problem that is no JSON": (
        in_line("data/dev.jsonl", 3, lambda line: line[:-5]),
        r"data/dev\.jsonl:3: this is no problem: .*delimiter|data/dev\.jsonl:3: this is no problem",
    ),
    "a problem with two blanks": (
        in_line("data/dev.jsonl", 2, lambda line: line.replace(" _ ", " _ _ ")),
        r"data/dev\.jsonl:2: this is no problem: the sentence has 2 blanks",
    ),
    "an unknown key": (
        in_line("data/dev.jsonl", 4, lambda line: '{"note":"x",' + line[1:]),
        r"data/dev\.jsonl:4: this is no problem: the record has an unknown key 'note'",
    ),
    "a line written another way": (
        in_line("data/test.jsonl", 1, lambda line: line.replace('":"', '": "', 1)),
        r"data/test\.jsonl:1: it is not written as winosmith writes it",
    ),
    "embargo set on a problem of a task": (
        in_line(
            "data/dev.jsonl", 4, lambda line: line.replace('"extra"', '"embargo":true,"extra"')
        ),
        r"data/dev\.jsonl:4: '.*' is under embargo",
    ),
    "the same problem twice": (
        in_line("data/dev.jsonl", 2, lambda line: line + "\n" + line),
        r"data/dev\.jsonl:3: the id '.*' is that of line 2, too",
    ),
    "a last line without its end": (
        lambda folder: (folder / "data/dev.jsonl").write_text(
            (folder / "data/dev.jsonl").read_text("utf-8").rstrip("\n"), "utf-8"
        ),
        r"data/dev\.jsonl:16: its last line is not ended",
    ),
    "a label turned round": (
        in_line("data/dev-labels.lst", 5, lambda line: "2" if line == "1" else "1"),
        r"data/dev-labels\.lst:5: it does not have the answers",
    ),
    "labels of test": (
        placed("data/test-labels.lst", "1\n" * 24),
        r"data/test-labels\.lst: it is no file of a release",
    ),
    "rows of Parquet in another order": (
        _parquet(_swapped),
        r"data/dev\.parquet: the id of row 1 is not that of the JSON Lines",
    ),
    "a row of Parquet too few": (
        _parquet(lambda table: table.slice(1)),
        r"data/dev\.parquet: it has 15 rows; the JSON Lines have 16",
    ),
    "a column of Parquet too few": (
        _parquet(lambda table: table.drop_columns(["anchor"])),
        r"data/dev\.parquet: its columns are not those of a release",
    ),
    "Parquet without the canary": (
        _parquet(lambda table: table.replace_schema_metadata(None), metadata=False),
        r"data/dev\.parquet: its metadata do not carry the canary",
    ),
    "Parquet that is none": (
        placed("data/dev.parquet", "PAR1 or so"),
        r"data/dev\.parquet: it can't be read",
    ),
    "a canary cut out": (
        in_text("CANARY", r"canary [0-9a-f]{8}", "canary 00000000"),
        r"CANARY:2: it says .*; from the problems follows 'winosmith canary",
    ),
    "a count in the card": (
        in_text("README.md", r"\| dev \| 16 \|", "| dev | 17 |"),
        r"README\.md:\d+: dev has 16 problems",
    ),
    "a sentence in the card": (
        in_text("README.md", "Do not train on dev or test", "Train on what you like"),
        r"README\.md:\d+: it says .*Train on what you like",
    ),
    "another licence in the card": (
        in_text("README.md", 'license: "apache-2.0"', 'license: "mit"'),
        r"README\.md:2: it says 'license: \"mit\"'",
    ),
    "a datasheet improved by hand": (
        in_text("DATASHEET.md", "not stated", "a generous donor"),
        r"DATASHEET\.md:\d+: it says 'a generous donor'",
    ),
    "a source left out of the licences": (
        in_text("LICENCES.md", "## person", "## nobody"),
        r"LICENCES\.md:\d+: it says '## nobody'",
    ),
    "a formula among the contributors": (
        in_text("CONTRIBUTORS.csv", r"\nt0,", "\n=cmd(),"),
        r"CONTRIBUTORS\.csv:\d+: it says '=cmd\(\),",
    ),
    "more credit than is due": (
        in_text("CONTRIBUTORS.csv", r"\nt0,\d+", "\nt0,999"),
        r"CONTRIBUTORS\.csv:\d+: it says 't0,999",
    ),
    "a changelog of another version": (
        in_text("CHANGELOG.md", r"## 1\.0\.0", "## 0.9.0"),
        r"CHANGELOG\.md:\d+: its first section is not of this version",
    ),
    "a tombstone with a text": (
        placed("tombstones.jsonl", '{"id":"x","last":"1","withdrawn":"2","sentence":"The _."}\n'),
        r"tombstones\.jsonl:1: this is no tombstone",
    ),
    "Croissant with another checksum": (
        _croissant(lambda told: told["distribution"][0].update(sha256="0" * 64)),
        r"croissant\.json: the SHA-256 or size of data/dev-labels\.lst is another",
    ),
    "Croissant with a file too few": (
        _croissant(lambda told: told["distribution"].pop(0)),
        r"croissant\.json: it does not name data/dev-labels\.lst",
    ),
    "Croissant with a file too many": (
        _croissant(
            lambda told: told["distribution"].append(
                {**told["distribution"][0], "@id": "data/more.lst", "name": "more.lst"}
            )
        ),
        r"croissant\.json: there is no file data/more\.lst",
    ),
    "Croissant with another count": (
        _croissant(lambda told: told["recordSet"][0].update(description="7 problems.")),
        r"croissant\.json: its record set train_xs is not told to have 12 problems",
    ),
    "Croissant with a field too few": (
        _croissant(lambda told: told["recordSet"][2]["field"].pop()),
        r"croissant\.json: the fields of its record set dev are not the columns",
    ),
    "Croissant without a record set": (
        _croissant(lambda told: told["recordSet"].pop()),
        r"croissant\.json: there is no record set for test",
    ),
    "Croissant that mlcroissant refuses": (
        _croissant(lambda told: told.pop("license")),
        r"croissant\.json: mlcroissant: .*license",
    ),
    "Croissant that is no JSON": (
        placed("croissant.json", "{"),
        r"croissant\.json: it can't be read",
    ),
    "a test problem in a task": (
        _test_in_harness,
        r"harness/lm_eval/partial\.jsonl:17: '.*' is a problem of test, with its answer",
    ),
    "an answer turned round in a task": (
        in_text("harness/inspect_ai/problems.jsonl", r'"target": "A"', '"target": "B"'),
        r"harness/inspect_ai/problems\.jsonl:\d+: it says",
    ),
    "a task that does something else": (
        in_text("harness/lm_eval/utils.py", "import json", "import os"),
        r"harness/lm_eval/utils\.py:\d+: it says 'import os'",
    ),
    "a file of somebody's": (
        placed("notes.txt", "mine"),
        r"notes\.txt: it is no file of a release",
    ),
    "a private folder": (
        placed("private/test.jsonl", "{}\n"),
        r"private/test\.jsonl: it is no file of a release",
    ),
    "another count in release.json": (
        in_record(lambda record: record["counts"]["dev"].update(problems=17)),
        r"release\.json: dev has 16 problems, not 17",
    ),
    "another signature in release.json": (
        in_record(lambda record: record.update(signature="data:0|n:1")),
        r"release\.json: its signature does not follow",
    ),
    "contributors that lie on two sides after all": (
        in_record(lambda record: record.update(disjoint=["twin", "source"])),
        r"data/train_xs\.jsonl:1: .* on two sides of a split: both are from the source 'practice'",
    ),
    "a licence that does not fit": (
        in_record(lambda record: record["about"].update(licence="CC0-1.0")),
        r"release\.json: the source 'practice': Apache-2\.0 asks for attribution, and CC0-1\.0",
    ),
    "a source without a licence": (
        in_record(lambda record: record["about"]["source"].pop()),
        r"data/train_xl\.jsonl:\d+: 1 problem .*no licence is stated for the source 'person'",
    ),
}
"""Faults by hands that keep checksums, digest and address in order: a plant, and what is told."""


@pytest.mark.parametrize("name", IN_FILES)
def test_a_fault_in_a_file_is_found_under_right_checksums(
    name: str, copied: Path, request: pytest.FixtureRequest
) -> None:
    """What is planted in a file is found, with the place, although every checksum fits."""
    if not name.startswith("Croissant"):
        request.getfixturevalue("without_mlcroissant")
    plant, told = IN_FILES[name]
    plant(copied)
    faults = found(seal(copied))
    assert any(re.match(told, fault) for fault in faults), faults
    assert not [fault for fault in faults if "SHA-256 is not" in fault or "address" in fault]
