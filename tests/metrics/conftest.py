"""Fixtures of the tests of metrics."""

import pytest

from tests.conftest import installed


@pytest.fixture(scope="session")
def lifelines_installed() -> None:
    """Skip if lifelines is missing; with CI=true, fail instead."""
    installed("lifelines")
