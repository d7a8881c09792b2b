"""What the tests of the API share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.web import world as w  # type: ignore[import-not-found]


@pytest.fixture
def django_queries() -> Any:
    """Return a context in which all queries are collected."""

    @contextmanager
    def collected() -> Iterator[Any]:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        with CaptureQueriesContext(connection) as queries:
            yield queries

    return collected


@pytest.fixture(scope="module")
def world(ready_site: Any) -> Iterator[Any]:
    """Make the small site once; all of it is rolled back at the end."""
    from django.conf import settings
    from django.db import transaction
    from django.test import override_settings

    from winosmith.web.predict.asking import announce

    rules = replace(settings.RULES, gold_every=0, open_judging=False)
    with override_settings(RULES=rules), transaction.atomic():
        announce(rules.models)
        yield w.make()
        transaction.set_rollback(True)
