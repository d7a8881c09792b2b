"""Published files are written as they were, and what a format has no place for is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from winosmith import Claim, Problem, formats
from winosmith.errors import FormatError


def again(path: Path, folder: Path, name: str) -> Path:
    """Return a new file that holds what was read of another one, in the same format."""
    formats.write(formats.read_items(path), folder / "again", name)
    return folder / "again"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        *((f"winogrande/{part}.jsonl", "winogrande")
          for part in ("dev", "test", "train_xs", "train_debiased")),
        *((path, "dpr-tsv") for path in ("dpr/train.tsv", "dpr/test.tsv", "wsc/wsc273_test.tsv")),
    ],
)  # fmt: skip
def test_a_file_is_written_byte_for_byte(
    data_dir: Path, tmp_path: Path, path: str, name: str
) -> None:
    """WinoGrande's files come back with their escapes, and two-row tables, byte for byte."""
    assert again(data_dir / path, tmp_path, name).read_bytes() == (data_dir / path).read_bytes()


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *(("superglue-copa", part) for part in ("train", "val", "test", "fewglue_unlabeled")),
        *(("superglue-wsc", part) for part in ("train", "val", "test", "wsc_test_glue",
                                               "fewglue_train", "fewglue_unlabeled")),
    ],
)  # fmt: skip
def test_a_superglue_file_is_written_record_by_record(
    data_dir: Path, tmp_path: Path, name: str, part: str
) -> None:
    """Spans that don't match come back too; COPA's sentences without stray spaces at their ends."""
    path = data_dir / name.replace("-", "_") / f"{part}.jsonl"
    published = [json.loads(line) for line in path.read_text().splitlines()]
    for record in published if name == "superglue-copa" else ():
        record |= {key: record[key].strip() for key in ("premise", "choice1", "choice2")}
    lines = again(path, tmp_path, name).read_text().splitlines()
    assert [json.loads(line) for line in lines] == published


@pytest.mark.parametrize(
    ("name", "item", "told"),
    [
        ("copa-xml", Problem("p", "The _ fell.", ("cup", "jug"), 0), "COPA"),
        ("copa-xml", Problem("p", "It fell because _.", ("The jug hit", "it rained"), 0), "COPA"),
        ("dpr", Problem("p", "A _ b.", ("x", "y")), ".*the format needs the answer"),
        ("dpr", Problem("p", "A _ b.", ("x, z", "y"), 0), ".*options without commas"),
        ("dpr", Problem("p", "A _\nb.", ("x", "y"), 0), ".*needs tidy spaces"),
        ("knowref", Problem("p", "A [b] _ c.", ("x", "y"), 0, pronoun="it"), "the format needs"),
        ("superglue-wsc", Claim("p", "A _ b.", "x", True, "it"),
         "the text does not hold the candidate 'x'"),
        ("superglue-wsc", Claim("p", "x _ b.", "x", True), "the format needs the pronoun"),
        ("superglue-wsc", Claim("p", "x a_ b.", "x", True, "it"),
         "the pronoun 'it' is no word of its own"),
        ("winogender", Problem("p", "The nurse said _ fell.", ("the nurse", "someone"), 0,
                               pronoun="he"), r".*nurse\.patient\.1\.female"),
        ("wsc-xml", Problem("p", "A\x01 _ b.", ("x", "y"), 0), "XML has no place"),
    ],
)  # fmt: skip
def test_what_would_not_come_back_is_refused_by_its_id(
    tmp_path: Path, name: str, item: Problem | Claim, told: str
) -> None:
    """Links, capitals, commas, brackets and spans that a format can't hold are never written."""
    with pytest.raises(FormatError, match=f"'p' can't be written: {told}"):
        formats.write([item], tmp_path / "out", name)
