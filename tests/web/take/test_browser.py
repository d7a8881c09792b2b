"""Taking a test in Chromium: by keyboard, in two tabs, offline, and on a phone."""

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error, expect

from tests.waiting import LONGEST, until
from tests.web.looks import enter, heard
from winosmith import formats, practice

pytestmark = pytest.mark.browser

ANSWERS = """
from winosmith.web.take.models import Answer, Sitting
result = {
    "answers": {a.number: [a.letter, a.seconds] for a in Answer.objects.order_by("number")},
    "sittings": [[s.subject.person.name, s.sheet.code, s.state] for s in
                 Sitting.objects.select_related("subject__person", "sheet")],
}
"""


_OPEN = """
from winosmith import formats
from winosmith.web.take.rounds import open_round
open_round(formats.read("{file}"), "spring", orders=2)
result = None
"""


@pytest.fixture
def testing(
    served_anew: Any, browser: Any, tmp_path: Path
) -> Iterator[Callable[..., tuple[Any, Any]]]:
    """Yield a function that starts a site with a round of ten twins and opens a page.

    The person who sees the page is logged in.
    """
    contexts: list[Any] = []

    def start(context: dict[str, Any] | None = None, name: str = "ann") -> tuple[Any, Any]:
        site = served_anew(gold_every=0)
        site.people("ann", bob="judge", eva="moderator")
        formats.write(practice.read_handwritten()[:20].problems, tmp_path / "twins.jsonl")
        site.do(_OPEN.format(file=tmp_path / "twins.jsonl"))
        return site, come(site, context, name)

    def come(site: Any, context: dict[str, Any] | None = None, name: str = "ann") -> Any:
        opened = browser.new_context(base_url=site.url, **(context or {}))
        contexts.append(opened)
        page = opened.new_page()
        enter(opened, site.session(name))
        page.goto("/tests/")
        return page

    start.come = come
    yield start
    for opened in contexts:
        opened.close()


def _begin(page: Any) -> None:
    page.goto("/tests/round/spring/")
    page.get_by_label("I have read").check()
    page.get_by_role("button", name="Agree and start").click()
    page.get_by_role("heading", name="An example").wait_for()


def _first(page: Any) -> None:
    with page.expect_navigation():
        page.get_by_role("link", name="First question").click()


def _heading(page: Any) -> str:
    return str(page.locator("h1").inner_text())


def _press(page: Any, letter: str) -> None:
    """Choose by a letter key, and continue with Enter."""
    page.keyboard.press(letter)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_whole_test_can_be_taken_by_keyboard(testing):
    site, page = testing()
    faults = heard(page, [])
    page.goto("/tests/round/spring/")
    page.locator("#native-yes").focus()
    page.keyboard.press("Space")
    page.locator("#agree").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    for number, letter in enumerate("abxabxabxa", start=1):
        assert _heading(page) == f"Question {number} of 10"
        page.wait_for_timeout(60)
        page.keyboard.press("q")  # not an answer to any question
        _press(page, letter)
    assert _heading(page) == "After the last question"
    page.get_by_role("button", name="Submit").focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert _heading(page) == "Thank you"
    found = site.do(ANSWERS)
    assert [letter for letter, _ in found["answers"].values()] == list("ABXABXABXA")
    assert all(0.05 < seconds < LONGEST for _, seconds in found["answers"].values())
    assert [state for *_, state in found["sittings"]] == ["done"]
    assert not faults, faults


@pytest.mark.long
def test_choice_is_stored_when_the_page_is_closed(testing):
    """The time before it is stored, too, and another device continues there."""
    site, page = testing()
    _begin(page)
    _first(page)
    _press(page, "b")
    page.keyboard.press("x")
    page.wait_for_timeout(300)
    page.goto("/")  # leave without Next
    page.wait_for_load_state()
    # The request sent on leaving may arrive after the next page.
    until(lambda: site.do(ANSWERS)["answers"].get("2", [""])[0] == "X")
    other = testing.come(site)
    with other.expect_navigation():
        other.get_by_role("link", name="Continue").click()
    assert _heading(other) == "Question 2 of 10"
    assert other.locator("input[name=letter]:checked").get_attribute("value") == "X"
    found = site.do(ANSWERS)["answers"]
    assert [found["1"][0], found["2"][0]] == ["B", "X"]
    assert found["2"][1] >= 0.3
    other.keyboard.press("a")
    other.reload()
    assert other.locator("input[name=letter]:checked").get_attribute("value") == "A"


@pytest.mark.long
def test_back_button_shows_the_stored_answer(testing):
    site, page = testing()
    _begin(page)
    _first(page)
    _press(page, "a")
    _press(page, "b")
    with page.expect_navigation():
        page.go_back()
    assert _heading(page) == "Question 2 of 10"
    assert page.locator("input[name=letter]:checked").get_attribute("value") == "B"
    _press(page, "x")
    with page.expect_navigation():
        page.get_by_role("button", name="Back").click()
    assert _heading(page) == "Question 2 of 10"
    letters = {number: letter for number, (letter, _) in site.do(ANSWERS)["answers"].items()}
    assert (letters["1"], letters["2"]) == ("A", "X")


def test_question_fits_a_small_phone(testing):
    _site, page = testing({"viewport": {"width": 360, "height": 640}, "is_mobile": True})
    _begin(page)
    _first(page)
    bar = page.locator(".send").bounding_box()
    for answer in page.locator(".choice").all():
        box = answer.bounding_box()
        assert box["height"] >= 44
        assert box["y"] + box["height"] <= bar["y"]
    assert page.evaluate("scrollY") == 0


@pytest.mark.long
def test_typed_text_survives_a_reload_and_a_lost_page(testing):
    _site, page = testing()
    page.goto("/tests/round/spring/")
    page.check("#native-yes")
    page.check("#agree")
    page.reload()
    assert page.is_checked("#native-yes")
    with page.expect_navigation():
        page.get_by_role("button", name="Agree and start").click()
    _first(page)
    page.get_by_text("Add a note").click()
    page.fill("#word", "to mow")
    page.reload()
    assert page.input_value("#word") == "to mow"
    end = re.sub(r"\d+/$", "end/", page.url)
    page.goto(end)
    source = page.get_by_label("Where is it from?")
    source.fill("A novel")
    page.context.set_offline(True)
    with contextlib.suppress(Error):
        page.locator("form:has(#w-recognised) button").click(no_wait_after=True)
        page.wait_for_url("chrome-error://**")
    page.context.set_offline(False)
    page.goto(end)
    expect(source).to_have_value("A novel")
    with page.expect_navigation():
        page.locator("form:has(#w-recognised) button[name=do]").click()
    expect(page.locator(".noted").first).to_contain_text("A novel")
    assert source.input_value() == ""


@pytest.mark.long
def test_two_tabs_share_one_sheet(testing):
    site, page = testing()
    second = page.context.new_page()
    for tab in (page, second):
        tab.goto("/tests/round/spring/")
        tab.get_by_label("I have read").check()
    for tab in (page, second):
        tab.get_by_role("button", name="Agree and start").click()
        _first(tab)
    _press(page, "a")
    _press(second, "b")
    assert site.do(ANSWERS)["answers"]["1"][0] == "B"
    page.goto(re.sub(r"\d+/$", "end/", page.url))
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="Thank you").wait_for()
    second.keyboard.press("a")
    second.keyboard.press("Enter")
    second.get_by_text("no longer fill in this sheet").wait_for()
    found = site.do(ANSWERS)
    assert [state for *_, state in found["sittings"]] == ["done"]
    assert [letter for letter, _ in found["answers"].values() if letter] == ["B"]


@pytest.mark.long
def test_offline_answer_is_kept_and_sent_later(testing):
    site, page = testing()
    _begin(page)
    _first(page)
    page.context.set_offline(True)
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    page.get_by_text("There is no connection").wait_for()
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert _heading(page) == "Question 1 of 10"
    assert page.locator("input[name=letter]:checked").get_attribute("value") == "B"
    assert site.do(ANSWERS)["answers"] == {}
    page.context.set_offline(False)
    page.get_by_role("heading", name="Question 2").wait_for()
    found = site.do(ANSWERS)["answers"]
    assert found["1"][0] == "B"
    assert 0.2 <= found["1"][1] < LONGEST


@pytest.mark.long
def test_human_test_can_be_taken_without_javascript(testing):
    """The server measures the time."""
    site, page = testing({"java_script_enabled": False})
    _begin(page)
    _first(page)
    for _ in range(10):
        page.locator(".choice").first.click()
        page.locator("button[value=next]").click()
    page.get_by_label("Question number", exact=True).first.fill("2")
    page.get_by_label("Where is it from?").fill("A novel")
    page.get_by_role("button", name="Add").first.click()
    page.locator("bdi", has_text="A novel").wait_for()
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="Thank you").wait_for()
    found = site.do(ANSWERS)
    assert [letter for letter, _ in found["answers"].values()] == ["A"] * 10
    assert all(seconds > 0 for _, seconds in found["answers"].values())
