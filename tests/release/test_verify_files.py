"""Faults in one file of a release are found although every checksum matches."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.release.conftest import found, seal
from tests.release.plants import Plant, in_line, in_record, in_text, placed


def _parquet(change: Callable[[object], object]) -> Plant:
    """Return a plant that changes the Parquet table of dev."""

    def plant(folder: Path) -> None:
        path = folder / "data/dev.parquet"
        pyarrow.parquet.write_table(change(pyarrow.parquet.read_table(path)), path)

    return plant


def _swapped(table):
    """Return a table whose first two rows are exchanged."""
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
        r"data/dev\.jsonl:3: this is not a problem: ",
    ),
    "a problem with two blanks": (
        in_line("data/dev.jsonl", 2, lambda line: line.replace(" _ ", " _ _ ")),
        r"data/dev\.jsonl:2: this is not a problem: the sentence has 2 blanks",
    ),
    "an unknown key": (
        in_line("data/dev.jsonl", 4, lambda line: '{"note":"x",' + line[1:]),
        r"data/dev\.jsonl:4: this is not a problem: the record has an unknown key 'note'",
    ),
    "embargo set on a problem of a task": (
        in_line(
            "data/dev.jsonl", 4, lambda line: line.replace('"extra"', '"embargo":true,"extra"')
        ),
        r"data/dev\.jsonl:4: '.*' is under embargo",
    ),
    "the same problem twice": (
        in_line("data/dev.jsonl", 2, lambda line: line + "\n" + line),
        r"data/dev\.jsonl:3: this is not a problem: the id '.*' was already used at line 2",
    ),
    "a label turned round": (
        in_line("data/dev-labels.lst", 5, lambda line: "2" if line == "1" else "1"),
        r"data/dev-labels\.lst:5: it does not match the problems",
    ),
    "labels of test": (
        placed("data/test-labels.lst", "1\n" * 24),
        r"data/test-labels\.lst: it is not a file of a release",
    ),
    "rows of Parquet in another order": (
        _parquet(_swapped),
        r"data/dev\.parquet: it does not match the problems",
    ),
    "a row of Parquet too few": (
        _parquet(lambda table: table.slice(1)),
        r"data/dev\.parquet: it does not match the problems",
    ),
    "a column of Parquet too few": (
        _parquet(lambda table: table.drop_columns(["anchor"])),
        r"data/dev\.parquet: it does not match the problems",
    ),
    "Parquet that is none": (
        placed("data/dev.parquet", "PAR1 or so"),
        r"data/dev\.parquet: it can't be compared with the problems",
    ),
    "a number of judges that is none": (
        in_text("data/dev.jsonl", '"extra":{', '"extra":{"release.judges":"x",'),
        r"data/dev\.parquet: it can't be compared with the problems",
    ),
    "a tombstone with a text": (
        placed("tombstones.jsonl", '{"id":"x","last":"1","withdrawn":"2","sentence":"The _."}\n'),
        r"tombstones\.jsonl:1: this is not a tombstone: unknown key 'sentence'",
    ),
    "a claim among the problems": (
        in_line(
            "data/dev.jsonl",
            2,
            lambda line: '{"problem_id":"a","sentence":"The _ fell.","candidate":"cup"}',
        ),
        r"data/dev\.jsonl:2: this is not a problem: it is a claim",
    ),
    "a file too few that release.json does not name either": (
        lambda folder: (folder / "LICENCES.md").unlink(),
        r"LICENCES\.md: it is missing",
    ),
    "a task without its settings": (
        lambda folder: (folder / "harness/lm_eval/small_partial.yaml").unlink(),
        r"harness/lm_eval/small_partial\.yaml: it is missing",
    ),
    "a number of judges that no table can contain": (
        in_text("data/dev.jsonl", '"extra":{', f'"extra":{{"release.judges":{2**70},'),
        r"data/dev\.parquet: it can't be compared with the problems",
    ),
    "a test problem in a task": (
        _test_in_harness,
        r"harness/lm_eval/partial\.jsonl:17: it does not match the problems",
    ),
    "an answer turned round in a task": (
        in_text("harness/inspect_ai/problems.jsonl", r'"target": "A"', '"target": "B"'),
        r"harness/inspect_ai/problems\.jsonl:\d+: it does not match the problems",
    ),
    "answers of test in a file of a task": (
        placed("harness/lm_eval/test.txt", "1\n2\n"),
        r"harness/lm_eval/test\.txt: it is not a file of a release",
    ),
    "a task that is not JSON": (
        in_line("harness/lm_eval/partial.jsonl", 2, lambda line: line[:-5]),
        r"harness/lm_eval/partial\.jsonl:2: ",
    ),
    "a file of somebody's": (
        placed("notes.txt", "mine"),
        r"notes\.txt: it is not a file of a release",
    ),
    "a private folder": (
        placed("private/test.jsonl", "{}\n"),
        r"private/test\.jsonl: it is not a file of a release",
    ),
    "another count in release.json": (
        in_record(lambda record: record["counts"]["dev"].update(problems=17)),
        r"release\.json: its counts of dev do not match the problems",
    ),
    "another digest of a part in release.json": (
        in_record(lambda record: record["digests"].update(dev="0")),
        r"release\.json: its digests of dev do not match the problems",
    ),
    "another configuration in release.json": (
        in_record(lambda record: record["configurations"]["xl"].update(test="dev")),
        r"release\.json: its configurations of xl do not match the problems",
    ),
    "contributors that lie on two sides after all": (
        in_record(lambda record: record.update(disjoint=["twin", "source"])),
        r"data/train_xs\.jsonl:1: .* on two sides of a split: both are from the source 'practice'",
    ),
    "a licence that does not fit": (
        in_record(lambda record: record["about"].update(licence="CC0-1.0")),
        r"release\.json: the source 'practice': Apache-2\.0 asks for attribution, but CC0-1\.0",
    ),
    "a source without a licence": (
        in_record(lambda record: record["about"]["source"].pop()),
        r"data/train_xl\.jsonl:\d+: 1 problem .*no licence is stated for the source 'person'",
    ),
}
"""Faults with updated checksums, digest and folder name: a plant, and the expected message."""


@pytest.mark.parametrize("name", IN_FILES)
def test_fault_in_one_file_is_found_despite_checksums(name: str, copied: Path) -> None:
    plant, fault = IN_FILES[name]
    plant(copied)
    faults = found(seal(copied))
    assert any(re.match(fault, one) for one in faults), faults
    assert not [one for one in faults if "SHA-256 differs" in one or "address" in one]
