"""Which test problems a solver may have seen in training."""

import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from winosmith import Dataset, Lineage, Origin, Problem, formats
from winosmith.lineage import make_child
from winosmith.metrics import find_overlap
from winosmith.models._texts import read_questions
from winosmith.published import Digests, compute_digests
from winosmith.testing import make_families, make_twins

TWINS = make_twins(10)
ROOT = TWINS[0]
CHILD = make_child(
    ROOT, f"As they say, {ROOT.sentence}", ROOT.options, ROOT.answer, source="person"
)
APART = replace(TWINS[2], id="apart", sentence="Nothing here is like that _ .", twin_id=None)
FAR = make_child(APART, "Quite other words stand beside a _ now.", ("x", "y"), 0, source="person")


def test_sets_apart_do_not_overlap() -> None:
    """Different twins share nothing, and an accuracy is shown."""
    found = find_overlap(TWINS[:10], TWINS[10:])
    assert (dict(found.rows), found.withheld, found.n) == ({}, False, 10)
    assert find_overlap(TWINS).withheld is False


@pytest.mark.parametrize(
    ("test", "training", "reason"),
    [
        (
            replace(
                ROOT, id="new", twin_id=None, options=("q", "z"), sentence=ROOT.sentence.upper()
            ),
            ROOT,
            "the training set contains its sentence",
        ),
        (TWINS[1], ROOT, "a problem in the training set looks like it"),
        (replace(CHILD, lineage=None), ROOT, "a problem in the training set looks like it"),
        (FAR, APART, "the training set contains part of its family"),
        (APART, FAR, "the training set contains part of its family"),
    ],
)
def test_what_was_seen_is_named(test: Problem, training: Problem, reason: str) -> None:
    """A copy, the other half, a lookalike and a relative may have been seen."""
    found = find_overlap(Dataset([test]), Dataset([training]))
    assert dict(found.rows) == {0: reason}


def test_a_question_is_seen_with_its_options() -> None:
    """A question that is asked of many things is seen where its options are, in any order."""
    one = Problem("q", "Which is true?", ("ice burns", "tea is hot"), 1, blank=None)
    other = Problem("r", "Which is true?", ("fire burns", "snow is hot"), 0, blank=None)
    turned = replace(one, id="s", options=one.options[::-1], answer=0)
    assert find_overlap(Dataset([other]), Dataset([one])).rows == {}
    assert dict(find_overlap(Dataset([turned]), Dataset([one])).rows) == {
        0: "the training set contains its sentence"
    }


def test_a_whole_family_is_seen_with_one_of_it() -> None:
    """Where one of a family was seen, its relatives and their twins were not unseen."""
    other = replace(TWINS[3], id="far-twin", twin_id="with far")
    test = Dataset([APART, replace(FAR, twin_id="with far"), other, TWINS[8]])
    found = find_overlap(
        test, Dataset([replace(APART, id="elsewhere", sentence=APART.sentence.lower())])
    )
    assert found.rows[0] == "the training set contains its sentence"
    assert found.rows[1] == "part of its family or its twin may have been seen"
    assert found.rows[2] == "part of its family or its twin may have been seen"
    assert 3 not in found.rows


def test_row_numbers_are_no_families() -> None:
    """Two files that number their rows share ids, and not the problems."""
    test = make_families([1, 2])
    training = Dataset(
        replace(problem, id=name, twin_id=None)
        for problem, name in zip(TWINS[::2], ["r0", "r0-0", "r0-1", "a", "b"], strict=False)
    )
    assert not find_overlap(test, training).withheld
    assert find_overlap(test[1:], training).withheld  # the root is not here to tell them apart


def held(*problems: Problem) -> Digests:
    """Return what a public set of these problems holds, as digests."""
    return compute_digests("winogrande", problems)


def test_a_public_set_is_compared_by_its_digests() -> None:
    """A sentence of the set was seen, its twin and its family with it; nothing else was."""
    test = Dataset([TWINS[0], TWINS[1], replace(CHILD, id="child"), *TWINS[4:6]])
    found = find_overlap(test, public=[held(replace(ROOT, id="x", twin_id=None))])
    assert found.rows[0] == "winogrande contains its sentence"
    assert set(found.rows) == {0, 1, 2}


def test_one_side_of_the_blank_and_the_options_are_known_again() -> None:
    """Half of a twin is known by the other half's digests, without a twin id."""
    sentence = "Ann gave Eva a cup of tea because _ was {}."
    one, two = (
        Problem(name, sentence.format(name), ("Ann", "Eva"), 0) for name in ("kind", "thirsty")
    )
    found = find_overlap(Dataset([two]), public=[held(one)])
    assert dict(found.rows) == {0: "a problem in winogrande looks like it"}
    other = replace(two, options=("Eva", "Zoe"))
    assert not find_overlap(Dataset([other]), public=[held(one)]).withheld


def test_where_a_root_comes_from_counts() -> None:
    """A root whose source is the set, and one that is not there to be compared, may be seen."""
    root = replace(APART, origin=Origin("WinoGrande"))
    child = replace(FAR, lineage=Lineage(root.id, root.id))
    orphan = replace(FAR, id="orphan", sentence="A _ of nobody.", lineage=Lineage("gone", "gone"))
    own = replace(TWINS[4], origin=Origin("crowd"))
    found = find_overlap(Dataset([root, child, own, TWINS[6], orphan]), public=[held()])
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
def test_the_parts_of_winogrande_are_told_apart(data_dir: Path) -> None:
    """Dev is all seen by who trained on it; of train_xs and dev few problems look alike."""
    dev = formats.read(data_dir / "winogrande" / "dev.jsonl")
    train = formats.read(data_dir / "winogrande" / "train_xs.jsonl")
    assert len(find_overlap(dev, dev).rows) == len(dev)
    assert len(find_overlap(dev, train).rows) < 0.01 * len(dev)


def test_a_sentence_in_another_unicode_form_is_the_same() -> None:
    """Composed or not, a sentence is one, in overlap and among the blocks of a run."""
    one = Problem("a", "The caf\u00e9 hit the jug and _ fell.", ("caf\u00e9", "jug"), 0)
    decomposed = replace(one, id="b", sentence=unicodedata.normalize("NFD", one.sentence))
    rest = replace(decomposed, options=("one", "two"))
    assert find_overlap(Dataset([one]), Dataset([rest])).withheld
    assert read_questions(Dataset([one, rest]), "test").blocks == [[0, 1]]
