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
from winosmith.web.problems.models import Problem, Twin
with writing():
    for n in range(23):
        Problem.objects.create(
            ref=f"public-{n}", twin=Twin.objects.create(ref=f"twin-{n}"), options=["cup", "jug"],
            answer=0, state="valid", sentence=f"The cup number {n} hit the jug since the _ fell.",
        )
"""


def test_client_of_the_documentation_reads_all_pages(served):
    found = re.search(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    site = served()
    site.do(MADE)
    done = subprocess.run(
        [sys.executable, "-c", found[1]],
        env={**os.environ, "TWINS_SITE": site.url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "public problems: 23\n"
    missing = site.get("/api/v1/me")
    assert (missing.status, missing.headers["Content-Type"]) == (404, "application/problem+json")
    assert missing.headers.get("Set-Cookie") is None


def test_api_is_loaded_only_when_it_is_called(served):
    """Sites without programs don't pay for loading it."""
    loaded = (
        "import sys; from winosmith.web.hosting import preload; preload(); "
        "result = 'winosmith.web.api.app' in sys.modules"
    )
    assert not served().do(loaded)


@pytest.mark.browser
def test_api_page_lists_every_operation_offline(served_anew, browser):
    """Swagger UI obeys the policy of all pages, and requests no other host."""
    site = served_anew()
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
    page.locator("#operations-read-reading_read_figures").get_by_role("button").first.click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    page.locator(".live-responses-table .response-col_status", has_text="200").wait_for()
    assert [url for url in asked if not url.startswith((site.url, "data:"))] == []
    assert faults == []
    page.context.close()
