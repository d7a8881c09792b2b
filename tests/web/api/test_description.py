"""The API conforms to its description: schemathesis tries each operation."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from tests.conftest import needed
from tests.web import world as w
from winosmith.web.api.app import build_api_description

schemathesis = needed("schemathesis")

EXAMPLES = 5
"""Number of generated requests per operation, in addition to those at the limits."""

PINNED = {
    "/problems/{ref}": "public-a",
    "/families/{ref}": "public-a",
    "/models/{name}": "association",
}
"""Existing objects by the start of their address."""

CONFIG: dict[str, Any] = {
    "generation": {"allow-x00": False},  # the site refuses NUL before it looks at the request
    "checks": {
        "positive_data_acceptance": {"expected-statuses": ["2xx", "404", "422"]},
        "negative_data_rejection": {"expected-statuses": ["4xx"]},
    },
}


@pytest.fixture(scope="module")
def described(stood: Any) -> Iterator[Any]:
    """Return the description as schemathesis reads it."""
    ends = (request_started, request_finished)
    for signal in ends:  # all is in one transaction here, as in Django's own client
        signal.disconnect(close_old_connections)
    config = schemathesis.Config.from_dict(CONFIG)
    application = get_wsgi_application()  # without the threads of the server
    yield schemathesis.openapi.from_wsgi("/api/openapi.json", application, config=config)
    for signal in ends:
        signal.connect(close_old_connections)


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_api_conforms_to_its_description(described, mode):
    met: Counter[int] = Counter()
    for found in described.get_all_operations():
        operation = found.ok()
        path = operation.path.removeprefix("/api/v1")
        there = next((ref for start, ref in PINNED.items() if path.startswith(start)), "")
        pinned = there if mode == "POSITIVE" else ""
        met += _send_generated_requests(operation, schemathesis.GenerationMode[mode], pinned)
    assert not any(status >= 500 for status in met)
    if mode == "NEGATIVE":
        assert met[422]
    else:
        assert met[200] > 20


def test_description_contains_only_models_that_operations_use():
    schema = build_api_description()
    text = json.dumps(schema)
    assert {name for name in schema["components"]["schemas"] if f'/{name}"' not in text} == set()


def _send_generated_requests(operation: Any, mode: Any, pinned: str) -> Counter[int]:
    """Send generated requests to an operation, roll them back, and count their statuses."""
    met: Counter[int] = Counter()

    @settings(
        max_examples=EXAMPLES,  # per operation; all statuses must occur in short runs too
        phases=[Phase.generate],
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def one(case: Any) -> None:
        if pinned and case.path_parameters:
            case.path_parameters = dict.fromkeys(case.path_parameters, pinned)
        with w.taken_back():
            answer = case.call_and_validate()
        met[answer.status_code] += 1

    try:
        one()
    except Unsatisfiable:  # a request without parameters can't be invalid
        assert mode == schemathesis.GenerationMode.NEGATIVE
    return met
