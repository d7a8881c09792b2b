"""The documentation's client and Ninja's page about the API, against a real server."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs/how-to/api.md"

MADE = """
from winosmith.web._lock import writing
from winosmith.web.api.models import create_token
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, Twin
ann = Person.objects.get(name="ann")
result = create_token(ann, "a client")[1]
with writing():
    for n in range(23):
        Problem.objects.create(
            ref=f"public-{n}", twin=Twin.objects.create(ref=f"twin-{n}"), options=["cup", "jug"],
            answer=0, state="valid", sentence=f"The cup number {n} hit the jug since the _ fell.",
        )
"""


def test_client_of_the_documentation_works(served):
    """It reads its owner's twins and all pages; the server stores its token nowhere."""
    found = re.search(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    site = served()
    site.people("ann")
    token = site.do(MADE)
    done = subprocess.run(
        [sys.executable, "-c", found[1]],
        env={**os.environ, "TWINS_SITE": site.url, "TWINS_TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "your twins: 0\npublic problems: 23\n"
    refused = site.get("/api/v1/me", Authorization=f"Bearer {token[::-1]}")
    assert (refused.status, refused.headers["Content-Type"]) == (401, "application/problem+json")
    assert refused.headers.get("Set-Cookie") is None
    assert site.stop() == 0
    assert token not in site.log()
    for path in site.folder.rglob("*"):
        assert not path.is_file() or token.encode() not in path.read_bytes(), path


def test_api_is_preloaded_only_if_somebody_has_a_token(served):
    """Then the first call does not wait; other sites don't pay for loading it."""
    loaded = (
        "import sys; from winosmith.web.hosting import preload; preload(); "
        "result = 'winosmith.web.api.app' in sys.modules"
    )
    site = served()
    site.people("ann")
    assert not site.do(loaded)
    site.do(MADE)
    assert site.do(loaded)


@pytest.mark.browser
def test_api_page_lists_every_operation_offline(served_anew, browser):
    """Swagger UI obeys the policy of all pages, requests no other host, and sends a token."""
    site = served_anew()
    site.people("ann")
    token = site.do(
        "from winosmith.web.api.models import create_token\n"
        "from winosmith.web.people.models import Person\n"
        "result = create_token(Person.objects.get(name='ann'), 'a client')[1]"
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
