"""The rules with which these tests begin."""

from typing import Any

import pytest


@pytest.fixture
def usual() -> dict[str, Any]:
    """Return rules without gold questions."""
    return {"gold_every": 0}


@pytest.fixture(autouse=True)
def _usual(rules: Any) -> None:
    """Begin each test with these rules."""
