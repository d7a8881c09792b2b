"""Many judges at once, in threads, on both databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from tests.web.judge.making import twin  # type: ignore[import-not-found]
from tests.web.together import at_once  # type: ignore[import-not-found]
from winosmith.errors import InputError
from winosmith.web.judge.models import Slot
from winosmith.web.judge.turns import answer, answer_local, go_on
from winosmith.web.people.gates import new_key, once
from winosmith.web.problems.models import Problem

pytestmark = pytest.mark.long

Maker = Callable[..., Any]


def test_a_race_gives_each_problem_its_votes_and_no_more(
    database: Any, rules: Any, person: Maker
) -> None:
    """64 judges who click twice and lose leases: 3 votes a problem, by 3 people, none one's own.

    Whoever lost a problem after its local context may get it again; nobody is given both halves.
    """
    given: set[tuple[int, int, int]] = set()
    people = [person(f"judge{number}") for number in range(64)]
    for author in people[:10]:
        twin(author)

    def judge(who: Any) -> list[str]:
        faults = []
        try:
            for turn in range(4):
                slot = go_on(who)
                if slot is None:
                    continue
                given.add((who.pk, slot.twin_id, slot.problem_id))
                ref, key = slot.ref, new_key()
                if (who.pk + turn) % 5 == 0:  # away: the lease runs out
                    rows = Slot.objects.filter(pk=slot.pk, holder=who, open=True)
                    rows.update(lease_until=F("lease_until") - timedelta(hours=1))
                    if turn % 2:
                        continue

                def act(ref: str = ref) -> dict[str, Any]:
                    answer_local(who, ref, 1)
                    return {"choice": answer(who, ref, 0).choice}

                for _ in range(2):
                    try:
                        once(who, key, "/judge/answer/", act)
                    except InputError:
                        pass
                    except Exception as error:  # noqa: BLE001 - the test names it
                        faults.append(repr(error))
        except Exception as error:  # noqa: BLE001
            faults.append(repr(error))
        return faults

    assert [fault for faults in at_once(judge, people) for fault in faults] == []
    Slot.objects.filter(open=True).exclude(lease_until=None).update(
        lease_until=F("taken_at") - timedelta(hours=1)
    )
    for who in people:  # whoever is left finishes what was abandoned
        while (slot := go_on(who)) is not None:
            given.add((who.pk, slot.twin_id, slot.problem_id))
            answer_local(who, slot.ref, 1)
            answer(who, slot.ref, 0)
    votes = list(Slot.objects.exclude(answered_at=None).select_related("problem__twin"))
    assert set(Counter(slot.problem_id for slot in votes).values()) == {3}
    assert len({(slot.twin_id, slot.holder_id) for slot in votes}) == len(votes) == 60
    assert len({(who, twin) for who, twin, _problem in given}) == len(given)
    assert all(slot.holder_id != slot.problem.twin.contributor_id for slot in votes)
    assert not Problem.objects.filter(state="judging").exists()


def test_the_last_two_votes_at_once_bring_one_verdict(
    database: Any, rules: Any, person: Maker
) -> None:
    """Three judges who answer in the same moment leave the problem decided, by one verdict."""
    rules(local_first=False)
    problems = [twin(halves=1)[0] for _ in range(8)]
    people = [person(name) for name in ("a", "b", "c")]

    for problem in problems:
        slots = [go_on(who) for who in people]
        assert {slot.problem for slot in slots} == {problem}
        at_once(lambda slot: answer(slot.holder, slot.ref, 0), slots)
        problem.refresh_from_db()
        assert (problem.state, problem.events.filter(kind="verdict").count()) == ("valid", 1)
