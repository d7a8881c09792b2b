"""Browser windows: following links, collecting errors, and checking the look of pages."""

import re
from typing import Any

from tests.conftest import axe_faults

CUT = "^(Failed to load resource|htmx:(afterRequest|sendError|sendAbort))"
"""Messages of the browser and htmx about a request that failed on the way."""

PHONE = 320
"""Width of a phone, in pixels."""

DARK = ("color-contrast",)
"""The rules of axe that depend on the colours."""

NARROW = ("list", "label", "scrollable-region-focusable")
"""The rules of axe that depend on the width."""

SETTLED = """Promise.all(document.getAnimations().map(one => one.finished.catch(() => 0)))"""
"""Waits for the end of animations, so that colours are measured in their final state."""

WIDEST = """width => [...document.querySelectorAll("main *, header *, footer *")]
    .filter(one => one.getBoundingClientRect().right > width)
    .slice(0, 4).map(one => one.outerHTML.slice(0, 160))"""


VIOLATIONS = """window.broken = [];
document.addEventListener("securitypolicyviolation",
    event => window.broken.push(event.violatedDirective + " " + event.blockedURI))"""
"""Script that lists what the page's policy blocks."""

CUT_CAPTIONS = """width => [...document.querySelectorAll("caption:not(.hidden)")]
    .filter(one => one.getBoundingClientRect().right > width).map(one => one.textContent)"""


def heard(page: Any, said: list[str], but: str = "^$") -> list[str]:
    """Add a page's faults, and its console's errors, to a list as they occur; return the list.

    Args:
        page: A page of Playwright.
        said: The list.
        but: A regular expression; errors that it matches are ignored.
    """

    def hear(told: Any) -> None:
        if told.type == "error" and not re.search(but, told.text):
            said.append(told.text)

    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", hear)
    return said


def enter(context: Any, session: tuple[str, str, str]) -> None:
    """Log in: add the cookie of `Served.session` to a Playwright context."""
    name, key, url = session
    context.add_cookies([{"name": name, "value": key, "url": url}])


class Windows:
    """Windows of a browser, and the errors of their pages (`heard`)."""

    def __init__(self, browser: Any, but: str = "^$"):
        self.browser, self.but = browser, but
        self.complaints: list[str] = []
        self.contexts: list[Any] = []

    def open(self, session: tuple[str, str, str] | None = None, **settings: Any) -> Any:
        """Open a window in a context of its own, logged in if a session is given (`enter`)."""
        context = self.browser.new_context(**settings)
        if session:
            enter(context, session)
        self.contexts.append(context)
        return self.another(context)

    def another(self, context: Any) -> Any:
        """Open another window of a context."""
        page = context.new_page()
        heard(page, self.complaints, self.but)
        return page

    def close(self) -> None:
        """Close all windows.

        Raises:
            AssertionError: A page had an error.
        """
        for context in self.contexts:
            context.close()
        assert self.complaints == []


def press(page: Any, target: str) -> None:
    """Click a link or button that opens another page, and wait until that page has loaded.

    A plain click only waits until the other page has started to load, so that a test may read
    half of it. A part that htmx inserts is not a navigation; wait for that part, or `expect` it.
    """
    with page.expect_navigation():
        page.click(target)


def wrong_with(page: Any, axe: str, *widths: int) -> list[Any]:
    """Return the faults that axe finds, and elements and captions that are wider than the window.

    Args:
        page: A page of Playwright whose context has `bypass_csp=True`. It keeps the last width.
        axe: The script of axe-core; with "", only the widths are checked.
        widths: In pixels. At the first width, all rules apply, and those of DARK in dark colours;
            at the others, those of NARROW.
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
        if cut := page.evaluate(CUT_CAPTIONS, width):
            wrong.append(("caption", width, cut))
    return wrong
