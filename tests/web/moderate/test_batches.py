"""The same to many problems: counted, in chunks, resumed, once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.together import at_once
from winosmith.errors import InputError
from winosmith.web.moderate.batches import CHUNK, all_matching, go_on, stand
from winosmith.web.moderate.queue import Where
from winosmith.web.problems.models import Event, Problem


def _begin(person: Any, action: str, query: str, reason: str = "a sweep") -> Any:
    where = Where.read(query)
    return all_matching(person, action, where, reason, at=stand(), expected=0)


def test_all_that_match_are_done_under_one_mark(db: Any, moderator: Any, twin: Any) -> None:
    """A hundred held problems are let through in chunks under one mark; others stay."""
    eva = moderator()
    for _ in range(50):
        twin(domain="social")
    twin(domain="physical")
    batch = go_on(_begin(eva, "let-through", "state=held&domain=social"), seconds=600)
    assert (batch.finished, batch.done, batch.left_count) == (True, 100, 0)
    assert Problem.objects.filter(state="judging", twin__domain="social").count() == 100
    assert Problem.objects.filter(state="held").count() == 2
    assert Event.objects.filter(batch=batch.mark).count() == 100


def test_what_came_or_changed_after_the_confirmation_is_left_alone(
    db: Any, moderator: Any, twin: Any, do: Any
) -> None:
    """Problems submitted after the count are not meant; those that changed are named."""
    eva = moderator()
    early, changed = twin()[0], twin(state="valid")[0]
    batch = _begin(eva, "withdraw", "state=")
    late = twin()[0]
    do(moderator("max"), "reject", changed)
    batch = go_on(batch)
    for half in (early, changed, late):
        half.refresh_from_db()
    assert [early.state, changed.state, late.state] == ["withdrawn", "rejected", "held"]
    assert [changed.ref, "it has changed since"] in batch.left


def test_an_interrupted_batch_goes_on(db: Any, moderator: Any, twin: Any) -> None:
    """A batch that stopped after its first chunk ends with each problem done once."""
    for _ in range(CHUNK):
        twin()
    batch = go_on(_begin(moderator(), "let-through", "state=held"), seconds=0)
    assert (batch.finished, batch.done) == (False, CHUNK)
    batch = go_on(go_on(batch))
    assert (batch.finished, batch.done) == (True, 2 * CHUNK)
    events = Event.objects.filter(batch=batch.mark)
    assert events.count() == events.values("problem").distinct().count() == 2 * CHUNK


def test_two_that_go_on_with_one_batch_do_each_problem_once(
    database: Any, person: Any, twin: Any
) -> None:
    """Four windows that continue the same batch at once do no problem twice."""
    for _ in range(CHUNK):
        twin()
    batch = _begin(person("eva", is_moderator=True), "let-through", "state=held")
    assert all(at_once(lambda _: go_on(batch, seconds=120).finished, range(4)))
    batch.refresh_from_db()
    assert (batch.done, batch.left_count) == (2 * CHUNK, 0)
    assert Event.objects.filter(batch=batch.mark).count() == 2 * CHUNK


def test_a_pick_that_is_none_is_refused(db: Any, moderator: Any, do: Any) -> None:
    """Without a problem nothing is begun."""
    with pytest.raises(InputError, match="at least one"):
        do(moderator(), "withdraw")


def test_a_demoted_moderator_does_no_more(db: Any, moderator: Any, twin: Any) -> None:
    """What a batch has not done yet is left alone once its moderator is none."""
    eva, half = moderator(), twin()[0]
    batch = _begin(eva, "withdraw", "state=held")
    eva.is_moderator = False
    eva.save()
    batch = go_on(batch)
    half.refresh_from_db()
    assert (half.state, batch.done, batch.left_count) == ("held", 0, 2)
