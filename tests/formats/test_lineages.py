"""Lineages are checked when a file is read."""

import json
from pathlib import Path
from typing import Any

import pytest

from winosmith import Dataset, Edit, Lineage, Problem, formats
from winosmith.errors import FormatError
from winosmith.lineage import depths, make_child

ROOT = Problem("r", "The cup hit the _ and broke.", ("vase", "tray"), 0)
CHILD = make_child(ROOT, "The mug hit the _ and broke.", ROOT.options, 0, source="person")
GRANDCHILD = make_child(
    CHILD, "The mug hit the old _ and fell.", ROOT.options, 1, source="person", declared=7
)
FAMILY = (ROOT, CHILD, GRANDCHILD)


def line(number: int, sentence: str, **lineage: Any) -> str:
    """Return a line of JSON Lines with a problem of this lineage."""
    record = {"id": str(number), "sentence": sentence, "options": ["x", "y"], "answer": 0}
    return json.dumps({**record, "lineage": lineage} if lineage else record)


def written(tmp_path: Path, *lines: str) -> Path:
    """Write these lines into a file."""
    path = tmp_path / "family.jsonl"
    path.write_text("".join(f"{text}\n" for text in lines))
    return path


@pytest.mark.parametrize("name", ["winosmith", "csv"])
def test_family_round_trips_with_edits_and_depths(tmp_path, name):
    path = tmp_path / f"family.{name}"
    formats.write(FAMILY, path, name)
    data = formats.read(path)
    assert data.problems == FAMILY
    assert [tuple(of) for of in depths(data)] == [(0, 0, 0), (None, 1, 1), (7, 3, 3)]


CONTRADICTIONS = [
    (
        [line(0, "a _", root="r", parent="1"), line(1, "b _", root="r", parent="0")],
        r"jsonl:1: the lineage is a cycle: '0' ← '1' ← '0'; 1 more record can't be read",
    ),
    ([line(0, "a _", root="0", parent="0")], r"jsonl:1: the problem is its own parent"),
    (
        [line(0, "a _"), line(1, "b _", root="q", parent="0")],
        r"jsonl:2: the root is 'q', but its parent '0' has the root '0'",
    ),
    (
        [
            line(0, "a _"),
            line(1, "b _", root="0", parent="0"),
            line(2, "c _", root="0", parent="1", edits=[{"op": "delete", "at": 0, "old": "a"}]),
        ],
        r"jsonl:3: the edits do not fit the parent '1': edit 1 expects 'a' at token 0, but found",
    ),
    (
        [
            line(0, "a _"),
            line(1, "c _", root="0", parent="0", edits=[{"op": "insert", "at": 0, "new": "b"}]),
        ],
        r"jsonl:2: the edits do not fit the parent '0': they result in 'b a _' at token 0, but",
    ),
]


@pytest.mark.parametrize(("lines", "complaint"), CONTRADICTIONS)
def test_contradictory_lineage_is_refused_with_its_line(tmp_path, lines, complaint):
    with pytest.raises(FormatError, match=complaint):
        formats.read(written(tmp_path, *lines))


def test_edits_that_do_not_fit_are_refused_in_tables(tmp_path):
    path = tmp_path / "family.csv"
    edits = '"[{""op"":""delete"",""at"":0,""old"":""x""}]"'
    path.write_text(
        "id,sentence,option1,option2,answer,root,parent,edits\n"
        "0,a _,x,y,1,,,\n"
        f"1,b _,x,y,1,0,0,{edits}\n"
    )
    with pytest.raises(FormatError, match=r"family\.csv:3: the edits do not fit the parent '0'"):
        formats.read(path)


def test_skip_bad_writes_contradictory_records_to_a_file(tmp_path):
    lines = [
        line(0, "a _"),
        line(1, "b _", root="0", parent="1"),
        line(2, "c _", root="0", parent="1"),
    ]
    aside = tmp_path / "bad.jsonl"
    data = formats.read(written(tmp_path, *lines), skip_bad=aside)
    assert data.ids == ("0", "2")
    (bad,) = [json.loads(text) for text in aside.read_text().splitlines()]
    assert (bad["line"], bad["record"]) == (2, lines[1])
    assert bad["reason"] == "the problem is its own parent; a root has no lineage"


def test_family_is_read_without_its_missing_parents(tmp_path):
    """A filter may have removed them."""
    path = tmp_path / "part.jsonl"
    formats.write([ROOT, GRANDCHILD], path)
    assert formats.read(path) == Dataset([ROOT, GRANDCHILD])


def test_declared_edits_are_kept_even_if_shorter_ones_exist(tmp_path):
    detour = (Edit("substitute", 1, "cup", "pot"), Edit("substitute", 1, "pot", "mug"))
    child = Problem("c", CHILD.sentence, ROOT.options, 0, lineage=Lineage("r", "r", detour))
    path = tmp_path / "detour.jsonl"
    formats.write([ROOT, child], path)
    data = formats.read(path)
    assert data[1] == child
    assert depths(data)[1].lineage == 1
