"""From a study link to the completion code, in a real browser, and to the verdicts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import axe_faults
from tests.web.market import making as m

pytestmark = pytest.mark.browser

PROBLEMS = """
from winosmith.web._lock import writing
from winosmith.web.judge.votes import open_slots
from winosmith.web.problems.models import Problem, State, Twin
with writing():
    for n in range(3):
        twin = Twin.objects.create(ref=f"t{n}")
        half = Problem.objects.create(
            ref=f"q{n}", twin=twin, state=State.JUDGING, answer=0, options=["cup", "jug"],
            sentence=f"After the cup had hit jug {n} on the shelf, the _ broke.",
        )
        open_slots(half)
"""

STATES = """
from winosmith.web.problems.models import Problem
result = sorted(Problem.objects.values_list("state", flat=True))
"""


ONE_SCREEN = """() => {
    const [mark] = [...document.querySelectorAll(".mark")].slice(-1);
    const [low, bar] = [mark, document.querySelector(".send")].map(x => x.getBoundingClientRect());
    return scrollY === 0 && low.bottom <= bar.top && bar.bottom <= innerHeight;
}"""
"""The last mark is above the bar with Send, and both are on the screen without scrolling."""


def _checked(page: Any, source: str) -> None:
    """Fail where axe finds something, or the page is wider than a phone."""
    assert axe_faults(page, source) == []
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) <= 0


def test_from_the_link_to_the_code(
    served: Callable[..., Any], browser: Any, axe_source: str, tmp_path: Path
) -> None:
    """Consent, two answers, the code; the market approves, and what waited is decided."""
    site = served(judges=1, gold_every=0, local_first=False)
    site.do(PROBLEMS)
    made = site.admin(
        "study", str(site.folder), "create", "pilot", "--on", "prolific", "--judge", "2",
        "--reward", "2.50", "--currency", "GBP", "--minutes", "5", "--places", "9",
        "--code", "C1A2B3", "--address", site.url,
    )  # fmt: skip
    link = made.stdout.strip()
    for name, number in (("PROLIFIC_PID", 1), ("STUDY_ID", 9), ("SESSION_ID", 1001)):
        link = link.replace(f"{{{{%{name}%}}}}", m.worker(number))
    context = browser.new_context(
        base_url=site.url, viewport={"width": 320, "height": 640}, bypass_csp=True
    )
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(str(request.headers.get("referer", ""))))
    page.goto(link)
    assert page.url == f"{site.url}/study/welcome/"
    _checked(page, axe_source)
    page.get_by_role("button", name="Start").click()
    page.check("#agree")
    page.get_by_role("button", name="Agree and continue").click()
    page.wait_for_url("**/study/")
    _checked(page, axe_source)
    page.get_by_role("button", name="Start").click()
    for n in range(2):
        page.wait_for_url("**/judge/")
        page.locator("main").get_by_text(f"{n} of 2 completed").wait_for()
        _checked(page, axe_source)
        page.set_viewport_size({"width": 360, "height": 640})
        assert page.evaluate(ONE_SCREEN)
        page.set_viewport_size({"width": 320, "height": 640})
        page.locator("label.choice", has_text="cup").click()
        page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/study/")
    assert "C1A2B3" not in page.content()
    page.get_by_role("button", name="Finish and get your code").click()
    back = page.get_by_role("link", name="Return to Prolific")
    assert back.get_attribute("href") == "https://app.prolific.com/submissions/complete?cc=C1A2B3"
    _checked(page, axe_source)
    assert not any(m.worker(1) in referer for referer in asked)
    context.close()
    stranger = browser.new_context(base_url=site.url).new_page()
    stranger.goto(link)
    assert "another browser" in stranger.locator("main").inner_text()

    assert site.do(STATES) == ["judging"] * 3
    file = m.export(tmp_path / "export.csv", [(1, "APPROVED")], code="C1A2B3")
    site.admin("study", str(site.folder), "reconcile", "pilot", str(file))
    assert site.do(STATES) == ["judging", "valid", "valid"]
    told = site.admin("study", str(site.folder), "pay", "pilot").stdout
    assert "Paid 2.50 GBP" in told
    assert m.worker(1) not in site.log() + told
