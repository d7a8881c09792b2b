"""Many judges at once, in threads, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.web.judge.making import twin
from tests.web.together import at_once
from winosmith.web.judge.turns import answer, go_on

pytestmark = pytest.mark.long

Maker = Callable[..., Any]


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
