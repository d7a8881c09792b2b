"""The same id from two places at the same moment; on both databases."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connections

from tests.web.market import making as m  # type: ignore[import-not-found]
from winosmith.web.judge.models import Slot
from winosmith.web.market.exports import Change, apply
from winosmith.web.market.models import Identity, Participation
from winosmith.web.market.workers import Elsewhere, Over, begin

pytestmark = pytest.mark.long


def _at_once(*acts: Any) -> list[Any]:
    """Do things in threads that start together; return what came of each, or its error."""
    gate, done = threading.Barrier(len(acts)), [None] * len(acts)

    def run(at: int) -> None:
        gate.wait()
        try:
            done[at] = acts[at]()
        except Exception as error:  # noqa: BLE001 - what came of it is looked at
            done[at] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(at,)) for at in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def test_one_id_begins_once(database: Any, rules: Any) -> None:
    """Of eight browsers one begins the study; of two studies one; one browser's clicks are one."""
    first, _ = m.study()
    second, _ = m.study()
    found = _at_once(
        *(lambda n=n: begin(first, m.arrival(first, 1, mark=f"b{n}")) for n in range(8))
    )
    assert sum(isinstance(one, Participation) for one in found) == 1, found
    assert sum(isinstance(one, Elsewhere) for one in found) == 7
    both = _at_once(*(lambda s=s: begin(s, m.arrival(s, 2, mark="same")) for s in (first, second)))
    assert sum(isinstance(one, Participation) for one in both) == 1, both
    clicks = _at_once(*(lambda: begin(second, m.arrival(second, 3)) for _ in range(4)))
    assert len({one.pk for one in clicks}) == 1, clicks
    assert Participation.objects.count() == 3
    assert Identity.objects.filter(kind="worker", at_work=True).count() == 3


def test_places_are_no_more_for_many_at_once(database: Any, rules: Any) -> None:
    """Of sixteen that begin in the same moment as many begin as there are places and spare ones."""
    made, _ = m.study(places=2)
    found = _at_once(*(lambda n=n: begin(made, m.arrival(made, n)) for n in range(16)))
    assert sum(isinstance(one, Participation) for one in found) == made.most == 7, found
    assert sum(isinstance(one, Over) for one in found) == 9


def test_an_answer_meets_the_markets_word(database: Any, rules: Any) -> None:
    """A rejection while the worker answers leaves no vote that counts or waits."""
    for n in range(1, 5):
        made, _ = m.study(5)
        m.twin(halves=1)
        part = m.working(made, n)
        change = Change(part, "rejected", "REJECTED", part.paid, None, 0)
        _at_once(lambda p=part: m.give(p.person), lambda c=change: apply([c]))
        left = Slot.objects.filter(holder=part.person).exclude(answered_at=None)
        assert all(slot.excluded for slot in left)
