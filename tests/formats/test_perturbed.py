"""The perturbed WSC: one table, and one JSON Lines file for each of eight changes."""

from collections import Counter
from pathlib import Path

import pytest

from winosmith import Dataset, formats
from winosmith.formats._base import tidy

KINDS = ("original", "voice", "tense", "number", "gender", "rel_1", "syn", "adverb")


@pytest.fixture(scope="module")
def table(data_dir: Path) -> Dataset:
    return formats.read(data_dir / "perturbed_wsc/dataset/enhanced_wsc.tsv")


def jsonl(data_dir: Path, kind: str) -> Dataset:
    """Return the problems of one kind of change."""
    return formats.read(data_dir / f"perturbed_wsc/dataset/enhanced_wsc_jsons/text_{kind}.jsonl")


def test_table_contains_every_kind_of_change(table):
    """Each text other than "-" is a problem. There are three more kinds than JSON Lines files."""
    kinds = Counter(str(problem.extra["perturbed_wsc.kind"]) for problem in table)
    assert kinds == {
        "original": 285,
        "voice": 220,
        "tense": 281,
        "number": 253,
        "gender": 155,
        "relative": 283,
        "synonym": 283,
        "adverb": 283,
        "context": 285,
        "scrambled": 285,
        "freqnoun": 285,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_table_matches_the_json_lines(data_dir, table, kind):
    """Only the case and the authors' slips differ."""
    others = 0
    for problem in jsonl(data_dir, kind):
        same = table[table.row(problem.id)]
        assert problem.answer == same.answer
        assert (problem.twin_id, problem.lineage) == (same.twin_id, same.lineage)
        others += tidy(problem.sentence) != same.sentence.lower()
    # JSON Lines: in "number", the blank is the first of two "they"; "voice" lacks quotation marks.
    assert others == {"number": 2, "voice": 2}.get(kind, 0)


def test_ids_consist_of_kind_and_schema_without_separator(data_dir):
    """The id q110 is schema 10 in the other voice. Its root is q010."""
    voice = jsonl(data_dir, "voice")
    problem = voice[voice.row("q110")]
    assert problem.lineage is not None
    assert problem.lineage.root == "q010"


def test_originals_are_the_roots_of_all_families(table):
    assert len(table.families) == 285
    assert all(root.startswith("q0") for root in table.families)


def test_group_of_three_schemas_is_a_twin_and_a_single(data_dir):
    """The schemas 252 to 254 share a pair number."""
    original = jsonl(data_dir, "original")
    numbers = {original[row].extra["perturbed_wsc.pair_number"] for row in (252, 253, 254)}
    assert len(numbers) == 1
    assert (252, 253) in original.twins
    assert 254 in original.singles
