"""Annotators: accuracy, agreement, and error depth."""

from dataclasses import replace

import pytest

from winosmith import Dataset, Lineage, Response
from winosmith.errors import DataError
from winosmith.metrics import fleiss_kappa, krippendorff_alpha, measure_annotators
from winosmith.testing import make_twins

ROOT = make_twins(1)[0]
DATA = Dataset(
    [
        ROOT,
        *(
            replace(ROOT, id=f"c{n}", sentence=f"{'well, ' * n}{ROOT.sentence}", answer=n % 2,
                    twin_id=None, lineage=Lineage(ROOT.id, ROOT.id))
            for n in range(1, 9)
        ),
    ]
)  # fmt: skip
DEPTHS = [None, *range(1, 9)]


def said(who: str, wrong: set[str], asked: Dataset = DATA) -> list[Response]:
    """Return a person's responses, incorrect for these problems."""
    return [Response(p.id, who, "test", (p.answer or 0) ^ (p.id in wrong)) for p in asked]


def test_annotator_with_errors_has_an_error_depth() -> None:
    """Errors at depths 3 and 8 have a mean of 5.5 and a first error of 3; guessing gives 4.5."""
    found = measure_annotators(DATA, [*said("anna", {"c3", "c8"}), *said("ben", set())], DEPTHS)
    anna, ben = found.people
    assert (anna.participant, anna.errors, anna.mean, anna.first) == ("anna", 2, 5.5, 3.0)
    assert anna.coin == 4.5
    assert (ben.accuracy.value, ben.errors, ben.mean, ben.first) == (1.0, 0, None, None)
    assert found.accuracy == pytest.approx((7 / 9 + 1) / 2)


def test_an_error_on_the_root_has_no_depth() -> None:
    """The root counts only for the accuracy."""
    (anna,) = measure_annotators(DATA, said("anna", {ROOT.id}), DEPTHS).people
    assert (anna.accuracy.right, anna.accuracy.n, anna.errors, anna.mean) == (8, 9, 0, None)


def test_agreement_is_that_of_the_table_of_choices() -> None:
    people = [said("a", {"c1"}), said("b", {"c1", "c2"}), said("c", set())]
    found = measure_annotators(DATA, [response for one in people for response in one], DEPTHS)
    table = [[sum(one[row].choice == c for one in people) for c in (0, 1)] for row in range(9)]
    assert found.kappa.value == pytest.approx(fleiss_kappa(table).value)
    assert found.alpha.value == pytest.approx(krippendorff_alpha(table).value)
    assert found.kappa.items == found.alpha.items == 9


def test_kappa_omits_problems_with_fewer_answers() -> None:
    responses = [r for who in "abc" for r in said(who, {"c1"} if who == "a" else set())]
    responses = [r for r in responses if (r.participant, r.problem_id) != ("c", "c5")]
    found = measure_annotators(DATA, responses)
    assert (found.kappa.items, found.kappa.answers) == (8, 24)
    assert (found.alpha.items, found.alpha.answers) == (9, 26)


def test_choosing_no_option_counts_as_an_answer() -> None:
    """Two people who find a problem ambiguous agree on it, and both are incorrect."""
    responses = [r for who in "ab" for r in said(who, set())]
    responses = [replace(r, choice=None) if r.problem_id == "c4" else r for r in responses]
    found = measure_annotators(DATA, responses, DEPTHS)
    assert found.alpha.value == 1.0
    assert [person.mean for person in found.people] == [4.0, 4.0]


def test_agreement_of_one_annotator_is_none_with_a_reason() -> None:
    found = measure_annotators(DATA, said("anna", set()))
    assert found.kappa.reason == found.alpha.reason == "no item has two answers or more"
    assert found.record()["kappa"]["value"] is None


def test_unsuitable_responses_and_depths_are_refused() -> None:
    votes = [replace(response, purpose="validate") for response in said("anna", set())]
    with pytest.raises(DataError, match="no test response is for a problem that has an answer"):
        measure_annotators(DATA, votes)
    with pytest.raises(DataError, match="'anna' can't be a subject"):
        measure_annotators(DATA, [*votes, *said("anna", set())])
    with pytest.raises(DataError, match="there are 1 depths for 9 problems"):
        measure_annotators(DATA, said("anna", set()), [1])
