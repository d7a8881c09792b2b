"""Twins and moderators for the tests of moderation."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest


@pytest.fixture
def twin(twin: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return a function that makes twins, on hold unless another state is given."""
    return partial(twin, state="held")


@pytest.fixture
def max_(person: Callable[..., Any]) -> Any:
    """Return a moderator other than `eva`."""
    return person("max", is_moderator=True)


@pytest.fixture
def do() -> Callable[..., Any]:
    """Return a function that applies an action to problems: `do(eva, "reject", problem)`."""
    from winosmith.web.moderate.batches import apply_to_selected
    from winosmith.web.moderate.decisions import get_newest_events

    def act(person: Any, action: str, *problems: Any, reason: str = "because") -> Any:
        seen = get_newest_events(problems)
        return apply_to_selected(
            person, action, [(p.ref, seen.get(p.pk, 0)) for p in problems], reason
        )

    return act


@pytest.fixture(autouse=True)
def _in_sqlite(request: pytest.FixtureRequest) -> None:
    """Use `db`, unless a test requests `database`."""
    if "database" not in request.fixturenames:
        request.getfixturevalue("db")
