"""Resets the language of the thread to English after each test of this folder."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def in_english(site: Any) -> Iterator[None]:
    """Reset the language to English, which the tests of other folders expect."""
    from django.utils import translation

    yield
    translation.activate("en")
