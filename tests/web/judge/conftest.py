"""Default rules of the judging tests."""

from typing import Any

import pytest


@pytest.fixture
def usual() -> dict[str, Any]:
    """Return rules without gold questions."""
    return {"gold_every": 0}


@pytest.fixture(autouse=True)
def _usual(rules: Any) -> None:
    """Apply the default rules before each test."""


@pytest.fixture(autouse=True)
def _in_sqlite(request: pytest.FixtureRequest) -> None:
    """Use `db`, unless a test requests `database`."""
    if "database" not in request.fixturenames:
        request.getfixturevalue("db")
