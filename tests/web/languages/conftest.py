"""Leaves the thread in English after each test of this folder."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def in_english(site: Any) -> Iterator[None]:
    """Leave the thread in English, as the tests of other folders expect."""
    from django.utils import translation

    yield
    translation.activate("en")
