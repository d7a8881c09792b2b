"""Permissions of every role on every route and object; nobody can impersonate another user.

A row of ROUTES is a route, a method, and the outcome for each of `world.ROLES`, in letters
(`world.outcome`). A test fails for a route without a row.
"""

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import NoReverseMatch, reverse

from tests.web import world as w
from tests.web.api import visits as api
from tests.web.forms import form, none, ref
from tests.web.market import visits as market
from tests.web.rounds import visits as rounds
from tests.web.run import visits as run
from tests.web.take import visits as take
from tests.web.visits import addresses, routes
from winosmith.web.judge.turns import store_answer, store_local_answer
from winosmith.web.people.models import Document
from winosmith.web.predict.asking import set_current_models
from winosmith.web.write.models import Draft

Row = tuple[str, str, tuple[Any, ...], Callable[[Any], dict[str, Any]], str]


def _local_answer_form(world: Any) -> dict[str, Any]:
    """Store the judge's answer from the local context; return the form for the whole sentence."""
    store_local_answer(world.people["judge"], world.refs["held"], 0)
    return form(problem=world.refs["held"], choice="0")(world)


def _undo_form(world: Any) -> dict[str, Any]:
    """Store the judge's answer; return the form that takes it back."""
    _local_answer_form(world)
    store_answer(world.people["judge"], world.refs["held"], 0)
    return form(problem=world.refs["held"])(world)


BENT = "The public kettle missed the cupboard because the _ was much too large."


def _sentence_form(sentence: str, do: str = "submit") -> Callable[[Any], dict[str, Any]]:
    return form(do=do, sentence=sentence, option_1="kettle", option_2="cupboard", answer="0")


def _documents(_: Any) -> list[int]:
    return list(Document.objects.values_list("pk", flat=True))


def _form_with_models(world: Any) -> dict[str, Any]:
    """Set the site's current models; return a form with a new key."""
    set_current_models(settings.RULES.models)
    return form()(world)


NEW = {"password": "cups-jugs", "again": "cups-jugs"}
JOIN = form(name="new", **NEW)
ERASE = form(sure="on", password=w.PASSWORD)
APPEAL = form(problem="rejected-a", text="It is fair.")

ROUTES: list[Row] = [
    ("read:home", "get", (), none, "ooooooo"),
    ("read:browse", "get", (), none, "ooooooo"),
    ("read:problem", "get", ("public-a",), none, "ooooooo"),
    ("read:download", "get", (), none, "ooooooo"),
    ("read:file", "get", ("problems.csv",), none, "ooooooo"),
    ("read:guidelines", "get", (), none, "ooooooo"),
    ("read:card", "get", (), none, "ooooooo"),
    ("read:card_text", "get", (), none, "ooooooo"),
    ("language", "get", (), none, "ooooooo"),
    ("set_language", "post", (), form(language="en"), "ddddddd"),
    ("people:me", "get", (), none, "loooooo"),
    ("people:data", "get", (), none, "loooooo"),
    ("people:news", "get", (), none, "lOOOOOO"),
    ("people:hide", "get", (), none, "mmmmmmm"),
    ("people:hide", "post", (), form(), "lDDDDDD"),
    ("people:erase", "get", (), none, "loooooo"),
    ("people:erase", "post", (), ERASE, "lOOOOOx"),
    ("people:erase_other", "get", (ref("number"),), none, "llffffo"),
    ("people:erase_other", "post", (ref("number"),), ERASE, "llffffD"),
    ("people:join", "get", (), none, "ooooooo"),
    ("people:join", "post", (), JOIN, "DDooooo"),
    ("people:invited", "get", (ref("token"),), none, "ooooooo"),
    ("people:invited", "post", (ref("token"),), JOIN, "DDooooo"),
    ("people:login", "get", (), none, "ooddddd"),
    ("people:login", "post", (), form(name="the-admin", password="wrong"), "xxxxxxx"),
    ("people:logout", "get", (), none, "mmmmmmm"),
    ("people:logout", "post", (), form(), "ddddddd"),
    ("people:password", "get", (), none, "llooooo"),
    ("people:password", "post", (), form(old=w.PASSWORD, **NEW), "llDDDDD"),
    ("people:reset", "get", (), none, "nnnnnnn"),
    ("people:mail", "get", (), none, "nnnnnnn"),
    ("people:mail_confirm", "get", ("token",), none, "nnnnnnn"),
    ("people:consent", "get", (), none, "odddddd"),
    ("people:consent", "post", (), form(agree="yes", shown=_documents), "Ddddddd"),
    ("people:texts", "get", (), none, "ooooooo"),
    ("people:text", "get", ("consent", 1), none, "ooooooo"),
    ("people:invitations", "get", (), none, "llfffoo"),
    ("people:invitations", "post", (), form(role="judge", days=1), "llfffOO"),
    ("people:take_back", "get", (ref("invitation"),), none, "llfffmm"),
    ("people:take_back", "post", (ref("invitation"),), form(), "llfffnD"),
    ("write:start", "get", (), none, "coooooo"),
    ("write:start", "post", (), form(), "cDDDDDD"),
    ("write:mine", "get", (), none, "ooooooo"),
    ("write:twin", "get", ("twin-rejected",), none, "nnonnnn"),
    ("write:withdraw", "get", ("twin-rejected",), none, "mmmmmmm"),
    ("write:withdraw", "post", ("twin-rejected",), form(), "nnDnnnn"),
    ("write:revise", "get", ("twin-rejected",), none, "mmmmmmm"),
    ("write:revise", "post", ("twin-rejected",), form(), "nnDnnnn"),
    ("write:appeal", "get", ("twin-rejected",), none, "mmmmmmm"),
    ("write:appeal", "post", ("twin-rejected",), APPEAL, "nnDnnnn"),
    ("write:draft", "get", (ref("draft"),), none, "nnonnnn"),
    ("write:draft", "post", (ref("draft"),), form(version=0, do="topic"), "nnDnnnn"),
    ("write:check", "get", (ref("draft"),), none, "mmmmmmm"),
    ("write:check", "post", (ref("draft"),), form(), "nnonnnn"),
    ("write:save", "get", (ref("draft"),), none, "mmmmmmm"),
    ("write:save", "post", (ref("draft"),), form(version=0, option_1="cup"), "ugOgggg"),
    ("write:discard", "get", (ref("draft"),), none, "mmmmmmm"),
    ("write:discard", "post", (ref("draft"),), form(), "ddDdddd"),
    ("families:index", "get", (), none, "ooooooo"),
    ("families:models", "get", (), none, "ooooooo"),
    ("families:file", "get", ("problems.jsonl",), none, "ooooooo"),
    ("families:file", "get", ("nothing.jsonl",), none, "nnnnnnn"),
    ("families:family", "get", ("public-a",), none, "ooooooo"),
    ("families:family", "get", ("judging-a",), none, "nnOnnOO"),
    ("families:family", "get", ("embargoed-a",), none, "nnOnnOO"),
    ("families:family", "get", ("gold-a",), none, "nnnnnOO"),
    ("families:family", "get", (ref("version"),), none, "nndnndd"),
    ("families:below", "get", ("public-a", "public-a"), none, "ddddddd"),
    ("families:below", "get", ("public-a", "judging-a"), none, "nnnnnnn"),
    ("perturb:start", "get", (), none, "ooooooo"),
    ("perturb:build", "get", ("public-a",), none, "coooooo"),
    ("perturb:build", "get", ("judging-a",), none, "cnOnnnn"),
    ("perturb:build", "get", ("embargoed-a",), none, "cnnnnnn"),
    ("perturb:build", "get", ("gold-a",), none, "cnnnnnn"),
    ("perturb:build", "get", (ref("version"),), none, "cnOnnnn"),
    ("perturb:build", "post", ("public-a",), _sentence_form(BENT), "xDDDDDD"),
    ("perturb:build", "post", ("public-a",), _sentence_form(BENT, "check"), "ooooooo"),
    ("perturb:build", "post", ("judging-a",), _sentence_form(BENT), "nnDnnnn"),
    ("perturb:build", "post", ("withdrawn-a",), _sentence_form(BENT), "nnnnnnn"),
    ("perturb:check", "get", ("public-a",), none, "mmmmmmm"),
    ("perturb:check", "post", ("public-a",), _sentence_form(BENT), "ooooooo"),
    ("perturb:check", "post", ("held-a",), _sentence_form(BENT), "nnonnnn"),
    ("perturb:made", "get", (ref("version"),), none, "nnOnnOO"),
    ("perturb:predictions", "get", (ref("version"),), none, "nnonnoo"),
    ("perturb:revise", "get", (ref("version"),), none, "cnonnnn"),
    ("perturb:revise", "post", (ref("version"),), _sentence_form(BENT), "nnDnnnn"),
    ("perturb:check_revision", "get", (ref("version"),), none, "mmmmmmm"),
    ("perturb:check_revision", "post", (ref("version"),), _sentence_form(BENT), "nnonnnn"),
    ("judge:turn", "get", (), none, "llffooo"),
    ("judge:next", "get", (), none, "mmmmmmm"),
    ("judge:next", "post", (), form(), "llffDDD"),
    ("judge:local", "get", (), none, "mmmmmmm"),
    ("judge:local", "post", (), form(problem=ref("held"), choice="0"), "llffDxx"),
    ("judge:answer", "get", (), none, "mmmmmmm"),
    ("judge:answer", "post", (), _local_answer_form, "llffDxx"),
    ("judge:skip", "get", (), none, "mmmmmmm"),
    ("judge:skip", "post", (), form(problem=ref("held"), reason="known"), "llffDxx"),
    ("judge:undo", "get", (), none, "mmmmmmm"),
    ("judge:undo", "post", (), _undo_form, "llffDxx"),
    ("judge:checked", "get", ("gold-a",), none, "llffonn"),
    ("judge:contest", "get", ("gold-a",), none, "mmmmmmm"),
    ("judge:contest", "post", ("gold-a",), form(text="It does fit."), "llffDnn"),
    ("judge:agreement", "get", (), none, "ooooooo"),
    ("judge:history", "get", (), none, "llffooo"),
    ("predict:models", "get", (), none, "ooooooo"),
    ("predict:model", "get", ("association",), _form_with_models, "ooooooo"),
    ("predict:again", "get", ("association",), _form_with_models, "mmmmmmm"),
    ("predict:again", "post", ("association",), _form_with_models, "llfffDD"),
    ("moderate:queue", "get", (), none, "llfffOO"),
    ("moderate:problem", "get", ("embargoed-a",), none, "llfffOO"),
    ("moderate:ask", "get", (), form(action="reject", pick="judging-b:0"), "llfffoo"),
    ("moderate:act", "get", (), none, "mmmmmmm"),
    ("moderate:act", "post", (), form(action="reject", pick="judging-b:0", text="So."), "llfffDD"),
    ("moderate:undo", "get", (), none, "mmmmmmm"),
    ("moderate:undo", "post", (), form(batch=ref("batch"), reason="So."), "llfffDD"),
    ("moderate:batch", "get", (ref("batch"),), none, "llfffoo"),
    ("moderate:job", "get", (ref("votes"),), none, "llfffoo"),
    ("moderate:job", "post", (ref("votes"),), form(do="stop"), "llfffDD"),
    ("moderate:contests", "get", (), none, "llfffOO"),
    ("moderate:settle", "get", (ref("contest"),), none, "mmmmmmm"),
    ("moderate:settle", "post", (ref("contest"),), form(upheld="1", answer="So."), "llfffDD"),
    ("moderate:log", "get", (), none, "llfffoo"),
    ("moderate:people", "get", (), none, "llfffoo"),
    ("moderate:agreement", "get", (), none, "llfffoo"),
    ("moderate:person", "get", (ref("owner"),), none, "llfffoo"),
    ("moderate:appoint", "get", (ref("owner"),), none, "mmmmmmm"),
    ("moderate:appoint", "post", (ref("owner"),), form(kind="judge", reason="So."), "llfffDD"),
    *take.ROUTES,
    *rounds.ROUTES,
    *market.ROUTES,
    *run.ROUTES,
    *api.ROUTES,
]


OBJECTS: dict[str, tuple[str, str, str]] = {
    # state: its page, its page for moderators, its twin's page for the contributor
    "public": ("ooooooo", "llfffoo", "nnonnnn"),
    "held": ("nnOnnOO", "llfffOO", "nnonnnn"),
    "judging": ("nnOnnOO", "llfffOO", "nnonnnn"),
    "rejected": ("nnonnoo", "llfffoo", "nnonnnn"),
    "withdrawn": ("nnonnoo", "llfffoo", "nnonnnn"),
    "revised": ("nnonnoo", "llfffoo", "nnonnnn"),
    "embargoed": ("nnOnnOO", "llfffOO", "nnonnnn"),
    "gold": ("nnnnnOO", "llfffOO", "nnnnnnn"),
}
"""Reading a problem that is not yet public is recorded (capital letters).

Its readers never judge it, and take no human test with it.
"""


def _outcomes(world: Any, method: str, url: str, data: Any = none) -> str:
    return "".join(w.ask(world, role, method, url, data) for role in w.ROLES)


def test_every_route_has_a_row(site):
    known = {name for name, _ in routes() if not name.startswith("admin:")}
    assert known == {name for name, *_ in ROUTES}


def _address_table() -> str:
    """Return a line for each address, method and object, with the outcome for each role.

    Django's own pages below /admin/tables/ have one line per table.
    """
    where = {name: address for name, address, _ in addresses()}
    rows = [
        (
            where[name],
            method.upper(),
            " ".join(arg for arg in args if isinstance(arg, str)),
            letters,
        )
        for name, method, args, _, letters in ROUTES
    ]
    rows += [(address, "", "", "") for name, address, _ in addresses() if "_changelist" in name]
    lines = dict.fromkeys("\t".join(row).rstrip() for row in sorted(rows))
    return "\n".join(["address\tmethod\tobject\t" + " ".join(w.ROLES), *lines, ""])


def test_table_of_addresses_equals_the_file(site):
    """A change of an address, a method or a right shows as changed lines of `addresses.tsv`.

    The letters are those of `world.outcome`; the tests below check them against the site.
    """
    assert _address_table() == Path(__file__).with_name("addresses.tsv").read_text("utf-8")


@pytest.mark.parametrize("row", ROUTES, ids=lambda row: f"{row[1]} {row[0]}")
def test_route_has_the_listed_outcome_for_each_role(world, row):
    name, method, args, data, expected = row
    url = reverse(name, args=[arg(world) if callable(arg) else arg for arg in args])
    assert dict(zip(w.ROLES, _outcomes(world, method, url, data), strict=True)) == dict(
        zip(w.ROLES, expected, strict=True)
    )


def test_head_succeeds_for_every_page_like_get(world):
    """Programs that check addresses send HEAD."""
    pages = [row for row in ROUTES if row[1] == "get" and row[4][-1] in "oO"]
    assert len(pages) > 50
    for name, _method, args, data, _expected in pages:
        url = reverse(name, args=[arg(world) if callable(arg) else arg for arg in args])
        assert w.ask(world, "admin", "head", url, data).lower() == "o", name


@pytest.mark.parametrize("state", w.STATES)
def test_problem_pages_are_visible_only_to_the_listed_roles(world, state):
    urls = (
        reverse("read:problem", args=[f"{state}-a"]),
        reverse("moderate:problem", args=[f"{state}-a"]),
        reverse("write:twin", args=[f"twin-{state}"]),
    )
    assert tuple(_outcomes(world, "get", url) for url in urls) == OBJECTS[state]


@pytest.mark.parametrize("state", [state for state in w.STATES if state != "public"])
def test_hidden_problem_looks_like_a_missing_one(world, state):
    for role in ("visitor", "anonymous", "other", "judge"):
        browser, pages = w.browser_of(world, role), []
        for name in (f"{state}-a", "nothing-a"):
            answer = browser.get(f"/problems/{name}/")
            assert answer.status_code == 404
            page = answer.text.replace(name, "")
            headers = {k: v for k, v in answer.headers.items() if k != "Content-Length"}
            pages.append((re.sub(r'value="\w{64}"', "", page), headers))
        assert pages[0] == pages[1]  # without the id, which is in the links of each page


def _admin_urls(world: Any) -> list[str]:
    """Return an address for each page of Django's admin."""
    urls = []
    for name, pattern in routes():
        if not name.startswith("admin:") or name.endswith(":"):
            continue
        size = pattern.pattern.regex.groups
        label = name.split("_")[0].removeprefix("admin:").lstrip(":")
        args = [label] if name == "admin:app_list" else [str(world.people["owner"].pk)] * size
        if name == "admin:app_list":
            args = ["people"]
        try:
            urls.append(reverse(name.replace("admin::", "admin:"), args=args))
        except NoReverseMatch:
            urls.append(reverse(name.replace("admin::", "admin:")))
    return urls


def test_django_admin_is_closed_to_other_roles(world):
    urls, before = _admin_urls(world), w.state_of_all()
    assert len(urls) > 60
    for role in ("visitor", "other", "moderator"):
        browser = w.browser_of(world, role)
        for url in urls:
            for shown in (browser.get(url), browser.post(url, {"name": "x"})):
                assert shown.status_code in (302, 403, 404, 405), (role, url)
                assert b"the-owner" not in shown.content
    assert w.state_of_all() == before


FORGED = {
    "person": "1", "user": "the-admin", "contributor": "1", "holder": "1", "name": "the-admin",
    "is_superuser": "on", "is_moderator": "1", "is_judge": "true", "role": "admin", "id": "1",
    "pseudonym": "p-000000000000", "writer": "1", "_auth_user_id": "1", "owner": "the-owner",
}  # fmt: skip

HEADERS = {
    "Remote-User": "the-admin", "X-Remote-User": "the-admin", "X-Forwarded-User": "the-admin",
    "Authorization": "Basic dGhlLWFkbWluOnR3aW5zLWFuZC1jdXBz", "X-User-Id": "1",
    "Cookie-User": "the-admin", "X-Original-Url": "/moderate/", "X-Http-Method-Override": "GET",
}  # fmt: skip


def test_forged_identities_in_forms_and_headers_are_ignored(world):
    for name, method, args, _data, expected in ROUTES:
        url = reverse(name, args=[arg(world) if callable(arg) else arg for arg in args])
        for role, letter in zip(w.ROLES, expected, strict=True):
            if letter not in "lfn":
                continue
            ask = functools.partial(getattr(w.browser_of(world, role), method), url, FORGED)
            came = w.changing(functools.partial(ask, headers=HEADERS))
            assert w.outcome(*came) == letter, (role, name)


def test_draft_belongs_to_its_author_despite_forged_ids(world):
    owner = world.people["owner"]
    forged = {"person": owner.pk, "contributor": owner.pk, "writer": owner.pk}
    answer = w.browser_of(world, "other").post("/write/", form(**forged)(world))
    assert answer.status_code == 302
    assert Draft.objects.latest("pk").person == world.people["other"]


def test_moderator_cannot_answer_a_problem_leased_to_a_judge(world):
    judge = world.people["judge"]
    form = _local_answer_form(world)
    before = w.state_of_all()
    forged = {**form, "holder": judge.pk, "person": judge.pk, "judge": "the-judge"}
    assert w.browser_of(world, "moderator").post("/judge/answer/", forged).status_code == 409
    assert w.state_of_all() == before


def test_invented_and_closed_sessions_are_refused(world):
    for key in ("x" * 32, "1", "", "../../x", world.refs["session of admin"][::-1]):
        browser = Client()
        browser.cookies[settings.SESSION_COOKIE_NAME] = key
        assert browser.get("/moderate/").status_code == 302
    admin = world.people["admin"]
    type(admin).objects.filter(pk=admin.pk).update(is_active=False)
    assert w.browser_of(world, "admin").get("/moderate/").status_code == 302
