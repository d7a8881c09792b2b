"""Every page of the site in a browser: accessible, and not wider than a phone."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

import pytest
from django.urls import reverse

from tests.web import visits as v
from tests.web.looks import PHONE, Windows, wrong_with
from tests.web.serving import BUILT_IN

pytestmark = pytest.mark.browser

STAGED = """
from tests.web.visits import staged
from winosmith.web._lock import writing
with writing():
    result = staged()
"""

SEND = """([path, fields]) => {
    const form = document.createElement("form");
    for (const [name, value] of Object.entries(fields)) {
        const field = document.createElement("textarea");
        field.name = name;
        field.value = value;
        form.append(field);
    }
    form.action = path;
    form.method = "post";
    form.hidden = true;
    document.body.append(form);
    form.submit();
}"""

TOKEN = "document.querySelector('[name=csrfmiddlewaretoken]').value"

SMALL = {"viewport": {"width": PHONE, "height": 640}, "bypass_csp": True}


class Phone:
    """A browser with a phone's screen, logged in as one role."""

    def __init__(self, windows: Windows, url: str, refs: dict[str, str], role: str):
        key = refs.get(f"session of {role}")
        self.page = windows.open((refs["session cookie"], key, url) if key else None, **SMALL)
        self.url = url
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def open(self, path: str) -> int:
        """Open a page; return its status."""
        answer = self.page.goto(self.url + path)
        return int(answer.status)

    def send(self, path: str, fields: dict[str, str], *, forged: bool) -> int:
        """Submit a form as if from a page of the site; return the status of the response."""
        self.open("/people/login/")
        if not forged:
            fields = {**fields, "csrfmiddlewaretoken": self.page.evaluate(TOKEN)}
        with self.page.expect_navigation() as waiting:
            self.page.evaluate(SEND, [path, fields])
        return int(waiting.value.status)

    def found(self, axe: str) -> list[Any]:
        """Open all details; return the page's faults. Without axe, only its width is checked."""
        self.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        return list(wrong_with(self.page, axe, PHONE))


@pytest.fixture
def phones(
    served: Any, windows: Windows
) -> Callable[..., tuple[Callable[[str], Phone], dict[str, str], Any]]:
    """Return a function that makes a site and phones that visit it."""
    windows.but = ""  # pages have the listed status; other errors are faults of the phone

    def make(**rules: Any) -> tuple[Callable[[str], Phone], dict[str, str], Any]:
        site = served(**{"gold_every": 0, "open_judging": False, "models": BUILT_IN, **rules})
        refs = site.do(STAGED)
        known: dict[str, Phone] = {}

        def of(role: str) -> Phone:
            if role not in known:
                known[role] = Phone(windows, site.url, refs, role)
            return known[role]

        return of, refs, site

    return make


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_every_page_is_accessible_and_fits_a_phone(site, phones, axe_source):
    """Axe finds nothing in both colour schemes, and 320 px are enough.

    Axe takes a second per page: a page that is visited again with other rows is only measured.
    """
    wrong: dict[str, Any] = {}
    judged: set[tuple[str, int]] = set()
    for visit, phone, status in opened(phones, v.VISITS):
        faults = [] if status == visit.status else [("status", status)]
        new = (visit.route, visit.status) not in judged
        judged.add((visit.route, visit.status))
        faults += phone.found(axe_source if new else "") + phone.faults
        phone.faults.clear()
        if faults:
            wrong[str(visit)] = faults
    assert not wrong, json.dumps(wrong, indent=1, ensure_ascii=False)


def opened(
    phones: Callable[..., Any], visits: Iterable[v.Visit]
) -> Iterator[tuple[v.Visit, Phone, int]]:
    """Make each visit on a site with its rules; yield it, its phone and the status."""
    for _, alike in groupby(sorted(visits, key=_rules), key=_rules):
        those = list(alike)
        of, refs, served = phones(**those[0].rules)
        for visit in those:
            if visit.before:
                served.do(visit.before)
            phone, form, path = of(visit.role), visit.fields(refs), visit.path(refs)
            send = form is not None
            yield (
                visit,
                phone,
                phone.send(path, form, forged=visit.forged) if send else phone.open(path),
            )


def _rules(visit: v.Visit) -> str:
    return repr(visit.rules)


BAD = """<!doctype html><title>x</title><main><h1>A page</h1><p style="width: 400px">Wide.</p>
<form><input><button></button></form></main>"""


def test_faults_of_a_bad_page_are_found(windows, axe_source):
    phone = Phone(windows, "http://nowhere.example", {}, "visitor")
    phone.page.set_content(BAD)
    faults = phone.found(axe_source)
    of_axe, (wide,) = faults[:-1], faults[-1:]
    assert {"html-has-lang", "label", "button-name"} <= {fault[2] for fault in of_axe}
    assert wide[:2] == ("wide", 408)


ROWS = """
from django.contrib import admin
result = [
    [f"admin:{m._meta.app_label}_{m._meta.model_name}",
     str(m._base_manager.values_list("pk", flat=True).order_by("pk").first())]
    for m in admin.site._registry
]
"""

ADMIN = {
    "admin:index": (),
    "admin:app_list": ("people",),
    "admin:people_document_add": (),
    "admin:password_change": (),
    "admin:password_change_done": (),
}
"""Django's pages that belong to no table or to only one, with their arguments."""

JUDGED = tuple(f"admin:{table}_" for table in ("people_person", "problems_problem", "judge_slot",
               "people_document", "perturb_version"))  # fmt: skip
"""Tables whose pages axe checks: one with editable fields, one with many links, …"""

NOT_SHOWN = {
    "admin:login": "leads to people:login",
    "admin:logout": "leads to read:home",
    "admin:autocomplete": "JSON",
    "admin:jsi18n": "a script",
    "admin:view_on_site": "leads to what a row is on the site; no row is anything",
    "admin:": "leads to what was meant, or says that there is no such page",
}
"""Django's routes without a page."""


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_djangos_admin_is_accessible_and_fits_a_phone(site, phones, axe_source):
    """There is a row of each table. Axe finds nothing, and 320 px are enough.

    Axe checks the pages of some tables; those of the others, from the same templates, are only
    measured.
    """
    of, _refs, served = phones()
    visits = dict(ADMIN)
    shown = set(ADMIN) | set(NOT_SHOWN)
    for table, key in served.do(ROWS):
        # Rows are neither added nor deleted there: 403.
        shown |= {f"{table}_add", f"{table}_delete"}
        visits[f"{table}_changelist"] = ()
        visits |= {f"{table}_{page}": (key,) for page in ("change", "history")}
    assert {name for name, _ in v.routes() if name.startswith("admin:")} == shown | set(visits)
    visits = {name: args for name, args in visits.items() if args != ("None",)}  # empty tables
    assert len(visits) > 50
    wrong = {}
    judged = {*ADMIN, *(name for name in visits if name.startswith(JUDGED))}
    assert len(judged) > 15
    for name, args in visits.items():
        faults: list[Any] = []
        if (status := of("admin").open(reverse(name, args=args))) != 200:
            faults = [("status", status)]
        if faults := faults + of("admin").found(axe_source if name in judged else ""):
            wrong[name] = faults
    assert not wrong, json.dumps(wrong, indent=1, ensure_ascii=False)
