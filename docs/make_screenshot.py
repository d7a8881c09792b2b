"""Pictures of reports: two parts of what a command in a page's text writes.

`python docs/make.py` takes them, once all commands of the page have run. A PNG holds the words of
what it shows, by which `tests/test_docs.py` compares it with the text beside it. Needs playwright,
Chromium and Pillow.
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
        report: where the page's command writes it.
        target: the picture's file.
        chapters: the ones that end the left part and begin the right one.
        width: of each part, in CSS pixels; the narrower, the larger its text on a page.
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
"""By the page whose commands write the report."""

WORDS = "Description"
"""The keyword under which the PNG holds its words (PNG specification, 11.3.4.2)."""

PIXELS = 900
"""Of each part, across."""

MARGIN = 24
"""CSS pixels below the first chapter's last line, and above the second one's heading."""


def launched(started: Playwright) -> Browser:
    """Return the browser that this machine has, begun; Playwright's own without one."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    found = next(filter(None, map(shutil.which, names)), None)
    return started.chromium.launch(executable_path=found, args=["--no-sandbox"])


def take(folder: Path, picture: Picture) -> None:
    """Write the picture of a report: its top to the end of one chapter; of another the drawing."""
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
