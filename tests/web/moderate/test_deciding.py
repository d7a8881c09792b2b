"""Decisions on single problems: who may decide, in which states, and the log."""

from typing import Any

import pytest
from django.utils import timezone

from tests.web.making import fresh
from tests.web.together import at_once
from winosmith.errors import InputError
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.moderate.batches import apply_to_selected
from winosmith.web.moderate.decisions import ConflictError, get_possible_actions
from winosmith.web.problems.models import Event
from winosmith.web.problems.states import get_public_problems, move


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [
        ("let-through", "held", "judging"),
        ("hold", "judging", "held"),
        ("accept", "rejected", "valid"),
        ("reject", "valid", "rejected"),
        ("reject", "held", "rejected"),
        ("withdraw", "valid", "withdrawn"),
        ("withdraw", "held", "withdrawn"),
        ("reopen", "rejected", "judging"),
        ("reopen", "valid", "judging"),
    ],
)
def test_action_changes_the_state_and_is_logged(
    db: Any, eva: Any, twin: Any, do: Any, action: str, before: str, after: str
) -> None:
    half, other = twin(state=before)
    batch = do(eva, action, half, reason="a plain reason")
    event = half.events.get()
    assert (fresh(half).state, fresh(other).state) == (after, before)
    assert (event.actor, event.kind, event.reason) == (eva, action, "a plain reason")
    assert (event.before, event.after, event.batch) == (before, after, batch.mark)


@pytest.mark.parametrize(
    ("action", "state"),
    [
        ("let-through", "judging"),
        ("let-through", "withdrawn"),
        ("hold", "valid"),
        ("accept", "held"),
        ("accept", "judging"),
        ("reject", "rejected"),
        ("withdraw", "withdrawn"),
        ("withdraw", "revised"),
        ("restore", "rejected"),
        ("reopen", "held"),
        ("decline", "rejected"),
        ("lift", "valid"),
    ],
)
def test_action_in_a_wrong_state_is_refused(
    db: Any, eva: Any, twin: Any, do: Any, action: str, state: str
) -> None:
    half = twin(state=state)[0]
    with pytest.raises(InputError, match=half.ref):
        do(eva, action, half)
    assert fresh(half).state == state
    assert not Event.objects.exists()


def test_approval_opens_slots_and_hold_closes_them(
    db: Any, ann: Any, bob: Any, eva: Any, twin: Any, do: Any
) -> None:
    half = twin()[0]
    assert lease_next_problem(bob) is None
    do(eva, "let-through", half)
    assert lease_next_problem(bob).problem == half
    do(eva, "hold", half)
    assert lease_next_problem(ann) is None


def test_moderators_cannot_decide_on_own_problems(
    db: Any, eva: Any, twin: Any, do: Any, adam: Any
) -> None:
    """A batch skips and reports them."""
    for who in (eva, adam):
        own, foreign = twin(who)[0], twin()[0]
        assert get_possible_actions(who, own) == []
        with pytest.raises(InputError, match="another moderator"):
            do(who, "let-through", own)
        batch = do(who, "let-through", own, foreign)
        assert (batch.done, [ref for ref, _why in batch.left]) == (1, [own.ref])
    assert not own.events.exists()


@pytest.mark.parametrize(
    "role", [{}, {"is_judge": True}, {"is_moderator": True, "is_active": False}]
)
def test_only_active_moderators_can_decide(
    db: Any, person: Any, twin: Any, do: Any, role: dict[str, bool]
) -> None:
    half = twin()[0]
    with pytest.raises(InputError, match="Only moderators"):
        do(person("ann", **role), "withdraw", half)
    assert fresh(half).state == "held"


@pytest.mark.parametrize("reason", ["", "   ", "x" * 2001])
def test_empty_or_long_reason_is_refused(
    db: Any, eva: Any, twin: Any, do: Any, reason: str
) -> None:
    half = twin()[0]
    with pytest.raises(InputError, match="reason"):
        do(eva, "withdraw", half, reason=reason)
    assert not half.events.exists()


def test_restored_problem_returns_to_its_previous_state(
    db: Any, eva: Any, twin: Any, do: Any
) -> None:
    for state in ("held", "judging", "valid", "rejected"):
        half = twin(state=state)[0]
        for _ in range(2):
            do(eva, "withdraw", half)
            do(eva, "restore", half)
            assert fresh(half).state == state


def test_problem_withdrawn_by_contributor_cannot_be_restored(
    db: Any, ann: Any, eva: Any, twin: Any, do: Any
) -> None:
    """Neither can a problem of an erased contributor."""
    half, other = twin(ann, state="valid")
    move(half, "withdrawn", actor=ann, kind="withdraw", reason="mine")
    with pytest.raises(InputError, match="its contributor withdrew it"):
        do(eva, "restore", half)
    do(eva, "withdraw", other)
    ann.erased = timezone.now()
    ann.save()
    with pytest.raises(InputError, match="erasure"):
        do(eva, "restore", other)


def test_embargo_hides_a_problem_until_it_is_lifted(db: Any, eva: Any, twin: Any, do: Any) -> None:
    half = twin(state="valid")[0]
    do(eva, "embargo", half)
    assert not get_public_problems().filter(pk=half.pk).exists()
    with pytest.raises(InputError, match="it is already under embargo"):
        do(eva, "embargo", half)
    do(eva, "lift", half)
    assert get_public_problems().filter(pk=half.pk).exists()
    assert list(half.events.order_by("pk").values_list("kind", flat=True)) == ["embargo", "lift"]


def test_gold_can_only_be_withdrawn_and_restored(db: Any, eva: Any, twin: Any, do: Any) -> None:
    half = twin(state="valid", gold=True)[0]
    for action in ("reject", "reopen", "embargo"):
        with pytest.raises(InputError, match="gold question"):
            do(eva, action, half)
    do(eva, "withdraw", half)
    do(eva, "restore", half)


def test_only_one_of_simultaneous_decisions_is_stored(
    database: Any, person: Any, twin: Any
) -> None:
    """The other moderators get an error with that decision."""
    people = [person(f"eva{n}", is_moderator=True) for n in range(16)]
    half = twin()[0]

    def press(n: int) -> str:
        action = ("let-through", "withdraw", "reject")[n % 3]
        try:
            apply_to_selected(people[n], action, [(half.ref, 0)], "at once")
        except ConflictError as conflict:
            return "told" if len(conflict.since) == 1 else "wrong"
        return action

    results = at_once(press, range(16))
    event = half.events.get()
    assert sorted(results) == sorted([event.kind, *["told"] * 15])
