"""Calls of the API without a browser or its cookies: `get("figures")`."""

from functools import cache
from typing import Any


@cache
def _client() -> Any:
    """Return a test client that enforces CSRF checks; it never receives a cookie."""
    from django.test import Client

    return Client(enforce_csrf_checks=True)


def get(path: str, **headers: str) -> Any:
    """Send a GET request."""
    return call("get", path, **headers)


def call(method: str, path: str, **headers: str) -> Any:
    """Send any request, without a body."""
    answer = _client().generic(method.upper(), f"/api/v1/{path}", headers=headers)
    assert not answer.cookies
    return answer
