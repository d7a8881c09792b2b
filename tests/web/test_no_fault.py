"""No form or address of the site returns 500, whatever its fields contain; see also `api/`."""

from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

import pytest
from django.db import connection, transaction
from django.urls import reverse

from tests.web import world as w
from tests.web.test_authorisation import ROUTES
from winosmith.web.people.gates import process_once

USED = "0123456789abcdef" * 2
"""Key with which each of ROLES has already sent another form."""

WRONG = ("", "x" * 25_000, "_ " * 11_000, "\0", "a\0b", "٣" * 18, "9" * 5_000, str(2**63), "-1",
         "1e400", "NaN", "../..", "%00", "\U0010ffff")  # fmt: skip
"""Unexpected values: empty, too long, invalid characters, digits that aren't ASCII, too large.

Each field of a form gets two of them on each database, in turn, and four on both together.
"""

ALSO = {
    "write:draft": (
        {"do": "submit", "domain": "physical", "option_1": "cup", "option_2": "jug",
         "sentence_1": "The cup hit the jug and the _ broke.", "answer_1": "0",
         "sentence_2": "The cup hit the jug and the _ stayed.", "answer_2": "1"},
        {"do": "copy", "sentence_1": "The cup hit the jug and the _ broke."},
    ),
    "write:save": ({"sentence_1": "x", "sentence_2": "y", "answer_1": "0"},),
    "write:check": ({"sentence_1": "x", "sentence_2": "y", "option_1": "z", "anchor": ""},),
    "perturb:build": ({"do": "submit", "declared": "1", "against": "", "answer": "0"},),
    "judge:answer": ({"comment": "x", "ambiguous": "on", "associative": "on"},),
    "judge:skip": ({"comment": "x"},),
    "moderate:act": ({"everything": "1", "where": "state=", "count": "1", "back": "/moderate/"},),
    "moderate:undo": ({"event": "1", "batch": "", "back": "/moderate/"},),
    "people:join": ({"next": "/"},),
    "people:login": ({"next": "/"},),
}  # fmt: skip
"""Fields of forms that the table of routes does not fill."""

ASKED = ("q", "domain", "since", "until", "twins", "contributor", "sort", "page", "after", "before",
         "what", "who", "state", "text", "version", "depth", "next", "pick", "action", "where",
         "everything", "done", "pace", "fitting", "family", "kind", "PROLIFIC_PID", "STUDY_ID",
         "SESSION_ID", "workerId", "assignmentId", "hitId")  # fmt: skip
"""Query parameters that pages read."""


def _rows(method: str) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield each row of ROUTES with a role that may use it: name, role, arguments, form."""
    for name, how, args, form, expected in ROUTES:
        may = [role for role, came in zip(w.ROLES, expected, strict=True) if came in "DOCo"]
        if how == method and may and name not in ("api:v1", "people:logout"):
            yield name, may[-1], args, form


def _in_turn(values: tuple[str, ...]) -> Iterator[str]:
    """Repeat values endlessly; PostgreSQL starts with the two that follow SQLite's."""
    return islice(cycle(values), 2 * (connection.vendor == "postgresql"), None)


@pytest.fixture
def made(database: Any) -> Iterator[Any]:
    """Create the small site on each database, and roll it back at the end."""
    with w.standing() as world:
        yield world


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_no_form_returns_500(made):
    failed = []
    wrong = _in_turn(WRONG)
    for person in made.people.values():  # each of ROLES has sent a form with USED
        process_once(person, USED, "/elsewhere/", lambda: {"done": 1})
    for name, role, args, make in _rows("post"):
        url = reverse(name, args=[arg(made) if callable(arg) else arg for arg in args])
        for more in ({}, *ALSO.get(name, ())):
            with transaction.atomic():
                form = {**make(made), **more}
                browser = w.browser_of(made, role, raise_request_exception=False)
                tried = [{"key": key} for key in (USED, "", "x" * 70, "é" * 20)]
                tried += [{field: next(wrong)} for field in form for _ in range(2)]
                tried += [dict.fromkeys(form, value) for value in islice(wrong, 5)]
                for change in tried:
                    with transaction.atomic():
                        status = browser.post(url, {**form, **change}).status_code
                        if status >= 500:
                            told = {field: str(v)[:20] for field, v in change.items()}
                            failed.append((name, more.get("do", ""), told, status))
                        transaction.set_rollback(True)
                transaction.set_rollback(True)
    assert failed == []


def test_no_query_string_returns_500(made):
    failed = []
    wrong = _in_turn((*WRONG[3:], "x" * 2_000))
    for name, role, args, _make in _rows("get"):
        url = reverse(name, args=[arg(made) if callable(arg) else arg for arg in args])
        browser = w.browser_of(made, role, raise_request_exception=False)
        for value in islice(wrong, 2):
            with transaction.atomic():
                answer = browser.get(url, dict.fromkeys(ASKED, value))
                answer.getvalue()
                if answer.status_code >= 500:
                    failed.append((name, value[:20], answer.status_code))
                transaction.set_rollback(True)
    assert failed == []
