"""Moderation in a real browser, on a real server: keys, bulk, undo, two tabs, small screens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.looks import PHONE, heard, press, wrong_with
from tests.web.serving import PASSWORD

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
def moderated(served_anew: Callable[..., Any]) -> Any:
    """Return a server with four held twins and a moderator."""
    site = served_anew()
    site.people("ann", eva="moderator", max="moderator")
    site.do(TWINS)
    return site


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Return a maker of pages of a browser in which somebody is logged in."""
    contexts = []

    def make(site: Any, name: str = "eva", **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.faults = heard(page, [], "409|422")
        page.goto(f"{site.url}/people/login/?next=/moderate/")
        page.fill("input[name=name]", name)
        page.fill("input[name=password]", PASSWORD)
        press(page, "main form:has(input[name=password]) button")
        return page

    yield make
    for context in contexts:
        context.close()


def test_keys_alone_moderate(moderated: Any, open_page: Callable[..., Any]) -> None:
    """With letters alone one decides, undoes and looks closely; the content policy refuses none."""
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
    assert page.faults == []


@pytest.mark.long
def test_letters_are_text_in_a_field_and_can_be_switched_off(
    moderated: Any, open_page: Callable[..., Any]
) -> None:
    """Typed into a field, letters act on nothing; switched off, they do nowhere, from then on."""
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
def test_bulk_asks_with_the_count_and_is_undone(
    moderated: Any, open_page: Callable[..., Any]
) -> None:
    """All that match are counted before, done after, and given back by one press."""
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
def test_two_tabs_and_the_back_button_do_nothing_twice(
    moderated: Any, open_page: Callable[..., Any]
) -> None:
    """An old tab gets the first decision instead; a form sent again does nothing more."""
    first, second = open_page(moderated), open_page(moderated, "max")
    ask = "/moderate/ask/?action={}&pick=p00:0&back=/moderate/"
    first.goto(moderated.url + ask.format("let-through"))
    second.goto(moderated.url + ask.format("withdraw"))
    second.fill("#why-text", "A copy of another one.")
    first.click(".reason button")
    first.wait_for_url("**done=**")
    press(second, ".reason button")
    assert "The problem has changed in the meantime" in second.inner_text("h1")
    assert "approved for judging by eva" in second.inner_text("main")
    assert second.input_value("#why-text") == "A copy of another one."
    assert moderated.do(STATES)["p00"] == "judging"
    first.go_back()
    press(first, ".reason button")
    assert moderated.do(STATES)["p00"] == "judging"
    events = "from winosmith.web.problems.models import Event; result = Event.objects.count()"
    assert moderated.do(events) == 1


@pytest.mark.long
def test_without_scripts_everything_works(moderated: Any, open_page: Callable[..., Any]) -> None:
    """Without JavaScript a moderator filters, picks, decides and undoes."""
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


FAMILY = """
from winosmith import Dataset, Problem
from winosmith.lineage import make_child
from winosmith.web._import import import_problems
from winosmith.web._lock import writing
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Twin
root = Problem("root1", "The cup hit the _ and broke.", ("vase", "tray"), 0)
mug = make_child(root, "The mug hit the _ and broke.", root.options, 0, source="person")
jug = make_child(mug, "The jug hit the _ and broke.", root.options, 1, source="person")
import_problems(Dataset([root]), "valid")
import_problems(Dataset([mug, jug]), "judging")
with writing():
    Twin.objects.filter(problems__ref=jug.id).update(contributor=Person.objects.get(name="ann"))
result = [mug.id, jug.id]
"""


@pytest.mark.long
def test_the_queue_is_narrowed_to_a_family(
    moderated: Any, open_page: Callable[..., Any], axe_source: str
) -> None:
    """By form: perturbed ones, those of a family, of one person in it; all of these are done."""
    mug, jug = moderated.do(FAMILY)
    page = open_page(moderated, viewport={"width": PHONE, "height": 700}, bypass_csp=True)
    page.click("summary:has-text('Filter')")
    page.select_option("#f-state", "")
    page.select_option("#f-kind", "perturbed")
    press(page, "form.filters button")
    assert page.locator("[data-row]").count() == 2
    press(page, f"#p-{jug.replace('.', chr(92) + '.')} a[data-open]")
    line = page.locator("ol.line > li")
    assert line.count() == 3
    assert "jug" in line.nth(2).locator("ins").inner_text()
    assert "edit 1" in line.nth(2).inner_text()
    assert wrong_with(page, axe_source, PHONE) == []
    press(page, "text=Show this contributor")
    assert page.locator("[data-row]").count() == 1
    assert page.input_value("#f-family") == "root1"
    page.check("#everything")
    press(page, "button[name=action][value=hold]")
    page.check("#why-1")
    press(page, "main form button:has-text('Hold')")
    page.wait_for_selector(".done")
    states = moderated.do(STATES)
    assert (states[mug], states[jug], states["root1"]) == ("judging", "held", "valid")
    press(page, ".done button")
    assert moderated.do(STATES)[jug] == "judging"
    assert page.faults == []
