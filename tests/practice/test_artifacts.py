"""Planted artifacts: in every planted twin, rare in sound ones, and what a filter found of them."""

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
    """Return the right option."""
    assert problem.answer is not None
    return problem.options[problem.answer]


def wordings(twin: Twin) -> tuple[str, str]:
    """Return the words of each half that the other lacks."""
    mine, theirs = find_trigger(split_words(twin[0].sentence), split_words(twin[1].sentence))
    return " ".join(mine), " ".join(theirs)


def longer_agrees(twin: Twin) -> bool | None:
    """Return whether the longer half's answer is the longer option; None without a longer one."""
    lengths = [len(split_words(half.sentence)) for half in twin]
    letters = [len(option) for option in twin[0].options]
    if lengths[0] == lengths[1] or letters[0] == letters[1]:
        return None
    half = twin[lengths.index(max(lengths))]
    return half.answer == letters.index(max(letters))


def test_length_agrees_in_all_planted_twins(made: PracticeCorpus):
    """The longer half of a planted twin has the longer option as its answer, by 4 letters."""
    for twin in twins(made, "length"):
        assert longer_agrees(twin) is True
        letters = sorted(map(len, twin[0].options))
        assert letters[1] - letters[0] >= 4


def test_length_agrees_in_half_of_the_sound_twins(made: PracticeCorpus):
    """In sound twins the longer half has the longer option as its answer half of the time."""
    agree = [said for twin in twins(made, None) if (said := longer_agrees(twin)) is not None]
    assert len(agree) > 500
    assert sum(agree) / len(agree) == pytest.approx(0.5, abs=0.06)


def test_association_ties_an_option_to_a_trigger(made: PracticeCorpus):
    """Among planted twins of two options, a trigger always has the same option as its answer."""
    answers = defaultdict(set)
    for twin in twins(made, "association"):
        for half, wording in zip(twin, wordings(twin), strict=True):
            answers[frozenset(half.options), wording].add(right(half))
    assert len(answers) >= 12
    assert all(len(options) == 1 for options in answers.values())


def test_position_ties_a_trigger_to_the_first_option(made: PracticeCorpus):
    """Options are listed as mentioned, and a trigger always has the answer of the same index."""
    answers = defaultdict(set)
    for twin in twins(made, "position"):
        for half, wording in zip(twin, wordings(twin), strict=True):
            place = [half.sentence.index(option) for option in half.options]
            assert place[0] < place[1]
            answers[wording.removeprefix("most ").strip(".")].add(half.answer)
    assert len(answers) >= 12
    assert sum(len(indices) == 1 for indices in answers.values()) / len(answers) > 0.9


def test_polarity_never_contradicts_itself(made: PracticeCorpus):
    """What is praised has a good trait and what is blamed a bad one: no word says although."""
    sentences = [half.sentence for twin in twins(made, "polarity") for half in twin]
    assert sentences
    assert not [s for s in sentences if "though" in s]
    assert all(" because " in s or " since " in s or " as " in s for s in sentences)


def test_a_sound_trigger_has_each_answer_equally(made: PracticeCorpus):
    """In sound twins, the wording of a half says nothing about the index of its answer."""
    answers = defaultdict(list)
    for twin in twins(made, None):
        for half, wording in zip(twin, wordings(twin), strict=True):
            answers[wording].append(half.answer)
    frequent = [indices for indices in answers.values() if len(indices) >= 30]
    assert len(frequent) >= 5
    # 4 standard deviations: one in 16,000 balanced wordings would fall outside
    assert all(abs(sum(i) / len(i) - 0.5) < 4 * 0.5 / len(i) ** 0.5 for i in frequent)


def test_few_habits_repeat_themselves():
    """With one habit a kind, its twins come from one frame a domain; with more, from more."""
    one, many = (
        generate_corpus(400, strength=0.5, artifacts=["polarity"], habits=habits)
        for habits in (1, 8)
    )
    variety = [len({last_words(twin) for twin in twins(made, "polarity")}) for made in (one, many)]
    assert variety[0] <= 4  # two domains, two synonyms
    assert variety[1] > 2 * variety[0]


def last_words(twin: Twin) -> frozenset[str]:
    """Return the last word of each half's trigger, which is never one of emphasis."""
    return frozenset(wording.split()[-1] for wording in wordings(twin))


IDS = st.sets(st.integers(0, 50).map(str))


@given(
    ids=IDS,
    planted=st.dictionaries(st.integers(0, 50).map(str), st.sampled_from("abc")),
    data=st.data(),
)
def test_counts_add_up(ids, planted, data):
    """Planted and sound are the input, and what was found and taken is what was dropped."""
    dropped = data.draw(st.sets(st.sampled_from(sorted(ids))) if ids else st.just(set()))
    result = measure_recall(planted, ids, dropped)
    assert result.recall.total + result.false_removals.total == len(ids)
    assert result.recall.count + result.false_removals.count == len(dropped)
    assert sum(kind.total for kind in result.by_kind.values()) == result.recall.total
    assert sum(kind.count for kind in result.by_kind.values()) == result.recall.count
    assert result.precision == Ratio(result.recall.count, len(dropped))


def test_dropping_exactly_the_planted_is_perfect():
    """A filter that drops the planted and nothing else has recall 1 and no false removal."""
    result = measure_recall({"a": "length", "b": "position"}, ["a", "b", "c"], ["b", "a"])
    assert (result.recall.value, result.false_removals.value) == (1.0, 0.0)
    assert result.by_kind == {"length": Ratio(1, 1), "position": Ratio(1, 1)}


def test_what_the_filter_did_not_see_does_not_count():
    """A planted problem that an earlier step dropped is no miss of this filter."""
    assert measure_recall({"a": "length", "b": "length"}, ["a"], ["a"]).recall == Ratio(1, 1)


def test_a_share_of_nothing_has_no_value():
    """Without planted problems there is no recall, rather than a zero."""
    assert measure_recall({}, ["a"], []).recall.value is None


def test_a_dropped_problem_that_did_not_go_in_is_refused():
    """Ids that do not match are an error, not a silent zero."""
    with pytest.raises(DataError, match="'z' was dropped, but is not in the input"):
        measure_recall({}, ["a"], ["z"])
