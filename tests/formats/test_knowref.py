"""KnowRef: brackets, lists of one, and an index that is often wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from winosmith import Dataset, Problem, formats
from winosmith.errors import FormatError

FILE = "knowref/knowref_test.json"


@pytest.fixture(scope="module")
def knowref(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Return the 1,267 records that are problems."""
    return formats.read(data_dir / FILE, skip_bad=tmp_path_factory.mktemp("knowref") / "bad.jsonl")


def test_the_answer_is_the_text_not_the_index(data_dir: Path, knowref: Dataset) -> None:
    """The answer is `correct_candidate`; the index contradicts it in 299 records."""
    wrong = [p for p in knowref if p.extra["knowref.correct_candidate_idx"] != p.answer]
    assert len(wrong) == 299 - 1  # the record with two equal candidates is no problem
    records = json.loads((data_dir / FILE).read_text())
    for problem in knowref:
        right = records[int(problem.id)]["correct_candidate"][0]
        assert problem.options[problem.answer or 0] == right


def test_the_two_records_that_are_no_problems_are_named(data_dir: Path) -> None:
    """Reading stops at the record with one name twice, and says that one more is bad."""
    with pytest.raises(
        FormatError,
        match=r"knowref_test\.json:239: two options are equal: 'Christina', 'Christina'; 1 more",
    ):
        formats.read(data_dir / FILE)


def test_duplicates_are_kept(knowref: Dataset) -> None:
    """Records that repeat an earlier one are kept, with ids of their own."""
    texts = [(p.sentence, p.options) for p in knowref]
    assert len(texts) - len(set(texts)) == 23


def test_only_the_pronoun_is_bracketed_away(knowref: Dataset) -> None:
    """The bracketed pronoun is the blank, and the spaces of the tokenised text stay."""
    assert knowref[0].sentence == (
        "Seymour sought Johnson 's support , but _ long remained silent on the presidential "
        "campaign ."
    )
    assert (knowref[0].pronoun, knowref[0].options) == ("he", ("Seymour", "Johnson"))


def test_the_records_are_written_as_they_were(
    data_dir: Path, tmp_path: Path, knowref: Dataset
) -> None:
    """All fields of all records come back, in the file's own spelling."""
    formats.write(knowref.problems, tmp_path / "again.json", "knowref")
    again = json.loads((tmp_path / "again.json").read_text())
    records = json.loads((data_dir / FILE).read_text())
    assert again == [records[int(problem.id)] for problem in knowref]


def test_brackets_in_the_sentence_are_refused(tmp_path: Path) -> None:
    """A problem with brackets of its own can't be written, for they mark the pronoun."""
    problem = Problem("p", "A [b] _ c.", ("x", "y"), 0, pronoun="it")
    with pytest.raises(FormatError, match="'p' can't be written: the format needs"):
        formats.write([problem], tmp_path / "out.json", "knowref")
