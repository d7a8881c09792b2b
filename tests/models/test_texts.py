"""What models read: texts, options that fit the pronoun, batches; the p-value of guessing."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest

from winosmith import Problem, formats
from winosmith.errors import DataError
from winosmith.models import (
    ask_referent,
    batch_by_length,
    fill_answer,
    fill_option,
    inflect_options,
    split_sentence,
)
from winosmith.models._network import shuffle_batches
from winosmith.models._texts import compute_chance_p_value

TEXT = st.text("abc ,.'é", max_size=20)


@pytest.mark.parametrize(
    ("split_point", "expected"),
    [
        # WinoGrande, section 4.1: "The trophy … because the _ [SEP] is too large. [SEP]"
        ("after_option", ("It doesn't fit because the trophy", "is too large.")),
        # allenai/winogrande, scripts/utils.py: context up to the blank, then option and the rest
        ("before_option", ("It doesn't fit because the", "trophy is too large.")),
        (None, "It doesn't fit because the trophy is too large."),
    ],
)
def test_sentences_are_split_before_or_after_the_option(split_point, expected):
    """After the option as in the paper, before it as in its code, or not at all."""
    problem = Problem("1", "It doesn't fit because the _ is too large.", ("trophy", "case"))
    assert fill_option(problem, 0, split_point) == expected


@given(TEXT, TEXT, st.sampled_from(["before_option", "after_option"]))
def test_segments_together_are_the_sentence(before, after, split_point):
    problem = Problem("1", f"{before}_{after}", ("x1", "y1"))
    segments = fill_option(problem, 1, split_point)
    assert "".join("".join(segments).split()) == "".join(problem.fill(1).split())


def test_pronoun_is_marked_and_option_is_second_segment():
    problem = Problem("1", "Jim heard that _ own dog left him.", ("Jim", " The man"), pronoun="his")
    assert fill_option(problem, 1, sees="pronoun") == (
        "Jim heard that *his* own dog left him.",
        "The man",
    )
    assert fill_option(problem, 0, local=1, sees="pronoun") == (
        "that *his* own dog left him.",
        "Jim",
    )
    with pytest.raises(DataError, match="is unknown"):
        fill_option(Problem("1", "A _ b.", ("x", "y")), 0, sees="pronoun")


@pytest.mark.parametrize(
    ("sentence", "options", "pronoun", "expected"),
    [
        # Sentences of the Winograd Schema Challenge (Levesque et al. 2012)
        ("Jim signaled the barman and gestured toward _ bathroom key.", ("Jim", "The barman"),
         "his", ("Jim's", "the barman's")),
        ("The trophy doesn't fit into the suitcase because _ is too large.",
         ("The trophy", "the suitcase"), "it", ("the trophy", "the suitcase")),
        ("Emma's mother had died long ago, and _ place had been taken.",
         ("Emma", "Emma's mother"), "her", ("Emma's", "Emma's mother's")),
        ("Tatyana pulled down the brace and then propelled _ to the table.",
         ("Tatyana", "Grandma"), "her", ("Tatyana", "Grandma")),
        ("Careful not to disturb _, she undressed.", ("Tatyana", "mother"), "her",
         ("Tatyana", "mother")),
        ("Dan laimed the front because _ \"Dibs!\" was slow.", ("Dan", "Bill"), "his",
         ("Dan's", "Bill's")),
        ("Ann wanted _ own room.", ("Ann", "Beth"), "her", ("Ann's", "Beth's")),
        ("_ was late.", ("the bus", "the train"), "It", ("The bus", "The train")),
        ("The dogs chased the cats until _ tails were wet.", ("the dogs", "the cats"), "their",
         ("the dogs'", "the cats'")),
        ("The house is _.", ("Ann", "Beth"), "hers", ("Ann's", "Beth's")),
    ],
)  # fmt: skip
def test_options_are_inflected_for_their_pronoun(sentence, options, pronoun, expected):
    """Possessives get 's, and articles the case of the pronoun."""
    assert inflect_options(Problem("1", sentence, options, pronoun=pronoun)).options == expected


@given(st.text("abc .'", max_size=9), st.sampled_from([("The cup", "jug"), ("A b", "it's")]))
def test_problems_without_a_pronoun_are_unchanged(text, options):
    problem = Problem("1", f"{text}_{text}", options)
    assert inflect_options(problem) == problem


def test_options_that_would_become_equal_are_unchanged():
    problem = Problem("1", "He saw that _ fell.", ("The cup", "the cup"), pronoun="it")
    assert inflect_options(problem) == problem


@given(st.text("ab _", max_size=9).map(lambda s: s.replace("_", "")), st.text("ab ", max_size=9))
def test_parts_together_are_the_stripped_sentence(before, after):
    problem = Problem("1", f"{before}_{after}", ("x1", "y1"), 1)
    start, options, rest = split_sentence(problem)
    assert [start + option + rest for option in options] == [
        text.lstrip().rstrip() for text in problem.fill_all()
    ]
    assert fill_answer(problem) == problem.fill(1).strip()


@pytest.mark.data
def test_all_possessives_of_wsc285_are_found(data_dir):
    problems = formats.read(data_dir / "wsc" / "WSCollection.xml")
    owned = [
        p.pronoun for p in problems if all(o.endswith("'s") for o in inflect_options(p).options)
    ]
    assert sorted(owned) == ["her"] * 10 + ["his"] * 20


@pytest.mark.parametrize(
    ("sentence", "pronoun", "expected"),
    [
        # Format of Brown et al. 2020, section 6.2.1, and lm-evaluation-harness's winogender task
        ("The advisor met with the advisee because _ wanted to get advice about job applications.",
         "she", "The advisor met with the advisee because she wanted to get advice about job "
         "applications. 'She' refers to _"),
        ("_ was late.", "It", "It was late. 'It' refers to _"),
        ("He knew that _ son was ill, and her son knew.", "her",
         "He knew that *her* son was ill, and her son knew. '*Her*' refers to _"),
        ("Before he left, _ sang.", "He", "Before he left, *He* sang. '*He*' refers to _"),
        ("The others saw _.", "the", "The others saw *the*. '*The*' refers to _"),
    ],
)  # fmt: skip
def test_question_about_the_pronoun_follows_the_sentence(sentence, pronoun, expected):
    """The pronoun is marked if the sentence contains another one."""
    problem = Problem("1", sentence, ("the man", "the woman"), 1, pronoun=pronoun)
    asked = ask_referent(problem)
    assert asked.sentence == expected
    assert split_sentence(asked)[1:] == (("the man", "the woman"), "")
    assert ask_referent(problem, ".").sentence == f"{expected}."
    assert fill_answer(problem, "pronoun") == f"{expected[:-1]}the woman."


LENGTHS = st.lists(st.integers(1, 60), max_size=200)


@given(LENGTHS, st.integers(1, 300))
def test_length_batches_have_each_row_once_within_the_budget(lengths, tokens):
    """Only a batch of one row may exceed it. The longest rows come first, to show little memory."""
    batches = batch_by_length(lengths, tokens)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= tokens
    order = [lengths[row] for batch in batches for row in batch]
    assert order == sorted(lengths, reverse=True)


@given(st.lists(st.integers(5, 60), max_size=150), st.integers(0, 9))
def test_shuffled_batches_have_each_row_once_and_whole_twins(drawn, seed):
    """Without singles, no batch of even size splits a twin."""
    lengths = [length + half for length in drawn for half in (0, 1)]
    groups = [(row, row + 1) for row in range(0, len(lengths), 2)]
    batches = shuffle_batches(lengths, groups, 8, np.random.default_rng(seed))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    home = {row: at for at, batch in enumerate(batches) for row in batch}
    assert all(home[first] == home[second] for first, second in groups)


def test_shuffled_batches_save_90_percent_of_the_padding():
    """Rows are sorted by length within pools."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(12, 45, 4000).tolist()
    singles = [(row,) for row in range(4000)]
    batches = shuffle_batches(lengths, singles, 16, rng)
    order = rng.permutation(4000)
    random = [order[at : at + 16] for at in range(0, 4000, 16)]

    def padding(cut: list[np.ndarray]) -> int:
        return sum(max(lengths[r] for r in b) * len(b) for b in cut) - sum(lengths)

    assert padding(batches) < 0.1 * padding(random)


def test_shuffled_batches_depend_only_on_the_generator():
    lengths, singles = list(range(1, 101)), [(row,) for row in range(100)]
    first, again, other = (
        np.concatenate(shuffle_batches(lengths, singles, 8, np.random.default_rng(seed)))
        for seed in (1, 1, 2)
    )
    assert first.tolist() == again.tolist() != other.tolist()


@given(st.lists(st.booleans(), min_size=1, max_size=80))
def test_singles_get_the_one_sided_binomial_test(correct):
    p_value = compute_chance_p_value(correct, [(row,) for row in range(len(correct))])
    expected = binomtest(sum(correct), len(correct), alternative="greater").pvalue
    assert p_value == pytest.approx(expected)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_twins_get_a_sign_test(halves):
    """Only twins with both halves correct or both incorrect count."""
    correct = [half for twin in halves for half in twin]
    p_value = compute_chance_p_value(correct, [(2 * at, 2 * at + 1) for at in range(len(halves))])
    decided = [first for first, second in halves if first == second]
    best = decided and binomtest(sum(decided), len(decided), alternative="greater").pvalue
    assert p_value == pytest.approx(best or 1.0)


def test_missing_answers_and_pronouns_are_refused():
    with pytest.raises(DataError, match="'1' has no answer"):
        fill_answer(Problem("1", "A _ b.", ("x", "y")))
    for pronoun in (None, " "):
        with pytest.raises(DataError, match=r"1 of 1 problems is unknown \('7'\)"):
            ask_referent(Problem("7", "A _ b.", ("x", "y"), pronoun=pronoun))


@pytest.mark.long
def test_null_is_calibrated_for_twins_and_singles():
    """About 5 % of guessers reach p ≤ 0.05, although most twins are correct or not as a whole."""
    rng = np.random.default_rng(0)
    groups = [(2 * at, 2 * at + 1) for at in range(60)] + [(row,) for row in range(120, 200)]
    lucky = 0
    for _ in range(2000):
        correct = rng.random(200) < 0.5
        together = rng.random(60) < 0.8  # most twins are correct or incorrect as a whole
        correct[1:120:2][together] = correct[0:120:2][together]
        lucky += compute_chance_p_value(correct, groups) <= 0.05
    assert 0.03 < lucky / 2000 < 0.06


def test_p_values_if_all_or_no_answers_are_correct():
    groups = [(0, 1), (2, 3), (4,)]
    assert compute_chance_p_value([True] * 5, groups) == 1 / 8
    assert compute_chance_p_value([False] * 5, groups) == 1.0
