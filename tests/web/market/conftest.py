"""Default rules of the market tests."""

from typing import Any

import pytest


@pytest.fixture
def usual() -> dict[str, Any]:
    """Return rules with one judge per problem, without gold or a local context."""
    return {"gold_every": 0, "judges": 1, "local_first": False}


@pytest.fixture(autouse=True)
def _usual(rules: Any) -> None:
    """Apply the default rules before each test."""
