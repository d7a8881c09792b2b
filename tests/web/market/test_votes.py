"""Votes of workers: they take places at once, and count when the market has confirmed them."""

from typing import Any

import pytest

from tests.web.judge.making import gold
from tests.web.making import fresh, single
from tests.web.market import making as m
from winosmith.web.judge.exclusion import change_votes, exclude_paid_votes, include_paid_votes
from winosmith.web.judge.models import Judge, Slot
from winosmith.web.judge.turns import lease_next_problem, store_answer, undo_answer
from winosmith.web.judge.votes import close_slots, iter_responses, list_votes, open_slots
from winosmith.web.market.workers import count_finished_work, finish_participation
from winosmith.web.people.models import get_pseudonym

pytestmark = pytest.mark.usefixtures("db")


def test_a_vote_takes_its_place_and_decides_nothing(ann: Any) -> None:
    """Nobody else gets the place; no verdict, export or contributor knows of the vote."""
    made, _ = m.study(1)
    half = m.twin(halves=1)[0]
    m.give(m.working(made).person)
    assert fresh(half).state == "judging"
    assert lease_next_problem(ann) is None
    assert list(iter_responses([half])) == []
    assert list_votes(half) == []
    (vote,) = list_votes(half, excluded=True)
    assert vote.provisional
    assert not vote.excluded


def test_two_ids_in_one_browser_are_one_reader() -> None:
    """What was judged or written there under one id is judged under no other, there and back."""
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
def test_a_shared_computer_has_a_training_for_each(rules: Any, questions: int, common: int) -> None:
    """Questions with a known answer come again in a browser only where too few others are left."""
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


def test_confirmed_votes_decide() -> None:
    """With the market's word the verdict comes at once; again it changes nothing."""
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


def test_refused_votes_give_their_places_to_others(ann: Any) -> None:
    """A refused vote counts never; somebody else judges, and a refusal that was wrong is undone."""
    made, _ = m.study(1)
    half = m.twin(halves=1)[0]
    part = m.working(made)
    m.give(part.person, 1)
    assert exclude_paid_votes(part.pk, "rejected") == 1
    assert exclude_paid_votes(part.pk, "rejected") == 0
    slot = lease_next_problem(ann)
    assert slot.problem == half
    m.give(ann)
    assert fresh(half).state == "valid"
    assert include_paid_votes(part.pk, "approved after all", refused=True) == 1
    assert fresh(half).state == "rejected"  # one against one: no majority for the answer


def test_what_was_confirmed_can_be_refused() -> None:
    """A verdict that stood on votes which the market takes back goes back to the judges."""
    made, _ = m.study(1, trust=True)
    half = m.twin(halves=1)[0]
    part = m.working(made)
    m.give(part.person)
    assert fresh(half).state == "valid"  # the study trusts
    assert include_paid_votes(part.pk, "approved") == 0
    assert exclude_paid_votes(part.pk, "rejected") == 1
    assert fresh(half).state == "judging"


def test_provisional_votes_wait_among_others(rules: Any, person: Any, ann: Any) -> None:
    """Two votes of accounts and one of a worker: nothing is decided before all three stand."""
    rules(judges=3)
    made, _ = m.study(1)
    halves = m.singles(2)
    parts = [m.working(made, n) for n in (1, 2)]
    for part in parts:
        m.give(part.person)  # the first is the first's; the second worker votes on it, too
    m.give(ann)
    assert [fresh(half).state for half in halves] == ["judging", "judging"]
    include_paid_votes(parts[0].pk, "approved")
    assert fresh(halves[0]).state == "judging"
    exclude_paid_votes(parts[1].pk, "rejected")
    assert fresh(halves[0]).state == "judging"
    m.give(person("bea"))
    assert fresh(halves[0]).state == "valid"


def test_what_a_moderator_took_out_stays_out(eva: Any, ann: Any) -> None:
    """The market's word does not bring back a vote that a moderator excluded."""
    made, _ = m.study(1)
    half = m.twin(halves=1)[0]
    part = m.working(made)
    m.give(part.person, 1)
    assert change_votes(part.person, "exclude", eva, "guesses") == 1
    assert include_paid_votes(part.pk, "approved") == 0
    assert fresh(half).state == "judging"
    m.give(ann)
    assert fresh(half).state == "valid"


def test_no_moderator_counts_what_the_market_did_not_confirm(eva: Any) -> None:
    """Votes of a rejected submission stay out; confirmed ones come back as any vote does."""
    made, _ = m.study(1)
    half = m.twin(halves=1)[0]
    part = m.working(made)
    m.give(part.person)
    exclude_paid_votes(part.pk, "rejected")
    assert change_votes(part.person, "include", eva, "why not") == 0
    include_paid_votes(part.pk, "approved after all", refused=True)
    assert fresh(half).state == "valid"
    assert change_votes(part.person, "exclude", eva, "guesses") == 1
    assert fresh(half).state == "judging"
    assert change_votes(part.person, "include", eva, "no guesses") == 1
    assert fresh(half).state == "valid"


def test_a_problem_that_comes_back_waits_for_what_was_voted() -> None:
    """Held back and let through again, a problem gets no slot beside a vote that waits."""
    made, _ = m.study(1)
    half = m.twin(halves=1)[0]
    m.give(m.working(made).person)
    close_slots(half)
    open_slots(half)
    assert Slot.objects.filter(problem=half).count() == 1


def test_an_answer_taken_back_is_no_work() -> None:
    """An answer taken back does not count for the study, and given again it counts once."""
    made, _ = m.study(2)
    part = m.working(made)
    m.twin(halves=1)
    slot = m.give(part.person)
    undo_answer(part.person, slot.ref)
    assert (fresh(slot).job, slot.provisional, count_finished_work(part)) == (None, False, 0)
    store_answer(part.person, slot.ref, 0)
    assert count_finished_work(part) == 1


def test_a_worker_of_two_studies_reads_nothing_twice() -> None:
    """In a later study the same worker gets neither what they read before nor its other half."""
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
def test_nobody_works_beyond_what_is_asked(kind: str) -> None:
    """Once the work is done, and in a study of writing at all times, no problem is given."""
    made, _ = m.study(1, kind=kind)
    m.singles(3)
    part = m.working(made)
    if kind == "judge":
        m.give(part.person)
    assert lease_next_problem(part.person) is None
