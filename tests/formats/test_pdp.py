"""The Pronoun Disambiguation Problems: 60 questions, 80 comparisons, human counts."""

from collections import Counter
from pathlib import Path

import pytest

from winosmith import Dataset, formats
from winosmith.errors import FormatError
from winosmith.recast import to_pairs


@pytest.fixture(scope="module")
def pdp(data_dir: Path) -> Dataset:
    return formats.read(data_dir / "pdp/PDPChallenge2016.xml")


def test_options_answers_and_agreement_are_as_published(pdp):
    """The agreement is that of 19 people."""
    assert Counter(len(problem.options) for problem in pdp) == {2: 45, 3: 12, 4: 1, 5: 2}
    assert Counter(pdp.answers) == {0: 32, 1: 20, 2: 7, 3: 1}
    assert Counter(problem.extra["pdp.agree"] for problem in pdp) == {19: 33, 18: 19, 17: 6, 16: 2}
    assert {problem.extra["pdp.subjects"] for problem in pdp} == {19}
    assert sum(problem.extra.get("pdp.same_text") is True for problem in pdp) == 20


def test_both_xml_files_have_the_same_problems(data_dir, pdp):
    """Only the spelling of a source differs, in 2 problems."""
    copy = formats.read(data_dir / "pdp/PDPChallenge.xml")
    lost = formats.find_losses(pdp.problems, copy.problems)
    assert lost.lines("problems") == ["changed: extra wsc.source in 2 problems"]


def test_60_questions_give_80_comparisons(data_dir, pdp):
    """A question with k options gives k - 1 comparisons: 80, as in WinoGrande's table 5."""
    assert len(to_pairs(pdp)) == 80
    assert len(to_pairs(formats.read(data_dir / "pdp/pdp60.json"))) == 80


def test_pdp60_has_the_options_in_the_order_of_the_xml(data_dir, pdp):
    """The order follows from the repeated correct fillings of pdp60.json."""
    rows = formats.read(data_dir / "pdp/pdp60.json")
    assert rows.answers == pdp.answers
    assert [len(problem.options) for problem in rows] == [len(p.options) for p in pdp]


def test_masked_file_has_the_options_and_answers_of_the_xml(data_dir, pdp):
    masks = formats.read(data_dir / "pdp/PDP.txt")
    assert [(p.options, p.answer) for p in masks] == [(p.options, p.answer) for p in pdp]


def test_human_counts_without_two_numbers_are_refused(data_dir, tmp_path):
    text = (data_dir / "pdp/PDPChallenge2016.xml").read_text()
    path = tmp_path / "pdp.xml"
    path.write_text(text.replace("19 out of 19 subjects got", "everybody got", 1))
    with pytest.raises(FormatError, match=r"pdp\.xml:5: 'everybody got this answer\.' must read"):
        formats.read(path)
