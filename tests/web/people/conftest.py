"""Twins, and people who come by a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest


@pytest.fixture
def twin(twin: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return a maker of twins as the form makes them: they are being judged, if not said else."""
    return partial(twin, state="judging", entered=True, topic="Kettles", anchor="kettle")


@pytest.fixture
def key_of() -> Callable[[Any], str]:
    """Return what reads the key of the first form with one out of a page."""

    def read(response: Any) -> str:
        found = re.search(r'name="key" value="(\w+)"', response.content.decode())
        assert found, "the page has no form with a key"
        return found[1]

    return read
