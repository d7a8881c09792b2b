"""Slots: assignment, leases, number per problem, and what judges have read before.

The last tests are on perturbed problems, whose family is not revealed to judges.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone

from tests.web.judge.making import give, singles, twin
from tests.web.lineaged import child, root
from tests.web.making import fresh, has_seen
from winosmith import Dataset, Problem
from winosmith.errors import InputError
from winosmith.lineage import UNVALIDATED, make_child
from winosmith.web.importing import import_problems
from winosmith.web.judge import turns
from winosmith.web.judge.exclusion import change_votes
from winosmith.web.judge.models import (
    Judge,
    Seen,
    Skip,
    Slot,
    mark_seen,
    mark_unpublished_seen,
)
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.judge.votes import (
    add_slots,
    close_slots,
    count_skips,
    get_queue_position,
    open_slots,
)
from winosmith.web.people.privacy import erase, save_agreement
from winosmith.web.problems.models import Problem as Row, State
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import lock_problem, move


def _age_leases(minutes: int) -> None:
    rows = Slot.objects.exclude(lease_until=None)
    rows.update(lease_until=F("lease_until") - timedelta(minutes=minutes))


def test_opening_slots_twice_creates_k_slots(rules):
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


def test_judges_get_both_halves_only_if_allowed(rules, ann):
    first, second = twin()
    assert give(ann).problem == first
    assert has_seen(ann, second)
    assert lease_next_problem(ann) is None
    rules(both_halves=True)
    assert [has_seen(ann, half) for half in (first, second)] == [True, False]
    found = lease_next_problem(ann)
    assert found.problem == second


def test_leasing_twice_returns_the_same_slot(ann):
    twin(), twin()
    first, again = lease_next_problem(ann), lease_next_problem(ann)
    assert again is not None
    assert (first.pk, first.shown) == (again.pk, again.shown)


def test_started_problem_fills_up_before_the_next(person):
    oldest = twin()[0]
    twin()
    assert [lease_next_problem(person(name)).problem for name in ("a", "b", "c")] == [oldest] * 3


def test_expired_slots_are_leased_before_new_ones(rules, person, ann, bob):
    """The local answer of the previous holder is deleted."""
    rules(judges=1)
    begun = twin(halves=1)[0]
    twin(halves=1)
    cat = person("cat")
    slot = lease_next_problem(ann)
    turns.store_local_answer(ann, slot.ref, 1)
    assert lease_next_problem(bob).problem != begun
    _age_leases(21)
    retaken = lease_next_problem(cat)
    assert retaken.pk == slot.pk
    assert retaken.holder == cat
    assert (retaken.local_choice, retaken.local_at) == (None, None)


def test_local_answer_comes_first_and_cannot_change(ann):
    twin()
    ref = lease_next_problem(ann).ref
    for act in (turns.store_local_answer, turns.store_answer):
        with pytest.raises(InputError, match="one of the options"):
            act(ann, ref, -1)
    with pytest.raises(InputError, match="local context first"):
        turns.store_answer(ann, ref, 0)
    turns.store_local_answer(ann, ref, 1)
    turns.store_local_answer(ann, ref, 0)
    assert turns.store_answer(ann, ref, 0).local_choice == 1


def test_skipped_problem_goes_to_the_next_judge(rules, bob, ann):
    rules(judges=1)
    passed = twin(halves=1)[0]
    other = twin(halves=1)[0]
    turns.skip_problem(ann, lease_next_problem(ann).ref, "known")
    assert lease_next_problem(ann).problem == other
    assert lease_next_problem(bob).problem == passed
    assert count_skips(passed) == {"I know this sentence": 1}


def test_last_answer_can_be_undone_for_a_minute(rules, ann):
    """An answer that decided a problem can't be undone."""
    twin(), twin()
    slot = give(ann, 0)
    held = lease_next_problem(ann)
    refused = pytest.raises(turns.ProblemLostError, match="no longer be undone")
    for other in (held.ref, "", "no-such-problem"):
        with refused:
            turns.undo_answer(ann, other)
    assert turns.undo_answer(ann, slot.ref).open
    assert turns.get_current_slot(ann).pk == slot.pk
    turns.store_answer(ann, slot.ref, 1)
    Slot.objects.filter(pk=slot.pk).update(answered_at=slot.taken_at - timedelta(minutes=2))
    with refused:
        turns.undo_answer(ann, slot.ref)
    assert (fresh(slot).choice, slot.open) == (1, False)
    rules(judges=1)
    twin(halves=1)
    _held, decided = give(ann), give(ann)
    assert fresh(decided.problem).state == "valid"
    with refused:
        turns.undo_answer(ann, decided.ref)


def test_vote_excluded_in_the_meantime_cannot_be_undone(ann, eva, monkeypatch):
    twin()
    slot = give(ann)

    def wait_for_exclusion(problem: int) -> Any:
        change_votes(ann, "exclude", eva, "guesses")
        return lock_problem(problem)

    monkeypatch.setattr(turns, "lock_problem", wait_for_exclusion)
    with pytest.raises(turns.ProblemLostError):
        turns.undo_answer(ann, slot.ref)
    assert not fresh(slot).open


@pytest.mark.parametrize("erased", [False, True])
def test_undone_answer_is_not_shown_to_the_next_judge(rules, ann, bob, erased):
    rules(local_first=False)
    twin()
    slot = turns.undo_answer(ann, give(ann, 0, ambiguous=True, comment="so far").ref)
    _age_leases(21)
    if erased:
        erase(ann, False)
    retaken = lease_next_problem(bob)
    assert retaken.pk == slot.pk
    page = turns.make_slot_context(turns.get_current_slot(bob), {})
    chosen = [option["chosen"] for option in page["options"]]
    assert (chosen, page["ambiguous"], page["comment"]) == ([False, False], False, "")


def test_erasing_a_judge_does_not_reopen_a_decided_problem(ann, bob, eva):
    (problem,) = twin(halves=1)
    lease_next_problem(ann)
    move(fresh(problem), State.VALID, actor=eva, kind="accept")
    close_slots(problem)
    erase(ann, False)
    assert lease_next_problem(bob) is None
    assert not problem.slots.exclude(holder=None).exists()


def test_undone_answer_is_shown_again(rules, ann):
    """Submitted values replace those of the answer."""
    rules(local_first=False)
    twin()
    slot = turns.undo_answer(ann, give(ann, 0, associative=True, comment="so far").ref)
    for typed, expected in (
        ({}, ([0], False, True, "so far")),
        ({"choice": "1", "ambiguous": "on"}, ([1], True, False, "")),
    ):
        page = turns.make_slot_context(slot, typed)
        chosen = [option["value"] for option in page["options"] if option["chosen"]]
        assert (chosen, page["ambiguous"], page["associative"], page["comment"]) == expected
        assert [option["key"] for option in page["options"]] == [1, 2]
    plain = give(ann)
    assert (plain.ambiguous, plain.associative, plain.comment) == (False, False, "")


def test_long_comments_and_unknown_reasons_are_refused(rules, ann):
    rules(local_first=False)
    singles(2)
    text = "x" * turns.MAX_COMMENT_LENGTH
    slot = lease_next_problem(ann)
    with pytest.raises(InputError, match=f"to {turns.MAX_COMMENT_LENGTH} characters"):
        turns.store_answer(ann, slot.ref, 0, comment=f"{text}x")
    for reason, comment, why in (
        ("known", f"{text}x", f"to {turns.MAX_COMMENT_LENGTH} characters"),
        ("bored", "", "reason for skipping"),
    ):
        with pytest.raises(InputError, match=why):
            turns.skip_problem(ann, slot.ref, reason, comment)
    assert turns.get_current_slot(ann) == slot
    assert turns.store_answer(ann, slot.ref, 0, comment=f" {text} ").comment == text
    turns.skip_problem(ann, lease_next_problem(ann).ref, "known", f" {text} ")
    assert Skip.objects.get(person=ann).comment == text


def test_closed_problem_accepts_no_answers(rules, person, bob, ann):
    """After it is reopened, its unanswered slots are free again."""
    rules(local_first=False)
    (problem,) = twin(halves=1)
    give(ann)
    ref = lease_next_problem(bob).ref
    close_slots(problem)
    with pytest.raises(turns.ProblemLostError, match="This problem is no longer being judged"):
        turns.store_answer(bob, ref, 0)
    assert lease_next_problem(person("cat")) is None
    open_slots(problem)
    assert problem.slots.count() == 3
    assert problem.slots.filter(open=True, holder=None).count() == 2


def test_reopened_problem_gets_k_plus_one_new_slots(person):
    """The total stays odd. Only people who have not read the problem get the new slots."""
    (problem,) = twin(halves=1)
    before = [person(name) for name in ("a", "b", "c")]
    for judge in before:
        give(judge, 1 - problem.answer)
    assert fresh(problem).state == "rejected"
    move(problem, State.JUDGING, actor=None, kind="reopen")
    open_slots(problem, extra=True)
    assert problem.slots.count() == 7
    assert [lease_next_problem(judge) for judge in before] == [None] * 3
    for name in "defg":
        give(person(name))
    assert fresh(problem).state == "valid"


def test_raising_the_number_of_judges_adds_slots(rules, person):
    """The slots are added with the next vote."""
    rules(judges=1)
    (problem,) = twin(halves=1)
    rules(judges=3)
    give(person("a"))
    assert (fresh(problem).state, problem.slots.count()) == ("judging", 3)


def test_explain_no_work_counts_own_seen_and_held_separately(rules, person, ann, bob):
    rules(judges=1)
    twin(), twin(halves=1), twin(ann, halves=1)
    give(ann)
    assert lease_next_problem(bob) is not None
    give(ann)
    found = turns.explain_no_work(ann)
    assert found == {"own": 1, "seen": 1, "held": 0, "until": None}
    assert turns.explain_no_work(person("cat"))["held"] == 1


def test_queue_wraps_around_and_returned_slots_leave_its_cursor(rules, ann, bob):
    rules(judges=1)
    singles(3)
    passed = lease_next_problem(bob)
    slot = give(ann)
    turns.skip_problem(bob, passed.ref, "unsure")
    assert lease_next_problem(ann).pk == passed.pk
    assert Judge.objects.get(person=ann).cursor == slot.place > passed.place
    give(ann), give(ann)
    (last,) = twin(halves=1)
    Judge.objects.filter(person=ann).update(cursor=10**12)
    assert lease_next_problem(ann).problem == last


def test_answer_time_is_zero_if_the_clock_was_set_back(rules, ann):
    rules(local_first=False)
    twin()
    slot = lease_next_problem(ann)
    Slot.objects.filter(pk=slot.pk).update(taken_at=slot.taken_at + timedelta(minutes=5))
    assert turns.store_answer(ann, slot.ref, 0).seconds == 0


def test_queue_queries_use_indexes(database, ann):
    twins = [twin() for _ in range(150)]
    for _ in range(20):
        give(ann)
    place = twins[30][0].slots.get(n=1).place
    queries = {
        "slot_fresh": turns.get_fresh_slots(ann, place),
        "slot_leased": turns.get_expired_slots(ann, timezone.now()),
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


def _reassign_slot(person: Any, *, to: Any) -> None:
    slot = turns.get_current_slot(person)
    _age_leases(60)
    assert lease_next_problem(to).pk == slot.pk


def test_judge_who_saw_only_local_context_gets_problem_again(database, person, ann, bob):
    first, _second = twin()
    lost = lease_next_problem(ann)
    _reassign_slot(ann, to=bob)
    again = lease_next_problem(ann)
    assert again.problem == lost.problem == first
    assert again.pk != lost.pk
    give(bob), give(ann), give(person("cat"))
    assert fresh(first).state == "valid"


@pytest.mark.parametrize("both", [True, False])
def test_both_halves_setting_covers_partly_read_halves(rules, ann, bob, both):
    """A partly read half comes back; only with the setting, the other half may follow."""
    rules(both_halves=both)
    first, second = twin()
    lease_next_problem(ann)
    _reassign_slot(ann, to=bob)
    slot = lease_next_problem(ann)
    assert slot.problem == first
    turns.skip_problem(ann, slot.ref, "unsure")
    following = lease_next_problem(ann)
    assert (following and following.problem) == (second if both else None)


@pytest.mark.parametrize("how", ["asked whole", "short"])
def test_fully_read_problem_is_not_given_again(rules, ann, bob, how):
    """Short sentences are shown completely at once, as without `local_first`."""
    rules(local_first=how != "asked whole")
    (problem,) = twin(halves=1)
    if how == "short":
        problem.sentence = "So the _ broke when the cup hit it."
        problem.save()
    assert lease_next_problem(ann) is not None
    _reassign_slot(ann, to=bob)
    assert turns.get_current_slot(ann) is None
    assert lease_next_problem(ann) is None


def test_reading_the_other_half_ends_a_started_half(person, ann, eva):
    (first, second), bob = twin(), person("bob")
    readers = {
        ann: lambda who: mark_seen(who, [second]),
        person("cat"): lambda who: mark_seen(who, [second, first]),
        eva: lambda who: mark_unpublished_seen(who, [second]),
    }
    for who, read in readers.items():
        assert lease_next_problem(who).problem == first
        _reassign_slot(who, to=bob)
        read(who)
        assert lease_next_problem(who) is None
        (row,) = Seen.objects.filter(person=who)
        assert (row.spent, row.problem) == (True, second)
        give(bob)
        bob = person(f"{bob}2")


def test_holder_of_a_closed_slot_gets_no_second_slot(rules, ann, bob):
    rules(judges=1)
    (problem,) = twin(halves=1)
    lease_next_problem(ann)
    close_slots(problem)
    add_slots(problem, 1)
    assert lease_next_problem(ann) is None
    assert lease_next_problem(bob).problem == problem
    assert Slot.objects.filter(problem=problem, holder=ann).count() == 1


def test_accounts_are_marked_as_readers_of_undecided_twins(rules, person, ann):
    """Nothing is stored for visitors and anonymous people, who can't judge."""
    rules(judges=1)
    judged, decided = twin(halves=1), twin(halves=1)
    give(person("cat"))
    give(person("dan"))
    (first,) = judged
    first.state = "judging"
    first.save()
    nobody = person("who", anonymous=True)
    with pytest.raises(InputError, match="not allowed to judge"):
        lease_next_problem(nobody)
    for reader in (None, nobody):
        mark_unpublished_seen(reader, judged)
    before = Seen.objects.count()
    mark_unpublished_seen(ann, judged + decided)
    assert Seen.objects.count() == before + 1
    assert Seen.objects.get(person=ann).problem == first


@pytest.mark.parametrize("both", [False, True])
def test_perturbed_problem_is_decided_by_k_votes(database, rules, person, both, ann):
    rules(both_halves=both)
    top = root()
    made = child(top, ann, state="judging")

    assert lease_next_problem(ann) is None
    for name in "abc":
        assert give(person(name)).problem == made
    assert (fresh(made).state, made.reasons, made.verdict.valid) == ("valid", [], True)
    assert lease_next_problem(person("late")) is None


def test_judges_get_versions_of_a_family_except_their_own(database, bob, ann):
    """Whether they have seen the root does not matter."""
    top = root(ann)
    mark_seen(bob, [top])
    theirs = [child(top, ann, new=("big", word), state="judging") for word in ("large", "huge")]
    child(theirs[0], bob, new=("fit", "belong"), state="judging")
    got = {give(bob).problem for _ in theirs}
    assert got == set(theirs)
    assert lease_next_problem(bob) is None


def test_judging_pages_do_not_reveal_the_family(person, visit):
    middle = child(root(), new=("not fit", "barely fit"))
    made = child(middle, new=("barely fit", "fully fit"), state="judging", declared=7)
    judge = person("judge", is_judge=True)

    save_agreement(judge)
    slot = lease_next_problem(judge)
    assert slot.problem == made
    pages = [visit(judge).get("/judge/").content.decode()]
    turns.store_local_answer(judge, slot.ref, 0)
    pages.append(visit(judge).get("/judge/").content.decode())
    assert "fully fit" in pages[1]
    for page in pages:
        main = page.split("<main")[1].split("</main")[0]
        for told in (middle.ref, middle.version.root.ref, "barely", "lineage", "parent", "perturb"):
            assert told not in main.lower()


@pytest.mark.parametrize(("ambiguous", "marked"), [(False, False), (True, True)])
def test_valid_verdict_removes_the_mark_of_generated_problems(database, person, ambiguous, marked):
    top = Problem("r", "Sue beat Sally because _ ran well.", ("Sue", "Sally"), 0)
    text = "Sue beat Sally because _ sprinted well."
    made = make_child(top, text, top.options, 0, source="chat")
    import_problems(Dataset([top]), "valid")
    found = import_problems(Dataset([made]), "judging")
    assert (found.versions, found.apart) == (1, 0)
    row = Row.objects.get(ref=made.id)
    assert as_problem(row).extra[UNVALIDATED] is True
    for name in "abc":
        give(person(name), ambiguous=ambiguous)
    assert (UNVALIDATED in as_problem(fresh(row)).extra) is marked
    assert row.version.root.ref == "r"
