"""Judging in a browser: keyboard, double clicks, two tabs, no scripts, and small screens."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.looks import CUT, Windows, press, wrong_with
from tests.web.serving import PASSWORD

TWINS = """
from winosmith.web._lock import writing
from winosmith.web.judge.votes import open_slots
from winosmith.web.problems.models import Problem, State, Twin
SENTENCES = [
    "After the cup had hit the jug on the upper shelf of the kitchen, the _ broke.",
    "Nora thanked Paula for the soup, because _ had been ill for most of the week.",
    "The piano did not fit through the door of the flat, because the _ was too wide.",
    "The nurse gave the patient a blanket, because the _ had been shivering all night.",
    "The rope held the boat until the storm came, and then the _ was torn in two.",
]
OPTIONS = [["cup", "jug"], ["Nora", "Paula"], ["piano", "door"], ["nurse", "patient"],
           ["rope", "boat"]]
with writing():
    for at, (sentence, options) in enumerate(zip(SENTENCES, OPTIONS)):
        problem = Problem.objects.create(
            ref=f"q{at}", twin=Twin.objects.create(ref=f"t{at}"), sentence=sentence,
            options=options, answer=0, state=State.JUDGING)
        open_slots(problem)
"""

ANSWERS = """
from winosmith.web.judge.models import Slot
rows = Slot.objects.filter(open=False).order_by("answered_at")
result = [[s.problem.ref, s.shown, s.local_choice, s.choice, s.ambiguous, s.associative, s.comment]
          for s in rows]
"""


@pytest.fixture
def judging(served_anew: Any, windows: Windows) -> Callable[..., tuple[Any, Any]]:
    """Return a function that starts a site with five problems and opens a judge's page."""

    def start(context: dict[str, Any] | None = None, **rules: Any) -> tuple[Any, Any]:
        site = served_anew(**{"gold_every": 0, **rules})
        site.people(ann="judge", bob="judge", eva="moderator")
        site.do(TWINS)
        windows.but = CUT
        page = windows.open(site.session("ann"), base_url=site.url, **(context or {}))
        page.goto("/judge/")
        return site, page

    return start


def _press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_judging_works_by_keyboard(judging):
    """1 and 2 choose, A and S mark, C comments, Enter submits, N skips, U undoes."""
    site, page = judging()
    page.evaluate("window.opened = 'once'")
    _press(page, "Enter")
    for marks in ((), ("a",), ("s",)):
        page.get_by_text("Step 1 of 2").wait_for()
        _press(page, "2", "Enter")
        page.get_by_text("Step 2 of 2").wait_for()
        _press(page, *marks)
        if marks == ("s",):
            _press(page, "c")
            page.keyboard.type("1 word gives it away")
            _press(page, "Escape")
        _press(page, "1", "Enter")
    page.get_by_text("Step 1 of 2").wait_for()
    found = site.do(ANSWERS)
    assert [row[0] for row in found] == ["q0", "q1", "q2"]
    assert all(local == shown[1] and choice == shown[0] for _, shown, local, choice, *_ in found)
    assert [row[4:6] for row in found] == [[False, False], [True, False], [False, True]]
    assert found[2][6] == "1 word gives it away"
    _press(page, "u")
    page.get_by_text("Step 2 of 2").wait_for()
    assert len(site.do(ANSWERS)) == 2
    _press(page, "n")
    _press(page, "ArrowDown", "Enter")
    page.get_by_text("Step 1 of 2").wait_for()
    page.wait_for_function("document.activeElement.id == 'content'")
    assert page.evaluate("window.opened") == "once"


@pytest.mark.long
def test_answer_is_restored_after_a_lost_session(judging):
    """The problem was loaded by htmx."""
    _site, page = judging(local_first=False)
    page.get_by_role("button", name="Start judging").click()
    page.locator(".choice").first.click()
    page.locator("summary", has_text="Add a comment").click()
    page.get_by_label("Comment for").fill("Both fit.")
    page.context.clear_cookies(name=re.compile("session"))
    with page.expect_navigation():
        page.get_by_role("button", name="Send").click()
    page.fill("main input[name=name]", "ann")
    page.fill("main input[name=password]", PASSWORD)
    press(page, "main form:has(input[type=password]) button >> nth=0")
    expect(page.locator(".choice input").first).to_be_checked()
    assert page.get_by_label("Comment for").input_value() == "Both fit."


@pytest.mark.long
def test_double_click_answers_one_problem(judging):
    site, page = judging(local_first=False)
    page.get_by_role("button", name="Start judging").click()
    page.locator(".choice").first.click()
    page.get_by_role("button", name="Send").dblclick()
    page.get_by_text("Your last answer is stored").wait_for()
    assert len(site.do(ANSWERS)) == 1
    expect(page.locator(".choice :checked")).to_have_count(0)


@pytest.mark.long
def test_second_tab_is_refused_and_keeps_its_comment(judging):
    site, page = judging(local_first=False)
    page.get_by_role("button", name="Start judging").click()
    page.get_by_role("button", name="Send").wait_for()
    other = page.context.new_page()
    other.goto("/judge/")
    page.locator(".choice").first.click()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("Your last answer is stored").wait_for()
    other.locator(".choice").nth(1).click()
    other.locator("summary", has_text="Add a comment").click()
    other.get_by_label("Comment for").fill("typed in the other tab")
    other.get_by_role("button", name="Send").click()
    other.get_by_text("You have already answered this problem").wait_for()
    assert "typed in the other tab" in other.locator("main textarea").input_value()
    assert len(site.do(ANSWERS)) == 1


@pytest.mark.long
def test_judging_works_without_scripts(judging):
    site, page = judging({"java_script_enabled": False})
    page.get_by_role("button", name="Start judging").click()
    page.locator(".choice").nth(1).click()
    page.get_by_role("button", name="Show the whole sentence").click()
    page.locator(".choice").first.click()
    page.get_by_text("Ambiguous:").click()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("Step 1 of 2").wait_for()
    (found,) = site.do(ANSWERS)
    assert found[4:6] == [True, False]
    sentence = page.locator("main .sentence")
    before = sentence.inner_text()
    page.locator("summary", has_text="Skip").click()
    page.get_by_role("button", name="Skip").click()
    expect(sentence).not_to_have_text(before)
    page.get_by_text("Step 1 of 2").wait_for()


THIRTY = """
from winosmith.web._lock import writing
from winosmith.web.problems.models import Problem
LONG = ("After the {} had hit the jug on the upper shelf of the kitchen in the old house by the "
        "sea where we all spent our summers, the _ broke.")
with writing():
    for row in Problem.objects.all():
        sentence = LONG.format(row.options[0])
        assert len(sentence.split()) == 30
        Problem.objects.filter(pk=row.pk).update(sentence=sentence)
"""

OUT_OF_REACH = """() => {
    const high = innerHeight, wrong = [], bar = document.querySelector(".send");
    const box = one => one.getBoundingClientRect();
    const shown = one => one.checkVisibility() && !one.closest("details:not([open]) > form");
    for (const one of document.querySelectorAll(
        "main :is(button, summary, label), main a.button")) {
        if (!shown(one)) continue;
        const {top, bottom} = box(one);
        if (top < high / 3 || bottom > high) wrong.push([one.textContent.trim(), top, bottom]);
        if (!bar.contains(one) && bottom > box(bar).top) wrong.push(["under", one.textContent]);
    }
    const sentence = box(document.querySelector("main .sentence"));
    const first = box(document.querySelector("main .choice"));
    if (sentence.top < box(document.querySelector("header")).bottom || sentence.bottom > first.top)
        wrong.push(["the sentence", sentence.top, sentence.bottom]);
    if (scrollY) wrong.push(["scrolled", scrollY]);
    return wrong;
}"""
"""Controls in the upper third, which a thumb doesn't reach, and controls that are covered."""


@pytest.mark.long
def test_thirty_words_are_judged_on_a_phone_without_scrolling(judging, axe_source):
    """The screen has 360 × 740 px; every button is in its lower two thirds."""
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
    site, page = judging({**phone, "bypass_csp": True})
    site.do(THIRTY)
    page.get_by_role("button", name="Start judging").click()
    for told in (0, 1):  # the second time with the button that undoes the first answer
        for step, button in ((1, "Show the whole sentence"), (2, "Send")):
            page.get_by_text(f"Step {step} of 2").wait_for()
            assert page.get_by_text("Undo").count() == told
            assert page.evaluate(OUT_OF_REACH) == []
            assert wrong_with(page, axe_source, 360) == []
            page.set_viewport_size(phone["viewport"])
            page.locator(".choice").first.click()
            page.get_by_role("button", name=button).click()
    page.get_by_text("Step 1 of 2").wait_for()
    assert len(site.do(ANSWERS)) == 2
