"""Simultaneous starts, and a rejection during an answer, on both databases."""

from decimal import Decimal
from functools import partial

import pytest

from tests.web.judge.making import reply
from tests.web.market import making as m
from tests.web.together import at_once
from winosmith.errors import InputError
from winosmith.web.judge.models import Slot
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.market.exports import Change, Plan, apply_plan
from winosmith.web.market.models import Identity, Participation
from winosmith.web.market.workers import (
    StartedElsewhereError,
    StudyClosedError,
    start_participation,
)

pytestmark = pytest.mark.long


def test_one_id_starts_only_one_study(database):
    """Tried are eight browsers, two studies, and repeated clicks in one browser."""
    first, _ = m.study()
    second, _ = m.study()
    found = at_once(
        lambda n: start_participation(first, m.arrival(first, 1, mark=f"b{n}")),
        range(8),
        but=StartedElsewhereError,
    )
    assert sum(isinstance(one, Participation) for one in found) == 1, found
    assert sum(isinstance(one, StartedElsewhereError) for one in found) == 7
    both = at_once(
        lambda of: start_participation(of, m.arrival(of, 2, mark="same")),
        (first, second),
        but=InputError,
    )
    assert sum(isinstance(one, Participation) for one in both) == 1, both
    clicks = at_once(lambda _: start_participation(second, m.arrival(second, 3)), range(4))
    assert len({one.pk for one in clicks}) == 1, clicks
    assert Participation.objects.count() == 3
    assert Identity.objects.filter(kind="worker", at_work=True).count() == 3


def test_simultaneous_starts_do_not_exceed_max_starts(database):
    made, _ = m.study(places=2)
    found = at_once(
        lambda n: start_participation(made, m.arrival(made, n)), range(16), but=StudyClosedError
    )
    assert sum(isinstance(one, Participation) for one in found) == made.max_starts == 7, found
    assert sum(isinstance(one, StudyClosedError) for one in found) == 9


def test_rejection_during_an_answer_excludes_the_vote(database):
    for n in range(1, 5):
        made, _ = m.study(5)
        m.twin(halves=1)
        part = m.working(made, n)
        held = lease_next_problem(part.person)
        assert held is not None
        change = Change(part, "rejected", "REJECTED", part.paid, None, 0)
        plan = Plan([change], 0, [], [], [], [], Decimal(0))
        acts = (partial(reply, held), partial(apply_plan, made, plan))
        at_once(lambda act: act(), acts, but=InputError)
        left = Slot.objects.filter(holder=part.person).exclude(answered_at=None)
        assert all(slot.excluded for slot in left)
