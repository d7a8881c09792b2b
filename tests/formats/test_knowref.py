"""KnowRef: pronouns in brackets, lists of one, and an index that is often incorrect."""

import json
from pathlib import Path

import pytest

from winosmith import Dataset, formats

FILE = "knowref/knowref_test.json"


@pytest.fixture(scope="module")
def knowref(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Return the 1,267 valid records."""
    return formats.read(data_dir / FILE, skip_bad=tmp_path_factory.mktemp("knowref") / "bad.jsonl")


def test_answer_is_the_text_not_the_index(data_dir, knowref):
    """The index contradicts `correct_candidate` in 299 records."""
    wrong = [p for p in knowref if p.extra["knowref.correct_candidate_idx"] != p.answer]
    assert len(wrong) == 299 - 1  # the record with two equal candidates is not valid
    records = json.loads((data_dir / FILE).read_text())
    for problem in knowref:
        right = records[int(problem.id)]["correct_candidate"][0]
        assert problem.options[problem.answer or 0] == right


def test_bracketed_pronoun_becomes_the_blank(knowref):
    """The tokenised text keeps its spaces."""
    assert knowref[0].sentence == (
        "Seymour sought Johnson 's support , but _ long remained silent on the presidential "
        "campaign ."
    )
    assert (knowref[0].pronoun, knowref[0].options) == ("he", ("Seymour", "Johnson"))
