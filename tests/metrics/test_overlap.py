"""Overlap: test problems that a solver may have seen in training."""

import unicodedata
from dataclasses import replace

import pytest

from winosmith import Dataset, Lineage, Origin, Problem, formats
from winosmith.lineage import make_child
from winosmith.metrics import find_overlap
from winosmith.models._texts import read_questions
from winosmith.published import Digests, compute_digests
from winosmith.testing import make_families, make_twins

TWINS = make_twins(10)
ROOT = TWINS[0]
CHILD = make_child(ROOT, f"So, {ROOT.sentence}", ROOT.options, ROOT.answer, source="person")
APART = replace(TWINS[2], id="apart", sentence="Nothing here is like that _ .", twin_id=None)
FAR = make_child(APART, "Quite other words stand beside a _ now.", ("x", "y"), 0, source="person")


def test_different_twins_do_not_overlap():
    found = find_overlap(TWINS[:10], TWINS[10:])
    assert (dict(found.rows), found.withheld, found.n) == ({}, False, 10)
    assert find_overlap(TWINS).withheld is False


@pytest.mark.parametrize(
    ("test", "training", "reason"),
    [
        (
            replace(ROOT, twin_id=None, options=("q", "z"), sentence=ROOT.sentence.upper()),
            ROOT,
            "the training set contains its sentence",
        ),
        (TWINS[1], ROOT, "a problem in the training set looks like it"),
        (replace(CHILD, lineage=None), ROOT, "a problem in the training set looks like it"),
        (FAR, APART, "the training set contains part of its family"),
        (APART, FAR, "the training set contains part of its family"),
    ],
)
def test_seen_problems_have_a_reason(test, training, reason):
    found = find_overlap(Dataset([test]), Dataset([training]))
    assert dict(found.rows) == {0: reason}


def test_question_is_seen_only_with_its_options():
    one = Problem("q", "Which is true?", ("ice burns", "tea is hot"), 1, blank=None)
    other = Problem("r", "Which is true?", ("fire burns", "snow is hot"), 0, blank=None)
    turned = replace(one, id="s", options=one.options[::-1], answer=0)
    assert find_overlap(Dataset([other]), Dataset([one])).rows == {}
    assert dict(find_overlap(Dataset([turned]), Dataset([one])).rows) == {
        0: "the training set contains its sentence"
    }


def test_family_of_a_seen_problem_counts_as_seen():
    other = replace(TWINS[3], id="far-twin", twin_id="with far")
    test = Dataset([APART, replace(FAR, twin_id="with far"), other, TWINS[8]])
    training = Dataset([replace(APART, id="elsewhere", sentence=APART.sentence.lower())])
    assert dict(find_overlap(test, training).rows) == {
        0: "the training set contains its sentence",
        **dict.fromkeys((1, 2), "part of its family or its twin may have been seen"),
    }


def test_equal_row_numbers_do_not_make_a_family():
    """Two files that number their rows share ids, but not problems."""
    test = make_families([1, 2])
    training = Dataset(
        replace(problem, id=name, twin_id=None)
        for problem, name in zip(TWINS[::2], ["r0", "r0-0", "r0-1", "a", "b"], strict=False)
    )
    assert not find_overlap(test, training).withheld
    # the root is missing, so they can't be distinguished
    assert find_overlap(test[1:], training).withheld


def make_digests(*problems: Problem) -> Digests:
    """Return the digests of a public data set with these problems."""
    return compute_digests("winogrande", problems)


def test_public_data_set_is_compared_by_digests():
    test = Dataset([TWINS[0], TWINS[1], replace(CHILD, id="child"), *TWINS[4:6]])
    found = find_overlap(test, public=[make_digests(replace(ROOT, id="x", twin_id=None))])
    assert found.rows[0] == "winogrande contains its sentence"
    assert set(found.rows) == {0, 1, 2}


def test_twin_half_is_recognized_by_digests():
    """The digests cover the text on one side of the blank and the options; no twin id is needed."""
    sentence = "Ann gave Eva a cup of tea because _ was {}."
    one, two = (
        Problem(name, sentence.format(name), ("Ann", "Eva"), 0) for name in ("kind", "thirsty")
    )
    found = find_overlap(Dataset([two]), public=[make_digests(one)])
    assert dict(found.rows) == {0: "a problem in winogrande looks like it"}
    other = replace(two, options=("Eva", "Zoe"))
    assert not find_overlap(Dataset([other]), public=[make_digests(one)]).withheld


def test_origin_of_the_root_counts():
    """A problem may be seen if its root comes from the public data set, or is missing."""
    root = replace(APART, origin=Origin("WinoGrande"))
    child = replace(FAR, lineage=Lineage(root.id, root.id))
    orphan = replace(FAR, id="orphan", sentence="A _ of nobody.", lineage=Lineage("gone", "gone"))
    own = replace(TWINS[4], origin=Origin("crowd"))
    found = find_overlap(Dataset([root, child, own, TWINS[6], orphan]), public=[make_digests()])
    assert found.reasons == {
        "its root comes from winogrande": 2,
        "its root is not in the test set and may be from winogrande": 1,
    }
    assert found.record() == {
        "withheld": True,
        "problems": 3,
        "n": 5,
        "reasons": found.reasons,
        "unknown": [],
    }


@pytest.mark.data
def test_overlap_of_winogrande_splits(data_dir):
    dev = formats.read(data_dir / "winogrande" / "dev.jsonl")
    train = formats.read(data_dir / "winogrande" / "train_xs.jsonl")
    assert len(find_overlap(dev, dev).rows) == len(dev)
    assert len(find_overlap(dev, train).rows) < 0.01 * len(dev)


def test_unicode_forms_of_a_sentence_are_equal():
    one = Problem("a", "The caf\u00e9 hit the jug and _ fell.", ("caf\u00e9", "jug"), 0)
    decomposed = replace(one, id="b", sentence=unicodedata.normalize("NFD", one.sentence))
    rest = replace(decomposed, options=("one", "two"))
    assert find_overlap(Dataset([one]), Dataset([rest])).withheld
    assert read_questions(Dataset([one, rest]), "test").blocks == [[0, 1]]
