"""Planted artifacts: present in planted twins, balanced in sound ones, and a filter's recall."""

from collections import defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from winosmith import Problem
from winosmith.errors import DataError
from winosmith.practice import PracticeCorpus, Ratio, generate_corpus, measure_recall
from winosmith.text import find_trigger, split_words

Twin = tuple[Problem, Problem]


@pytest.fixture(scope="module")
def made() -> PracticeCorpus:
    """Return a corpus with every kind of artifact."""
    return generate_corpus(4_000, seed=8, strength=0.5)


def twins(made: PracticeCorpus, kind: str | None) -> Iterator[Twin]:
    """Yield the twins with this artifact, or the sound ones."""
    for first, second in made.dataset.twins:
        if made.planted.get(made.dataset.ids[first]) == kind:
            yield made.dataset[first], made.dataset[second]


def right(problem: Problem) -> str:
    """Return the correct option."""
    assert problem.answer is not None
    return problem.options[problem.answer]


def wordings(twin: Twin) -> tuple[str, str]:
    """Return the words of each half that the other half doesn't have."""
    mine, theirs = find_trigger(split_words(twin[0].sentence), split_words(twin[1].sentence))
    return " ".join(mine), " ".join(theirs)


def longer_agrees(twin: Twin) -> bool | None:
    """Return whether the longer half's answer is the longer option; None if lengths are equal."""
    lengths = [len(split_words(half.sentence)) for half in twin]
    letters = [len(option) for option in twin[0].options]
    if lengths[0] == lengths[1] or letters[0] == letters[1]:
        return None
    half = twin[lengths.index(max(lengths))]
    return half.answer == letters.index(max(letters))


def test_longer_half_has_the_longer_answer_in_planted_twins(made: PracticeCorpus):
    for twin in twins(made, "length"):
        assert longer_agrees(twin) is True
        letters = sorted(map(len, twin[0].options))
        assert letters[1] - letters[0] >= 4


def test_longer_half_has_either_answer_in_sound_twins(made: PracticeCorpus):
    agree = [said for twin in twins(made, None) if (said := longer_agrees(twin)) is not None]
    assert len(agree) > 500
    assert sum(agree) / len(agree) == pytest.approx(0.5, abs=0.06)


def test_association_gives_a_trigger_always_the_same_answer(made: PracticeCorpus):
    answers = defaultdict(set)
    for twin in twins(made, "association"):
        for half, wording in zip(twin, wordings(twin), strict=True):
            answers[frozenset(half.options), wording].add(right(half))
    assert len(answers) >= 12
    assert all(len(options) == 1 for options in answers.values())


def test_position_gives_a_trigger_always_the_same_index(made: PracticeCorpus):
    """Options are listed in the order of their mention."""
    answers = defaultdict(set)
    for twin in twins(made, "position"):
        for half, wording in zip(twin, wordings(twin), strict=True):
            place = [half.sentence.index(option) for option in half.options]
            assert place[0] < place[1]
            answers[wording.removeprefix("most ").strip(".")].add(half.answer)
    assert len(answers) >= 12
    assert sum(len(indices) == 1 for indices in answers.values()) / len(answers) > 0.9


def test_polarity_has_no_concessive_sentences(made: PracticeCorpus):
    """Good traits are praised and bad ones blamed, so no sentence needs "although"."""
    sentences = [half.sentence for twin in twins(made, "polarity") for half in twin]
    assert sentences
    assert not [s for s in sentences if "though" in s]
    assert all(" because " in s or " since " in s or " as " in s for s in sentences)


def test_sound_triggers_have_balanced_answers(made: PracticeCorpus):
    answers = defaultdict(list)
    for twin in twins(made, None):
        for half, wording in zip(twin, wordings(twin), strict=True):
            answers[wording].append(half.answer)
    frequent = [indices for indices in answers.values() if len(indices) >= 30]
    assert len(frequent) >= 5
    # 4 standard deviations: one in 16,000 balanced wordings would fall outside
    assert all(abs(sum(i) / len(i) - 0.5) < 4 * 0.5 / len(i) ** 0.5 for i in frequent)


def test_more_habits_give_more_frames():
    one, many = (
        generate_corpus(400, strength=0.5, artifacts=["polarity"], habits=habits)
        for habits in (1, 8)
    )
    variety = [len({last_words(twin) for twin in twins(made, "polarity")}) for made in (one, many)]
    assert variety[0] <= 4  # two domains, two synonyms
    assert variety[1] > 2 * variety[0]


def last_words(twin: Twin) -> frozenset[str]:
    """Return the last word of each half's trigger, which never serves as emphasis."""
    return frozenset(wording.split()[-1] for wording in wordings(twin))


IDS = st.sets(st.integers(0, 50).map(str))


@given(
    ids=IDS,
    planted=st.dictionaries(st.integers(0, 50).map(str), st.sampled_from("abc")),
    data=st.data(),
)
def test_counts_of_recall_add_up(ids, planted, data):
    dropped = data.draw(st.sets(st.sampled_from(sorted(ids))) if ids else st.just(set()))
    result = measure_recall(planted, ids, dropped)
    assert result.recall.total + result.false_removals.total == len(ids)
    assert result.recall.count + result.false_removals.count == len(dropped)
    assert sum(kind.total for kind in result.by_kind.values()) == result.recall.total
    assert sum(kind.count for kind in result.by_kind.values()) == result.recall.count
    assert result.precision == Ratio(result.recall.count, len(dropped))


def test_dropping_exactly_the_planted_gives_recall_1():
    result = measure_recall({"a": "length", "b": "position"}, ["a", "b", "c"], ["b", "a"])
    assert (result.recall.value, result.false_removals.value) == (1.0, 0.0)
    assert result.by_kind == {"length": Ratio(1, 1), "position": Ratio(1, 1)}


def test_problems_dropped_before_the_filter_do_not_count():
    assert measure_recall({"a": "length", "b": "length"}, ["a"], ["a"]).recall == Ratio(1, 1)


def test_recall_without_planted_problems_is_none():
    assert measure_recall({}, ["a"], []).recall.value is None


def test_dropped_problems_outside_the_input_are_refused():
    with pytest.raises(DataError, match="'z' was dropped, but is not in the input"):
        measure_recall({}, ["a"], ["z"])
