"""The page in a real browser: no requests, nothing cut off, and no complaints of axe-core."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import axe_faults

pytestmark = pytest.mark.browser

OPEN_ALL = "document.querySelectorAll('details').forEach(folded => { folded.open = true })"


@pytest.fixture(scope="module")
def page_file(full_page: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page to a file, as a build does."""
    path: Path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(full_page, "utf-8")
    return path


class Opened:
    """An opened page, with its requests and console messages."""

    def __init__(self, context: Any, path: Path):
        self.requests: list[str] = []
        self.complaints: list[str] = []
        context.set_offline(True)
        self.page = context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.as_uri())


@pytest.fixture(
    params=[(1200, "light"), (360, "light"), (360, "dark")], ids=["desktop", "phone", "dark"]
)
def opened(request: pytest.FixtureRequest, browser: Any, page_file: Path) -> Iterator[Opened]:
    """Open the page on a desktop, on a phone, and on a phone in dark mode."""
    width, scheme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=False
    )
    yield Opened(context, page_file)
    context.close()


def test_page_makes_no_requests_and_logs_nothing(opened, page_file):
    opened.page.wait_for_load_state("networkidle")
    assert [url for url in opened.requests if not url.startswith("data:")] == [page_file.as_uri()]
    assert opened.complaints == []


@pytest.mark.long
def test_page_never_scrolls_sideways(opened):
    """Wide tables scroll in their own box."""
    opened.page.evaluate(OPEN_ALL)
    scroll, inner = opened.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert scroll <= inner
    out = opened.page.evaluate(
        """[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, svg, .hidden')
        && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""
    )
    assert out == []


@pytest.mark.long
def test_charts_have_a_name_in_the_accessibility_tree(opened, drawings):
    for panels in drawings.values():
        for panel in panels:
            image = opened.page.get_by_role("img", name=panel.title).first
            assert image.is_visible()
    named = opened.page.locator("svg[role=img]").count()
    assert named == opened.page.locator("figure svg").count() == sum(map(len, drawings.values()))


@pytest.mark.long
def test_text_in_charts_has_at_least_9_pixels(opened):
    sizes = opened.page.evaluate(
        """[...document.querySelectorAll('svg text')].map(
        e => parseFloat(getComputedStyle(e).fontSize)
             * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b))"""
    )
    assert len(sizes) > 50
    assert min(sizes) >= 9


@pytest.mark.long
def test_labels_are_inside_their_chart(opened):
    """Whatever font the browser has."""
    cut = opened.page.evaluate(
        """[...document.querySelectorAll('svg text')].filter(e => {
          const t = e.getBoundingClientRect(), s = e.ownerSVGElement.getBoundingClientRect();
          return t.left < s.left - 2 || t.right > s.right + 2 || t.top < s.top - 2
              || t.bottom > s.bottom + 2;
        }).map(e => e.textContent)"""
    )
    assert cut == []


@pytest.mark.long
def test_axe_finds_no_fault(request, browser, page_file, axe_source):
    """It checks WCAG 2.2 AA and best practices, in light and dark mode."""
    for width, scheme in ((1200, "light"), (360, "dark")):
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True
        )
        page = Opened(context, page_file).page
        page.evaluate(OPEN_ALL)
        faults = axe_faults(page, axe_source)
        context.close()
        assert faults == []


@pytest.mark.long
def test_printed_page_hides_nothing_and_is_light(browser, page_file):
    context = browser.new_context(viewport={"width": 720, "height": 1000}, color_scheme="dark")
    page = Opened(context, page_file).page
    page.emulate_media(media="print", color_scheme="dark")
    hidden = page.evaluate(
        """[...document.querySelectorAll('.scroll')].filter(
        e => e.clientHeight && getComputedStyle(e).overflowX !== 'visible').length"""
    )
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert page.pdf(format="A4").startswith(b"%PDF")
    context.close()
    assert hidden == 0
    assert background == "rgb(255, 255, 255)"
