"""Annotators have an accuracy, an agreement, and an error depth unless they are always right."""

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
    """Return a person's responses, wrong on these problems."""
    return [Response(p.id, who, "test", (p.answer or 0) ^ (p.id in wrong)) for p in asked]


def test_an_accuracy_under_one_comes_with_an_error_depth() -> None:
    """Wrong at depths 3 and 8 is a mean of 5.5 and a first of 3, beside 4.5 by guessing."""
    found = measure_annotators(DATA, [*said("anna", {"c3", "c8"}), *said("ben", set())], DEPTHS)
    anna, ben = found.people
    assert (anna.participant, anna.errors, anna.mean, anna.first) == ("anna", 2, 5.5, 3.0)
    assert anna.coin == 4.5
    assert (ben.accuracy.value, ben.errors, ben.mean, ben.first) == (1.0, 0, None, None)
    assert found.accuracy == pytest.approx((7 / 9 + 1) / 2)


def test_an_error_on_the_root_has_no_depth() -> None:
    """The root is counted in the accuracy alone."""
    (anna,) = measure_annotators(DATA, said("anna", {ROOT.id}), DEPTHS).people
    assert (anna.accuracy.right, anna.accuracy.n, anna.errors, anna.mean) == (8, 9, 0, None)


def test_agreement_is_that_of_the_places_chosen() -> None:
    """Kappa and alpha are those of the table of choices, with its clusters."""
    people = [said("a", {"c1"}), said("b", {"c1", "c2"}), said("c", set())]
    found = measure_annotators(DATA, [response for one in people for response in one], DEPTHS)
    table = [[sum(one[row].choice == c for one in people) for c in (0, 1)] for row in range(9)]
    assert found.kappa.value == pytest.approx(fleiss_kappa(table).value)
    assert found.alpha.value == pytest.approx(krippendorff_alpha(table).value)
    assert found.kappa.items == found.alpha.items == 9


def test_kappa_takes_the_problems_with_the_usual_number_of_answers() -> None:
    """Where one problem has two of three answers, kappa has eight items and alpha nine."""
    responses = [r for who in "abc" for r in said(who, {"c1"} if who == "a" else set())]
    responses = [r for r in responses if (r.participant, r.problem_id) != ("c", "c5")]
    found = measure_annotators(DATA, responses)
    assert (found.kappa.items, found.kappa.answers) == (8, 24)
    assert (found.alpha.items, found.alpha.answers) == (9, 26)


def test_to_choose_none_is_an_answer_that_can_agree() -> None:
    """Two people who find the same problem ambiguous agree on it, and both are wrong there."""
    responses = [r for who in "ab" for r in said(who, set())]
    responses = [replace(r, choice=None) if r.problem_id == "c4" else r for r in responses]
    found = measure_annotators(DATA, responses, DEPTHS)
    assert found.alpha.value == 1.0
    assert [person.mean for person in found.people] == [4.0, 4.0]


def test_one_annotator_alone_agrees_with_nobody() -> None:
    """With one answer a problem both coefficients are None, and say why."""
    found = measure_annotators(DATA, said("anna", set()))
    assert found.kappa.reason == found.alpha.reason == "no item has two answers or more"
    assert found.record()["kappa"]["value"] is None


def test_what_is_no_annotation_is_refused() -> None:
    """Votes that validated, a subject who is not fresh, and depths of another length are named."""
    votes = [replace(response, purpose="validate") for response in said("anna", set())]
    with pytest.raises(DataError, match="no test response is for a problem that has an answer"):
        measure_annotators(DATA, votes)
    with pytest.raises(DataError, match="'anna' can't be a subject"):
        measure_annotators(DATA, [*votes, *said("anna", set())])
    with pytest.raises(DataError, match="there are 1 depths for 9 problems"):
        measure_annotators(DATA, said("anna", set()), [1])
