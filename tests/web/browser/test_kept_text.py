"""Typed text survives a lost session or CSRF token, and only its author sees it."""

import json
import re
from typing import Any

import pytest
from django.urls import resolve

from tests.web import visits as v
from tests.web.browser.test_every_page import opened, phones
from tests.web.looks import press
from tests.web.serving import PASSWORD

__all__ = ["phones"]

pytestmark = pytest.mark.browser

FORM = 'document.querySelectorAll("main form")[at]'

OURS = """one => one.name && !one.readOnly
    && !one.matches("button, fieldset, [type=hidden], [type=file]")"""
"""Whether a person fills in a field. Files can't be restored."""

FORMS = f"""() => [...document.querySelectorAll("main form")].map((form, at) => [
    at, form.getAttribute("action") || location.pathname,
    [...new Set([...form.elements].filter({OURS}).map(one => one.name))].sort()])"""

TYPE = f"""(at) => {{
    const seen = new Set();
    for (const one of [...{FORM}.elements].filter({OURS})) {{
        if (one.type === "radio") one.checked ||= seen.has(one.name);
        else if (one.type === "checkbox") one.checked = !one.checked;
        else if (one.type === "select-one") one.selectedIndex = one.options.length - 1;
        else one.value = {{number: 3, date: "2026-03-03", password: "a secret"}}[one.type]
            || `typed ${{one.name}}`;
        seen.add(one.name);
        one.dispatchEvent(new Event("input", {{bubbles: true}}));
    }}
}}"""

TYPED = f"""(at) => [...{FORM}?.elements || []].filter({OURS})
    .filter(one => one.type !== "password").map(one => [one.name, one.value, one.checked])"""

QUERY = f"(at) => {FORM}.method === 'get' ? `${{new URLSearchParams(new FormData({FORM}))}}` : ''"

SEND = f"""(at) => {{
    const form = {FORM}, of = (one) => one.matches("button:not([type=button])");
    form.noValidate = true;
    if (form.method === "get") form.submit();
    else form.requestSubmit([...form.elements].filter(of).pop());
}}"""

STORED = "() => JSON.stringify([{...sessionStorage}, {...localStorage}])"


def _log_in(page: Any, name: str) -> None:
    """Log in on this page, or on the log-in page that it links to."""
    if not page.locator("main input[name=password]").count():
        with page.expect_navigation():
            page.evaluate("document.querySelector('a[href*=\"/login/?next=\"]').click()")
    page.fill("main input[name=name]", name)
    page.fill("main input[name=password]", PASSWORD)
    press(page, "main form button")


def _submit_without_cookie(page: Any, cookie: str, at: int) -> None:
    """Delete a cookie, wait until a draft would be saved, and submit the form."""
    page.context.clear_cookies(name=re.compile(cookie))
    page.wait_for_timeout(1000 if page.locator("form[data-save]").count() else 0)
    with page.expect_navigation():
        page.evaluate(SEND, at)


def _difference(page: Any, role: str, at: int, cookie: str) -> Any:
    """Type, submit without a cookie, and return; if the text differs, return both versions."""
    page.evaluate(TYPE, at)
    typed, query = page.evaluate(TYPED, at), page.evaluate(QUERY, at)
    _submit_without_cookie(page, cookie, at)
    assert "a secret" not in page.evaluate(STORED)
    if cookie == "csrf" and not query:
        press(page, "main a.button")
    elif "/people/login/" in page.url or not query:
        _log_in(page, f"the-{role}")
    found = page.evaluate(TYPED, at)
    page.evaluate("() => { sessionStorage.clear(); localStorage.clear(); }")
    there = query in page.url if query else found == typed
    return None if there else [typed, found, page.url]


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_forms_survive_a_lost_session_and_a_lost_csrf_token(site, phones):
    tried: set[tuple[str, ...]] = set()
    wrong: dict[str, Any] = {}
    visits = [v.Visit("admin", "admin:people_document_add"), *v.VISITS]
    for visit, phone, status in opened(phones, visits):
        page, url = phone.page, phone.page.url
        for at, to, fields in page.evaluate(FORMS) if status == 200 else ():
            kind = (resolve(to.partition("?")[0]).view_name, *fields)
            if not fields or kind in tried:
                continue
            tried.add(kind)
            for cookie in ("csrf", *["session"] * (visit.role not in ("visitor", "anonymous"))):
                page.goto(url)
                if found := _difference(page, visit.role, at, cookie):
                    wrong[f"{visit}: {kind} without {cookie}"] = found
    assert not wrong, json.dumps(wrong, indent=1, ensure_ascii=False)
    assert len(tried) > 40


def test_kept_text_is_only_shown_to_its_account(site, phones):
    """A log-out and a submission delete it.

    Text that was typed before a log-in belongs to the account that logs in.
    """
    of, refs, _served = phones()
    page, path = of("moderator").page, f"/moderate/people/{refs['judge']}/"

    def begin(text: str) -> int:
        page.goto(of("moderator").url + path)
        page.fill("#role-why", text)
        return next(at for at, _to, fields in page.evaluate(FORMS) if fields)

    _submit_without_cookie(page, "session", begin("They click without reading."))
    _log_in(page, "the-admin")
    assert page.url.endswith(path)
    assert page.input_value("#role-why") == ""
    assert "They click" in page.evaluate(STORED)
    with page.expect_navigation():
        page.evaluate("document.querySelector('form[action*=logout]').requestSubmit()")
    assert "They click" not in page.evaluate(STORED)
    _log_in(page, "the-moderator")
    begin("They click anyway.")
    press(page, "main button[value=pause]")
    assert "click anyway" not in page.evaluate(STORED)
    page = of("anonymous").page
    page.goto(f"{of('anonymous').url}/perturb/public-a/")
    page.fill("#sentence", "The kettle was typed before the log-in.")
    _log_in(page, "the-owner")
    assert page.input_value("#sentence") == "The kettle was typed before the log-in."
