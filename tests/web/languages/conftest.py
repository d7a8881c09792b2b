"""The small site that pages in several languages are shown of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.web import visits as v  # type: ignore[import-not-found]

USUAL = {"gold_every": 0, "open_judging": False}


@pytest.fixture(scope="module")
def refs(ready_site: Any) -> Iterator[dict[str, str]]:
    """Make the small site once; all of it is rolled back at the end."""
    from django.conf import settings
    from django.db import transaction
    from django.test import override_settings

    with override_settings(RULES=replace(settings.RULES, **USUAL)), transaction.atomic():
        yield v.staged()
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def in_english(site: Any) -> Iterator[None]:
    """Leave the thread in English, where the tests of others expect it."""
    from django.utils import translation

    yield
    translation.activate("en")
