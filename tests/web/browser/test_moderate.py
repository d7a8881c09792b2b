"""Moderation in a browser: keyboard, actions on many problems, undo, and small screens."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.looks import Windows, press

pytestmark = pytest.mark.browser

TWINS = """
from winosmith.web._lock import writing
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, Twin
from winosmith.web.problems.states import move
texts = (
    ("The suitcase would not close over the _ because it was far too {}.", ("full", "thick"),
     ["suitcase", "jacket"]),
    ("Ben lent Tom his umbrella, since _ had to walk home through the {}.", ("rain", "office"),
     ["Ben", "Tom"]),
    ("The carpenter swapped the saw for the file because the _ was too {}.", ("rough", "smooth"),
     ["saw", "file"]),
    ("Nina asked Ada Lovelace for advice, for _ had {} the machine.", ("built", "broken"),
     ["Nina", "Ada"]),
)
with writing():
    ann = Person.objects.get(name="ann")
    for n, (sentence, words, options) in enumerate(texts):
        twin = Twin.objects.create(ref=f"t{n}", contributor=ann, domain="physical", topic="Travel")
        for answer, word in enumerate(words):
            Problem.objects.create(
                ref=f"p{n}{answer}", twin=twin, sentence=sentence.format(word), options=options,
                answer=answer, state="held", hints=["a possible full name of a real person: "
                "Ada Lovelace"] if n == 3 else [],
            )
"""

STATES = """
from winosmith.web.problems.models import Problem
result = dict(Problem.objects.values_list("ref", "state"))
"""


@pytest.fixture
def moderated(served_anew: Any) -> Any:
    """Return a server with four twins on hold and a moderator."""
    site = served_anew()
    site.people("ann", eva="moderator")
    site.do(TWINS)
    return site


@pytest.fixture
def open_page(windows: Windows) -> Callable[..., Any]:
    """Return a function that opens the queue as a moderator."""
    windows.but = "409|422"

    def make(site: Any, **options: Any) -> Any:
        page = windows.open(site.session("eva"), **options)
        page.goto(f"{site.url}/moderate/")
        return page

    return make


def test_wide_table_keeps_its_names_in_view(moderated, open_page):
    """On a phone, when it is scrolled; on a desktop, the whole table fits."""
    page = open_page(moderated, viewport={"width": 360, "height": 640})
    page.goto(f"{moderated.url}/moderate/people/")
    scroll = page.locator(".scroll")
    scroll.evaluate("one => one.scrollLeft = one.scrollWidth")
    assert scroll.evaluate("one => one.scrollLeft") > 100
    assert page.locator("tbody th").first.bounding_box()["x"] == scroll.bounding_box()["x"]
    page.set_viewport_size({"width": 1280, "height": 800})
    assert scroll.evaluate("one => one.scrollWidth - one.clientWidth") == 0


def test_moderation_works_by_keyboard(moderated, open_page):
    page = open_page(moderated)
    key = page.keyboard.press
    key("j")
    key("y")
    page.wait_for_url("**/moderate/ask/**")
    page.locator(":focus").wait_for()  # the page gives the focus to its button a moment later
    key("Enter")
    page.wait_for_url("**done=**")
    assert moderated.do(STATES)["p00"] == "judging"
    for letter in "jxjxr":
        key(letter)
    page.wait_for_url("**/moderate/ask/**")
    key("2")
    assert page.is_checked("#why-2")
    key("Enter")
    page.wait_for_url("**done=**")
    states = moderated.do(STATES)
    assert [states["p01"], states["p10"]] == ["rejected", "rejected"]
    key("z")
    page.locator(".done", has_text="undone").wait_for()
    states = moderated.do(STATES)
    assert [states["p01"], states["p10"]] == ["held", "held"]
    key("j")
    key("v")
    page.wait_for_url("**/moderate/problems/p01/")
    expect(page.locator("mark")).to_have_count(2)


@pytest.mark.long
def test_shortcuts_are_ignored_in_fields_and_can_be_disabled(moderated, open_page):
    page = open_page(moderated)
    page.keyboard.press("/")
    page.keyboard.type("jacket wrl")
    assert page.input_value("#f-text") == "jacket wrl"
    assert "/moderate/" in page.url
    assert "ask" not in page.url
    page.uncheck("#letters")
    page.reload()
    page.locator("h1").click()
    page.keyboard.press("j")
    page.keyboard.press("w")
    assert page.locator(".rows .current").count() == 0
    assert page.locator(".deeds kbd").first.is_hidden()


@pytest.mark.long
def test_action_on_all_shows_its_count_and_can_be_undone(moderated, open_page):
    page = open_page(moderated)
    page.check("#everything")
    press(page, "button[value=withdraw]")
    assert "8 problems match" in page.inner_text("main")
    page.check("#why-1")
    page.click(".reason button")
    page.wait_for_url("**done=**")
    assert set(moderated.do(STATES).values()) == {"withdrawn"}
    page.click(".done button")
    page.locator(".done", has_text="undone").wait_for()
    assert set(moderated.do(STATES).values()) == {"held"}


@pytest.mark.long
def test_moderation_works_without_javascript(moderated, open_page):
    page = open_page(moderated, java_script_enabled=False)
    page.goto(f"{moderated.url}/moderate/?state=held&text=umbrella")
    assert page.locator("[data-row]").count() == 2
    page.locator("input[name=pick]").first.check()
    press(page, "button[value=let-through]")
    press(page, ".reason button")
    assert "approved for judging" in page.inner_text(".done")
    assert "judging" in moderated.do(STATES).values()
    press(page, ".done button")
    assert set(moderated.do(STATES).values()) == {"held"}
