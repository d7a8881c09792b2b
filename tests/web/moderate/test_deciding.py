"""Decisions on single problems: who may decide, in which states, the log, and appeals."""

import pytest
from django.utils import timezone

from tests.web.making import fresh
from tests.web.together import at_once
from winosmith.errors import InputError
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.moderate.batches import apply_to_selected
from winosmith.web.moderate.decisions import (
    ConflictError,
    appeal,
    get_open_appeal,
    get_possible_actions,
)
from winosmith.web.moderate.models import Appeal
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
def test_action_changes_the_state_and_is_logged(eva, twin, do, action, before, after):
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
def test_action_in_a_wrong_state_is_refused(eva, twin, do, action, state):
    half = twin(state=state)[0]
    with pytest.raises(InputError, match=half.ref):
        do(eva, action, half)
    assert fresh(half).state == state
    assert not Event.objects.exists()


def test_approval_opens_slots_and_hold_closes_them(ann, bob, eva, twin, do):
    half = twin()[0]
    assert lease_next_problem(bob) is None
    do(eva, "let-through", half)
    assert lease_next_problem(bob).problem == half
    do(eva, "hold", half)
    assert lease_next_problem(ann) is None


def test_moderators_cannot_decide_on_own_problems(eva, twin, do, adam):
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
    ("role", "reason", "why"),
    [
        ({}, "because", "Only moderators"),
        ({"is_judge": True}, "because", "Only moderators"),
        ({"is_moderator": True, "is_active": False}, "because", "Only moderators"),
        *(({"is_moderator": True}, reason, "reason") for reason in ("", "   ", "x" * 2001)),
    ],
)
def test_only_active_moderators_can_decide_and_need_a_reason(person, twin, do, role, reason, why):
    half = twin()[0]
    with pytest.raises(InputError, match=why):
        do(person("ann", **role), "withdraw", half, reason=reason)
    assert fresh(half).state == "held"
    assert not half.events.exists()


def test_restored_problem_returns_to_its_previous_state(eva, twin, do):
    for state in ("held", "judging", "valid", "rejected"):
        half = twin(state=state)[0]
        for _ in range(2):
            do(eva, "withdraw", half)
            do(eva, "restore", half)
            assert fresh(half).state == state


def test_problem_withdrawn_by_contributor_cannot_be_restored(ann, eva, twin, do):
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


def test_embargo_hides_a_problem_until_it_is_lifted(eva, twin, do):
    half = twin(state="valid")[0]
    do(eva, "embargo", half)
    assert not get_public_problems().filter(pk=half.pk).exists()
    with pytest.raises(InputError, match="it is already under embargo"):
        do(eva, "embargo", half)
    do(eva, "lift", half)
    assert get_public_problems().filter(pk=half.pk).exists()
    assert list(half.events.order_by("pk").values_list("kind", flat=True)) == ["embargo", "lift"]


def test_gold_can_only_be_withdrawn_and_restored(eva, twin, do):
    half = twin(state="valid", gold=True)[0]
    for action in ("reject", "reopen", "embargo"):
        with pytest.raises(InputError, match="gold question"):
            do(eva, action, half)
    do(eva, "withdraw", half)
    do(eva, "restore", half)


def test_only_one_of_simultaneous_decisions_is_stored(database, person, twin):
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


def test_second_appeal_is_refused_until_the_first_is_declined(ann, eva, twin, do):
    half = twin(ann, state="rejected")[0]
    appeal(ann, half, "It is about weight.")
    with pytest.raises(InputError, match="already"):
        appeal(ann, half, "Again.")
    do(eva, "decline", half, reason="the votes hold")
    assert get_open_appeal(half) is None
    assert list(half.events.order_by("pk").values_list("kind", "reason")) == [
        ("appeal", "It is about weight."),
        ("decline", "the votes hold"),
    ]
    appeal(ann, half, "Once more.")


@pytest.mark.parametrize("action", ["accept", "reopen"])
def test_appeal_is_offered_as_reason_only_if_all_have_one(ann, eva, twin, visit, action):
    halves = twin(ann, state="rejected")
    appeal(ann, halves[0], "It is about weight.")
    browser, picks = visit(eva), [f"{half.ref}:0" for half in halves]
    asked = [
        browser.get("/moderate/ask/", {"action": action, "pick": pick}).content.decode()
        for pick in (picks[0], picks[1], picks)
    ]
    assert ["The appeal convinced us" in page for page in asked] == [True, False, False]


@pytest.mark.parametrize("action", ["accept", "reopen"])
def test_granting_an_appeal_closes_it(ann, eva, twin, do, action):
    half = twin(ann, state="rejected")[0]
    made = appeal(ann, half, "Look again.")
    do(eva, action, half)
    made.refresh_from_db()
    assert get_open_appeal(half) is None
    assert made.answer.kind == action


def test_only_contributors_can_appeal_decisions_of_others(bob, ann, twin):
    """The text must have 1 to 2000 characters."""
    rejected, own = twin(ann, state="rejected")
    move(own, "withdrawn", actor=ann, kind="withdraw")
    for who, half in ((bob, rejected), (ann, own), (ann, twin(ann)[0])):
        with pytest.raises(InputError, match="no decision to appeal"):
            appeal(who, half, "Look again.")
    for text in ("", "  ", "x" * 2001):
        with pytest.raises(InputError, match="characters"):
            appeal(ann, rejected, text)


def test_simultaneous_appeals_are_stored_once(database, ann, twin):
    half = twin(ann, state="rejected")[0]
    found = at_once(lambda _: appeal(ann, half, "Look again."), range(8), but=InputError)
    assert sum(isinstance(one, InputError) for one in found) == 7
    assert Appeal.objects.count() == half.events.count() == 1
