"""Reading in a browser: search, downloads, keyboard, hostile texts, and navigation."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.hostile import TEXTS
from tests.web.looks import VIOLATIONS, Windows, press

pytestmark = pytest.mark.browser

_FILL = """
from winosmith import practice
from winosmith.web._lock import writing
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, Twin
from winosmith.web.problems.records import map_to_problem, map_to_twin
data = practice.read_handwritten()
ann = Person.objects.create_user("ann")
with writing():
    for pair in data.twins[:15]:
        halves = [data[row] for row in pair]
        twin = Twin.objects.create(
            ref=halves[0].twin_id,
            contributor=ann,
            **{**map_to_twin(halves[0]), "topic": "Home"},
        )
        for half in halves:
            Problem.objects.create(
                twin=twin, state="valid", **{**map_to_problem(half), "record": {}}
            )
"""

_HOSTILE = """
import json
from winosmith.web._lock import writing
from winosmith.web.problems.models import Problem, Twin
with writing():
    for n, text in enumerate(TEXTS):
        twin = Twin.objects.create(
            ref=f"bad{n}", domain=text[:40], topic=text, anchor=text, licence=text[:60],
            source=text[:80],
        )
        Problem.objects.create(
            ref=f"bad{n}a", twin=twin, state="valid", options=[text, "cup"], answer=0,
            sentence=f"{text} stood beside the cup until the _ fell {text}",
        )
result = None
"""


@pytest.fixture
def reader(served_anew: Any, windows: Windows) -> Any:
    """Return a server with problems, and a function that opens windows."""
    site = served_anew()
    site.do(_FILL)
    windows.but = "status of 4"

    def window(**settings: Any) -> Any:
        page = windows.open(**settings)
        page.on("dialog", lambda told: (windows.complaints.append(told.message), told.dismiss()))
        return page

    return site, window


def test_search_and_pages_work_with_the_back_button(reader):
    site, window = reader
    page = window()
    page.goto(f"{site.url}/problems/")
    assert page.locator(".list .sentence").count() == 20
    page.fill("input[name=q]", "candle")
    page.keyboard.press("Enter")
    page.wait_for_selector("mark")
    page.wait_for_url("**q=candle**")
    expect(page.locator(".list .sentence")).to_have_count(2)
    press(page, "text=Details")
    page.wait_for_selector("h1:has-text('A twin')")
    assert "How to cite" in page.content()
    page.go_back()
    page.wait_for_selector("mark")
    expect(page.locator("input[name=q]")).to_have_value("candle")
    page.goto(f"{site.url}/problems/")
    page.click("text=Older")
    page.wait_for_selector("text=Newer")
    expect(page.locator(".list .sentence")).to_have_count(10)
    page.go_back()
    page.wait_for_selector("text=Older")
    expect(page.locator(".list .sentence")).to_have_count(20)


@pytest.mark.long
def test_reading_works_without_javascript(reader):
    site, window = reader
    page = window(java_script_enabled=False)
    page.goto(f"{site.url}/problems/")
    page.click("summary")
    page.select_option("select[name=domain]", "social")
    page.fill("input[name=q]", "umbrella")
    press(page, "button:has-text('Search')")
    assert page.locator("mark").count() >= 2
    assert "domain=social" in page.url
    press(page, "text=Download these")
    assert "q=umbrella" in page.url


@pytest.mark.long
def test_downloads_are_saved_under_their_names(reader):
    site, window = reader
    page = window(accept_downloads=True)
    page.goto(f"{site.url}/download/?q=umbrella")
    with page.expect_download() as saved:
        page.click("a:text-is('problems.jsonl')")
    assert saved.value.suggested_filename == "problems.jsonl"
    lines = Path(saved.value.path()).read_text("utf-8").splitlines()
    assert [json.loads(line)["twin_id"] for line in lines] == ["a24f68d1337b"] * 2
    with page.expect_download() as packed:
        page.locator("tr:has-text('problems.csv') a:has-text('gzip')").click()
    assert packed.value.suggested_filename == "problems.csv.gz"
    assert gzip.decompress(Path(packed.value.path()).read_bytes()).count(b"\r\n") == 3


@pytest.mark.long
def test_first_tab_stop_skips_the_navigation(reader):
    site, window = reader
    page = window()
    page.goto(f"{site.url}/problems/")
    page.keyboard.press("Tab")
    assert page.inner_text(":focus") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


@pytest.mark.long
def test_hostile_texts_run_no_scripts(reader):
    """Hostile texts are in every column; no page runs, loads or sends any of them."""
    site, window = reader
    site.do(f"TEXTS = {list(TEXTS)!r}\n{_HOSTILE}")
    page = window()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(VIOLATIONS)
    page.goto(f"{site.url}/problems/?q=cup")
    shown = 0
    while True:
        shown += page.locator(".list .sentence").count()
        assert page.evaluate("[window.ran, window.broken]") == [None, []]
        if not page.locator("a[rel=next]").count():
            break
        press(page, "a[rel=next]")
    assert shown == len(TEXTS)
    for n in range(len(TEXTS)):
        page.goto(f"{site.url}/problems/bad{n}a/")
        text = TEXTS[n]
        sentence = page.text_content(".sentence")
        assert sentence == f"{text} stood beside the cup until the _ fell {text}"
        page.hover(".options li")
        assert page.evaluate("[window.ran, window.broken]") == [None, []], text
    page.goto(f"{site.url}/card/")
    assert page.evaluate("[window.ran, window.broken]") == [None, []]
    assert not [url for url in asked if not url.startswith(site.url)]


LONG_NAME = "Maximiliane Oberhuber-Schwarzenegger"


@pytest.mark.long
def test_navigation_is_one_row_and_a_menu_on_phones(served_anew, windows):
    """On a phone a button opens the links, and Escape closes them. Long names fit, too."""
    site = served_anew()
    site.people(eva="admin", **{LONG_NAME: "admin"})
    phone = {"viewport": {"width": 360, "height": 740}, "java_script_enabled": False}
    page = windows.open(site.session("eva"), **phone)
    page.goto(f"{site.url}/problems/")
    top, links = page.locator("header.top"), page.locator("header nav a")
    assert top.bounding_box()["height"] < 60
    assert not links.first.is_visible()
    page.get_by_role("button", name="Menu").click()
    assert all(link.is_visible() for link in links.all())
    page.keyboard.press("Escape")
    expect(links.first).to_be_hidden()
    for width in (800, 1024, 1280, 1600):
        page.set_viewport_size({"width": width, "height": 740})
        assert links.first.is_visible() == (width > 960)
        assert top.bounding_box()["height"] < 60, width
    page = windows.open(site.session(LONG_NAME))
    page.goto(f"{site.url}/admin/")
    for width in (1280, 1600):
        page.set_viewport_size({"width": width, "height": 740})
        assert page.locator("header.top").bounding_box()["height"] < 60, width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
