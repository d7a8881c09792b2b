"""Twins as the form makes them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest


@pytest.fixture
def twin(twin: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return a function that makes twins as the form does, in judging by default."""
    return partial(twin, state="judging", entered=True, topic="Kettles", anchor="kettle")
