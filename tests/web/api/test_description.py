"""The description of the API, and that the API is what it says: schemathesis tries each operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.web.api.calling import program  # type: ignore[import-not-found]

schemathesis = pytest.importorskip("schemathesis")

EXAMPLES = 3
"""Requests that are made up for each operation, beside those at the edges of what it takes."""

CONFIG: dict[str, Any] = {
    "checks": {
        # A well-formed request may break a rule (a sentence without a blank): that is a 422.
        "positive_data_acceptance": {
            "expected-statuses": ["2xx", "401", "403", "404", "409", "422", "429"]
        },
        "missing_required_header": {"expected-statuses": ["401", "403", "404", "422"]},
        "negative_data_rejection": {"expected-statuses": ["4xx"]},
    },
}


@pytest.fixture(scope="module")
def described(world: Any) -> Iterator[Any]:
    """Return the description as schemathesis reads it, bound to the site in this process."""
    from django.core.signals import request_finished, request_started
    from django.db import close_old_connections
    from django.utils import timezone

    from winosmith.web.api.models import Token
    from winosmith.web.wsgi import application

    text = program(world.people["admin"]).token
    Token.objects.update(used=timezone.now().date())
    ends = (request_started, request_finished)
    for signal in ends:  # all is in one transaction here, as in Django's own client
        signal.disconnect(close_old_connections)
    config = schemathesis.Config.from_dict(CONFIG)
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", application, config=config)
    schema.token = text
    yield schema
    for signal in ends:
        signal.connect(close_old_connections)


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_the_api_is_what_it_says(described: Any, mode: str) -> None:
    """Whatever is sent to an operation, its answer is as described, and never a server's fault."""
    for found in described.get_all_operations():
        _try(found.ok(), described.token, schemathesis.GenerationMode[mode])


def _try(operation: Any, token: str, mode: Any) -> None:
    """Send made-up requests to an operation; what they write is rolled back."""
    from django.db import transaction
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis.errors import Unsatisfiable

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def one(case: Any) -> None:
        with transaction.atomic():
            case.call_and_validate(headers={"Authorization": f"Bearer {token}"})
            transaction.set_rollback(True)

    try:
        one()
    except Unsatisfiable:
        assert mode == schemathesis.GenerationMode.NEGATIVE  # nothing can be wrong with no input
