"""The Pronoun Disambiguation Problems: 60 questions, 80 comparisons, human counts."""

from collections import Counter
from pathlib import Path

import pytest

from winosmith import Dataset, formats
from winosmith.errors import FormatError
from winosmith.recast import to_pairs


@pytest.fixture(scope="module")
def pdp(data_dir: Path) -> Dataset:
    """Return the 60 questions."""
    return formats.read(data_dir / "pdp/PDPChallenge2016.xml")


def test_the_counts_are_those_known(pdp: Dataset) -> None:
    """Options, answers and the 19 people's agreement are as the challenge states them."""
    assert Counter(len(problem.options) for problem in pdp) == {2: 45, 3: 12, 4: 1, 5: 2}
    assert Counter(pdp.answers) == {0: 32, 1: 20, 2: 7, 3: 1}
    assert Counter(problem.extra["pdp.agree"] for problem in pdp) == {19: 33, 18: 19, 17: 6, 16: 2}
    assert {problem.extra["pdp.subjects"] for problem in pdp} == {19}
    assert sum(problem.extra.get("pdp.same_text") is True for problem in pdp) == 20


def test_both_files_hold_the_same(data_dir: Path, pdp: Dataset) -> None:
    """The copy with other white space gives equal problems, but for the spelling of a source."""
    copy = formats.read(data_dir / "pdp/PDPChallenge.xml")
    lost = formats.find_losses(pdp.problems, copy.problems)
    assert lost.lines("problems") == ["changed: extra wsc.source in 2 problems"]


def test_sixty_questions_are_eighty_comparisons(data_dir: Path, pdp: Dataset) -> None:
    """A question with k options gives k - 1 comparisons: 80, as WinoGrande's table 5 counts."""
    assert len(to_pairs(pdp)) == 80
    assert len(to_pairs(formats.read(data_dir / "pdp/pdp60.json"))) == 80


def test_the_rows_give_the_options_in_their_order(data_dir: Path, pdp: Dataset) -> None:
    """The repeated right fillings of pdp60.json tell the order of options that the XML has."""
    rows = formats.read(data_dir / "pdp/pdp60.json")
    assert rows.answers == pdp.answers
    assert [len(problem.options) for problem in rows] == [len(p.options) for p in pdp]


def test_the_masks_hold_the_same_options(data_dir: Path, pdp: Dataset) -> None:
    """PDP.txt has the XML's options and answers."""
    masks = formats.read(data_dir / "pdp/PDP.txt")
    assert [(p.options, p.answer) for p in masks] == [(p.options, p.answer) for p in pdp]


def test_counts_that_do_not_read_as_counts_are_refused(data_dir: Path, tmp_path: Path) -> None:
    """A sentence on human subjects that holds no two numbers is named."""
    text = (data_dir / "pdp/PDPChallenge2016.xml").read_text()
    path = tmp_path / "pdp.xml"
    path.write_text(text.replace("19 out of 19 subjects got", "everybody got", 1))
    with pytest.raises(FormatError, match=r"pdp\.xml:5: 'everybody got this answer\.' must read"):
        formats.read(path)
