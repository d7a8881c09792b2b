"""Table 5 of WinoGrande (2020), compared with `winosmith stats` on the published files."""

import json
from pathlib import Path
from typing import Any

import pytest

from winosmith import Dataset, Problem, formats, metrics
from winosmith.cli import main
from winosmith.metrics._statistics import ROWS
from winosmith.text import tokenize

TEXT = pytest.CaptureFixture[str]

TABLE: dict[str, tuple[list[str], tuple[int, float, int], tuple[int, float, int]]] = {
    "WSC": (["wsc/wsc-273.jsonl"], (273, 19.1, 919), (273, 19.1, 918)),
    "PDP": (["pdp/PDPChallenge2016.xml"], (80, 39.5, 594), (80, 39.4, 593)),
    "SuperGLUE-WSC": (
        [f"superglue_wsc/{part}.jsonl" for part in ("train", "val", "test")],
        (804, 28.4, 1711),
        (804, 28.4, 1711),
    ),
    "DPR": (["dpr/train.c.txt", "dpr/test.c.txt"], (1886, 15.9, 4127), (1886, 15.9, 4127)),
    "KnowRef": (["knowref/knowref_test.json"], (1269, 19.3, 5310), (1267, 19.3, 5307)),
    "COPA": (["copa/copa-all.xml"], (1000, 13.3, 3369), (1000, 13.3, 3370)),
    "Winogender": (["winogender/all_sentences.tsv"], (720, 15.6, 523), (720, 15.6, 523)),
    "WinoGrande debiased": (
        [f"winogrande/{part}.jsonl" for part in ("train_debiased", "dev", "test")],
        (12282, 21.1, 11408),
        (12282, 21.1, 11419),
    ),
    "WinoGrande all": (
        [f"winogrande/{part}.jsonl" for part in ("train_xl", "dev", "test")],
        (43972, 20.6, 16469),
        (43432, 20.6, 16433),
    ),
}
"""The files of each row; problems, average length and vocabulary as printed, and from the files."""


def told(capsys: TEXT, tmp_path: Path, *files: Path) -> dict[str, Any]:
    """Return the JSON output of `winosmith stats` for some files."""
    arguments = [*map(str, files), "--skip-bad", str(tmp_path / "bad.jsonl"), "--json"]
    assert main(["stats", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.long
@pytest.mark.data
@pytest.mark.parametrize("name", TABLE)
def test_row_of_table_5_is_printed(data_dir, tmp_path, capsys, name):
    """Next to the counts are the printed numbers and the reason for differences.

    Problems and average length are as printed, the vocabulary within two in a hundred.
    """
    files, printed, ours = TABLE[name]
    found = told(capsys, tmp_path, *(data_dir / file for file in files))
    number = found["comparisons"] if name == "PDP" else found.get("claims", found.get("problems"))
    assert (number, round(found["average_length"], 1), found["vocabulary"]) == ours
    row = found["table5"]
    assert (row["set"], row["whole"]) == (name.split()[0], True)
    assert tuple(row["printed"].values()) == printed
    assert tuple(row["published_files"].values()) == ours
    assert bool(row["why"]) == (printed != ours)
    for figure, paper, most in zip(ours, printed, (0.013, 0.005, 0.015), strict=True):
        assert figure == pytest.approx(paper, rel=most)


@pytest.mark.data
@pytest.mark.parametrize(
    ("path", "name"),
    [("dpr/test.c.txt", "DPR"), ("copa/copa-dev.xml", "COPA"), ("winogrande/dev.jsonl", None)],
)
def test_part_of_a_data_set_is_noted_in_its_row(data_dir, tmp_path, capsys, path, name):
    row = told(capsys, tmp_path, data_dir / path)["table5"]
    assert (row["set"], row["whole"]) == (name or "WinoGrande", False)
    assert main(["stats", str(data_dir / path)]) == 0
    assert "row describes a different selection" in " ".join(capsys.readouterr().out.split())


@pytest.mark.data
def test_copa_vocabulary_includes_our_joining_words(data_dir):
    """COPA's 3,370 words include "because" and "so"; swapped options count the same."""
    data = formats.read(data_dir / "copa/copa-all.xml")
    texts = [text.split("_")[0] for p in data for text in p.fill_all()]
    words = {token.lower() for text in texts for token in tokenize(text)}
    assert len(words) == 3370
    assert {"because", "so"} <= words
    swapped = Dataset(Problem(p.id, p.sentence, p.options[::-1], 1 - (p.answer or 0)) for p in data)
    one, other = metrics.compute_statistics(data), metrics.compute_statistics(swapped)
    assert (one.average_length, one.vocabulary) == (other.average_length, other.vocabulary)


def test_other_data_have_no_row_of_table_5():
    found = metrics.compute_statistics(Dataset([Problem("a", "The _ fell.", ("cup", "jug"), 0)]))
    assert found.table5 is None
    assert (found.average_length, found.vocabulary) == (4, 4)


def test_row_explains_differences_from_the_paper():
    said = str(next(row for row in ROWS if row.set == "KnowRef"))
    assert "It prints 1,269 problems, 19.3 tokens, vocabulary 5,310" in said
    assert said.endswith("vocabulary 5,307: two records of the file are not problems.")
