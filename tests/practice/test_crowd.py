"""The simulated crowd: votes by the paper's rules, and the fraction found valid."""

from collections import defaultdict

import pytest

from winosmith import Dataset, Filtered, Origin, Problem, Response, validate
from winosmith.errors import DataError, RecipeError
from winosmith.practice import PracticeCorpus, generate_corpus, read_handwritten, simulate_votes

SENTENCE = "The cup stood beside the jug until the _ fell."


@pytest.fixture(scope="module")
def made() -> PracticeCorpus:
    """Return a corpus with votes."""
    return generate_corpus(2_000, seed=12)


@pytest.fixture(scope="module")
def judged(made: PracticeCorpus) -> Filtered:
    """Return the result of the default rules for votes."""
    return validate.filter_by_votes(made.dataset, made.votes)


def judges_of(votes: tuple[Response, ...], purpose: str) -> dict[str, list[str]]:
    """Return the judges of each problem for this purpose."""
    judges = defaultdict(list)
    for vote in votes:
        if vote.purpose == purpose:
            judges[vote.problem_id].append(vote.participant)
    return judges


@pytest.mark.parametrize("purpose", ["local", "validate"])
def test_three_distinct_judges_see_each_problem(made: PracticeCorpus, purpose: str):
    judges = judges_of(made.votes, purpose)
    assert set(judges) == set(made.dataset.ids)
    assert all(len(own) == len(set(own)) == 3 for own in judges.values())


def test_all_votes_are_eligible(made: PracticeCorpus):
    """No judge wrote the twin or saw its other half before."""
    _, aside = validate.select_eligible(made.dataset, made.votes)
    assert aside == ()


def test_about_68_percent_are_valid(made: PracticeCorpus, judged: Filtered):
    """As in the paper, within 3 points."""
    assert len(judged.kept) / len(made.dataset) == pytest.approx(0.68, abs=0.03)


def test_votes_reject_for_all_reasons(judged: Filtered):
    """Those of the paper's three rules."""
    reasons = {entry.reason.split(":")[0] for entry in judged.dropped}
    assert reasons == {"majority", "ambiguity", "word association", "local context"}


def test_planted_problems_are_valid_as_often_as_sound_ones(made: PracticeCorpus, judged: Filtered):
    kept = set(judged.kept.ids)
    planted = set(made.planted)
    sound = set(made.dataset.ids) - planted
    shares = [len(kept & part) / len(part) for part in (planted, sound)]
    assert shares[0] == pytest.approx(shares[1], abs=0.05)


def test_judges_differ_in_reliability(made: PracticeCorpus):
    answers = dict(zip(made.dataset.ids, made.dataset.answers, strict=True))
    wrong = defaultdict(list)
    for vote in made.votes:
        if vote.purpose == "validate":
            wrong[vote.participant].append(vote.choice != answers[vote.problem_id])
    rates = sorted(sum(own) / len(own) for own in wrong.values())
    assert rates[0] < rates[-1] / 2


def test_seed_determines_the_votes():
    twins = read_handwritten()
    assert simulate_votes(twins, seed=1) == simulate_votes(twins, seed=1)
    assert simulate_votes(twins, seed=1) != simulate_votes(twins, seed=2)


def test_crowd_with_error_rate_0_answers_correctly():
    twins = read_handwritten()
    votes = simulate_votes(twins, error_rate=0, ambiguous_rate=0, associative_rate=0)
    answers = dict(zip(twins.ids, twins.answers, strict=True))
    assert all(v.choice == answers[v.problem_id] for v in votes if v.purpose == "validate")


def test_crowd_with_error_rate_1_answers_incorrectly():
    """With any number of options."""
    options = ("cup", "jug", "vase")
    data = Dataset([Problem("a", SENTENCE, options, 2), Problem("b", SENTENCE, options, 0)])
    votes = simulate_votes(data, error_rate=1, ambiguous_rate=0, associative_rate=0)
    answers = {"a": 2, "b": 0}
    assert all(v.choice != answers[v.problem_id] for v in votes if v.purpose == "validate")


def test_ambiguous_and_associative_problems_are_rejected():
    twins = read_handwritten()
    votes = simulate_votes(twins, ambiguous_rate=1, associative_rate=1)
    assert len(validate.filter_by_votes(twins, votes).kept) < 0.1 * len(twins)


def test_pool_needs_twice_the_judges_and_the_author():
    """One person fewer is refused."""
    origin = Origin(author="p02")
    half = Problem("a", SENTENCE, ("cup", "jug"), 0, "t", origin=origin)
    other = Problem("b", SENTENCE.replace("fell", "stayed"), ("cup", "jug"), 1, "t", origin=origin)
    twin = Dataset([half, other])
    assert len(simulate_votes(twin, judges=2, pool=5)) == 2 * 2 * 2
    with pytest.raises(DataError, match=r"needs 4 judges who are not its author.* 4 has only 3"):
        simulate_votes(twin, judges=2, pool=4)


@pytest.mark.parametrize("arguments", [{"judges": 0}, {"error_rate": 1.1}, {"ambiguous_rate": -1}])
def test_numbers_out_of_range_are_refused(arguments):
    with pytest.raises(RecipeError, match=r"must be a (whole number, 1 or|number from 0)"):
        simulate_votes(read_handwritten(), **arguments)


def test_withheld_answers_are_refused():
    blind = read_handwritten().blind()
    with pytest.raises(DataError, match=f"the answer of '{blind.ids[0]}' is withheld"):
        simulate_votes(blind)
