"""Statistics of a data set, and the problems that they report."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Extra, Problem, formats, metrics
from winosmith.testing import make_twins

CUP = Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)


def test_statistics_of_three_problems():
    three = Problem("c", "Ann's cat saw a dog, an owl and the _.", ("cat", "dog", "owl"), 2)
    data = Dataset([CUP, replace(CUP, id="b", answer=None), three])
    found = metrics.compute_statistics(data)
    assert found.problems == 3
    assert found.average_length == (10 + 10 + 13) / 3
    assert found.vocabulary == 8 + 9
    assert (found.twins, found.singles) == (0, 3)
    assert (found.answers, found.withheld) == ((0, 1, 1), 1)
    assert found.options == {2: 2, 3: 1}


def test_pronoun_behind_the_blank_is_not_counted():
    found = metrics.compute_statistics(Dataset([CUP, replace(CUP, id="b", pronoun="it")]))
    assert (found.average_length, found.vocabulary) == (10, 8)


def test_text_without_spaces_is_omitted_from_lengths():
    japanese = Problem("j", "棚の茶碗が急須に当たって_が割れた。", ("茶碗", "急須"), 0)
    alone = metrics.compute_statistics(Dataset([japanese]))
    assert (alone.average_length, alone.vocabulary, alone.without_spaces) == (None, None, 1)
    beside = metrics.compute_statistics(Dataset([japanese, CUP]))
    assert (beside.average_length, beside.vocabulary, beside.without_spaces) == (10, 8, 1)
    assert beside.record()["without_spaces"] == 1


def test_statistics_of_an_empty_data_set():
    found = metrics.compute_statistics(Dataset())
    assert (found.problems, found.average_length, found.vocabulary) == (0, 0, 0)
    assert (found.answers, found.leaks) == ((), None)


def test_copies_have_equal_sentence_and_options():
    data = Dataset(
        [
            CUP,
            replace(CUP, id="b", options=("jug", "cup"), answer=0),
            replace(CUP, id="c", options=("cup", "jug and")),
            replace(CUP, id="d", sentence="The cup hit the jug and the _ broke"),
        ]
    )
    found = metrics.compute_statistics(data)
    assert found.copies.groups == (("a", "b"),)
    assert found.copies.contradictions == ()
    (told,) = found.copies.sentences()
    assert told.startswith("1 group of identical problems, 2 problems in all: a and b.")
    (told,) = replace(found.copies, groups=(("a", "b"), ("c", "d", "e"))).sentences()
    assert told.startswith("2 groups of identical problems, 5 problems in all: a and b; ")


def test_copies_with_different_answers_contradict():
    data = Dataset([CUP, replace(CUP, id="b", answer=0), replace(CUP, id="c", answer=None)])
    assert metrics.compute_statistics(data).copies.contradictions == (("a", "b", "c"),)
    assert metrics.compute_statistics(data.select([0, 2])).copies.contradictions == ()


def test_options_missing_from_the_sentence_are_reported():
    data = Dataset(
        [replace(CUP, options=("CUP", "Jug")), replace(CUP, id="b", options=("cup", "vase"))]
    )
    assert metrics.compute_statistics(data).missing_options == ("b",)
    asked = [Problem(f"q{at}", "Which is red?", ("cup", "vase"), blank=None) for at in range(2)]
    record = metrics.compute_statistics(Dataset([*data, *asked])).record()
    assert (record["questions"], record["missing_share"]) == (2, 0.5)


def test_record_is_json_with_a_signature():
    data = Dataset(replace(CUP, id=str(number), answer=number % 2) for number in range(9))
    record = metrics.compute_statistics(data, seed=3).record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["copies"] == {"count": 1, "problems": 9, "examples": [list("012345678")]}
    assert record["missing_options"] == {"count": 0, "examples": []}
    assert record["signature"].startswith(f"data:{data.digest[:12]}|n:9|seed:3|version:")


@given(st.permutations(range(10)))
def test_problem_order_does_not_change_the_counts(order):
    data = make_twins(4, singles=2)
    fields = ("average_length", "vocabulary", "twins", "singles", "answers", "options")
    straight, permuted = map(metrics.compute_statistics, (data, data.select(order)))
    for field in fields:
        assert getattr(straight, field) == pytest.approx(getattr(permuted, field))


def test_association_is_counted_among_labelled_problems():
    data = Dataset(
        replace(CUP, id=str(n), extra=Extra({} if label is None else {"x.associative": label}))
        for n, label in enumerate([1, 0, True, False, None])
    )
    assert metrics.compute_statistics(data).associative == (2, 4)


@pytest.mark.data
def test_37_of_273_winograd_schemas_are_associative(data_dir):
    """As in the table of the perturbed schemas."""
    path = data_dir / "perturbed_wsc/dataset/enhanced_wsc_jsons/text_original.jsonl"
    marked, labelled = metrics.compute_statistics(formats.read(path)[:273]).associative
    assert (marked, labelled) == (37, 273)


@pytest.mark.long
@pytest.mark.data
def test_missing_options_of_released_files(data_dir):
    for name, lacking in (("winogrande/train_xl.jsonl", 0), ("knowref/knowref_test.json", 3)):
        found = metrics.compute_statistics(formats.read(data_dir / name, skip_bad="/dev/null"))
        assert len(found.missing_options) == lacking


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "answers", "singles"),
    [("train_xs", (80, 80), 0), ("train_debiased", (4654, 4594), 5226), ("dev", (628, 639), 699)],
)
def test_answers_and_singles_of_winogrande_1_1(data_dir, name, answers, singles):
    found = metrics.compute_statistics(formats.read(data_dir / f"winogrande/{name}.jsonl"))
    assert (found.answers, found.singles) == (answers, singles)
