"""The list of visits contains every page of the site, and each visit has the listed result."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client, override_settings

import winosmith
from tests.web import visits as v
from winosmith import __version__, web


def _open(visit: Any, refs: dict[str, str]) -> Any:
    """Return the response to a visit, after redirects."""
    client = Client(raise_request_exception=False, enforce_csrf_checks=visit.forged)
    if visit.role != "visitor":
        client.cookies[settings.SESSION_COOKIE_NAME] = refs[f"session of {visit.role}"]
    exec(visit.before)  # noqa: S102 - written down in the list
    with override_settings(RULES=replace(settings.RULES, **visit.rules)):
        form = visit.fields(refs)
        if form is None:
            return client.get(visit.path(refs), follow=True)
        return client.post(visit.path(refs), form, follow=True)


def _pages() -> set[str]:
    """Return the templates that are whole pages."""
    found = set()
    for path in Path(web.__file__).parent.rglob("templates/**/*.html"):
        if not path.name.startswith("base") and re.match(r"{% extends ", path.read_text()):
            found.add(re.sub(r".*/templates/", "", path.as_posix()))
    return found


def test_every_route_is_visited_or_has_no_page(site):
    known = {name for name, _ in v.routes() if not name.startswith("admin:")}
    visited = {visit.route for visit in v.VISITS if not visit.route.startswith("/")}
    assert known - visited == set(v.NO_PAGE) - visited
    assert visited | set(v.NO_PAGE) <= known


@pytest.fixture
def no_heavy_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make imports of slow libraries fail, even if other tests have loaded them."""
    heavy = ("pandas", "statsmodels", "scipy.stats", "sklearn", "matplotlib", "torch")
    loaded = [name for name in sys.modules if name.startswith(tuple(f"{top}." for top in heavy))]
    for name in (*heavy, *loaded):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("no_heavy_library")
@pytest.mark.filterwarnings("ignore:No directory at")
def test_visits_show_every_page_template(refs):
    """Each visit ends with its listed status, in HTML, with the program's version in the footer.

    No page needs a library that is slow to load.
    """
    shown: set[str] = set()
    others = []
    for visit in v.VISITS:
        alone = visit.before or visit.rules
        point = transaction.savepoint() if alone else None
        answer = _open(visit, refs)
        if answer.status_code != visit.status or "text/html" not in answer["Content-Type"]:
            others.append((str(visit), answer.status_code, answer.get("Content-Type")))
        footer = re.search(r'class="version">winosmith (.*?)<', answer.text)
        if footer and footer[1] != __version__:
            others.append((str(visit), footer[0], ""))
        shown |= {str(template.name) for template in answer.templates}
        if point:
            transaction.savepoint_rollback(point)
    assert not others, "\n".join(map(str, others))
    assert not _pages() - shown


def test_scrolling_boxes_are_focusable_and_labelled():
    boxes = [
        (path.name, box)
        for path in Path(winosmith.__file__).parent.rglob("*.html*")
        for box in re.findall(r'<[^>]*class="scroll\b[^>]*(?:%}[^>]*)*>', path.read_text())
    ]
    assert len(boxes) > 30
    needed = ('tabindex="0"', 'role="', "aria-label")
    assert [box for box in boxes if not all(one in box[1] for one in needed)] == []
