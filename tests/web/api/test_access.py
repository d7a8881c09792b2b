"""Who may do what by a token: every operation for every role, scope, and other people's things.

A row of ROWS is an operation, its body, and what it comes to for each of ROLES: `o` done, `u` no
token, `f` forbidden, `n` not there, `x` refused by a rule; a capital where the database changed.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.utils import timezone

from tests.web import world as w
from tests.web.api.calling import Program, program
from winosmith.web.api.models import Token
from winosmith.web.people.models import Person

ROLES = ("visitor", "owner", "other", "judge", "moderator", "admin")

BENT = {
    "sentence": "The public kettle missed the cupboard because the _ was much too large.",
    "options": ["kettle", "cupboard"],
    "answer": 0,
}
TWIN: dict[str, Any] = {"options": ["kettle", "cupboard"], "version": 0}

ROWS: list[tuple[str, str, Any, str]] = [
    ("get", "problems", None, "oooooo"),
    ("get", "problems/public-a", None, "oooooo"),
    ("get", "problems/judging-a", None, "nOnnOO"),
    ("get", "problems/embargoed-a", None, "nonnoo"),
    ("get", "problems/gold-a", None, "nnnnOO"),
    ("get", "downloads", None, "oooooo"),
    ("get", "figures", None, "oooooo"),
    ("get", "families", None, "oooooo"),
    ("get", "families/judging-a/versions", None, "nOnnOO"),
    ("get", "families/public-a/versions", None, "oooooo"),
    ("get", "families/embargoed-a/versions", None, "nonnoo"),
    ("get", "models", None, "oooooo"),
    ("get", "models/association", None, "oooooo"),
    ("get", "me", None, "uooooo"),
    ("get", "me/tokens", None, "uooooo"),
    ("delete", "me/token", None, "uOOOOO"),
    ("get", "me/twins", None, "uooooo"),
    ("get", "me/twins/twin-rejected", None, "uonnnn"),
    ("get", "me/twins/twin-gold", None, "unnnnn"),
    ("post", "me/twins/twin-rejected/withdraw", {}, "uOnnnn"),
    ("post", "me/twins/twin-rejected/revise", None, "uOnnnn"),
    ("post", "me/twins/twin-rejected/appeal", {"problem": "rejected-a", "text": "No."}, "uOnnnn"),
    ("get", "drafts", None, "uooooo"),
    ("post", "drafts", None, "uOOOOO"),
    ("get", "drafts/{draft}", None, "uonnnn"),
    ("put", "drafts/{draft}", TWIN, "uOnnnn"),
    ("delete", "drafts/{draft}", None, "uOnnnn"),
    ("post", "drafts/{draft}/check", {}, "uonnnn"),
    ("post", "drafts/{draft}/redraw", {"what": "topic"}, "uOnnnn"),
    ("post", "drafts/{draft}/submit", {"version": 0}, "uxnnnn"),
    ("post", "problems/public-a/perturb/check", BENT, "uooooo"),
    ("post", "problems/held-a/perturb/check", BENT, "uOnnnn"),
    ("post", "problems/public-a/perturb", BENT, "uOOOOO"),
    ("post", "problems/judging-a/perturb", BENT, "uOnnnn"),
    ("post", "problems/embargoed-a/perturb", BENT, "unnnnn"),
    ("get", "versions/{version}", None, "nOnnOO"),
    ("get", "versions/public-a", None, "nnnnnn"),
    ("post", "versions/{version}/revise/check", BENT, "uonnnn"),
    ("post", "versions/{version}/revise", BENT, "uOnnnn"),
]  # fmt: skip


@pytest.fixture(scope="module")
def tokens(stood: Any) -> dict[str, Any]:
    """Return a program for each role, with every scope that its person may have."""
    made = {role: program(stood.people[role]) for role in ROLES[1:]}
    Token.objects.update(used=timezone.now().date())
    return {"visitor": Program(), **made}


def _filled(said: Any, refs: dict[str, Any]) -> Any:
    if isinstance(said, str):
        return said.format_map(refs) if "{" in said else said
    if isinstance(said, dict):
        return {key: _filled(value, refs) for key, value in said.items()}
    return said


def _outcome(caller: Any, method: str, path: str, body: Any) -> str:
    """Return what a request comes to; what it wrote is rolled back."""
    answer, changed = w.changing(
        lambda: caller.post(path, body) if method == "post" else caller.call(method, path, body)
    )
    letter = "o" if answer.status_code in (201, 204) else w.LETTERS.get(answer.status_code, "?")
    if answer.status_code >= 400:
        assert answer["Content-Type"] == "application/problem+json"
    return letter.upper() if changed else letter


def _operations() -> list[tuple[str, str, dict[str, Any]]]:
    from winosmith.web.api.app import document, operations

    found: list[tuple[str, str, dict[str, Any]]] = operations(document())
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_an_operation_is_open_to_those_alone_who_may(
    world: Any, tokens: dict[str, Any], row: tuple[str, str, Any, str]
) -> None:
    """What an operation comes to for each role is what the table says, changes too."""
    method, path, body, expected = row
    path, body = _filled(path, world.refs), _filled(body, world.refs)
    found = {role: _outcome(tokens[role], method, path, body) for role in ROLES}
    assert found == dict(zip(ROLES, expected, strict=True))


IDS = """\
drafts_check_draft drafts_discard_draft drafts_list_drafts drafts_read_draft drafts_redraw
drafts_save_draft drafts_start_draft drafts_submit families_list_families families_list_versions
own_appeal own_list_tokens
own_list_twins own_read_me own_read_twin own_revise own_revoke_token own_withdraw
perturbing_check perturbing_check_revision perturbing_perturb perturbing_read_version
perturbing_revise predictors_list_models predictors_read_model reading_list_downloads
reading_list_problems reading_read_figures reading_read_problem
""".split()
"""Of the operations; programs are made from the description, and call them by these."""


def test_operations_keep_their_ids(site: Any) -> None:
    """Wherever the code stands, an operation is called what it was called before."""
    assert {told["operationId"] for _path, _method, told in _operations()} == set(IDS)


def test_every_operation_has_a_row(site: Any) -> None:
    """An operation that nobody thought about here is a fault, and so is a row without one."""
    known = {(method, path.removeprefix("/api/v1/")) for path, method, _ in _operations()}
    shapes = {(m, re.compile(re.sub(r"\{\w+\}", "[^/]+", p))): p for m, p in known}
    met = set()
    for method, path, _body, _expected in ROWS:
        path = re.sub(r"\{\w+\}", "x", path)
        exact = [p for (m, shape), p in shapes.items() if m == method and shape.fullmatch(path)]
        assert exact, path
        met.add((method, min(exact, key=lambda p: p.count("{"))))
    assert met == known


def test_a_token_does_nothing_beyond_its_scopes(world: Any) -> None:
    """Of an admin's token an operation is refused without its scope, and any token is none."""
    admin = world.people["admin"]
    for path, method, told in _operations():
        path = path.removeprefix("/api/v1/").replace("{", "").replace("}", "")
        scope = next(iter(told["security"]))["token"]
        caller = program(admin, *({"read", "write"} - set(scope)))
        if scope:
            answer = caller.call(method, path, {}, **{"Idempotency-Key": "0" * 16})
            assert answer.status_code == 403, path
            assert f'scope="{scope[0]}"' in answer["WWW-Authenticate"]
        for wrong in ("ws_" + "x" * 43, "x", ""):
            answer = Program().call(method, path, {}, Authorization=f"Bearer {wrong}")
            assert answer.status_code == 401, path
            assert answer["WWW-Authenticate"].startswith("Bearer")
        admin.tokens.all().delete()


def test_cookies_and_addresses_carry_no_identity(world: Any, tokens: dict[str, Any]) -> None:
    """A session's cookie, a token in the address or in the body, is nobody to the API."""
    for role in ROLES[1:]:
        browser, text = w.browser_of(world, role), tokens[role].token
        for answer in (
            browser.get("/api/v1/me"),
            browser.get(f"/api/v1/me?access_token={text}&token={text}"),
            browser.get("/api/v1/me", headers={"Authorization": f"Basic {text}"}),
            browser.get("/api/v1/me", headers={"Authorization": text}),
            browser.post("/api/v1/drafts", {"access_token": text}),
        ):
            assert answer.status_code == 401
            assert not answer.cookies
            assert text not in answer.content.decode()


def test_hidden_and_absent_look_the_same(world: Any, tokens: dict[str, Any]) -> None:
    """The answer about what one may not see is that about an id never given."""
    for role in ("visitor", "other", "judge"):
        for path in ("problems/{}", "families/{}", "families/{}/versions", "versions/{}"):
            answers = [
                tokens[role].get(path.format(ref))
                for ref in ("judging-a", "embargoed-a", "gold-a", "nothing-a")
            ]
            assert {answer.status_code for answer in answers} == {404}
            assert len({answer.content for answer in answers}) == 1


def test_who_has_not_agreed_is_told_where_to(world: Any) -> None:
    """Without consent nothing is written: 403, with the address of the texts."""
    newcomer = Person.objects.create_user("newcomer")
    caller = program(newcomer)
    assert caller.get("me").json()["to_agree"]
    answer = caller.post("drafts")
    assert answer.status_code == 403
    assert "/people/consent/" in answer.json()["detail"]


@pytest.mark.parametrize(
    "address", ["problems/a\0b", "problems?q=a%00b", "\0", "me/twins/%00", "families/x\0/versions"]
)
def test_an_address_with_nul_is_answered_as_every_error_is(db: Any, address: str) -> None:
    """A program gets problem details, whatever of the site refuses its address."""
    answer = Program().get(address)
    assert answer.status_code in (400, 404)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code


def test_a_form_with_too_many_fields_is_answered_as_every_error_is(db: Any, visit: Any) -> None:
    """What Django itself refuses is told to programs by the API, and to people by a page."""
    many = "&".join(f"a{n}=" for n in range(501))
    told, page = visit().get(f"/api/v1/problems?{many}"), visit().get(f"/problems/?{many}")
    assert (told.status_code, page.status_code) == (400, 400)
    assert told.headers["Content-Type"] == "application/problem+json"
    assert page.headers["Content-Type"].startswith("text/html")


def test_a_form_is_no_body_of_the_api(db: Any, tokens: dict[str, Any], visit: Any) -> None:
    """A program that sends a form's fields where JSON is taken is told that they can't be read."""
    said = {"Authorization": f"Bearer {tokens['owner'].token}"}
    answer = visit().post("/api/v1/drafts/any/check", {"version": "1"}, headers=said)
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")


def test_faults_without_end_are_counted_and_the_first_are_told(tokens: dict[str, Any]) -> None:
    """A body with 1,000 fields that are none gets 100 of them back, and their number."""
    body = {f"k{n}": n for n in range(1000)}
    told = tokens["owner"].post("drafts/any/check", body).json()
    assert told["detail"].startswith("1000 parts")
    assert len(told["errors"]) == 100
