"""Open pages: pressing what leads to another, and what is wrong with one's looks."""

import re
from typing import Any

from tests.conftest import axe_faults

CUT = "^(Failed to load resource|htmx:(afterRequest|sendError|sendAbort))"
"""How the browser and htmx tell of a request that did not come through."""

PHONE = 320
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


def heard(page: Any, said: list[str], but: str = "^$") -> list[str]:
    """Return a list to which a page's faults, and its console's errors, are added as they come.

    Args:
        page: of playwright.
        said: the list.
        but: a regular expression; what it finds something in is left out.
    """

    def hear(told: Any) -> None:
        if told.type == "error" and not re.search(but, told.text):
            said.append(told.text)

    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", hear)
    return said


def enter(context: Any, session: tuple[str, str, str]) -> None:
    """Log in: add the cookie of `Served.session` to a context of playwright."""
    name, key, url = session
    context.add_cookies([{"name": name, "value": key, "url": url}])


class Windows:
    """Windows of a browser, and what their pages complain of (`heard`)."""

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
        """Open one more window of a context."""
        page = context.new_page()
        heard(page, self.complaints, self.but)
        return page

    def close(self) -> None:
        """Close all of them.

        Raises:
            AssertionError: a page has complained.
        """
        for context in self.contexts:
            context.close()
        assert self.complaints == []


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
