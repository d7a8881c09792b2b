"""Writing in a browser: keyboard, offline, two tabs, no scripts, and small screens."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from tests.web.looks import CUT, Windows, press
from tests.web.write.conftest import FORM

pytestmark = pytest.mark.browser

_DRAFT = """
from winosmith.topics import Topic
from winosmith.web.people.models import Person
from winosmith.web.write.rules import start_draft
ann = Person.objects.get(name="ann")
text = "Pour the water from a hose. The garden needs water each evening in a dry summer."
draft = start_draft(ann, Topic("Water a garden", text, ("water", "garden", "hose")))
result = draft.ref
"""

_TWINS = """
from winosmith.web.problems.models import Twin
found = [twin.problems.order_by("answer") for twin in Twin.objects.all()]
result = [[half.sentence for half in halves] for halves in found]
"""


class Desk:
    """A server, a browser in which ann is logged in, and her draft on a topic."""

    def __init__(self, site: Any, windows: Windows):
        self.site, self.windows = site, windows
        windows.but = CUT
        site.people("ann")
        self.session, self.ref = site.session("ann"), site.do(_DRAFT)
        self.address = f"{site.url}/write/{self.ref}/"

    def page(self, **settings: Any) -> Any:
        """Open a window in a new context."""
        return self.windows.open(self.session, **settings)

    def twins(self) -> Any:
        """Return the sentences of each submitted twin, sorted by answer."""
        return self.site.do(_TWINS)


@pytest.fixture
def desk(served_anew: Any, windows: Windows) -> Desk:
    """Return a desk."""
    return Desk(served_anew(), windows)


def _type_all(page: Any) -> None:
    """Fill in the form with FORM."""
    page.check("#domain-physical")
    for name in ("option_1", "option_2", "sentence_1", "sentence_2"):
        page.fill(f"#{name}", FORM[name])


def _saved(page: Any) -> None:
    page.wait_for_selector("#saved:has-text('Saved at')")


def test_times_are_in_the_readers_time_zone(desk):
    page = desk.page(timezone_id="Asia/Kolkata")
    page.goto(desk.address)
    page.fill("#option_1", "hose")
    _saved(page)
    for _ in ("after saving", "after loading"):
        time = page.locator("#saved time")
        exact = datetime.fromisoformat(time.get_attribute("datetime"))
        local = exact.astimezone(ZoneInfo("Asia/Kolkata"))
        assert page.inner_text("#saved") == f"Saved at {local:%H:%M} GMT+5:30."
        assert time.get_attribute("title") == f"{exact:%H:%M} UTC"
        page.reload()


def test_twin_can_be_written_by_keyboard(desk):
    page = desk.page()
    page.goto(desk.address)
    keys = page.keyboard
    page.focus("summary")
    for _times in range(2):
        keys.press("Tab")  # past "Other words" and "Draw another topic"
    keys.press("Tab")
    keys.press("Space")  # the first domain
    keys.press("ArrowDown")  # the second
    for name in ("option_1", "option_2", "sentence_1"):
        keys.press("Tab")
        assert page.evaluate("document.activeElement.id") == name
        keys.type(FORM[name])
    page.locator(".checklist .pass").nth(5).wait_for()
    keys.press("Tab")  # the answer of the first half: preset to the first option
    assert page.evaluate("document.activeElement.id") == "answer_1_0"
    assert page.inner_text("label[for=answer_1_0]") == "kettle"
    keys.press("ArrowDown")  # the other option: the second half's answer changes, too
    assert page.is_checked("#answer_2_0")
    keys.press("ArrowUp")
    assert page.is_checked("#answer_2_1")
    keys.press("Tab")
    keys.press("Enter")  # "Copy the first half" leads into the second
    assert page.evaluate("document.activeElement.id") == "sentence_2"
    assert page.input_value("#sentence_2") == FORM["sentence_1"]
    keys.press("Control+a")
    keys.type(FORM["sentence_2"])
    page.wait_for_selector(".tally.ready")
    assert page.inner_text("#tally").startswith("All checks pass")
    keys.press("Control+Enter")
    page.wait_for_url("**/write/mine/*/")
    assert desk.twins() == [[FORM["sentence_1"], FORM["sentence_2"]]]


@pytest.mark.long
def test_text_typed_offline_survives_a_closed_tab(desk):
    page = desk.page()
    page.goto(desk.address)
    page.context.set_offline(True)
    page.fill("#sentence_1", FORM["sentence_1"])
    page.wait_for_selector("#saved:has-text('You are offline')")
    page.close()
    page.context.set_offline(False)
    again = desk.windows.another(page.context)
    again.goto(desk.address)
    assert again.input_value("#sentence_1") == FORM["sentence_1"]
    _saved(again)
    other = desk.page()  # another browser, which stores nothing of the first
    other.goto(desk.address)
    assert other.input_value("#sentence_1") == FORM["sentence_1"]


@pytest.mark.long
def test_text_is_saved_when_the_connection_returns(desk):
    page = desk.page()
    page.goto(desk.address)
    page.context.set_offline(True)
    page.fill("#option_1", "kettle")
    page.wait_for_selector("#saved:has-text('You are offline')")
    page.context.set_offline(False)
    _saved(page)
    assert page.evaluate("localStorage.length") == 0


@pytest.mark.long
def test_two_tabs_choose_which_text_to_keep(desk):
    one = desk.page()
    two = desk.windows.another(one.context)
    one.goto(desk.address)
    two.goto(desk.address)
    one.fill("#option_1", "kettle")
    _saved(one)
    two.fill("#option_1", "pot")
    two.wait_for_selector("#conflict .conflict")
    shown = two.inner_text("#conflict")
    assert "kettle /" in shown
    assert "pot /" in shown
    two.click("[data-keep]")
    _saved(two)
    one.fill("#option_1", "mug")
    one.wait_for_selector("#conflict .conflict")
    press(one, "#conflict a")
    expect(one.locator("#option_1")).to_have_value("pot")
    assert not one.locator(".conflict").count()


@pytest.mark.long
def test_writing_works_without_javascript(desk):
    page = desk.page(java_script_enabled=False)
    page.goto(f"{desk.site.url}/write/")
    press(page, "text=Draw a topic and write")
    page.goto(desk.address)
    page.fill("#sentence_1", FORM["sentence_1"])
    with page.expect_navigation():
        page.press("#option_1", "Enter")
    page.locator(".checklist .pass").nth(2).wait_for()
    assert page.input_value("#sentence_1") == FORM["sentence_1"]
    press(page, "text=Copy the first half")
    assert page.input_value("#sentence_2") == FORM["sentence_1"]
    press(page, "#submit")
    assert "has not been sent" in page.inner_text("#refused")
    _type_all(page)
    press(page, "#submit")
    assert page.url.startswith(f"{desk.site.url}/write/mine/")
    assert desk.twins() == [[FORM["sentence_1"], FORM["sentence_2"]]]


UNDER_THE_BAR = """() => {
    const one = document.activeElement, bar = document.querySelector(".send");
    return !bar.contains(one) && !one.closest("footer, header")
        && one.getBoundingClientRect().bottom > bar.getBoundingClientRect().top;
}"""


@pytest.mark.long
@pytest.mark.parametrize("width", [360, 1280])
def test_bar_with_the_submit_button_never_hides_the_focus(desk, width):
    page = desk.page(viewport={"width": width, "height": 640})
    page.goto(desk.address)
    met = set()
    while "answer_2_1" not in met:
        page.keyboard.press("Tab")
        here = page.evaluate("document.activeElement.id")
        assert not page.evaluate(UNDER_THE_BAR), here
        assert page.locator("#submit").is_visible()
        box = page.locator("#submit").bounding_box()
        assert box["y"] + box["height"] <= 640
        met.add(here)
    assert {"option_1", "option_2", "sentence_1", "sentence_2"} <= met


@pytest.mark.long
def test_errors_disappear_when_the_form_is_corrected(desk):
    """The copy button is above the error of the second half."""
    page = desk.page()
    page.goto(desk.address)
    page.click("#submit")
    page.wait_for_selector("#refused")
    button = page.locator(".copy").bounding_box()
    assert button["y"] + button["height"] <= page.locator("#sentence-2-error").bounding_box()["y"]
    _type_all(page)
    page.wait_for_selector(".tally.ready")
    assert not page.locator("#refused, .errorlist").count()
