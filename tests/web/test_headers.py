"""Security headers of every address of the site."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.urls import get_resolver
from django.urls.resolvers import RoutePattern, URLResolver

from tests.web.serving import PASSWORD

pytestmark = pytest.mark.usefixtures("db")

WANTED = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

ARGUMENTS = {
    "str": "zz",
    "slug": "zz",
    "int": 1,
    "path": "zz",
    "uuid": "00000000-0000-0000-0000-000000000000",
}


def _addresses(patterns: Any = None, start: str = "/") -> Iterator[str]:
    """Yield an address for every route, with arguments of the right kind."""
    for found in get_resolver().url_patterns if patterns is None else patterns:
        if not isinstance(found.pattern, RoutePattern):
            continue  # the admin's catch-all, which leads to its log-in page
        route = str(found.pattern)
        for name, converter in found.pattern.converters.items():
            kind = type(converter).__name__.removesuffix("Converter").lower()
            value = str(ARGUMENTS.get({"string": "str"}.get(kind, kind), "zz"))
            route = route.replace(f"<{name}>", value)
            for known in ARGUMENTS:
                route = route.replace(f"<{known}:{name}>", value)
        if isinstance(found, URLResolver):
            yield from _addresses(found.url_patterns, start + route)
        else:
            yield start + route


def _policy(answer: Any) -> dict[str, list[str]]:
    parts = (part.split() for part in answer.headers["Content-Security-Policy"].split(";"))
    return {part[0]: part[1:] for part in parts}


@pytest.mark.parametrize("who", [None, pytest.param("ann", marks=pytest.mark.long), "adam"])
def test_every_address_has_the_security_headers(visit, person, who):
    somebody = person(who, is_superuser=who == "adam", is_moderator=who == "adam") if who else None
    addresses = sorted(set(_addresses()))
    assert len(addresses) > 60
    client = visit(somebody)
    client.raise_request_exception = False
    others = ("/no-such-page", "/static/winosmith/none.css", "/api/v1/figures", "/api/v1/zz")
    for address in (*others, *addresses):
        if address == "/admin/tables/logout/":
            continue
        answer = client.get(address)
        assert answer.status_code < 500, address
        assert {name: answer.headers.get(name) for name in WANTED} == WANTED, address
        policy = _policy(answer)
        assert policy["default-src"] == ["'none'"], address
        ours = (policy["script-src"], policy["style-src"], policy["connect-src"])
        assert ours == (["'self'"],) * 3, address
        assert policy["form-action"] == ["'self'"], address
        assert policy["frame-ancestors"] == policy["base-uri"] == ["'none'"], address
        assert "unsafe" not in answer.headers["Content-Security-Policy"], address
        assert "Strict-Transport-Security" not in answer.headers, address  # there is no https
        if not address.startswith("/static/"):
            assert "private" in answer.headers["Cache-Control"], address
            kept = address.startswith("/api/")  # programs may cache it, but ask before each use
            assert kept or "no-store" in answer.headers["Cache-Control"], address
            assert "public" not in answer.headers["Cache-Control"], address


@pytest.mark.parametrize("path", ["/", "/api/v1/problems"])
def test_unknown_host_is_explained_and_logged_once(visit, caplog, path):
    """The answer does not repeat it."""
    host = f"evil\x1b[2J{len(path)}.example"
    for _ in range(2):
        answer = visit().get(path, headers={"Host": host})
        assert answer.status_code == 400
        assert "Host header" in answer.text
        assert "--public-url" in answer.text
        assert "evil" not in f"{answer.content} {answer.headers}"
    (line,) = [line for line in caplog.messages if "Host header" in line]
    assert ascii(host) in line
    assert "--public-url" in line


def test_cookies_are_httponly_and_samesite(visit, ann):
    client = visit()
    client.get("/people/login/")
    client.post("/people/login/", {"name": "ann", "password": PASSWORD})
    assert {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME} <= set(client.cookies)
    for cookie in client.cookies.values():
        assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


def test_public_pages_set_no_cookie(visit):
    client = visit()
    for path in ("/", "/problems/", "/problems/?q=x", "/download/", "/guidelines/", "/card/"):
        client.get(path)
    assert not client.cookies
