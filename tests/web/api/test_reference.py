"""Ninja's page about the API: whole in a browser, without anything from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.browser
def test_the_page_lists_every_operation_offline(
    served_anew: Callable[..., Any], browser: Any
) -> None:
    """Swagger UI runs under the content policy of all pages, asks no other host, sends a token."""
    site = served_anew()
    site.people("ann")
    token = site.do(
        "from winosmith.web.api.models import make\n"
        "from winosmith.web.people.models import Person\n"
        "result = make(Person.objects.get(name='ann'), 'a client', ['read'])[1]"
    )
    page = browser.new_context().new_page()
    asked: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda said: faults.append(said.text) if said.type != "log" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    answer = page.goto(f"{site.url}/api/")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    settings = json.loads(page.locator("#swagger-settings").text_content())
    assert settings["validatorUrl"] is None  # off this machine Swagger UI would ask swagger.io
    paths = json.loads(site.get("/api/openapi.json").text)["paths"]
    operations = page.locator(".opblock")
    operations.nth(sum(map(len, paths.values())) - 1).wait_for()
    assert operations.count() == sum(map(len, paths.values()))
    page.get_by_role("button", name="Authorize").click()
    page.get_by_label("auth-bearer-value").fill(token)
    page.get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close", exact=True).click()
    page.locator("#operations-me-own_read_me").get_by_role("button").first.click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    page.locator(".live-responses-table .response-col_status", has_text="200").wait_for()
    assert [url for url in asked if not url.startswith((site.url, "data:"))] == []
    assert faults == []
    page.context.close()
