"""The form in a real browser: keyboard, saved progress, downloads, narrow screens, axe-core."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import axe_faults
from tests.humans.conftest import materials
from winosmith.humans import Sheet, SurveyQuestion, make_sheets, read_answer_form, render_form

pytestmark = pytest.mark.browser

ASKED = (
    SurveyQuestion("native", "Is English your first language?", ("yes", "no")),
    SurveyQuestion("age", "How old are you?"),
)


@pytest.fixture(scope="module")
def sheet() -> Sheet:
    """Return a sheet of six questions, two per text."""
    return make_sheets(materials(0, 3)).sheets[0]


@pytest.fixture(scope="module")
def page_file(sheet: Sheet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("form") / "common-1.html"
    path.write_text(render_form(sheet, survey=ASKED), "utf-8")
    return path


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    """Yield a narrow browser context without a network."""
    made = browser.new_context(viewport={"width": 320, "height": 640}, accept_downloads=True)
    made.set_offline(True)
    yield made
    made.close()


def _open_page(context: Any, path: Path, complaints: list[str]) -> Any:
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda r: r.url.startswith("file:") or complaints.append(r.url[:80]))
    page.goto(path.as_uri())
    return page


def test_answers_by_keyboard_survive_closing_and_are_saved(context, page_file, sheet, tmp_path):
    complaints: list[str] = []
    page = _open_page(context, page_file, complaints)
    page.keyboard.press("Tab")
    page.fill("#subject", "S07")
    page.focus("#subject")
    page.keyboard.press("Enter")
    for key in ("b", "A", "x"):
        page.keyboard.press(key)
        page.wait_for_timeout(120)
        page.keyboard.press("Enter")
    assert page.locator("#q4").is_visible()
    page.close()

    page = _open_page(context, page_file, complaints)
    assert page.locator("#q4").is_visible()
    page.keyboard.press("e")  # question 4 has no such letter
    page.keyboard.press("Enter")
    page.get_by_text("A", exact=True).locator("visible=true").click()
    page.get_by_role("button", name="Next").click()
    page.keyboard.press("a")
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    assert page.locator("#numbers").inner_text() == "4"
    page.get_by_label("Question", exact=True).first.fill("2")
    page.get_by_label("Where is it from?").fill("A novel")
    page.get_by_role("button", name="Add another").first.click()
    page.keyboard.type("99")
    page.get_by_label("Where is it from?").nth(1).fill("no such question")
    page.get_by_label("no", exact=True).check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save my answers").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == f"answers-S07-{sheet.code}.json"
    assert complaints == []

    record = json.loads(path.read_text("utf-8"))
    assert [a["letter"] for a in record["answers"].values()] == ["B", "A", "X", None, "A", "B"]
    assert record["recognised"] == [
        {"number": 2, "source": "A novel"},
        {"number": None, "source": "99: no such question"},
    ]
    assert record["attributes"] == {"native": "no"}
    assert 0.1 <= record["answers"]["1"]["seconds"] <= record["seconds"]
    assert record["seconds"] >= 0.36
    sitting = read_answer_form(path, {sheet.code: sheet})
    assert sitting.subject == "S07"
    assert sitting.native is False
    assert sorted(sitting.answers) == [1, 2, 3, 5, 6]


def test_invalid_subject_code_does_not_start_the_form(context, page_file):
    page = _open_page(context, page_file, [])
    page.fill("#subject", "Ann Smith")
    page.click("#begin")
    assert page.get_by_role("alert").inner_text().startswith("Please type the subject code")
    assert not page.locator("#q1").is_visible()


def test_letter_keys_can_be_disabled(context, page_file):
    """Speech input and some screen readers need this."""
    page = _open_page(context, page_file, [])
    page.fill("#subject", "S1")
    page.get_by_label("Letter keys").uncheck()
    page.click("#begin")
    page.keyboard.press("a")
    assert page.locator("input[name=q1]:checked").count() == 0
    page.get_by_role("radio").first.check()
    assert page.locator("input[name=q1]:checked").count() == 1


@pytest.mark.long
def test_clear_button_needs_two_clicks(context, page_file):
    page = _open_page(context, page_file, [])
    page.fill("#subject", "S1")
    page.click("#begin")
    for _ in range(6):
        page.keyboard.press("a")
        page.keyboard.press("Enter")
    page.click("#clear")
    assert page.evaluate("localStorage.length") == 1
    page.click("#clear")
    page.wait_for_function("document.querySelector('#start').hidden === false")
    assert page.evaluate("localStorage.length") == 0
    assert page.locator("#subject").input_value() == ""
    assert page.locator("input:checked").count() == 1  # the checkbox of the letter keys


@pytest.mark.long
def test_form_fits_a_screen_of_320_pixels(context, page_file):
    page = _open_page(context, page_file, [])
    page.fill("#subject", "S1")
    wide = ["document.documentElement.scrollWidth", "innerWidth"]
    page.click("#begin")
    for _ in range(7):
        scroll, inner = page.evaluate(f"[{', '.join(wide)}]")
        assert scroll <= inner
        page.keyboard.press("Enter")


@pytest.mark.long
def test_printed_form_shows_all_questions(context, page_file):
    page = _open_page(context, page_file, [])
    page.emulate_media(media="print")
    assert all(page.locator(f"#q{n}").is_visible() for n in range(1, 7))
    assert not page.locator("#begin").is_visible()


@pytest.mark.long
def test_axe_finds_no_fault(browser, page_file, axe_source):
    for scheme in ("light", "dark"):
        made = browser.new_context(
            viewport={"width": 360, "height": 800}, color_scheme=scheme, bypass_csp=True
        )
        page = _open_page(made, page_file, [])
        faults = [axe_faults(page, axe_source)]
        page.fill("#subject", "S1")
        page.click("#begin")
        page.keyboard.press("a")
        faults.append(axe_faults(page, axe_source))
        for _ in range(6):
            page.keyboard.press("Enter")
        faults.append(axe_faults(page, axe_source))
        made.close()
        assert faults == [[], [], []]
