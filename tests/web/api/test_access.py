"""Every operation of the API returns the same public data to everybody, and changes nothing.

A row of ROWS is an operation and its outcome for each of ROLES: `o` done, `n` not found; a capital
letter if the database changed.
"""

import re
from typing import Any

import pytest

from tests.web import world as w
from tests.web.api.calling import call, get
from winosmith.web.api.app import build_api_description, list_api_operations

ROWS: list[tuple[str, str]] = [
    ("problems", "o"),
    ("problems/public-a", "o"),
    ("problems/judging-a", "n"),
    ("problems/embargoed-a", "n"),
    ("problems/gold-a", "n"),
    ("downloads", "o"),
    ("figures", "o"),
    ("families", "o"),
    ("families/judging-a/versions", "n"),
    ("families/public-a/versions", "o"),
    ("families/embargoed-a/versions", "n"),
    ("models", "o"),
    ("models/association", "o"),
    ("models/none", "n"),
]


def _operations() -> list[tuple[str, str, dict[str, Any]]]:
    found: list[tuple[str, str, dict[str, Any]]] = list_api_operations(build_api_description())
    return found


@pytest.mark.parametrize(("path", "expected"), ROWS)
def test_operation_returns_the_same_to_every_role(world, path, expected):
    """A session gives no more rights, and reading stores nothing."""
    bodies = set()
    for role in w.ROLES:
        browser = w.browser_of(world, role)
        answer, changed = w.changing(lambda browser=browser: browser.get(f"/api/v1/{path}"))
        letter = w.LETTERS.get(answer.status_code, "?")
        assert (role, letter.upper() if changed else letter) == (role, expected)
        if answer.status_code >= 400:
            assert answer["Content-Type"] == "application/problem+json"
        assert not answer.cookies
        bodies.add(answer.content)
    assert len(bodies) == 1


IDS = """\
families_list_families families_list_models families_list_versions families_read_model
reading_list_downloads reading_list_problems reading_read_figures reading_read_problem
""".split()
"""Ids of the operations; programs generated from the description use them in calls."""


def test_operations_keep_their_ids(site):
    assert {told["operationId"] for _path, _method, told in _operations()} == set(IDS)


def test_every_operation_reads_and_has_a_row(site):
    assert {method for _path, method, _told in _operations()} == {"get"}
    known = {path.removeprefix("/api/v1/") for path, _method, _told in _operations()}
    shapes = {re.compile(re.sub(r"\{\w+\}", "[^/]+", path)): path for path in known}
    met = {path for name, _ in ROWS for shape, path in shapes.items() if shape.fullmatch(name)}
    assert met == known


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_methods_that_write_are_refused(site, method):
    for path in ("problems", "problems/public-a", "me"):
        answer = call(method, path)
        assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")
        assert answer["Content-Type"] == "application/problem+json"


def test_hidden_problem_looks_like_a_missing_one(world):
    for path in ("problems/{}", "families/{}/versions"):
        refs = ("judging-a", "embargoed-a", "gold-a", "nothing-a")
        answers = [get(path.format(ref)) for ref in refs]
        assert {answer.status_code for answer in answers} == {404}
        assert len({answer.content for answer in answers}) == 1


@pytest.mark.parametrize(
    "address", ["problems/a\0b", "problems?q=a%00b", "\0", "models/%00", "families/x\0/versions"]
)
def test_address_with_nul_returns_problem_details(db, address):
    answer = get(address)
    assert answer.status_code in (400, 404, 422)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code


def test_too_many_parameters_return_problem_details(db, visit):
    """Django itself refuses them; people get a page."""
    many = "&".join(f"a{n}=" for n in range(501))
    told, page = visit().get(f"/api/v1/problems?{many}"), visit().get(f"/problems/?{many}")
    assert (told.status_code, page.status_code) == (400, 400)
    assert told.headers["Content-Type"] == "application/problem+json"
    assert page.headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("domian=social", "query.domian"),
        ("domain=sociable", "query.domain"),
        ("since=2026-02-02&until=2026-02-01", "query.until"),
    ],
)
def test_invalid_parameters_are_named(db, query, where):
    answer = get(f"problems?{query}")
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    (error,) = answer.json()["errors"]
    assert error["where"] == where
    assert error["detail"]


@pytest.mark.parametrize("path", ["/api/v1/figures", "/card/"])
def test_unavailable_database_returns_503(db, visit, monkeypatch, path):
    from django.db import OperationalError

    from winosmith.web.read import public

    def fail() -> None:
        raise OperationalError

    monkeypatch.setattr(public, "get_stats", fail)
    client = visit()
    client.raise_request_exception = False
    answer = client.get(path)
    assert answer.status_code == 503
    assert answer["Retry-After"]
    assert (answer["Content-Type"] == "application/problem+json") == path.startswith("/api")
