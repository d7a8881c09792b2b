"""Take the picture in the README: two parts of the demo's report, side by side.

    winosmith demo && python docs/make_screenshot.py winosmith-demo/benchmark/report.html

Needs playwright, Chromium and Pillow.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

TARGET = Path(__file__).resolve().parent / "images" / "report.png"

WIDTH, HEIGHT, SCALE = 720, 812, 1.25
"""Of each part, in CSS pixels, and how many pixels one of them becomes."""

CHAPTER = "AFLite, phase by phase"
"""Where the second part begins."""


def parts(report: Path) -> list[Image.Image]:
    """Return the top of the page, and the chapter on AFLite."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE
        )
        page.goto(report.resolve().as_uri())
        heading = page.get_by_role("heading", name=CHAPTER).bounding_box()
        shot = Image.open(io.BytesIO(page.screenshot(full_page=True)))
        browser.close()
    start = int((heading["y"] - 58) * SCALE)
    size = int(WIDTH * SCALE), int(HEIGHT * SCALE)
    return [shot.crop((0, top, size[0], top + size[1])) for top in (0, start)]


def main() -> None:
    """Write the picture."""
    left, right = parts(Path(sys.argv[1]))
    both = Image.new("RGB", (left.width + right.width + 2, left.height), "#d5dce3")
    both.paste(left, (0, 0))
    both.paste(right, (left.width + 2, 0))
    both.quantize(128).save(TARGET, optimize=True)
    print(f"{TARGET}: {TARGET.stat().st_size / 1000:.0f} kB")  # noqa: T201


if __name__ == "__main__":
    main()
