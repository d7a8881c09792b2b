"""Open pages: pressing what leads to another, and what is wrong with one's looks."""

from __future__ import annotations

from typing import Any

from tests.conftest import axe_faults  # type: ignore[import-not-found]

DESK, PHONE = 1200, 320
"""Pixels."""

DARK = ("color-contrast",)
"""The rules whose answer depends on the colours."""

NARROW = ("list", "label", "scrollable-region-focusable")
"""The rules whose answer depends on the width."""

SETTLED = """Promise.all(document.getAnimations().map(one => one.finished.catch(() => 0)))"""
"""Colours that change slowly are measured when they have changed."""

WIDEST = """width => [...document.querySelectorAll("main *, header *, footer *")]
    .filter(one => one.getBoundingClientRect().right > width)
    .slice(0, 4).map(one => one.outerHTML.slice(0, 160))"""


def press(page: Any, target: str) -> None:
    """Press what leads to another page, and wait until that page is there as a whole.

    A click by itself waits until the other page has begun: what is read then may be half of it. It
    is no navigation when htmx puts something in place; wait for that, or `expect` it.
    """
    with page.expect_navigation():
        page.click(target)


def wrong_with(page: Any, axe: str, *widths: int) -> list[Any]:
    """Return what axe finds, and what is wider than the window.

    Args:
        page: of playwright; its context has `bypass_csp=True`. It stays in the last width.
        axe: the script of axe-core; "" leaves the widths alone to be judged.
        widths: in pixels. The first is judged by all rules, and in dark colours by those of
            colours; at the others, by those of widths.
    """
    wrong: list[Any] = []
    for n, width in enumerate(widths):
        if page.viewport_size["width"] != width:
            page.set_viewport_size({"width": width, "height": 700})
        for scheme, rules in (("dark", DARK), ("light", ())) if n == 0 else (("light", NARROW),):
            if axe:
                page.emulate_media(color_scheme=scheme)
                page.evaluate(SETTLED)
                wrong += [(scheme, width, *fault) for fault in axe_faults(page, axe, *rules)]
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            wrong.append(("wide", wide, page.evaluate(WIDEST, width)))
    return wrong
