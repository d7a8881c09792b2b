"""What judges have read, in part or completely, and which problems they get afterwards."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from tests.web.judge.making import give, twin
from tests.web.making import fresh
from winosmith.web.judge.models import Seen, Slot, mark_all_seen, mark_seen, mark_unpublished_seen
from winosmith.web.judge.turns import (
    get_current_slot,
    lease_next_problem,
    skip_problem,
)
from winosmith.web.judge.votes import add_slots, close_slots


def _reassign_slot(person: Any, *, to: Any) -> None:
    slot = get_current_slot(person)
    rows = type(slot).objects.filter(pk=slot.pk)
    rows.update(lease_until=F("lease_until") - timedelta(hours=1))
    assert lease_next_problem(to).pk == slot.pk


def test_judge_who_saw_only_local_context_gets_problem_again(
    database: Any, rules: Any, person: Any, ann: Any, bob: Any
) -> None:
    rules(judges=3)
    first, _second = twin()
    lost = lease_next_problem(ann)
    _reassign_slot(ann, to=bob)
    again = lease_next_problem(ann)
    assert again.problem == lost.problem == first
    assert again.pk != lost.pk
    give(bob), give(ann), give(person("cat"))
    assert fresh(first).state == "valid"


@pytest.mark.parametrize("both", [True, False])
def test_both_halves_setting_covers_partly_read_halves(
    db: Any, rules: Any, ann: Any, bob: Any, both: bool
) -> None:
    """A partly read half comes back; only with the setting, the other half may follow."""
    rules(judges=3, both_halves=both)
    first, second = twin()
    lease_next_problem(ann)
    _reassign_slot(ann, to=bob)
    slot = lease_next_problem(ann)
    assert slot.problem == first
    skip_problem(ann, slot.ref, "unsure")
    following = lease_next_problem(ann)
    assert (following and following.problem) == (second if both else None)


@pytest.mark.parametrize("how", ["asked whole", "short"])
def test_fully_read_problem_is_not_given_again(
    db: Any, rules: Any, ann: Any, bob: Any, how: str
) -> None:
    """Short sentences are shown completely at once, as without `local_first`."""
    rules(judges=3, local_first=how != "asked whole")
    (problem,) = twin(halves=1)
    if how == "short":
        problem.sentence = "So the _ broke when the cup hit it."
        problem.save()
    assert lease_next_problem(ann) is not None
    _reassign_slot(ann, to=bob)
    assert get_current_slot(ann) is None
    assert lease_next_problem(ann) is None


def test_reading_the_other_half_ends_a_started_half(
    db: Any, rules: Any, person: Any, ann: Any, eva: Any
) -> None:
    rules(judges=3)
    (first, second), bob = twin(), person("bob")
    readers = {
        ann: lambda who: mark_seen(who, second),
        person("cat"): lambda who: mark_all_seen(who, [second, first]),
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


def test_holder_of_a_closed_slot_gets_no_second_slot(
    db: Any, rules: Any, ann: Any, bob: Any
) -> None:
    rules(judges=1)
    (problem,) = twin(halves=1)
    lease_next_problem(ann)
    close_slots(problem)
    add_slots(problem, 1)
    assert lease_next_problem(ann) is None
    assert lease_next_problem(bob).problem == problem
    assert Slot.objects.filter(problem=problem, holder=ann).count() == 1


def test_accounts_are_marked_as_readers_of_undecided_twins(
    db: Any, rules: Any, person: Any, ann: Any
) -> None:
    """Nothing is stored for visitors and anonymous people, who can't judge."""
    rules(judges=1)
    judged, decided = twin(halves=1), twin(halves=1)
    give(person("cat"))
    give(person("dan"))
    (first,) = judged
    first.state = "judging"
    first.save()
    for reader in (None, person("who", anonymous=True)):
        mark_unpublished_seen(reader, judged)
    before = Seen.objects.count()
    mark_unpublished_seen(ann, judged + decided)
    assert Seen.objects.count() == before + 1
    assert Seen.objects.get(person=ann).problem == first
