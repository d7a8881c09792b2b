"""Pages and routes of the API, for the lists of all pages and routes."""

from collections.abc import Callable
from typing import Any

from tests.web.forms import KEY, form, none, ref

MADE = {"name": "nightly download", "days": "90"}

VISITS: tuple[tuple[str, str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("owner", "tokens:mine", (), {}),
    ("owner", "tokens:mine", (), {"form": {"key": KEY.format(1001), **MADE}}),
    ("moderator", "tokens:mine", (), {}),
    ("owner", "tokens:mine", (), {"form": {"key": KEY.format(1002), "name": "x"}, "status": 422}),
    ("anonymous", "tokens:mine", (), {}),
)
"""Role, route, arguments, and further fields of `visits.Visit`."""

NO_PAGE = {
    "api:index": "ninja's page, see test_reference",
    "api:openapi-json": "a file",
    "api:v1": "answers programs",
    "tokens:revoke": "leads to tokens:mine",
    "tokens:revoke_all": "leads to tokens:mine",
}
"""Routes that show no page of their own, and what they do instead."""


ROUTES: list[tuple[str, str, tuple[Any, ...], Callable[[Any], dict[str, Any]], str]] = [
    ("api:index", "get", (), none, "ooooooo"),
    ("api:openapi-json", "get", (), none, "ooooooo"),
    ("api:v1", "get", ("problems",), none, "ooooooo"),
    ("api:v1", "get", ("me",), none, "uuuuuuu"),
    ("api:v1", "get", ("moderation/queue",), none, "nnnnnnn"),
    ("tokens:mine", "get", (), none, "llooooo"),
    ("tokens:mine", "post", (), form(**MADE), "llOOOOO"),
    ("tokens:revoke", "get", (ref("token of owner"),), none, "mmmmmmm"),
    ("tokens:revoke", "post", (ref("token of owner"),), form(), "llDnnnn"),
    ("tokens:revoke_all", "get", (), none, "mmmmmmm"),
    ("tokens:revoke_all", "post", (), form(), "llDdddd"),
]
"""Rows of the table of permissions by session; the API ignores sessions (`u`)."""


def staged(people: dict[str, Any]) -> dict[str, Any]:
    """Create a token of the owner."""
    from winosmith.web.api.models import create_token

    return {"token of owner": create_token(people["owner"], "nightly")[0].pk}
