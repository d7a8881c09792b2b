"""What the tests of the API share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.web import world as w


@pytest.fixture(scope="module")
def stood(ready_site: Any) -> Iterator[Any]:
    """Make the small site once."""
    from django.conf import settings

    from winosmith.web.predict.asking import set_current_models

    with w.standing(open_judging=False) as made:
        set_current_models(settings.RULES.models)
        yield made


@pytest.fixture
def world(stood: Any) -> Iterator[Any]:
    """Return the small site; what a test writes there is rolled back."""
    with w.taken_back():
        yield stood
