"""A program that calls the API: `Program(token).get("me")`, without a browser or its cookies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any


@cache
def _client() -> Any:
    """Return a client that checks tokens of forms; it never gets a cookie to keep."""
    from django.test import Client

    return Client(enforce_csrf_checks=True)


@dataclass
class Program:
    """Calls the API of the site in this process.

    Attributes:
        token: what it shows; "" for nothing.
    """

    token: str = ""

    def get(self, path: str, **headers: str) -> Any:
        """Ask for something."""
        return self.call("get", path, **headers)

    def post(self, path: str, body: Any = None, key: str | None = None, **headers: str) -> Any:
        """Do something, with a new key unless one is given; "" for none."""
        from winosmith.web.people.gates import new_key

        key = new_key() if key is None else key
        if key:
            headers["Idempotency-Key"] = key
        return self.call("post", path, body, **headers)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send any request; a text is sent as it is."""
        if self.token:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        text = body if isinstance(body, str) else json.dumps(body)
        sent = {} if body is None else {"data": text}
        answer = _client().generic(
            method.upper(), f"/api/v1/{path}", content_type="application/json", headers=headers,
            **sent,
        )  # fmt: skip
        assert not answer.cookies
        return answer


def program(person: Any, *scopes: str) -> Program:
    """Return a program that has a token of somebody's; for every scope unless some are named."""
    from winosmith.web.api.models import SCOPES, make

    return Program(make(person, "a program", scopes or SCOPES)[1])
