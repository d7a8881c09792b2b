"""Twins of every kind to read: public ones, and all the kinds that nobody may see."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

_NUMBERS = count(1)


@pytest.fixture
def twin(person: Callable[..., Any]) -> Callable[..., Any]:
    """Return a maker of twins: `twin("trophy", states=("valid", "held"), embargo=True)`.

    The word stands in both sentences; what is made are the two rows, the older first.
    """

    def make(
        word: str = "trophy",
        *,
        states: tuple[str, str] = ("valid", "valid"),
        by: Any = None,
        domain: str = "physical",
        **fields: Any,
    ) -> list[Any]:
        from winosmith.web.problems.models import Problem, Twin

        number = next(_NUMBERS)
        made = Twin.objects.create(
            ref=f"twin{number:06}", contributor=by, domain=domain, licence="CC-BY-4.0"
        )
        return [
            Problem.objects.create(
                ref=f"half{number:06}{'ab'[half]}",
                twin=made,
                sentence=f"The {word} did not fit into the suitcase because the _ was {trigger}.",
                options=[f"{word}", "suitcase"],
                answer=half,
                state=states[half],
                **fields,
            )
            for half, trigger in enumerate(("large", "small"))
        ]

    return make
