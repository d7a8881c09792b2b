"""What judges have read, in part or whole, and what they are given afterwards."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from tests.web.judge.making import give, twin
from tests.web.making import fresh
from winosmith.web.judge.models import Seen, Slot, mark_all_seen, mark_seen, mark_undecided_seen
from winosmith.web.judge.turns import (
    get_current_slot,
    lease_next_problem,
    skip_problem,
)
from winosmith.web.judge.votes import add_slots, close_slots
from winosmith.web.moderate.queue import record_answers_read


def _lost(person: Any, *, to: Any) -> None:
    """Let somebody's lease run out, and another person take the place."""
    slot = get_current_slot(person)
    rows = type(slot).objects.filter(pk=slot.pk)
    rows.update(lease_until=F("lease_until") - timedelta(hours=1))
    assert lease_next_problem(to).pk == slot.pk


def test_who_lost_a_problem_in_part_gets_it_again(
    database: Any, rules: Any, person: Any, ann: Any, bob: Any
) -> None:
    """After the local context alone, a lost problem comes back to its judge, who may answer it."""
    rules(judges=3)
    first, _second = twin()
    lost = lease_next_problem(ann)
    _lost(ann, to=bob)
    again = lease_next_problem(ann)
    assert again.problem == lost.problem == first
    assert again.pk != lost.pk
    give(bob), give(ann), give(person("cat"))
    assert fresh(first).state == "valid"


def test_both_halves_may_follow_a_part_where_the_site_allows_it(
    db: Any, rules: Any, ann: Any, bob: Any
) -> None:
    """Under the looser rule a part keeps nothing away; made stricter, it keeps the other half."""
    rules(judges=3, both_halves=True)
    first, second = twin()
    lease_next_problem(ann)
    _lost(ann, to=bob)
    slot = lease_next_problem(ann)
    assert slot.problem == first
    skip_problem(ann, slot.ref, "unsure")
    assert lease_next_problem(ann).problem == second
    _lost(ann, to=bob) if get_current_slot(bob) is None else give(bob)
    rules(judges=3, both_halves=False)
    give(ann)
    assert lease_next_problem(ann) is None


@pytest.mark.parametrize("how", ["asked whole", "short"])
def test_what_was_read_whole_never_comes_back(
    db: Any, rules: Any, ann: Any, bob: Any, how: str
) -> None:
    """Shown whole at once, a lost problem is gone for its judge."""
    rules(judges=3, local_first=how != "asked whole")
    (problem,) = twin(halves=1)
    if how == "short":
        problem.sentence = "So the _ broke when the cup hit it."
        problem.save()
    assert lease_next_problem(ann) is not None
    _lost(ann, to=bob)
    assert get_current_slot(ann) is None
    assert lease_next_problem(ann) is None


def test_what_is_read_elsewhere_closes_a_part(
    db: Any, rules: Any, person: Any, ann: Any, eva: Any
) -> None:
    """Who reads a half whole, on a page, in bulk or as a moderator, loses the one they began."""
    rules(judges=3)
    (first, second), bob = twin(), person("bob")
    readers = {
        ann: lambda who: mark_seen(who, second),
        person("cat"): lambda who: mark_all_seen(who, [second, first]),
        eva: lambda who: record_answers_read(who, [second]),
    }
    for who, read in readers.items():
        assert lease_next_problem(who).problem == first
        _lost(who, to=bob)
        read(who)
        assert lease_next_problem(who) is None
        (row,) = Seen.objects.filter(person=who)
        assert (row.spent, row.problem) == (True, second)
        give(bob)
        bob = person(f"{bob}2")


def test_one_place_on_a_problem_is_enough(db: Any, rules: Any, ann: Any, bob: Any) -> None:
    """Who stands on a slot that was closed before they saw the whole is given no second one."""
    rules(judges=1)
    (problem,) = twin(halves=1)
    lease_next_problem(ann)
    close_slots(problem)
    add_slots(problem, 1)
    assert lease_next_problem(ann) is None
    assert lease_next_problem(bob).problem == problem
    assert Slot.objects.filter(problem=problem, holder=ann).count() == 1


def test_who_reads_a_page_is_remembered_if_they_may_ever_judge(
    db: Any, rules: Any, person: Any, ann: Any
) -> None:
    """An account has read what was shown of twins that are still judged; nobody else has."""
    rules(judges=1)
    judged, decided = twin(halves=1), twin(halves=1)
    give(person("cat"))
    give(person("dan"))
    (first,) = judged
    first.state = "judging"
    first.save()
    for reader in (None, person("who", anonymous=True)):
        mark_undecided_seen(reader, judged)
    before = Seen.objects.count()
    mark_undecided_seen(ann, judged + decided)
    assert Seen.objects.count() == before + 1
    assert Seen.objects.get(person=ann).problem == first
