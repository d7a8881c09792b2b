"""Slots: assignment, leases, and the maximum number of votes per problem."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone

from tests.web.judge.making import give, singles, twin
from tests.web.making import fresh, has_seen
from winosmith.errors import InputError
from winosmith.web.judge.models import Judge, Skip, Slot
from winosmith.web.judge.turns import (
    MAX_COMMENT_LENGTH,
    ProblemLostError,
    explain_no_work,
    get_current_slot,
    get_expired_slots,
    get_fresh_slots,
    lease_next_problem,
    make_slot_context,
    skip_problem,
    store_answer,
    store_local_answer,
    undo_answer,
)
from winosmith.web.judge.votes import close_slots, count_skips, get_queue_position, open_slots
from winosmith.web.people.models import Person
from winosmith.web.problems.models import State
from winosmith.web.problems.states import move


def _age_leases(minutes: int) -> None:
    rows = Slot.objects.exclude(lease_until=None)
    rows.update(lease_until=F("lease_until") - timedelta(minutes=minutes))


def test_opening_slots_twice_creates_k_slots(db: Any, rules: Any) -> None:
    """All places of a problem come before those of the next problem."""
    rules(judges=17)
    problems = singles(2)
    found = []
    for problem in problems:
        open_slots(problem)
        first = get_queue_position(problem)
        places = sorted(problem.slots.values_list("n", "place"))
        assert places == [(n, first + n) for n in range(1, 18)]
        found += [place for _, place in places]
    assert found == sorted(set(found))


def test_judges_get_both_halves_only_if_allowed(db: Any, rules: Any, ann: Any) -> None:
    first, second = twin()
    assert give(ann).problem == first
    assert has_seen(ann, second)
    assert lease_next_problem(ann) is None
    rules(both_halves=True)
    assert [has_seen(ann, half) for half in (first, second)] == [True, False]
    found = lease_next_problem(ann)
    assert found.problem == second


def test_anonymous_people_cannot_judge(db: Any) -> None:
    twin()
    with pytest.raises(InputError, match="not allowed to judge"):
        lease_next_problem(Person.objects.create_anonymous())


def test_leasing_twice_returns_the_same_slot(db: Any, ann: Any) -> None:
    twin(), twin()
    first, again = lease_next_problem(ann), lease_next_problem(ann)
    assert again is not None
    assert (first.pk, first.shown) == (again.pk, again.shown)


def test_started_problem_fills_up_before_the_next(db: Any, person: Any) -> None:
    oldest = twin()[0]
    twin()
    assert [lease_next_problem(person(name)).problem for name in ("a", "b", "c")] == [oldest] * 3


def test_expired_slots_are_leased_before_new_ones(
    db: Any, rules: Any, person: Any, ann: Any, bob: Any
) -> None:
    """The local answer of the previous holder is deleted."""
    rules(judges=1)
    begun = twin(halves=1)[0]
    twin(halves=1)
    cat = person("cat")
    slot = lease_next_problem(ann)
    store_local_answer(ann, slot.ref, 1)
    assert lease_next_problem(bob).problem != begun
    _age_leases(21)
    retaken = lease_next_problem(cat)
    assert retaken.pk == slot.pk
    assert retaken.holder == cat
    assert (retaken.local_choice, retaken.local_at) == (None, None)


def test_late_answer_is_accepted_unless_slot_was_reassigned(
    db: Any, rules: Any, ann: Any, bob: Any
) -> None:
    rules(judges=1, local_first=False)
    singles(2)
    ref = lease_next_problem(ann).ref
    _age_leases(60)
    assert store_answer(ann, ref, 0).answered_at is not None
    slot = lease_next_problem(ann)
    _age_leases(60)
    assert lease_next_problem(bob) == slot
    with pytest.raises(ProblemLostError, match="another judge took it"):
        store_answer(ann, slot.ref, 0)


def test_local_answer_comes_first_and_cannot_change(db: Any, ann: Any) -> None:
    twin()
    ref = lease_next_problem(ann).ref
    with pytest.raises(InputError, match="local context first"):
        store_answer(ann, ref, 0)
    store_local_answer(ann, ref, 1)
    store_local_answer(ann, ref, 0)
    assert store_answer(ann, ref, 0).local_choice == 1


@pytest.mark.parametrize("choice", [-1, 2, 99])
def test_choice_out_of_range_is_refused(db: Any, ann: Any, choice: int) -> None:
    twin()
    ref = lease_next_problem(ann).ref
    for act in (store_local_answer, store_answer):
        with pytest.raises(InputError, match="one of the options"):
            act(ann, ref, choice)


def test_skipped_problem_goes_to_the_next_judge(db: Any, rules: Any, bob: Any, ann: Any) -> None:
    rules(judges=1)
    passed = twin(halves=1)[0]
    other = twin(halves=1)[0]
    skip_problem(ann, lease_next_problem(ann).ref, "known")
    assert lease_next_problem(ann).problem == other
    assert lease_next_problem(bob).problem == passed
    assert count_skips(passed) == {"I know this sentence": 1}


def test_unknown_skip_reason_is_refused(db: Any, ann: Any) -> None:
    twin()
    slot = lease_next_problem(ann)
    with pytest.raises(InputError, match="reason for skipping"):
        skip_problem(ann, slot.ref, "bored")
    assert get_current_slot(ann) == slot


def test_last_answer_can_be_undone_for_a_minute(db: Any, ann: Any) -> None:
    twin(), twin()
    slot = give(ann, 0)
    held = lease_next_problem(ann)
    for other in (held.ref, "", "no-such-problem"):
        with pytest.raises(ProblemLostError, match="no longer be undone"):
            undo_answer(ann, other)
    assert undo_answer(ann, slot.ref).open
    assert get_current_slot(ann).pk == slot.pk
    store_answer(ann, slot.ref, 1)
    Slot.objects.filter(pk=slot.pk).update(answered_at=slot.taken_at - timedelta(minutes=2))
    with pytest.raises(ProblemLostError, match="no longer be undone"):
        undo_answer(ann, slot.ref)
    assert (fresh(slot).choice, slot.open) == (1, False)


def test_undone_answer_is_shown_again(db: Any, rules: Any, ann: Any) -> None:
    """Submitted values replace those of the answer."""
    rules(local_first=False)
    twin()
    slot = undo_answer(ann, give(ann, 0, associative=True, comment="so far").ref)
    for typed, expected in (
        ({}, ([0], False, True, "so far")),
        ({"choice": "1", "ambiguous": "on"}, ([1], True, False, "")),
    ):
        page = make_slot_context(slot, typed)
        chosen = [option["value"] for option in page["options"] if option["chosen"]]
        assert (chosen, page["ambiguous"], page["associative"], page["comment"]) == expected
        assert [option["key"] for option in page["options"]] == [1, 2]
    plain = give(ann)
    assert (plain.ambiguous, plain.associative, plain.comment) == (False, False, "")


def test_comment_length_is_limited(db: Any, rules: Any, ann: Any) -> None:
    rules(local_first=False)
    singles(2)
    text = "x" * MAX_COMMENT_LENGTH
    ref = lease_next_problem(ann).ref
    with pytest.raises(InputError, match=f"to {MAX_COMMENT_LENGTH} characters"):
        store_answer(ann, ref, 0, comment=f"{text}x")
    with pytest.raises(InputError, match=f"to {MAX_COMMENT_LENGTH} characters"):
        skip_problem(ann, ref, "known", f"{text}x")
    assert store_answer(ann, ref, 0, comment=f" {text} ").comment == text
    skip_problem(ann, lease_next_problem(ann).ref, "known", f" {text} ")
    assert Skip.objects.get(person=ann).comment == text


def test_answer_that_decided_a_problem_cannot_be_undone(db: Any, rules: Any, ann: Any) -> None:
    rules(judges=1)
    twin(halves=1)
    ref = give(ann).ref
    with pytest.raises(ProblemLostError):
        undo_answer(ann, ref)


def test_closed_problem_accepts_no_answers(
    db: Any, rules: Any, person: Any, bob: Any, ann: Any
) -> None:
    """After it is reopened, its unanswered slots are free again."""
    rules(local_first=False)
    (problem,) = twin(halves=1)
    give(ann)
    ref = lease_next_problem(bob).ref
    close_slots(problem)
    with pytest.raises(ProblemLostError, match="This problem is no longer being judged"):
        store_answer(bob, ref, 0)
    assert lease_next_problem(person("cat")) is None
    open_slots(problem)
    assert problem.slots.count() == 3
    assert problem.slots.filter(open=True, holder=None).count() == 2


def test_reopened_problem_gets_k_plus_one_new_slots(db: Any, person: Any) -> None:
    """The total stays odd. Only people who have not read the problem get the new slots."""
    (problem,) = twin(halves=1)
    before = [person(name) for name in ("a", "b", "c")]
    for judge in before:
        give(judge, 1 - problem.answer)
    assert fresh(problem).state == "rejected"
    move(problem, State.JUDGING, actor=None, kind="reopen")
    open_slots(problem)
    assert problem.slots.count() == 7
    assert [lease_next_problem(judge) for judge in before] == [None] * 3
    for name in "defg":
        give(person(name))
    assert fresh(problem).state == "valid"


def test_raising_the_number_of_judges_adds_slots(db: Any, rules: Any, person: Any) -> None:
    """The slots are added with the next vote."""
    rules(judges=1)
    (problem,) = twin(halves=1)
    rules(judges=3)
    give(person("a"))
    assert (fresh(problem).state, problem.slots.count()) == ("judging", 3)


def test_explain_no_work_counts_own_seen_and_held_separately(
    db: Any, rules: Any, person: Any, ann: Any, bob: Any
) -> None:
    rules(judges=1)
    twin(), twin(halves=1), twin(ann, halves=1)
    give(ann)
    assert lease_next_problem(bob) is not None
    give(ann)
    found = explain_no_work(ann)
    assert found == {"own": 1, "seen": 1, "held": 0, "until": None}
    assert explain_no_work(person("cat"))["held"] == 1


def test_queue_wraps_around_at_its_end(db: Any, ann: Any) -> None:
    (problem,) = twin(halves=1)
    Judge.objects.create(person=ann, cursor=10**12)
    assert lease_next_problem(ann).problem == problem


def test_returned_slot_does_not_move_the_queue_cursor(
    db: Any, rules: Any, ann: Any, bob: Any
) -> None:
    rules(judges=1)
    singles(3)
    passed = lease_next_problem(bob)
    slot = give(ann)
    skip_problem(bob, passed.ref, "unsure")
    assert lease_next_problem(ann).pk == passed.pk
    assert Judge.objects.get(person=ann).cursor == slot.place > passed.place


def test_answer_time_is_zero_if_the_clock_was_set_back(db: Any, rules: Any, ann: Any) -> None:
    rules(local_first=False)
    twin()
    slot = lease_next_problem(ann)
    Slot.objects.filter(pk=slot.pk).update(taken_at=slot.taken_at + timedelta(minutes=5))
    assert store_answer(ann, slot.ref, 0).seconds == 0


def test_queue_queries_use_indexes(database: Any, ann: Any) -> None:
    twins = [twin() for _ in range(150)]
    for _ in range(20):
        give(ann)
    place = twins[30][0].slots.get(n=1).place
    queries = {
        "slot_fresh": get_fresh_slots(ann, place),
        "slot_leased": get_expired_slots(ann, timezone.now()),
    }
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        if connection.vendor == "postgresql":
            cursor.execute("SET enable_seqscan = off")
    try:
        plans = {index: query[:1].explain() for index, query in queries.items()}
    finally:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SET enable_seqscan = on")
    for index, plan in plans.items():
        assert index in plan, plan
        assert "TEMP B-TREE" not in plan, plan
        assert "Sort" not in plan, plan
        assert "SCAN judge_slot" not in plan.replace("SCAN judge_slot USING INDEX", ""), plan
        assert "seen_twin" in plan or "seen_block" in plan, plan
