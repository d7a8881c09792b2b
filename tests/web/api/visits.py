"""Routes of the API, for the lists of all pages and routes."""

from collections.abc import Callable
from typing import Any

from tests.web.forms import none

NO_PAGE = {
    "api:index": "ninja's page, see test_served",
    "api:openapi-json": "a file",
    "api:v1": "answers programs",
}
"""Routes that show no page of their own, and what they do instead."""


ROUTES: list[tuple[str, str, tuple[Any, ...], Callable[[Any], dict[str, Any]], str]] = [
    ("api:index", "get", (), none, "ooooooo"),
    ("api:openapi-json", "get", (), none, "ooooooo"),
    ("api:v1", "get", ("problems",), none, "ooooooo"),
    ("api:v1", "get", ("me",), none, "nnnnnnn"),
    ("api:v1", "get", ("moderation/queue",), none, "nnnnnnn"),
]
"""Rows of the table of permissions by session; the API ignores sessions."""
