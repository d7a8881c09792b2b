"""Twins and moderators for the tests of moderation."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest


@pytest.fixture
def twin(twin: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return a maker of twins that wait for a moderator, if no other state is asked for."""
    return partial(twin, state="held")


@pytest.fixture
def max_(person: Callable[..., Any]) -> Any:
    """Return a moderator beside `eva`."""
    return person("max", is_moderator=True)


@pytest.fixture
def do() -> Callable[..., Any]:
    """Return what does one action to problems as they stand now: `do(eva, "reject", problem)`."""
    from winosmith.web.moderate.batches import apply_to_selected
    from winosmith.web.moderate.decisions import get_newest_events

    def act(person: Any, action: str, *problems: Any, reason: str = "because") -> Any:
        seen = get_newest_events(problems)
        return apply_to_selected(
            person, action, [(p.ref, seen.get(p.pk, 0)) for p in problems], reason
        )

    return act
