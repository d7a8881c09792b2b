"""The rules with which these tests begin."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def usual() -> dict[str, Any]:
    """Return rules without gold questions."""
    return {"gold_every": 0}
