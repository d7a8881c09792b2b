"""Twins, and people who come by a browser."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest


@pytest.fixture
def twin(twin: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return a maker of twins as the form makes them: they are being judged, if not said else."""
    return partial(twin, state="judging", entered=True, topic="Kettles", anchor="kettle")
