"""Undoing of single decisions and of batches."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, strategies as st

from tests.conftest import examples
from tests.web.judge.making import give
from tests.web.making import fresh
from winosmith.errors import InputError
from winosmith.web.judge.exclusion import change_votes
from winosmith.web.moderate.batches import undo_batch, undo_decision
from winosmith.web.moderate.decisions import appeal, get_open_appeal
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import erase
from winosmith.web.problems.models import Event
from winosmith.web.problems.states import move


def _undo(person: Any, event: Any) -> Any:
    return undo_decision(person, event, "by mistake")


def test_last_decision_can_be_undone_once(max_, eva, twin, do):
    half = twin(state="valid")[0]
    do(eva, "reject", half)
    do(eva, "reopen", half)
    first, second = half.events.order_by("pk")
    with pytest.raises(InputError, match="since"):
        _undo(eva, first)
    for event, before, after in ((second, "judging", "rejected"), (first, "rejected", "valid")):
        _undo(max_, event)
        last = fresh(half).events.order_by("-pk").first()
        assert half.state == after
        assert (last.kind, last.undoes, last.before, last.after) == ("undo", event, before, after)
        with pytest.raises(InputError, match="already"):
            _undo(eva, event)


def test_verdict_of_judges_cannot_be_undone(eva, twin):
    half = twin(state="judging")[0]
    event = move(half, "valid", actor=None, kind="verdict")
    with pytest.raises(InputError, match="it is not a moderator’s decision"):
        _undo(eva, event)


def test_erased_text_cannot_be_restored_by_undo(eva, ann, twin, do):
    half = twin(ann, state="judging")[0]
    do(eva, "withdraw", half)
    erase(ann, True)
    with pytest.raises(InputError, match="asked for erasure"):
        _undo(eva, half.events.get())
    assert (fresh(half).state, half.sentence) == ("withdrawn", "_")


def test_moderators_cannot_undo_decisions_on_own_problems(max_, eva, twin, do):
    half = twin(max_, state="valid")[0]
    do(eva, "reject", half)
    with pytest.raises(InputError, match="another moderator"):
        _undo(max_, half.events.get())


def test_approval_cannot_be_undone_after_votes(eva, bob, twin, do):
    """The problem can be put on hold instead."""
    half = twin()[0]
    do(eva, "let-through", half)
    give(bob)
    with pytest.raises(InputError, match="judges have voted"):
        _undo(eva, half.events.get())


@pytest.mark.parametrize("action", ["reject", "withdraw"])
def test_votes_decide_again_after_an_undone_decision(rules, eva, max_, bob, twin, do, action):
    """What moderators undid or restored decides nothing: without votes the judges are asked."""
    rules(judges=1, local_first=False, gold_every=0)
    halves = [twin(state="judging", entered=True)[0] for _ in range(3)]
    for _ in halves:
        give(bob, 0)
    do(eva, action, *halves)
    _undo(max_, halves[0].events.get(kind=action))
    do(max_, "restore" if action == "withdraw" else "accept", halves[1])
    change_votes(bob, "exclude", eva, "guesses")
    left = ("judging", "withdrawn") if action == "withdraw" else ("valid", "rejected")
    assert [fresh(half).state for half in halves] == ["judging", *left]
    if action == "withdraw":
        do(max_, "restore", halves[2])
        assert fresh(halves[2]).state == "judging"


def test_undoing_a_batch_reports_problems_changed_since(eva, twin, do):
    halves = [*twin(state="valid"), *twin(state="valid")]
    batch = do(eva, "reject", *halves)
    do(eva, "reopen", halves[2])
    undone = undo_batch(eva, batch, "by mistake")
    assert [fresh(half).state for half in halves] == ["valid", "valid", "judging", "valid"]
    assert (undone.done, undone.left_count, undone.left[0][0]) == (3, 1, halves[2].ref)
    assert "since" in undone.left[0][1]
    with pytest.raises(InputError, match="already"):
        undo_batch(eva, batch, "again")


def test_undoing_a_decline_reopens_the_appeal(ann, eva, twin, do):
    half = twin(ann, state="rejected")[0]
    appeal(ann, half, "It is about weight.")
    do(eva, "decline", half)
    assert get_open_appeal(half) is None
    _undo(eva, half.events.get(kind="decline"))
    assert get_open_appeal(half) is not None


ACTIONS = (
    "let-through", "hold", "accept", "reject", "withdraw", "restore", "reopen", "embargo", "lift",
)  # fmt: skip


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.sampled_from(["held", "judging", "valid", "rejected"]),
    st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 1)), max_size=12),
)
def test_undoing_all_actions_restores_the_state(twin, do, start, steps):
    eva, _new = Person.objects.get_or_create(name="eva", is_moderator=True)
    halves = twin(state=start)
    done = []
    for action, which in steps:
        try:
            batch = do(eva, action, halves[which])
        except InputError:
            continue
        done.append(Event.objects.get(batch=batch.mark))
        _check_log(halves, start)
    for event in reversed(done):
        _undo(eva, event)
        _check_log(halves, start)
    for half in halves:
        assert (fresh(half).state, half.embargo) == (start, False)


def _check_log(halves: list[Any], start: str) -> None:
    """Check that the log, replayed from the start, gives the current states."""
    for half in halves:
        half.refresh_from_db()
        state, embargo = start, False
        for event in half.events.select_related("undoes").order_by("pk"):
            assert event.before == state
            state = event.after
            kind = event.undoes.kind if event.undoes else event.kind
            if kind in ("embargo", "lift"):
                embargo = (kind == "embargo") != bool(event.undoes)
        assert (state, embargo) == (half.state, half.embargo)
