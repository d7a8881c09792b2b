"""Groups are compared only if the solver's inputs differ between them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from tests.metrics.answering import choosing
from winosmith import Dataset, Prediction, Problem, metrics
from winosmith.metrics import Graded, check_comparable, grade
from winosmith.problem import Extra

PRONOUNS = {"female": "she", "male": "he", "neutral": "they"}


def versions(count: int = 8, genders: Sequence[str] = ("female", "male")) -> Dataset:
    """Return problems that differ only in their pronoun, in a group for each gender."""
    return Dataset(
        Problem(
            f"{number}.{gender}",
            f"The cook told the guest at table {number} that _ had time.",
            ("the cook", "the guest"),
            number % 2,
            pronoun=PRONOUNS[gender],
            extra=Extra({"made.gender": gender}),
        )
        for number in range(count)
        for gender in genders
    )


def found(of: Graded, field: str = "made.gender") -> metrics.Comparability:
    """Return whether the genders can be compared."""
    return check_comparable(of, field, dict(metrics.iterate_columns(of.dataset))[field])


def change_men(change: Callable[[Problem], Problem]) -> Dataset:
    """Return versions of which those about men are changed."""
    return Dataset(change(p) if p.id.endswith(".male") else p for p in versions())


def retell(problem: Problem) -> Problem:
    return replace(problem, sentence=problem.sentence.replace("told", "saw"))


MIXED = [0, 1, 1, 1, 0, 0, 1, 0] * 2
"""Choices that sometimes differ between the two genders."""


def test_equal_inputs_are_refused_with_a_remedy():
    refused = found(choosing(versions(), MIXED, sees="blank")).refused
    assert refused == (
        "made.gender can't be compared: the 8 inputs of 'female' and 'male' are the same, because "
        "the solver saw the blank instead of the pronoun; so a difference between their results is "
        "not due to the solver (let it see the pronoun (`winosmith solve --sees pronoun`); train "
        "an encoder to see it with `winosmith train --sees pronoun`)"
    )


def test_solver_that_saw_the_pronoun_is_compared():
    assert found(choosing(versions(), MIXED, sees="pronoun")) == metrics.Comparability()
    assert found(choosing(versions(), [0] * 16, sees="pronoun")) == metrics.Comparability()


def test_unknown_input_is_inferred_from_the_answers():
    """Equal answers for all versions are refused; otherwise a note states the uncertainty."""
    refused = found(choosing(versions(), [0, 0, 1, 1] * 4)).refused
    assert "which changed no answer" in refused
    other = found(choosing(versions(), MIXED))
    assert other.refused is None
    assert other.note == (
        "8 of 8 inputs of 'female' and 'male' are the same if the solver did not see the pronoun, "
        "which its file does not state (4 of 8 got the same answer with every pronoun)"
    )


def test_different_scores_show_different_inputs():
    data = versions(2)
    for apart, same in ((0.01, False), (0.00005, True)):
        given = [Prediction(p.id, 0, (1.0 + apart * row, 0.0)) for row, p in enumerate(data)]
        assert (found(grade(data, given)).refused is not None) is same


def test_answers_are_compared_by_option_not_position():
    data = versions(2)
    turned = Dataset(
        replace(p, options=p.options[::-1], answer=1 - (p.answer or 0)) if row % 2 else p
        for row, p in enumerate(data)
    )
    assert found(choosing(turned, [0, 1, 0, 1])).refused is not None
    assert found(choosing(turned, [0, 0, 0, 0])).refused is None


@pytest.mark.parametrize("sees", ["blank", "pronoun", None])
def test_identical_problems_are_never_compared(sees):
    data = Dataset(replace(p, pronoun="she") for p in versions())
    assert "because they are the same problems" in found(choosing(data, MIXED, sees=sees)).refused


@pytest.mark.parametrize("sees", ["blank", "pronoun", None])
def test_groups_of_other_sentences_are_compared(sees):
    assert found(choosing(change_men(retell), MIXED, sees=sees)) == metrics.Comparability()


def test_note_counts_equal_inputs_if_half_or_more_are_equal():
    for changed, told in ((3, "5 of 8 inputs"), (5, None)):
        data = change_men(lambda p, few=changed: retell(p) if int(p.id[0]) < few else p)
        answer = found(choosing(data, MIXED, sees="blank"))
        assert answer.refused is None
        assert (answer.note is None) if told is None else (told in str(answer.note))


def test_inputs_are_compared_within_the_local_context():
    men = change_men(lambda p: replace(p, sentence=p.sentence.replace("cook", "cooks")))
    data = Dataset(replace(p, pronoun=None) for p in men)
    assert found(choosing(data, MIXED, sees="blank")) == metrics.Comparability()
    for told in ({"local_context": 2}, {"local": 2}):
        assert found(choosing(data, MIXED, sees="blank", **told)).refused is not None


@given(st.lists(st.sampled_from(["a", "b", None]), min_size=12, max_size=12))
def test_comparison_is_refused_exactly_if_inputs_are_equal(column):
    data = versions(6)
    groups = {
        name: sorted(p.sentence for p, own in zip(data, column, strict=True) if own == name)
        for name in ("a", "b")
    }
    of = check_comparable(choosing(data, MIXED[:12], sees="blank"), "made.half", column)
    equal = bool(groups["a"]) and groups["a"] == groups["b"]
    assert (of.refused is not None) is equal


def test_score_omits_groups_of_a_refused_field():
    data = versions(8, ("female", "male", "neutral"))
    scored = metrics.score(choosing(data, [0] * 24, sees="blank"), by=["made.gender"])
    assert "made.gender" not in scored.groups
    assert scored.record()["refused"]["made.gender"].startswith("made.gender can't be compared")
    seen = metrics.score(choosing(data, [0] * 24, sees="pronoun"), by=["made.gender"])
    assert list(seen.groups["made.gender"]) == ["female", "male", "neutral"]
    assert seen.record()["refused"] == {}
