"""Options switched in the sentence, and the labels of Trichelair et al. (2019)."""

import json
import re
from dataclasses import replace

import pytest

from tests.metrics.answering import choosing, right_but
from winosmith import Dataset, Problem, formats
from winosmith.errors import DataError
from winosmith.metrics import add_trichelair_labels, measure_consistency, switch_options
from winosmith.testing import make_twins

BALL = Problem("p", "Emma passed the ball to Janie because _ was open.", ("Emma", "Janie"), 1)


def switch(sentence: str, *options: str) -> str | None:
    """Return the sentence with its options switched, or None if impossible."""
    kept = switch_options(Dataset([Problem("p", sentence, options, 0)])).kept
    return kept[0].sentence if len(kept) else None


def test_switching_changes_every_mention_and_the_answer():
    sentence = "Bob paid for Al's car, but Al forgot it; _ is hurt."
    assert switch(sentence, "Bob", "Al") == "Al paid for Bob's car, but Bob forgot it; _ is hurt."
    assert [p.answer for p in switch_options(Dataset([BALL])).kept] == [0]


def test_capitals_follow_the_position_in_the_sentence():
    sentence = "The cup hit the jug and _ broke."
    assert switch(sentence, "The cup", "The jug") == "The jug hit the cup and _ broke."


@pytest.mark.parametrize(
    ("sentence", "options"),
    [
        ("The man lifted his son, as _ was strong.", ("The man", "the son")),
        ("Ann met Ann's son, as _ was late.", ("Ann", "Ann's son")),
        ("Banana and Ann saw _ there.", ("Ana", "Ann")),
    ],
)
def test_absent_or_nested_options_are_not_switched(sentence, options):
    assert switch(sentence, *options) is None


def test_switching_twice_restores_the_problem():
    data = make_twins(20)
    once = switch_options(data)
    assert not once.dropped
    assert switch_options(once.kept).kept == data


def test_always_choosing_the_first_option_is_not_consistent():
    data = make_twins(20)
    other = switch_options(data).kept
    blind = measure_consistency(choosing(data, [0] * 40), choosing(other, [0] * 40))
    assert (blind.consistent.value, blind.both.value) == (0, 0)
    good = measure_consistency(right_but(data), right_but(other))
    assert (good.consistent.value, good.both.value) == (1, 1)
    assert good.consistent.clusters == 20


def test_switched_problem_needs_its_original():
    data = make_twins(3)
    with pytest.raises(DataError, match="must have the options of the original"):
        measure_consistency(right_but(data), right_but(data))
    stranger = Dataset([replace(BALL, id="x")])
    with pytest.raises(DataError, match="no problem with the id 'x'"):
        measure_consistency(right_but(data), right_but(stranger))


def test_labels_of_other_sentences_are_refused():
    with pytest.raises(DataError, match="the sentence of label 0 differs from that of problem 'p'"):
        add_trichelair_labels(Dataset([BALL]), [{"index": 0, "sentence": "Emma passed the ball."}])
    for index in (-1, 1, "0"):
        with pytest.raises(
            DataError, match=f"a label.s index {index!r} is out of range; there are 1 problems"
        ):
            add_trichelair_labels(Dataset([BALL]), [{"index": index, "sentence": BALL.sentence}])


def test_label_matches_a_sentence_with_most_of_its_words():
    """Five of nine words are enough."""
    mark = {"index": 0, "sentence": "Emma passed the ball to", "is_switchable": True}
    (found,) = add_trichelair_labels(Dataset([BALL]), [mark])
    assert found.extra == {"trichelair.switchable": True}


@pytest.mark.data
def test_rule_reproduces_published_switched_sentences(data_dir):
    """It can switch 117 of 131 sentences; all but one are as published, except for capitals."""
    wsc = formats.read(data_dir / "wsc/WSCollection.xml")[:273]
    records = json.loads((data_dir / "trichelair/WSC_switched_label.json").read_text())
    published = {
        wsc[record["index"]].id: re.sub(r"\[[^\]]*\]", "_", record["sentence_switched"], count=1)
        for record in records
        if record["is_switchable"]
    }
    assert len(published) == 131
    made = switch_options(wsc.select(map(wsc.row, published))).kept
    other = [p.id for p in made if _letters(p.sentence) != _letters(published[p.id])]
    assert (len(made), other) == (117, ["21"])
    assert "botray" in published["21"]


def _letters(sentence: str) -> str:
    return "".join(sentence.lower().split())
