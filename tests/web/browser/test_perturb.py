"""Perturbing in a browser: keyboard, live marks, offline, two tabs, and predictions."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.waiting import until
from tests.web.looks import CUT, Windows, press
from tests.web.serving import BUILT_IN

pytestmark = pytest.mark.browser

ROOT = "The city councilmen refused the demonstrators a permit because _ feared violence."
CHILD = ROOT.replace("feared", "advocated")
GRANDCHILD = CHILD.replace("because", "although")

_READY = """
from winosmith.web._lock import writing
from winosmith.web.problems.models import Problem, Twin
with writing():
    twin = Twin.objects.create(ref="wsc", source="wsc273", domain="social")
    Problem.objects.create(
        ref="root", twin=twin, sentence={root!r}, answer=0, state="valid",
        options=["The city councilmen", "The demonstrators"],
    )
"""

_MADE = """
from winosmith.web.problems.models import Problem
result = list(Problem.objects.exclude(ref="root").order_by("pk").values_list("sentence", flat=True))
"""


class Desk:
    """A server with models, a browser in which ann is logged in, and an original."""

    def __init__(self, site: Any, windows: Windows):
        self.site, self.windows = site, windows
        windows.but = CUT
        site.people("ann")
        site.do(_READY.format(root=ROOT))
        self.session = site.session("ann")
        self.address = f"{site.url}/perturb/root/"

    def page(self, **settings: Any) -> Any:
        """Open a window in a new context."""
        return self.windows.open(self.session, **settings)

    def made(self) -> list[str]:
        """Return the submitted sentences."""
        return list(self.site.do(_MADE))


@pytest.fixture
def desk(served_anew: Any, windows: Windows) -> Desk:
    """Return a desk."""
    return Desk(served_anew(models=BUILT_IN), windows)


def _type(page: Any, sentence: str = CHILD, answer: int = 1) -> None:
    page.fill("#sentence", sentence)
    page.check(f"#answer_{answer}")
    page.wait_for_selector(".tally.ready")


def _wait_for_predictions(page: Any) -> None:
    """Wait until all models have answered and the page no longer asks for them."""
    page.wait_for_url("**/perturb/made/*/")
    page.wait_for_selector(".bars")
    page.wait_for_selector("#predictions:not([hx-get])")


def test_version_can_be_made_by_keyboard_and_perturbed_further(desk):
    """The page shows the predictions of both models."""
    page = desk.page()
    page.goto(f"{desk.site.url}/perturb/?q=councilmen")
    page.focus("a.button[href='/perturb/root/']")
    keys = page.keyboard
    keys.press("Enter")
    page.wait_for_url("**/perturb/root/")
    page.focus("#sentence")
    page.locator("#sentence").evaluate("area => area.setSelectionRange(65, 71)")
    keys.type("advocated")
    assert page.input_value("#sentence") == CHILD
    page.wait_for_selector("ins:has-text('advocated')")
    expect(page.locator(".edits")).to_have_text("feared → advocated")
    for name in ("afresh", "option_1", "option_2", "answer_0"):
        keys.press("Tab")
        assert page.evaluate("document.activeElement.id") == name
    keys.press("Space")
    keys.press("ArrowDown")
    assert page.is_checked("#answer_1")
    expect(page.locator("#tally")).to_have_text("Ready to send.")
    expect(page.locator(".depths .word")).to_have_text("flipped")
    keys.press("Control+Enter")
    _wait_for_predictions(page)
    assert page.locator(".prediction").count() == 2
    assert page.locator(".bars meter").count() == 4
    assert page.inner_text("#verdict")
    shares = page.locator(".bars meter").evaluate_all("all => all.map(one => one.value)")
    assert shares[0] + shares[1] == pytest.approx(100, abs=1)
    press(page, "text=Perturb this further")
    assert page.locator(".path .step").count() == 2
    _type(page, GRANDCHILD)
    expect(page.locator(".depths dd").first).to_have_text("2")
    page.click("#submit")
    _wait_for_predictions(page)
    assert page.locator(".path .step").count() == 3
    press(page, "text=Perturb the same parent again")
    assert page.input_value("#sentence") == CHILD
    assert desk.made() == [CHILD, GRANDCHILD]


@pytest.mark.long
def test_text_survives_a_closed_tab_and_a_lost_connection(desk):
    """On a phone, the whole message is visible."""
    page = desk.page(viewport={"width": 360, "height": 740})
    page.goto(desk.address)
    _type(page)
    page.context.set_offline(True)
    page.click("#submit")
    page.wait_for_selector("#saved:has-text('You are offline')")
    saved = page.locator("#saved").evaluate(
        "one => [one.clientWidth, one.scrollHeight - one.clientHeight]"
    )
    assert saved[0] > 200
    assert saved[1] == 0
    page.close()
    page.context.set_offline(False)
    again = desk.windows.another(page.context)
    again.goto(desk.address)
    assert again.input_value("#sentence") == CHILD
    assert again.is_checked("#answer_1")
    expect(again.locator("#saved")).to_contain_text("restored")
    again.wait_for_selector(".tally.ready")
    again.click("#submit")
    again.wait_for_url("**/made/*/")
    again.wait_for_function("localStorage.length == 0")
    again.goto(desk.address)
    assert again.input_value("#sentence") == ROOT


@pytest.mark.long
def test_two_tabs_submit_two_sentences(desk):
    page = desk.page()
    page.goto(desk.address)
    other = desk.windows.another(page.context)
    other.goto(desk.address)
    _type(page)
    _type(other, GRANDCHILD)
    page.click("#submit")
    page.wait_for_selector("h1[data-sent]")
    assert other.input_value("#sentence") == GRANDCHILD
    other.click("#submit")
    other.wait_for_selector("h1[data-sent]")
    assert desk.made() == [CHILD, GRANDCHILD]


@pytest.mark.long
def test_errors_get_the_focus_and_disappear_when_corrected(desk):
    page = desk.page()
    page.goto(desk.address)
    page.fill("#sentence", "No blank here at all.")
    page.click("#submit")
    page.wait_for_selector("#refused")
    page.wait_for_function("document.activeElement.id == 'refused'")
    assert page.input_value("#sentence") == "No blank here at all."
    page.fill("#sentence", CHILD)
    expect(page.locator("#sentence-error")).to_have_count(0)
    page.check("#answer_1")
    expect(page.locator("#refused")).to_have_count(0)
    page.click("#submit")
    page.wait_for_selector("h1[data-sent]")


@pytest.mark.long
def test_button_restores_the_parents_words(desk):
    """Ctrl+Z restores one's own words."""
    page = desk.page()
    page.goto(desk.address)
    _type(page)
    page.click("#afresh")
    assert page.input_value("#sentence") == ROOT
    assert not page.is_checked("#answer_1")
    page.focus("#sentence")
    page.keyboard.press("Control+z")
    assert page.input_value("#sentence") == CHILD


@pytest.mark.long
def test_perturbing_works_without_javascript(desk):
    page = desk.page(java_script_enabled=False)
    page.goto(desk.address)
    page.fill("#sentence", CHILD)
    page.check("#answer_1")
    press(page, "button.manual")
    assert page.locator("ins").count() == 1
    assert page.input_value("#sentence") == CHILD
    press(page, "#submit")
    assert "/made/" in page.url
    until(lambda: page.reload() and page.locator(".bars").count() == 2)
    assert desk.made() == [CHILD]
