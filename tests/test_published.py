"""Published sets are known by their sentences, in any file that holds them."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from winosmith import Dataset, Problem, formats, practice, published

TROPHY = "The trophy doesn't fit into the brown suitcase because {} too large."


@pytest.mark.parametrize("written", ["_ is", "the _ is", "THE _ IS", "_  is"])
def test_a_sentence_is_known_however_it_is_written(written: str) -> None:
    """Case, spaces, punctuation and the article of the option tell nothing."""
    assert published.name_of(TROPHY.format(written)) == "WSC"
    assert published.name_of(TROPHY.format(written).replace("brown", "black")) is None


def test_a_set_is_known_when_nearly_all_of_it_is() -> None:
    """Nine problems of ten make a data set WSC, eight do not; the practice twins are of no set."""
    wsc = [Problem(f"{n}", TROPHY.format("_ is"), ("trophy", f"case {n}")) for n in range(9)]
    other = Problem("x", "The _ fell.", ("cup", "jug"))
    assert published.set_of(Dataset([*wsc, other])) == "WSC"
    assert published.set_of(Dataset([*wsc[:8], other, replace(other, id="y")])) is None
    assert published.set_of(practice.handwritten()) is None
    assert published.set_of(Dataset()) is None


@pytest.mark.data
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("winogrande/dev.jsonl", "WinoGrande"),
        ("winogrande/test.jsonl", "WinoGrande"),
        ("winogrande/train_s.jsonl", "WinoGrande"),
        ("copa/copa-dev.xml", "COPA"),
        ("superglue_copa/val.jsonl", "COPA"),
        ("wsc/wsc273.json", "WSC"),
        ("dpr/train.tsv", "DPR"),
    ],
)
def test_the_published_files_are_known(data_dir: Path, path: str, name: str) -> None:
    """A part of a set is told for it, in each encoding, and so is a sample of WinoGrande."""
    assert published.set_of(formats.read(data_dir / path)) == name


@pytest.mark.data
def test_the_shipped_digests_are_those_of_the_published_files(data_dir: Path) -> None:
    """What `docs/make_published.py` writes is what the package holds."""
    made = runpy.run_path(str(Path(__file__).parents[1] / "docs/make_published.py"))
    assert made["text"](data_dir) == Path(made["HERE"]).read_text("utf-8")
