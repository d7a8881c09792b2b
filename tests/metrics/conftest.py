"""What the tests of figures share."""

from __future__ import annotations

import importlib.util
import os

import pytest


@pytest.fixture(scope="session")
def lifelines_installed() -> None:
    """Skip without lifelines; with CI=true, fail instead."""
    if importlib.util.find_spec("lifelines") is None:
        reason = "lifelines is not installed (the extra `stability`)"
        if os.environ.get("CI") == "true":
            pytest.fail(f"missing in CI: {reason}")
        pytest.skip(reason)
