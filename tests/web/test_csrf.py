"""Forms are accepted only from pages of this site, behind a proxy too."""

import re
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.urls import reverse

from tests.web import world as w
from tests.web.test_authorisation import ROUTES
from tests.web.visits import routes

PUBLIC = "https://twins.example.org"

POSTS = [row for row in ROUTES if row[1] == "post"]


def test_every_form_without_a_valid_token_is_refused(world):
    def sent() -> None:
        for name, _method, args, data, _expected in POSTS:
            url = reverse(name, args=[arg(world) if callable(arg) else arg for arg in args])
            others = {**_form_fields(data, world), "csrfmiddlewaretoken": "x" * 64}
            without = {k: v for k, v in others.items() if "csrf" not in k}
            for role in ("visitor", "admin"):
                browser = w.browser_of(world, role, enforce_csrf_checks=True)
                browser.cookies[settings.CSRF_COOKIE_NAME] = "y" * 32
                for form in (without, others):
                    answer = browser.post(url, form)
                    assert answer.status_code == 403, (name, role)
                    assert "did not come from this site" in answer.text

    assert w.changing(sent) == (None, False)


def _form_fields(data: Callable[[Any], dict[str, Any]], world: Any) -> dict[str, Any]:
    """Return the form of a row; roll back what was written to fill it."""
    with w.taken_back():
        return data(world)


def test_only_the_api_view_is_exempt(site):
    """The API ignores sessions, and only reads."""
    views = [pattern.callback for _name, pattern in routes()]
    exempt = [view for view in views if getattr(view, "csrf_exempt", False)]
    others = [view.__module__ for view in exempt if "admin" not in view.__module__]
    assert others == ["winosmith.web.api.views"]


@pytest.fixture(scope="module")
def behind(served_long: Any) -> Any:
    """Return a server behind a proxy."""
    return served_long(options=("--public-url", PUBLIC))


def _login_page(site: Any, headers: dict[str, str]) -> tuple[str, str]:
    """Return the cookie ("name=value") and the token of a log-in page."""
    page = site.ask("GET", "/people/login/", headers=headers)
    assert page.status == 200, page.text
    (cookie,) = SimpleCookie(page.headers["Set-Cookie"]).values()
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    return f"{cookie.key}={cookie.value}", found[1]


PROXIED = {"Host": "twins.example.org", "X-Forwarded-Proto": "https"}


def test_behind_a_proxy_forms_of_other_origins_are_refused(behind):
    """The cookies of a log-in also have all security flags."""
    behind.people("ann")
    cookie, token = _login_page(behind, PROXIED)
    body = urlencode({"name": "ann", "password": w.PASSWORD, "csrfmiddlewaretoken": token})
    base = {
        **PROXIED,
        "Content-Type": "application/x-www-form-urlencoded",
        "Cookie": cookie,
    }
    page = f"{PUBLIC}/people/login/"

    def send(**headers: str) -> Any:
        return behind.ask("POST", "/people/login/", body, {**base, **headers})

    for refused in (
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://twins.example.org"},
        {"Origin": "https://twins.example.org.evil.example"},
        {"Origin": "https://twins.example.org:8443"},
        {"Referer": "https://evil.example/people/login/"},
        {"Referer": "http://twins.example.org/people/login/"},
    ):
        assert send(**refused).status == 403, refused
    assert send(Referer=page).status == 302
    done = send(Origin=PUBLIC)
    assert done.status == 302
    cookies = "\n".join(done.headers.get_all("Set-Cookie"))
    session = next(line for line in cookies.split("\n") if line.startswith("__Host-session-"))
    for flag in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/"):
        assert flag in session
    assert "Domain" not in session
    csrf = next(line for line in cookies.split("\n") if line.startswith("csrftoken-"))
    for flag in ("Secure", "HttpOnly", "SameSite=Lax"):
        assert flag in csrf


def test_behind_a_proxy_other_host_names_are_refused(behind):
    """`X-Forwarded-Host` is ignored. Links contain the public name, and HSTS requires https."""
    assert f"Address     {PUBLIC}/" in behind.printed
    link = behind.admin("invite", behind.folder, "--role", "judge").stdout
    assert link.startswith(f"{PUBLIC}/people/join/")
    page = behind.ask("GET", "/", headers=PROXIED)
    assert page.headers["Strict-Transport-Security"] == "max-age=31536000"
    for name in ("localhost", "127.0.0.1", "[::1]"):
        assert behind.ask("GET", "/", headers={**PROXIED, "Host": name}).status == 200
    assert behind.ask("GET", "/", headers={**PROXIED, "Host": "evil.example"}).status == 400
    forged = {**PROXIED, "X-Forwarded-Host": "evil.example"}
    page = behind.ask("GET", "/write/", headers=forged)
    assert "evil.example" not in page.headers["Location"] + page.text


def test_pages_contain_nothing_that_the_policy_forbids(world):
    """No page has inline scripts, styles or handlers, or anything from another site.

    A report in a sandbox has styles, but no script.
    """
    for name, method, args, _data, expected in ROUTES:
        if method == "post" or expected[-1] not in "oO":
            continue
        url = reverse(name, args=[arg(world) if callable(arg) else arg for arg in args])
        answer = w.browser_of(world, "admin").get(url)
        if answer.streaming or "html" not in answer.headers["Content-Type"]:
            continue
        page = answer.text
        inline = r"<script(?![^>]*\s(src=|type=.application/json.))|\son\w+="
        if "sandbox" in answer.headers["Content-Security-Policy"]:  # a report, with its own styles
            inline += "|<script"
        else:
            inline += r"|<style|\sstyle="
        assert not re.search(inline, page), name
        assert not re.search(r"""(?:src|href)=["'](?:https?:)?//(?!testserver)""", page), name
