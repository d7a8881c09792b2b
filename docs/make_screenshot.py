"""Take pictures of reports: two parts of a report that a command on a page writes.

`python docs/make.py` takes them after all commands of the page have run. Each PNG contains its
report's words, so that `tests/test_docs.py` can compare them with the page. The script needs
playwright, Chromium and Pillow.
"""

from __future__ import annotations

import io
import shutil
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, PngImagePlugin
from playwright.sync_api import Browser, Locator, Page, Playwright, sync_playwright

IMAGES = Path(__file__).resolve().parent / "images"


@dataclass(frozen=True)
class Picture:
    """A picture of a report.

    Attributes:
        report: path to which the page's command writes the report.
        target: path of the picture.
        chapters: last chapter of the left part, and first chapter of the right part.
        width: width of each part in CSS pixels; with a smaller width, text appears larger.
    """

    report: str
    target: Path
    chapters: tuple[str, str]
    width: int = 720


PICTURES = {
    "README.md": Picture(
        "winosmith-demo/benchmark/report.html",
        IMAGES / "report.png",
        ("In short", "AFLite, phase by phase"),
    ),
    "docs/how-to/audit.md": Picture(
        "audit.html", IMAGES / "audit.png", ("Summary", "Cues of quiz"), 560
    ),
}
"""The picture of each page whose commands write a report."""

WORDS = "Description"
"""The keyword of the report's words in the PNG (PNG specification, 11.3.4.2)."""

PIXELS = 900
"""Width of each part in the picture, in pixels."""

MARGIN = 24
"""Margin in CSS pixels below the left part and above the heading of the right part."""


def launched(started: Playwright) -> Browser:
    """Start and return this machine's browser, or Playwright's if there is none."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    found = next(filter(None, map(shutil.which, names)), None)
    return started.chromium.launch(executable_path=found, args=["--no-sandbox"])


def take(folder: Path, picture: Picture) -> None:
    """Write the picture of a report: its top up to one chapter, next to another chapter's chart."""
    with sync_playwright() as started:
        browser = launched(started)
        scale = PIXELS / picture.width
        window = {"width": picture.width, "height": 800}
        page = browser.new_page(viewport=window, device_scale_factor=scale)
        page.goto((folder / picture.report).resolve().as_uri())
        first, second = (_chapter(page, name) for name in picture.chapters)
        upto = _bottom(first) + MARGIN
        start = _top(second) - MARGIN
        parts = second.locator("> *").all()
        drawn = next(at for at, part in enumerate(parts) if part.locator("svg, img").count())
        height = max(upto, _bottom(parts[drawn : drawn + 2][-1]) + MARGIN - start)
        shown = [part for part in parts if _bottom(part) <= start + height]
        words = [part.inner_text() for part in (page.locator("header").first, first, *shown)]
        end = _bottom(shown[-1])
        shot = Image.open(io.BytesIO(page.screenshot(full_page=True)))
        browser.close()
    left, right = (
        shot.crop((0, int(top * scale), PIXELS, int(below * scale)))
        for top, below in ((0, upto), (start, end))
    )
    tall = int(height * scale)
    both = Image.new("RGB", (2 * left.width + 2, tall), left.getpixel((0, 0)))
    both.paste("#d5dce3", (left.width, 0, left.width + 2, tall))
    both.paste(left, (0, 0))
    both.paste(right, (left.width + 2, 0))
    held = PngImagePlugin.PngInfo()
    held.add_itxt(WORDS, "\n".join(words))
    both.quantize(128).save(picture.target, optimize=True, pnginfo=held)


def _chapter(page: Page, heading: str) -> Locator:
    """Return a chapter's section on the page."""
    return page.locator("section").filter(has=page.get_by_role("heading", name=heading)).first


def _top(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None  # noqa: S101
    return box["y"]


def _bottom(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None  # noqa: S101
    return box["y"] + box["height"]
