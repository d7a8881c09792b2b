"""A round in a real browser: the form, and how far it is without a click."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import axe_faults  # type: ignore[import-not-found]
from tests.web.rounds.making import FILL  # type: ignore[import-not-found]
from tests.web.serving import PASSWORD  # type: ignore[import-not-found]

pytestmark = pytest.mark.browser


def processes(folder: Path) -> list[str]:
    """Return the processes of rounds that are at work in a site."""
    found = []
    for about in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (about / "cmdline").read_bytes().decode().split("\0")
            own = f"WINOSMITH_SITE={folder}" in (about / "environ").read_text().split("\0")
            if "winosmith.web.rounds.process" in line and own:
                found.append(about.name)
    return found


def test_an_admin_watches_a_round_without_a_click(
    served: Callable[..., Any], browser: Any, axe_source: str
) -> None:
    """On a phone the page tells of the step at work, and by itself that the round was stopped."""
    site = served(models=[])
    site.people(adam="admin")
    site.do(FILL.format(twins=200))
    context = browser.new_context(viewport={"width": 320, "height": 640}, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{site.url}/people/login/?next=/rounds/start/")
    page.get_by_label("Name").fill("adam")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    page.get_by_label("Name").fill("by-hand")
    page.get_by_label("Roots for the next round").fill("2")
    faults = axe_faults(page, axe_source)
    page.get_by_role("button", name="Start the round").click()
    page.get_by_role("heading", name="How far it is").wait_for()
    page.get_by_text("This step since").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    faults += axe_faults(page, axe_source)
    assert len(processes(site.folder)) == 1
    site.admin("round", str(site.folder), "cancel", "by-hand")
    page.get_by_text("It was cancelled.").wait_for()
    assert processes(site.folder) == []
    faults += axe_faults(page, axe_source)
    page.get_by_role("button", name="Let it go on").wait_for()
    context.close()
    assert faults == []
