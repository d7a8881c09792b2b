"""Rules of the site changed for a test, twins, and people who come by a browser."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest

_numbers = itertools.count(1)


@pytest.fixture
def twin() -> Callable[..., list[Any]]:
    """Return a maker of twins: `twin(ann, state="valid")` → both halves."""
    from winosmith.web.judge.votes import open_slots
    from winosmith.web.problems.lookalikes import remember
    from winosmith.web.problems.models import Problem, State, Twin

    def make(contributor: Any, *, state: str = "judging", **fields: Any) -> list[Any]:
        n = next(_numbers)
        row = Twin.objects.create(
            ref=f"pt{n}", contributor=contributor, topic=f"Kettles {n}", anchor="kettle"
        )
        halves = [
            Problem.objects.create(
                ref=f"pp{n}{letter}",
                twin=row,
                sentence=f"The kettle {n} did not go into the cupboard as the _ was too {word}.",
                options=["kettle", "cupboard"],
                answer=answer,
                state=State(state),
                **fields,
            )
            for letter, word, answer in (("a", "large", 0), ("b", "narrow", 1))
        ]
        for half in halves:
            remember(half)
            if state == "judging":
                open_slots(half)
        return halves

    return make


@pytest.fixture
def key_of() -> Callable[[Any], str]:
    """Return what reads the key of the first form with one out of a page."""

    def read(response: Any) -> str:
        found = re.search(r'name="key" value="(\w+)"', response.content.decode())
        assert found, "the page has no form with a key"
        return found[1]

    return read
