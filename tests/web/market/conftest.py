"""The rules with which these tests begin."""

from typing import Any

import pytest


@pytest.fixture
def usual() -> dict[str, Any]:
    """Return rules of one judge a problem, without gold or a local context."""
    return {"gold_every": 0, "judges": 1, "local_first": False}


@pytest.fixture(autouse=True)
def _usual(rules: Any) -> None:
    """Begin each test with these rules."""
