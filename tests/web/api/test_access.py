"""Permissions of API tokens: every operation for every role, and other people's data.

A row of ROWS is an operation and its outcome for each of ROLES: `o` done, `u` no token, `n` not
found; a capital letter if the database changed.
"""

import re
from typing import Any

import pytest
from django.utils import timezone

from tests.web import world as w
from tests.web.api.calling import Program, program
from winosmith.web.api.app import build_api_description, list_api_operations
from winosmith.web.api.models import Token

ROLES = ("visitor", "owner", "other", "judge", "moderator", "admin")

ROWS: list[tuple[str, str, str]] = [
    ("get", "problems", "oooooo"),
    ("get", "problems/public-a", "oooooo"),
    ("get", "problems/judging-a", "nOnnOO"),
    ("get", "problems/embargoed-a", "nOnnOO"),
    ("get", "problems/gold-a", "nnnnOO"),
    ("get", "downloads", "oooooo"),
    ("get", "figures", "oooooo"),
    ("get", "families", "oooooo"),
    ("get", "families/judging-a/versions", "nOnnOO"),
    ("get", "families/public-a/versions", "oooooo"),
    ("get", "families/embargoed-a/versions", "nOnnOO"),
    ("get", "models", "oooooo"),
    ("get", "models/association", "oooooo"),
    ("get", "me", "uooooo"),
    ("get", "me/tokens", "uooooo"),
    ("delete", "me/token", "uOOOOO"),
    ("get", "me/twins", "uooooo"),
    ("get", "me/twins/twin-rejected", "uonnnn"),
    ("get", "me/twins/twin-gold", "unnnnn"),
]


@pytest.fixture(scope="module")
def tokens(stood: Any) -> dict[str, Any]:
    """Return a program for each role."""
    made = {role: program(stood.people[role]) for role in ROLES[1:]}
    Token.objects.update(used=timezone.now().date())
    return {"visitor": Program(), **made}


def _operations() -> list[tuple[str, str, dict[str, Any]]]:

    found: list[tuple[str, str, dict[str, Any]]] = list_api_operations(build_api_description())
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_operation_has_the_listed_outcome_for_each_role(world, tokens, row):
    method, path, expected = row
    found = {}
    for role in ROLES:
        answer, changed = w.changing(lambda role=role: tokens[role].call(method, path))
        letter = "o" if answer.status_code == 204 else w.LETTERS.get(answer.status_code, "?")
        if answer.status_code >= 400:
            assert answer["Content-Type"] == "application/problem+json"
        found[role] = letter.upper() if changed else letter
    assert found == dict(zip(ROLES, expected, strict=True))


IDS = """\
families_list_families families_list_versions own_list_tokens own_list_twins own_read_me
own_read_twin own_revoke_token predictors_list_models predictors_read_model
reading_list_downloads reading_list_problems reading_read_figures reading_read_problem
""".split()
"""Ids of the operations; programs generated from the description use them in calls."""


def test_operations_keep_their_ids(site):
    assert {told["operationId"] for _path, _method, told in _operations()} == set(IDS)


def test_every_operation_has_a_row(site):
    known = {(method, path.removeprefix("/api/v1/")) for path, method, _ in _operations()}
    shapes = {(m, re.compile(re.sub(r"\{\w+\}", "[^/]+", p))): p for m, p in known}
    met = set()
    for method, path, _expected in ROWS:
        exact = [p for (m, shape), p in shapes.items() if m == method and shape.fullmatch(path)]
        assert exact, path
        met.add((method, min(exact, key=lambda p: p.count("{"))))
    assert met == known


def test_invalid_token_is_refused_by_every_operation(world):
    """Operations that are open to visitors refuse it too."""
    for path, method, _told in _operations():
        path = path.removeprefix("/api/v1/").replace("{", "").replace("}", "")
        for wrong in ("ws_" + "x" * 43, "x", ""):
            answer = Program().call(method, path, Authorization=f"Bearer {wrong}")
            assert answer.status_code == 401, path
            assert answer["WWW-Authenticate"].startswith("Bearer")


def test_only_tokens_in_the_bearer_header_are_accepted(world, tokens):
    for role in ROLES[1:]:
        browser, text = w.browser_of(world, role), tokens[role].token
        for answer in (
            browser.get("/api/v1/me"),
            browser.get(f"/api/v1/me?access_token={text}&token={text}"),
            browser.get("/api/v1/me", headers={"Authorization": f"Basic {text}"}),
            browser.get("/api/v1/me", headers={"Authorization": text}),
            browser.delete("/api/v1/me/token", {"access_token": text}),
        ):
            assert answer.status_code == 401
            assert not answer.cookies
            assert text not in answer.text


def test_hidden_problem_looks_like_a_missing_one(world, tokens):
    for role in ("visitor", "other", "judge"):
        for path in ("problems/{}", "families/{}/versions"):
            answers = [
                tokens[role].get(path.format(ref))
                for ref in ("judging-a", "embargoed-a", "gold-a", "nothing-a")
            ]
            assert {answer.status_code for answer in answers} == {404}
            assert len({answer.content for answer in answers}) == 1


@pytest.mark.parametrize(
    "address", ["problems/a\0b", "problems?q=a%00b", "\0", "me/twins/%00", "families/x\0/versions"]
)
def test_address_with_nul_returns_problem_details(db, address):
    answer = Program().get(address)
    assert answer.status_code in (400, 404)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code


def test_too_many_parameters_return_problem_details(db, visit):
    """Django itself refuses them; people get a page."""
    many = "&".join(f"a{n}=" for n in range(501))
    told, page = visit().get(f"/api/v1/problems?{many}"), visit().get(f"/problems/?{many}")
    assert (told.status_code, page.status_code) == (400, 400)
    assert told.headers["Content-Type"] == "application/problem+json"
    assert page.headers["Content-Type"].startswith("text/html")
