"""A client of the API without a browser or its cookies: `Program(token).get("me")`."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any


@cache
def _client() -> Any:
    """Return a test client that enforces CSRF checks; it never receives a cookie."""
    from django.test import Client

    return Client(enforce_csrf_checks=True)


@dataclass
class Program:
    """Calls the API of the site in this process.

    Attributes:
        token: The API token; "" for none.
    """

    token: str = ""

    def get(self, path: str, **headers: str) -> Any:
        """Send a GET request."""
        return self.call("get", path, **headers)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send any request, with `body` as JSON."""
        if self.token:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        sent = {} if body is None else {"data": json.dumps(body)}
        answer = _client().generic(
            method.upper(), f"/api/v1/{path}", content_type="application/json", headers=headers,
            **sent,
        )  # fmt: skip
        assert not answer.cookies
        return answer


def program(person: Any) -> Program:
    """Return a program with a new token of a user."""
    from winosmith.web.api.models import create_token

    return Program(create_token(person, "a program")[1])
