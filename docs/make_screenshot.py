"""The picture in the README: two parts of the report that the command in its text writes.

`python docs/make.py` takes it, right after that command. The PNG holds the words of what it shows,
by which `tests/test_docs.py` compares it with the text beside it. Needs playwright, Chromium and
Pillow.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path

from PIL import Image, PngImagePlugin
from playwright.sync_api import Browser, Locator, Page, Playwright, sync_playwright

REPORT = "winosmith-demo/benchmark/report.html"
"""Where `winosmith demo` writes its report."""

TARGET = Path(__file__).resolve().parent / "images" / "report.png"

WORDS = "Description"
"""The keyword under which the PNG holds its words (PNG specification, 11.3.4.2)."""

WIDTH, SCALE = 720, 1.25
"""Of each part, in CSS pixels, and how many pixels one of them becomes."""

CHAPTERS = ("In short", "AFLite, phase by phase")
"""The chapters that end the left part and begin the right one."""

MARGIN = 24
"""CSS pixels below the first chapter's last line, and above the second one's heading."""


def launched(started: Playwright) -> Browser:
    """Return the browser that this machine has, begun; Playwright's own without one."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    found = next(filter(None, map(shutil.which, names)), None)
    return started.chromium.launch(executable_path=found, args=["--no-sandbox"])


def take(report: Path, target: Path = TARGET) -> None:
    """Write the picture of a report: its top to the end of one chapter, and another chapter."""
    with sync_playwright() as started:
        browser = launched(started)
        page = browser.new_page(viewport={"width": WIDTH, "height": 800}, device_scale_factor=SCALE)
        page.goto(report.resolve().as_uri())
        first, second = (_chapter(page, name) for name in CHAPTERS)
        height = _bottom(first) + MARGIN
        start = _top(second) - MARGIN
        shown = [part for part in second.locator("> *").all() if _bottom(part) <= start + height]
        words = [part.inner_text() for part in (page.locator("header").first, first, *shown)]
        end = _bottom(shown[-1])
        shot = Image.open(io.BytesIO(page.screenshot(full_page=True)))
        browser.close()
    left, right = (
        shot.crop((0, int(top * SCALE), int(WIDTH * SCALE), int(below * SCALE)))
        for top, below in ((0, height), (start, end))
    )
    both = Image.new("RGB", (2 * left.width + 2, left.height), left.getpixel((0, 0)))
    both.paste("#d5dce3", (left.width, 0, left.width + 2, left.height))
    both.paste(left, (0, 0))
    both.paste(right, (left.width + 2, 0))
    held = PngImagePlugin.PngInfo()
    held.add_itxt(WORDS, "\n".join(words))
    both.quantize(128).save(target, optimize=True, pnginfo=held)


def _chapter(page: Page, heading: str) -> Locator:
    """Return the section of a chapter."""
    return page.locator("section").filter(has=page.get_by_role("heading", name=heading)).first


def _top(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None  # noqa: S101
    return box["y"]


def _bottom(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None  # noqa: S101
    return box["y"] + box["height"]
