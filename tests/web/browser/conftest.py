"""The windows of a test."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.web.looks import Windows


@pytest.fixture
def windows(browser: Any) -> Iterator[Windows]:
    """Yield the windows of a test; at the end, fail if a page had an error that `but` excludes."""
    made = Windows(browser)
    yield made
    made.close()
