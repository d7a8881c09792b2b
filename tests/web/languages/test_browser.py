"""Pages from right to left in a real browser, on a phone in the dark and on a desk by day."""

import json
import multiprocessing
import os
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest

from tests import forking
from tests.conftest import axe_faults
from tests.web import serving, visits as v

pytestmark = [pytest.mark.long, pytest.mark.browser]

SHOWN = (
    "read:home", "read:problem", "read:guidelines", "write:draft", "write:twin", "judge:turn",
    "perturb:start", "perturb:build", "perturb:made", "families:family", "moderate:queue",
    "moderate:problem", "take:question", "people:me", "language",
)  # fmt: skip
"""The pages that people work on, and those with most that stands side by side."""

VIEWS = ((320, 640, "dark"), (1200, 800, "light"))

RULES = ("color-contrast", "html-has-lang", "html-lang-valid", "valid-lang")

CLIPPED = """[...document.querySelectorAll("button, .button, .badge, label, h1, h2, nav a")]
    .filter(one => one.clientWidth && getComputedStyle(one).overflow !== "visible"
        && !one.closest(".hidden") && one.scrollWidth > one.clientWidth + 1)
    .map(one => one.outerHTML.slice(0, 120))"""
"""What has more text than room."""

SIDES = """() => {
    const brand = document.querySelector("header .brand").getBoundingClientRect();
    const sentences = [...document.querySelectorAll("p.sentence[lang=en]")];
    return {
        page: getComputedStyle(document.body).direction,
        begins: brand.left > innerWidth / 4 ? "rtl" : "ltr",
        sentences: [...new Set(sentences.map(one => getComputedStyle(one).direction))],
        outside: [...document.querySelectorAll("main *")].filter(one => {
            const box = one.getBoundingClientRect();
            return box.width > 1 && box.left < -1 && !one.closest(".scroll, .hidden");
        }).length,
    };
}"""
"""Where the page and the sentences on it begin, and what is beyond its left edge."""


class Server(ThreadingMixIn, WSGIServer):
    """A server of the made-up language, which `winosmith serve` doesn't offer."""

    daemon_threads = True


class Quiet(WSGIRequestHandler):
    """Answers, and prints nothing."""

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _serve(environment: dict[str, str], settings: dict[str, Any], told: Connection) -> None:
    """Serve a site with the small site's people and problems, under settings of its own."""
    os.environ.update(environment)
    from winosmith.web import Site

    Site.from_environment().activate()
    from django.core.wsgi import get_wsgi_application
    from django.test import override_settings

    from winosmith.web._lock import writing

    with override_settings(**settings):
        with writing():
            refs = v.staged()
        with make_server("127.0.0.1", 0, get_wsgi_application(), Server, Quiet) as server:
            told.send((f"http://127.0.0.1:{server.server_port}", refs))
            server.serve_forever()


@pytest.fixture
def served_right_to_left(
    prepared_site: Path, right_to_left: dict[str, Any], tmp_path: Path
) -> Iterator[tuple[str, dict[str, str]]]:
    """Return the address of a site that offers the made-up language, and what is on it."""
    rules = {"gold_every": 0, "open_judging": False}
    site = serving.made(prepared_site, tmp_path / "site", rules, None)
    here, there = multiprocessing.Pipe()
    process = forking.Forked(_serve, site.environment, right_to_left, there)
    there.close()
    yield here.recv()
    process.kill()


def test_pages_are_whole_from_right_to_left(
    served_right_to_left: tuple[str, dict[str, str]], browser: Any, axe_source: str
) -> None:
    """Nothing is clipped, wider than its screen or too pale; Arabic letters begin at the right.

    English sentences run from left to right on it all the same.
    """
    address, refs = served_right_to_left
    first = {visit.route: visit for visit in reversed(v.VISITS) if visit.form is None}
    wrong: dict[str, Any] = {}
    for width, height, scheme in VIEWS:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            locale="ar",
            color_scheme=scheme,
            reduced_motion="reduce",
            bypass_csp=True,
        )
        page = context.new_page()
        for route in SHOWN:
            visit = first[route]
            context.clear_cookies()
            if key := refs.get(f"session of {visit.role}"):
                context.add_cookies(
                    [{"name": refs["session cookie"], "value": key, "url": address}]
                )
            answer = page.goto(address + visit.path(refs))
            assert answer is not None
            faults = _faults(page, width)
            faults += axe_faults(page, axe_source, *RULES)
            if answer.status != 200 or faults:
                wrong[f"{route} {width}"] = answer.status, faults
        context.close()
    assert not wrong, json.dumps(wrong, indent=1, ensure_ascii=False)


def _faults(page: Any, width: int) -> list[Any]:
    found: list[Any] = page.evaluate(CLIPPED)
    wide = page.evaluate("document.documentElement.scrollWidth")
    sides = page.evaluate(SIDES)
    if wide > width or sides["outside"]:
        found.append(("wide", wide, sides["outside"]))
    if (sides["page"], sides["begins"]) != ("rtl", "rtl") or sides["sentences"] not in (
        [],
        ["ltr"],
    ):
        found.append(sides)
    if page.evaluate("document.documentElement.lang") != "ar":
        found.append("language")
    return found
