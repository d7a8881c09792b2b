"""Workers' votes: they take a slot at once, and count after the market's confirmation."""

import pytest

from tests.web.judge.making import gold
from tests.web.making import fresh, single
from tests.web.market import making as m
from winosmith.web.judge.exclusion import (
    change_votes,
    exclude_paid_votes,
    include_paid_votes,
    pause_judge,
    resume_judge,
)
from winosmith.web.judge.models import Judge, Slot
from winosmith.web.judge.turns import lease_next_problem, store_answer, undo_answer
from winosmith.web.judge.votes import close_slots, iter_responses, list_votes, open_slots
from winosmith.web.market.workers import count_finished_work, finish_participation
from winosmith.web.people.models import get_pseudonym

pytestmark = pytest.mark.usefixtures("db")


def test_vote_of_a_worker_takes_a_slot_but_decides_nothing(ann):
    _part, half = m.judged()
    assert fresh(half).state == "judging"
    assert lease_next_problem(ann) is None
    assert list(iter_responses([half])) == []
    assert list_votes(half) == []
    (vote,) = list_votes(half, excluded=True)
    assert vote.provisional
    assert not vote.excluded


def test_ids_in_one_browser_never_get_the_same_problem():
    """Problems that were written or judged under one id are not given to another."""
    writing, _ = m.study(1, kind="write")
    judging, _ = m.study(9)
    author = m.working(writing, 1, mark="b").person
    open_slots(single("own-a", by=author, state="judging"))
    one = m.twin(halves=1)[0]
    assert m.give(m.working(judging, 2, mark="b").person).problem == one
    other = m.twin(halves=1)[0]
    assert m.give(m.working(judging, 3, mark="b").person).problem == other
    for n in (2, 3):
        assert lease_next_problem(m.working(judging, n, mark="b").person) is None
    assert lease_next_problem(m.working(judging, 4).person) is not None


@pytest.mark.parametrize(("questions", "common"), [(2, 2), (4, 0)])
def test_each_id_in_one_browser_has_its_own_training(rules, questions, common):
    """Questions are repeated only if too few others are left."""
    rules(training_questions=2, training_right=2, hold_pace_seconds=0)
    gold(questions)
    made, _ = m.study(3)
    asked = []
    for n in (1, 2):
        part = m.working(made, n, mark="shared")
        asked.append({m.give(part.person).problem for _ in range(2)})
        judge = Judge.objects.get(person=part.person)
        assert (judge.qualified is not None, judge.held) == (True, None)
    assert len(asked[0] & asked[1]) == common


def test_confirmed_votes_decide_once():
    made, _ = m.study(2)
    one, two = m.singles(2)
    part = m.working(made)
    m.give(part.person)
    m.give(part.person, 1)
    assert include_paid_votes(part.pk, "approved") == 2
    assert (fresh(one).state, fresh(two).state) == ("valid", "rejected")
    events = one.events.count()
    assert include_paid_votes(part.pk, "approved") == 0
    assert one.events.count() == events


def test_rejected_votes_free_their_slots(ann):
    """A rejection can be reversed, but does not take the place of a vote that came instead."""
    part, half = m.judged(choice=1)
    assert exclude_paid_votes(part.pk, "rejected") == 1
    assert exclude_paid_votes(part.pk, "rejected") == 0
    slot = lease_next_problem(ann)
    assert slot.problem == half
    m.give(ann)
    assert fresh(half).state == "valid"
    assert include_paid_votes(part.pk, "approved after all") == 0
    assert (fresh(half).state, len(list_votes(half))) == ("valid", 1)
    assert not half.slots.filter(provisional=True).exists()


def test_rejecting_confirmed_votes_reopens_the_problem():
    part, half = m.judged(m.study(1, trust=True)[0])
    assert fresh(half).state == "valid"  # the study trusts
    assert include_paid_votes(part.pk, "approved") == 0
    assert exclude_paid_votes(part.pk, "rejected") == 1
    assert fresh(half).state == "judging"


def test_problem_waits_for_its_provisional_votes(rules, person, ann):
    rules(judges=3)
    made, _ = m.study(1)
    halves = m.singles(2)
    parts = [m.working(made, n) for n in (1, 2)]
    for part in parts:
        m.give(part.person)  # both workers judge the first problem
    m.give(ann)
    assert [fresh(half).state for half in halves] == ["judging", "judging"]
    include_paid_votes(parts[0].pk, "approved")
    assert fresh(halves[0]).state == "judging"
    exclude_paid_votes(parts[1].pk, "rejected")
    assert fresh(halves[0]).state == "judging"
    m.give(person("bea"))
    assert fresh(halves[0]).state == "valid"


@pytest.mark.parametrize("rejected", [False, True])
def test_market_cannot_include_votes_a_moderator_excluded(eva, ann, rejected):
    part, half = m.judged(choice=1)
    assert change_votes(part.person, "exclude", eva, "guesses") == 1
    if rejected:
        assert exclude_paid_votes(part.pk, "rejected") == 0
    assert include_paid_votes(part.pk, "approved") == 0
    assert fresh(half).state == "judging"
    m.give(ann)
    assert fresh(half).state == "valid"


def test_moderator_cannot_include_votes_the_market_rejected(eva):
    """After the market's approval, they can be excluded and included like any other vote."""
    part, half = m.judged()
    exclude_paid_votes(part.pk, "rejected")
    assert change_votes(part.person, "include", eva, "why not") == 0
    include_paid_votes(part.pk, "approved after all")
    assert fresh(half).state == "valid"
    assert change_votes(part.person, "exclude", eva, "guesses") == 1
    assert fresh(half).state == "judging"
    assert change_votes(part.person, "include", eva, "no guesses") == 1
    assert fresh(half).state == "valid"


@pytest.mark.parametrize("rejected", [False, True])
def test_moderator_can_include_excluded_votes_only_with_the_market(eva, rejected):
    """They count once the market approves them."""
    part, half = m.judged(m.study(1, trust=rejected)[0])
    change_votes(part.person, "exclude", eva, "guesses")
    if rejected:
        exclude_paid_votes(part.pk, "rejected")
    assert change_votes(part.person, "include", eva, "no guesses") == 0
    assert fresh(half).state == "judging"
    assert include_paid_votes(part.pk, "approved") == 1
    assert fresh(half).state == "valid"


def test_votes_on_hold_wait_for_a_moderator_after_a_rejection_is_reversed(eva):
    part, half = m.judged()
    pause_judge(part.person, eva)
    exclude_paid_votes(part.pk, "rejected")
    include_paid_votes(part.pk, "approved after all")
    assert fresh(half).state == "judging"
    resume_judge(part.person, eva)
    assert change_votes(part.person, "resume", eva, "looked") == 1
    assert fresh(half).state == "valid"


def test_reopened_problem_gets_no_slot_for_a_waiting_vote():
    _part, half = m.judged()
    close_slots(half)
    open_slots(half)
    assert Slot.objects.filter(problem=half).count() == 1


def test_undone_answer_does_not_count_as_work():
    made, _ = m.study(2)
    part = m.working(made)
    m.twin(halves=1)
    slot = m.give(part.person)
    undo_answer(part.person, slot.ref)
    assert (fresh(slot).job, slot.provisional, count_finished_work(part)) == (None, False, 0)
    store_answer(part.person, slot.ref, 0)
    assert count_finished_work(part) == 1


def test_worker_gets_no_twin_again_in_a_later_study():
    """Each study gives the worker another pseudonym."""
    first, _ = m.study(1)
    second, _ = m.study(1)
    m.twin()
    part = m.working(first)
    m.give(part.person)
    finish_participation(part)
    again = m.working(second, 1)
    assert again.person != part.person
    assert get_pseudonym(again.person) != get_pseudonym(part.person)
    assert lease_next_problem(again.person) is None
    assert lease_next_problem(m.working(second, 2).person) is not None


@pytest.mark.parametrize("kind", ["judge", "write"])
def test_no_problem_is_given_after_the_work_is_done(kind):
    """In a study of writing, none is given at all."""
    made, _ = m.study(1, kind=kind)
    m.singles(3)
    part = m.working(made)
    if kind == "judge":
        m.give(part.person)
    assert lease_next_problem(part.person) is None
