"""Right-to-left pages in a real browser, on a dark phone screen and a light desktop screen."""

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
"""The pages that people work on, and the pages with the most side-by-side content."""

VIEWS = ((320, 640, "dark"), (1200, 800, "light"))

RULES = ("color-contrast", "html-has-lang", "html-lang-valid", "valid-lang")

CLIPPED = """[...document.querySelectorAll("button, .button, .badge, label, h1, h2, nav a")]
    .filter(one => one.clientWidth && getComputedStyle(one).overflow !== "visible"
        && !one.closest(".hidden") && one.scrollWidth > one.clientWidth + 1)
    .map(one => one.outerHTML.slice(0, 120))"""
"""JavaScript: the elements whose text doesn't fit."""

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
"""JavaScript: directions of page and sentences, and number of elements off the left edge."""


class Server(ThreadingMixIn, WSGIServer):
    """A threaded server for the made-up language, which `winosmith serve` doesn't offer."""

    daemon_threads = True


class Quiet(WSGIRequestHandler):
    """A request handler without a log."""

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _serve(environment: dict[str, str], settings: dict[str, Any], told: Connection) -> None:
    """Serve the small site's people and problems; send the address and references to `told`."""
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
    """Yield the address of a site in the made-up language, and references to its contents."""
    rules = {"gold_every": 0, "open_judging": False}
    site = serving.made(prepared_site, tmp_path / "site", rules, None)
    here, there = multiprocessing.Pipe()
    process = forking.Forked(_serve, site.environment, right_to_left, there)
    there.close()
    yield here.recv()
    process.kill()


def test_right_to_left_pages_fit_the_screen(served_right_to_left, browser, axe_source):
    """Nothing is clipped or too pale, and English sentences still run from left to right."""
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
