"""Twins and moderators for the tests of moderation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

_numbers = itertools.count(1)


@pytest.fixture
def twin() -> Callable[..., list[Any]]:
    """Return a maker of twins: `twin(ann, state="held", hints=[…])` → both halves."""
    from winosmith.web.problems.models import Problem, State, Twin

    def make(contributor: Any = None, *, state: str = "held", **fields: Any) -> list[Any]:
        n = next(_numbers)
        of = {name: fields.pop(name) for name in ("domain", "topic", "anchor") if name in fields}
        made = Twin.objects.create(ref=f"t{n}", contributor=contributor, **of)
        return [
            Problem.objects.create(
                ref=f"m{n}{letter}",
                twin=made,
                sentence=f"The cup {n} didn't fit on the shelf because the _ was too {word}.",
                options=["cup", "shelf"],
                answer=answer,
                state=State(state),
                **fields,
            )
            for letter, word, answer in (("a", "big", 0), ("b", "small", 1))
        ]

    return make


@pytest.fixture
def moderator(person: Callable[..., Any]) -> Callable[..., Any]:
    """Return a maker of moderators."""
    return lambda name="eva": person(name, is_moderator=True)


@pytest.fixture
def do() -> Callable[..., Any]:
    """Return what does one action to problems as they stand now: `do(eva, "reject", problem)`."""
    from winosmith.web.moderate.batches import picked
    from winosmith.web.moderate.decisions import last_event

    def act(person: Any, action: str, *problems: Any, reason: str = "because") -> Any:
        seen = last_event(problems)
        return picked(person, action, [(p.ref, seen.get(p.pk, 0)) for p in problems], reason)

    return act
