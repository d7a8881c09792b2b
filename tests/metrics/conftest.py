"""What the tests of figures share."""

import pytest

from tests.conftest import installed


@pytest.fixture(scope="session")
def lifelines_installed() -> None:
    """Skip without lifelines; with CI=true, fail instead."""
    installed("lifelines")
