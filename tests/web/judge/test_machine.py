"""Random sequences of judging events: no extra votes, no duplicates, no own problems."""

import contextlib
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F
from hypothesis import HealthCheck, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.conftest import examples
from tests.web.judge.making import twin
from tests.web.making import fresh
from winosmith.errors import InputError
from winosmith.web.judge import exclusion, turns
from winosmith.web.judge.models import Seen, Slot
from winosmith.web.judge.votes import close_slots, open_slots
from winosmith.web.people.gates import new_key, process_once
from winosmith.web.people.models import Person
from winosmith.web.problems.models import State
from winosmith.web.problems.states import move

K, PEOPLE = 3, 6

PERSON = st.integers(0, PEOPLE - 1)


@pytest.mark.parametrize("moderated", [False, True])
def test_random_sequences_of_events_keep_the_invariants(rules, moderated):
    rules(judges=K)
    run_state_machine_as_test(
        Moderated if moderated else Judging,
        settings=examples(25, stateful_step_count=30, suppress_health_check=list(HealthCheck)),
    )


class Judging(RuleBasedStateMachine):
    """Six people, three of whom wrote a twin each; everything is rolled back at the end."""

    def __init__(self) -> None:
        super().__init__()

        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.people = [Person.objects.create_user(f"m{at}") for at in range(PEOPLE)]
        self.problems = [half for at in range(3) for half in twin(self.people[at])]
        self.verdicts: dict[str, str] = {}
        self.keys: list[tuple[Any, str, str, int]] = []
        self.given: set[tuple[Any, int]] = set()
        self.spent: set[tuple[Any, int]] = set()

    def teardown(self) -> None:
        """Roll back."""
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    @rule(who=PERSON)
    def take(self, who: int) -> None:
        """Lease the next problem; a new one was not read before, or only in part."""
        person = self.people[who]
        held, slot = turns.get_current_slot(person), turns.lease_next_problem(person)
        if slot is not None and held is None:
            assert (person, slot.problem_id) not in self.spent
            self.given.add((person, slot.problem_id))

    @rule(who=PERSON)
    def look(self, who: int) -> None:
        """Submit the local answer, so that the whole sentence is shown."""
        person = self.people[who]
        slot = turns.get_current_slot(person)
        if slot is not None:
            turns.store_local_answer(person, slot.ref, 0)
            self.spent.add((person, slot.problem_id))

    @rule(who=PERSON, choice=st.integers(0, 1), held=st.booleans(), other=st.integers(0, 5))
    def send(self, who: int, choice: int, held: bool, other: int) -> None:
        """Answer the held problem or any other one."""
        person = self.people[who]
        slot = turns.get_current_slot(person) if held else None
        ref = slot.ref if slot else self.problems[other].ref
        self.keys.append((person, new_key(), ref, choice))
        self._send(*self.keys[-1])

    @rule(at=st.integers(0, 20))
    def replay(self, at: int) -> None:
        """Submit an earlier form again."""
        if self.keys:
            self._send(*self.keys[at % len(self.keys)])

    def _send(self, person: Any, key: str, ref: str, choice: int) -> None:
        def act() -> dict[str, Any]:
            slot = turns.store_local_answer(person, ref, 1 - choice)
            self.spent.add((person, slot.problem_id))
            turns.store_answer(person, ref, choice)
            return {}

        with contextlib.suppress(InputError):
            process_once(person, key, "/judge/answer/", act)

    @rule(who=PERSON)
    def pass_on(self, who: int) -> None:
        """Skip the held problem."""
        slot = turns.get_current_slot(self.people[who])
        if slot is not None:
            turns.skip_problem(self.people[who], slot.ref, "unsure")
            self.spent.add((self.people[who], slot.problem_id))

    @rule(who=PERSON)
    def take_back(self, who: int) -> None:
        """Undo the last answer."""
        _count, ref = turns.count_answers_and_find_undoable(self.people[who])
        if ref is not None:
            turns.undo_answer(self.people[who], ref)

    @rule()
    def expire(self) -> None:
        """Let all leases expire."""
        rows = Slot.objects.exclude(lease_until=None)
        rows.update(lease_until=F("lease_until") - timedelta(hours=1))

    @rule(at=st.integers(0, 5))
    def hold_and_let_through(self, at: int) -> None:
        """Close a problem, and open it again."""
        problem = self.problems[at]
        problem.refresh_from_db()
        if problem.state == "judging":
            close_slots(problem)
            open_slots(problem)

    @invariant()
    def holds(self) -> None:
        """Check the invariants."""
        slots = list(Slot.objects.select_related("problem__twin"))
        votes = [slot for slot in slots if slot.answered_at]
        for problem in self.problems:
            cast = [slot.holder_id for slot in votes if slot.problem_id == problem.pk]
            assert len(cast) <= K
            assert len(set(cast)) == len(cast)
            assert sum(slot.problem_id == problem.pk for slot in slots) == K
            assert (len(cast) == K) == (fresh(problem).state in ("valid", "rejected"))
            # A verdict never changes.
            if problem.state != "judging":
                assert self.verdicts.setdefault(problem.ref, problem.state) == problem.state
        held = [slot for slot in slots if slot.holder_id is not None]
        twins = [(slot.holder_id, slot.twin_id) for slot in held]
        assert len(set(twins)) == len(twins)
        assert all(slot.holder_id != slot.problem.twin.contributor_id for slot in held)
        seen = set(Seen.objects.values_list("person_id", "twin_id"))
        assert set(twins) <= seen
        halves = {half.pk: half.twin_id for half in self.problems}
        met = [(person, halves[problem]) for person, problem in self.given]
        assert len(set(met)) == len(met)


class Moderated(Judging):
    """A moderator also excludes votes, includes them again, and approves judges on hold."""

    @rule(who=PERSON, kind=st.sampled_from([*exclusion.CHANGES, "pause"]))
    def change(self, who: int, kind: str) -> None:
        """Change a judge's votes, as a moderator does on their page."""
        person = self.people[who]
        moderator, _ = Person.objects.get_or_create(name="mo", is_moderator=True)
        with contextlib.suppress(InputError):
            if kind in ("pause", "resume"):
                getattr(exclusion, f"{kind}_judge")(person, moderator)
            if kind != "pause":
                exclusion.change_votes(person, kind, moderator, "because")

    @rule(at=st.integers(0, 5))
    def reopen(self, at: int) -> None:
        """Have other people judge a decided problem again."""
        problem = fresh(self.problems[at])
        if problem.state in ("valid", "rejected"):
            move(problem, State.JUDGING, actor=None, kind="reopen")
            open_slots(problem, extra=True)

    @invariant()
    def holds(self) -> None:
        """Check that votes and open slots are as many as planned: K, and those of reopenings."""
        for problem in self.problems:
            rows = Slot.objects.filter(problem=problem, gold=False)
            votes, places = rows.included().count(), rows.filter(open=True).count()
            extra = rows.filter(extra=True).count()
            waits = rows.pending().exists()
            if fresh(problem).state == "judging":
                assert votes + places == K + extra
                assert places or waits
            else:
                assert K <= votes <= K + extra
                assert not places
