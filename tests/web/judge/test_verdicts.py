"""Verdicts, exported votes, and votes that moderators exclude."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, strategies as st

from tests.conftest import examples
from tests.web.judge.making import give, singles, twin
from tests.web.making import fresh
from tests.web.together import at_once
from winosmith import Dataset, formats, metrics, validate
from winosmith.errors import InputError
from winosmith.metrics import krippendorff_alpha
from winosmith.web.judge import votes
from winosmith.web.judge.exclusion import change_votes
from winosmith.web.judge.turns import lease_next_problem, store_answer, store_local_answer
from winosmith.web.judge.votes import (
    close_slots,
    get_vote_rules,
    iter_responses,
    list_votes,
    measure_agreement,
    open_slots,
)
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import move
from winosmith.web.read.public import get_stats

VOTES = st.lists(
    st.tuples(st.sampled_from([0, 1]), st.sampled_from([0, 1, None]), st.booleans(), st.booleans()),
    min_size=3,
    max_size=3,
)
"""For each of three judges: the local choice, the choice, ambiguous, and associative."""


def _judge(problem: Any, people: list[Any], votes: Any) -> None:
    for judge, (local, choice, ambiguous, associative) in zip(people, votes, strict=True):
        slot = lease_next_problem(judge)
        assert slot.problem == problem
        store_local_answer(judge, slot.ref, local)
        both = ambiguous or choice is None
        store_answer(judge, slot.ref, choice, ambiguous=both, associative=associative)


@examples(20, suppress_health_check=list(HealthCheck))
@given(votes=VOTES)
def test_verdicts_equal_those_of_the_exported_votes(person, tmp_path, votes):
    """`filter_by_votes` gives the site's state and reasons for the exported files."""
    with transaction.atomic():
        (problem,) = twin(person("author"), halves=1)
        _judge(problem, [person(name) for name in ("a", "b", "c")], votes)
        data = [as_problem(fresh(problem))]
        formats.write(data, tmp_path / "set.jsonl")
        validate.write_votes(list(iter_responses([problem])), tmp_path / "votes.csv")
        read: Dataset = formats.read(tmp_path / "set.jsonl")
        again = validate.filter_by_votes(
            read, validate.read_votes(tmp_path / "votes.csv"), get_vote_rules()
        )
        assert problem.state == ("valid" if len(again.kept) else "rejected")
        assert problem.reasons == (again.dropped[0].reason.split(" | ") if again.dropped else [])
        transaction.set_rollback(True)


@pytest.mark.parametrize(
    ("votes", "reason"),
    [
        ([(0, 0, False, False), (0, 1, False, False), (1, 1, False, False)], "majority"),
        ([(1, 0, True, False), (1, 0, True, False), (1, 0, False, False)], "ambiguity"),
        ([(1, 0, False, True), (1, 0, False, True), (1, 0, False, False)], "word association"),
        ([(0, 0, False, False)] * 3, "local context"),
    ],
)
def test_each_rejection_rule_has_its_reason(person, votes, reason):
    """Reasons are translated for the reader; the log has them in English."""
    (problem,) = twin(halves=1)
    _judge(problem, [person(name) for name in ("a", "b", "c")], votes)
    assert fresh(problem).state == "rejected"
    assert [found.partition(":")[0] for found in problem.reasons] == [reason]
    logged = problem.events.get(kind="verdict").reason
    assert logged == problem.reasons[0]


def test_responses_have_one_pseudonym_per_judge(ann):
    first, second = singles(2)
    give(ann), give(ann)
    found = list(iter_responses([first, second]))
    assert len({response.participant for response in found}) == 1
    assert [response.purpose for response in found] == ["local", "validate"] * 2


def test_excluding_a_vote_reopens_a_decided_problem(person, eva):
    (problem,) = twin(halves=1)
    judges = [person(name) for name in ("a", "b", "c")]
    for judge in judges:
        give(judge)
    assert change_votes(judges[0], "exclude", eva, "guesses") == 1
    assert (fresh(problem).state, problem.slots.filter(open=True).count()) == ("judging", 1)
    assert measure_agreement()["problems"] == 0  # its verdict contained the excluded vote
    assert len(list_votes(problem)) == 2
    assert len(list_votes(problem, excluded=True)) == 3
    assert len(list(iter_responses([problem]))) == 4
    give(person("dan"))
    assert fresh(problem).state == "valid"
    kinds = set(problem.events.values_list("kind", flat=True))
    assert {"exclude-vote", "recount", "verdict"} <= kinds


def test_including_votes_again_closes_the_extra_slots(person, eva):
    (problem,) = twin(halves=1)
    judges = [person(name) for name in ("a", "b", "c")]
    for judge in judges:
        give(judge)
    for judge in judges[:2]:
        change_votes(judge, "exclude", eva, "guesses")
    assert (fresh(problem).state, problem.slots.filter(open=True).count()) == ("judging", 2)
    for judge, left in zip(judges[:2], (1, 0), strict=True):
        change_votes(judge, "include", eva, "it was a mistake")
        assert problem.slots.filter(open=True).count() == left
    assert fresh(problem).state == "valid"
    assert problem.events.filter(kind="include-vote").count() == 2


@pytest.mark.parametrize(("lease_minutes", "votes"), [(None, 3), (1, 2), (-1, 3)])
def test_vote_counts_again_unless_another_judge_has_its_place(person, eva, lease_minutes, votes):
    """A judge has it while their lease lasts, and after they have answered."""
    (problem,) = twin(halves=1)
    judges = [person(name) for name in ("a", "b", "c")]
    for judge in judges:
        give(judge)
    change_votes(judges[0], "exclude", eva, "guesses")
    dan = person("dan")
    if lease_minutes:
        lease_next_problem(dan)
        until = timezone.now() + timedelta(minutes=lease_minutes)
        problem.slots.filter(holder=dan).update(lease_until=until)
    assert change_votes(judges[0], "include", eva, "it was a mistake") == votes - 2
    assert len(list_votes(problem)) == votes
    if votes == 2:
        give(dan)
        assert change_votes(judges[0], "include", eva, "it was a mistake") == 0
    assert (fresh(problem).state, len(list_votes(problem))) == ("valid", 3)


def test_votes_completed_during_a_hold_decide_after_it(person, eva):
    (problem,) = twin(halves=1)
    judges = [person(name) for name in ("a", "b", "c")]
    give(judges[0]), give(judges[1])
    change_votes(judges[0], "exclude", eva, "guesses")
    give(judges[2])
    move(fresh(problem), State.HELD, actor=eva, kind="hold")
    close_slots(problem)
    change_votes(judges[0], "include", eva, "it was a mistake")
    move(fresh(problem), State.JUDGING, actor=eva, kind="let-through")
    open_slots(problem)
    assert (fresh(problem).state, problem.slots.count()) == ("valid", 3)


@pytest.mark.parametrize("early", [True, False])
def test_vote_that_counts_again_adds_no_judge_after_a_hold(person, eva, early):
    """A slot replaced the vote; the vote counts again before or during the hold."""
    (problem,) = twin(halves=1)
    ann = person("a")
    give(ann)
    change_votes(ann, "exclude", eva, "guesses")
    if early:
        change_votes(ann, "include", eva, "it was a mistake")
    move(fresh(problem), State.HELD, actor=eva, kind="hold")
    close_slots(problem)
    if not early:
        change_votes(ann, "include", eva, "it was a mistake")
    move(fresh(problem), State.JUDGING, actor=eva, kind="let-through")
    open_slots(problem)
    assert len(list_votes(problem)) + problem.slots.filter(open=True).count() == 3


def test_excluding_votes_can_flip_the_verdict(rules, person, eva, bob):
    rules(judges=1)
    (problem,) = twin(halves=1)
    give(person("a"), 1)
    move(fresh(problem), State.JUDGING, actor=eva, kind="reopen")
    open_slots(problem, extra=True)
    give(bob, 1), give(person("cat"), 0)
    assert fresh(problem).state == "rejected"
    change_votes(bob, "exclude", eva, "guesses")
    change_votes(person("a2"), "exclude", eva, "has none")
    assert fresh(problem).state == "rejected"  # one against one is not a majority

    change_votes(Person.objects.get(name="a"), "exclude", eva, "guesses")
    assert fresh(problem).state == "valid"
    change_votes(Person.objects.get(name="cat"), "exclude", eva, "guesses")
    assert (fresh(problem).state, problem.slots.filter(open=True).count()) == ("judging", 3)


def test_excluding_votes_keeps_a_moderators_decision(rules, eva, ann):
    rules(judges=1)
    (problem,) = twin(halves=1)
    give(ann, 1)
    move(fresh(problem), State.VALID, actor=eva, kind="accept", reason="the judge erred")
    change_votes(ann, "exclude", eva, "guesses")
    assert fresh(problem).state == "valid"


def test_only_another_moderator_can_exclude_votes(ann, eva):
    """A reason is required."""
    for somebody, by, reason in ((eva, ann, "x"), (eva, eva, "x"), (ann, eva, "  ")):
        with pytest.raises(InputError):
            change_votes(somebody, "exclude", by, reason)


def test_agreement_and_stats_equal_those_of_the_table_of_votes(person, eva):
    """A problem that a moderator accepts against the votes counts as judged and valid."""
    none = measure_agreement()
    assert [none[name] for name in ("problems", "pairs", "alpha", "alpha_of")] == [0, None, None, 0]
    problems = singles(3)
    for name, choices in (("a", (0, 0, 1)), ("b", (0, 1, 1)), ("c", (0, 0, 1))):
        judge = person(name)
        for choice in choices:
            give(judge, choice)
    found = measure_agreement()
    assert [found[name] for name in ("problems", "valid", "unanimous")] == [3, 2 / 3, 2 / 3]
    assert found["pairs"] == pytest.approx((3 + 1 + 3) / 9)
    expected = krippendorff_alpha([[3, 0], [2, 1], [0, 3]]).value
    assert found["alpha"] is not None
    assert found["alpha"].value == pytest.approx(expected)
    assert found["alpha_of"] == len(problems)
    columns = ("problems", "judged", "valid", "rejected")
    assert [get_stats()[name] for name in columns] == [2, 3, 2, 1]
    move(fresh(problems[-1]), State.VALID, actor=eva, kind="accept")
    unjudged = [half.pk for half in twin(opened=False)]
    Problem.objects.filter(pk__in=unjudged).update(state="valid")
    assert [get_stats()[name] for name in columns] == [5, 3, 3, 0]


def test_agreement_reveals_nothing_about_problems_under_embargo(person):
    twin(halves=1, embargo=True)
    for name in "abc":
        give(person(name))
    assert (measure_agreement()["problems"], measure_agreement()["alpha_of"]) == (0, 0)


def test_neither_is_a_disagreement_in_alpha(person):
    singles(3)
    for name in "abc":
        judge = person(name)
        for choice in (0, 1, 1):
            slot = give(judge, choice)
            if name == "c":
                slot.choice, slot.ambiguous = None, True
                slot.save()
    expected = krippendorff_alpha([[2, 0, 1], [0, 2, 1], [0, 2, 1]]).value
    assert measure_agreement()["alpha"].value == pytest.approx(expected)


def test_judges_are_compared_with_the_majority_of_others(person, monkeypatch):
    """Problems on which the others are tied are counted separately."""
    monkeypatch.setattr(votes, "CHUNK", 3)
    singles(4)
    ann, bob, cat, dan = map(person, ("ann", "bob", "cat", "dan"))
    for judge, choices in ((ann, (0, 0, 0, 1)), (bob, (0, 1, 1, 1)), (cat, (0, 0, 1, 1))):
        for choice in choices:
            give(judge, choice)
    found = votes.compare_with_others([ann.pk, cat.pk, dan.pk])
    counts = {key: (one.right, one.n, one.ties, one.chance) for key, one in found.items()}
    assert counts == {ann.pk: (2, 3, 1, 4 / 9), cat.pk: (2, 2, 2, 1 / 2)}
    assert found[ann.pk].interval == pytest.approx(metrics.wilson_interval(2, 3))


@pytest.mark.long
def test_simultaneous_votes_give_one_verdict(database, rules, person):
    rules(local_first=False)
    problems = singles(8)
    people = [person(name) for name in ("a", "b", "c")]

    for problem in problems:
        slots = [lease_next_problem(who) for who in people]
        assert {slot.problem for slot in slots} == {problem}
        at_once(lambda slot: store_answer(slot.holder, slot.ref, 0), slots)
        assert (fresh(problem).state, problem.events.filter(kind="verdict").count()) == ("valid", 1)
