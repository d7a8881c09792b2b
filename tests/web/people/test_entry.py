"""Accounts, invitations, passwords and sessions."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from tests.web.conftest import BOTH, PASSWORD
from tests.web.making import fresh
from tests.web.test_authorisation import FORGED
from tests.web.together import at_once
from winosmith.errors import InputError
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.people.accounts import (
    create_reset_link,
    find_invitation,
    invite,
    merge_visitor,
    sign_up,
)
from winosmith.web.people.models import (
    Document,
    Hits,
    Invitation,
    Person,
    Session,
    get_pseudonym,
)
from winosmith.web.people.privacy import erase, export_personal_data
from winosmith.web.problems.models import Problem

TYPED = {"name": "Ann", "password": PASSWORD, "again": PASSWORD}


@pytest.fixture
def writer(db: Any, visit: Any) -> Any:
    """Return the browser of an anonymous person who agreed to the texts."""
    browser = visit()
    shown = list(Document.objects.exclude(kind="study").values_list("pk", flat=True))
    browser.post("/people/consent/", {"agree": "yes", "shown": shown})
    return browser


def _get_person(name: str) -> Any:
    return Person.objects.get_by_natural_key(name)


def test_sign_up_logs_in_and_gives_no_role(db, visit):
    """Roles and identities in the form are ignored."""
    browser = visit()
    answer = browser.post("/people/join/", {**FORGED, **TYPED, "next": "/people/texts/"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/people/texts/")
    ann = _get_person("Ann")
    assert browser.get("/people/").context["person"] == ann
    assert not any((ann.is_judge, ann.is_moderator, ann.is_superuser, ann.anonymous))


@pytest.mark.parametrize("page", ["login", "join"])
def test_menu_marks_log_in_or_sign_up_as_the_current_page(db, visit, page):
    """Both links keep the page to return to."""
    menu = visit().get(f"/people/{page}/?next=/write/").text.partition("<main")[0]
    marked = re.findall(r'<a href="([^"]*)" aria-current="page">', menu)
    assert marked == [f"/people/{page}/?next=%2Fwrite%2F"]
    assert menu.count("?next=%2Fwrite%2F") == 2


def test_double_click_on_sign_up_makes_one_account(db, visit):
    first, again = (visit().post("/people/join/", TYPED, follow=True) for _ in range(2))
    assert "Your account is ready." in first.text
    assert "You already have an account" in again.text
    assert Person.objects.filter(name="Ann").count() == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "anonymous-abc"}, "are reserved"),
        ({"password": "12345678", "again": "12345678"}, "numeric"),
        ({"again": "something else"}, "The two passwords differ."),
        ({"name": ""}, "required"),
    ],
)
def test_invalid_sign_up_is_refused_with_the_reason(db, visit, changes, reason):
    answer = visit().post("/people/join/", TYPED | changes)
    assert answer.status_code == 422
    assert reason in answer.text
    assert not Person.objects.exists()


def test_anonymous_writer_keeps_sentences_after_sign_up(writer):
    """The account is the row of the anonymous person."""
    before = Person.objects.get(anonymous=True)
    writer.post("/people/join/", TYPED)
    assert _get_person("Ann").pk == before.pk
    assert Person.objects.count() == 1
    assert _get_person("Ann").agreements.count() == 2


def test_writer_cannot_judge_text_written_before_the_log_in(writer, ann, bob, twin):
    """The log-in moves the text to the account."""
    halves = twin(Person.objects.get(anonymous=True))
    writer.post("/people/login/", {"name": "ann", "password": PASSWORD})
    assert fresh(halves[0].twin).contributor == ann
    assert lease_next_problem(ann) is None
    assert lease_next_problem(bob).problem in halves


def test_twin_that_its_writer_read_as_a_judge_is_withdrawn(db, ann, twin):
    """It was written anonymously; then its writer logs in."""
    hidden = Person.objects.create_anonymous()
    twin(hidden)
    assert lease_next_problem(ann) is not None
    merge_visitor(ann, hidden)
    assert set(Problem.objects.values_list("state", flat=True)) == {"withdrawn"}


def test_log_in_changes_the_key_of_the_session(writer, visit, ann):
    before = writer.cookies[settings.SESSION_COOKIE_NAME].value
    writer.post("/people/login/", {"name": "ANN", "password": PASSWORD})
    assert writer.cookies[settings.SESSION_COOKIE_NAME].value != before
    planted = visit()
    planted.cookies[settings.SESSION_COOKIE_NAME] = before
    assert planted.get("/people/").status_code == 302


WRITES = ("INSERT", "UPDATE", "DELETE")


def _count_write_transactions(queries: Any) -> int:
    """Count the committed transactions with a write, and the writes outside of transactions."""
    count, inside, writes = 0, False, False
    for query in queries:
        word = query["sql"].split(maxsplit=1)[0].upper()
        if word == "BEGIN":
            inside, writes = True, False
        elif word == "COMMIT":
            inside, count = False, count + writes
        elif word in WRITES:
            writes, count = True, count + (not inside)
    return count


@BOTH
@pytest.mark.parametrize(("password", "most"), [(PASSWORD, 2), ("wrong", 1)])
def test_log_in_takes_two_write_transactions(database, ann, visit, password, most):
    """One counts the attempt, one starts the session. A wrong password takes only the first.

    Each transaction waits for the disk and for others.
    """
    with CaptureQueriesContext(connection) as queries:
        answer = visit().post("/people/login/", {"name": "ann", "password": password})
    assert _count_write_transactions(queries) == most
    inside = password == PASSWORD
    assert answer.status_code == (302 if inside else 422)
    assert Session.objects.count() == inside
    assert sum(Hits.objects.values_list("count", flat=True)) == (0 if inside else 3)


def test_session_changed_after_saving_is_saved_again(db, ann, visit):
    browser = visit(ann)
    session = browser.session
    session["later"] = 1
    session.save()
    session["later"] = 2
    session.save()
    assert browser.session["later"] == 2


def test_ten_failed_log_ins_block_the_name_in_the_network(db, visit, ann, bob, monkeypatch):
    """Other names, and the name in other networks, are not blocked."""
    for bound in ("MAX_FAILED_NAME", "MAX_FAILED_NETWORK"):
        monkeypatch.setattr(f"winosmith.web.people.accounts.{bound}", 12)
    browser, typed = visit(), {"name": "ann", "password": "wrong"}
    tries = [browser.post("/people/login/", typed).status_code for _ in range(13)]
    assert tries == [422] * 10 + [429] * 3
    right = {"name": "ann", "password": PASSWORD}
    assert visit().post("/people/login/", right).status_code == 429
    assert visit().post("/people/login/", right, REMOTE_ADDR="192.0.2.7").status_code == 302
    assert visit().post("/people/login/", {**right, "name": "bob"}).status_code == 302


def test_log_ins_refused_for_others_failures_do_not_count(db, visit, ann, monkeypatch):
    monkeypatch.setattr("winosmith.web.people.accounts.MAX_FAILED_NETWORK", 2)
    right = {"name": "ann", "password": PASSWORD}
    for name in ("x", "y"):
        assert visit().post("/people/login/", {**right, "name": name}).status_code == 422
    assert {visit().post("/people/login/", right).status_code for _ in range(11)} == {429}
    monkeypatch.undo()
    assert visit().post("/people/login/", right).status_code == 302


def test_invitation_makes_one_account_with_its_role(db, visit):
    """Opening the link does not use it up."""
    path = invite("admin", 30)
    assert visit().get(path).status_code == 200
    assert visit().get(path).status_code == 200
    assert visit().post(path, TYPED).status_code == 302
    assert _get_person("Ann").is_superuser
    assert visit().post(path, TYPED | {"name": "Bob"}).status_code == 410


def test_invitation_label_is_listed_and_erased_with_its_user(db, visit, eva):
    form = {"role": "judge", "days": "1", "label": "Ann of the Tuesday class"}
    made = visit(eva).post("/people/invitations/", form).text
    assert "judge: <bdi>Ann of the Tuesday class</bdi>" in made
    path = re.search(r'value="http://testserver(/people/join/[^"]+)"', made)
    assert visit().post(path[1], TYPED).status_code == 302
    ann = _get_person("Ann")
    assert "Ann of the Tuesday class" in str(export_personal_data(ann))
    erase(ann, False)
    assert not Invitation.objects.exclude(label="").exists()


@pytest.mark.parametrize("url", [None, "https://twins.example.org"])
def test_invitation_warns_if_its_link_works_only_on_this_computer(db, visit, eva, url):
    with override_settings(SITE=replace(settings.SITE, public_url=url)):
        answer = visit(eva).post("/people/invitations/", {"role": "judge", "days": "1"})
    made = answer.text
    assert ("works only on this computer" in made) is (url is None)


def test_simultaneous_uses_of_an_invitation_make_one_account(database):
    invitation = find_invitation(invite("admin", 30).split("/")[-2])

    def join(number: int) -> Any:
        return sign_up(f"somebody-{number}", PASSWORD, invitation=invitation)

    joined = at_once(join, range(16), but=InputError)
    assert sum(isinstance(one, Person) for one in joined) == 1
    assert Person.objects.count() == Person.objects.filter(is_superuser=True).count() == 1


@pytest.mark.parametrize("names", [("Ann", "ann"), ("ann", "аnn", "ɑnn", "αnn")])
def test_simultaneous_sign_ups_with_one_name_make_one_account(database, names):
    """Names that look alike are the same name."""
    joined = at_once(
        lambda number: sign_up(names[number % len(names)], PASSWORD), range(16), but=InputError
    )
    assert sum("choose another one" in str(one) for one in joined) == 15
    assert Person.objects.count() == 1


def test_sign_up_requires_an_invitation_if_the_site_does(db, visit, rules):
    rules(signup="invited")
    assert "a link from a moderator" in visit().post("/people/join/", TYPED).text
    assert not Person.objects.exists()


def test_moderators_can_invite_judges_but_not_admins(db, visit, eva):
    browser = visit(eva)
    for role in ("moderator", "admin"):
        refused = browser.post("/people/invitations/", {"role": role, "days": 7})
        assert refused.status_code == 422
    assert not Invitation.objects.exists()
    made = browser.post("/people/invitations/", {"role": "judge", "days": 7})
    assert "http://testserver/people/join/" in made.text
    assert Invitation.objects.get().made_by.name == "eva"


def test_link_of_an_admin_resets_a_password(db, visit, adam, ann):
    form = {"role": "contributor", "days": 1, "name": "Ann"}
    made = visit(adam).post("/people/invitations/", form)
    path, new = made.context["link"].removeprefix("http://testserver"), "jugs-and-shelves"
    assert visit().post(path, {"password": new, "again": new}).status_code == 302
    log_in = visit().post("/people/login/", {"name": "ann", "password": new})
    assert log_in.status_code == 302


def test_passwords_are_hashed_by_argon2id(db, person):
    with override_settings(PASSWORD_HASHERS=settings.PASSWORD_HASHERS[1:]):
        ann = person("ann")
    assert ann.password.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    assert ann.check_password("twins-and-cups")
    assert not ann.check_password("twins-and-jugs")


LOOKALIKES = {
    "ann": ("аnn", "Аnn", "αnn", "ɑnn", "аｎn", "Ａnn", "ANN", "Αnn", "𝐚nn"),
    "асе": ("ace",), "poc": ("рос",), "οХο": ("oxo",), "pau1": ("paul",),
}  # fmt: skip
"""Names, and names in other alphabets, widths and shapes that look like them."""


@pytest.mark.parametrize(
    ("taken", "name"), [(taken, name) for taken, names in LOOKALIKES.items() for name in names]
)
def test_lookalikes_of_a_taken_name_are_refused(db, taken, name):
    sign_up(taken, PASSWORD)
    with pytest.raises(InputError, match="choose another one"):
        sign_up(name, PASSWORD)


def test_names_in_other_alphabets_are_accepted(db):
    for name in ("Анна", "Ωmega", "李雷", "さくら子", "Émile", "علي"):
        assert sign_up(name, PASSWORD).name == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("..", "letter or a digit"),
        (".", "letter or a digit"),
        ("@", "letter or a digit"),
        ("-ann", "letter or a digit"),
        ("+ann", "letter or a digit"),
        ("_", "letter or a digit"),
        ("a/b", "without spaces"),
        ("a b", "without spaces"),
        ("an\u200bn", "without spaces"),
        ("an\u202en", "without spaces"),
        ("an\x00n", "without spaces"),
        ("p-0123456789ab", "are reserved"),
        ("P-0123456789AB", "are reserved"),
        ("р-0123456789аb", "are reserved"),
        ("erаsed-ann", "are reserved"),
        ("anonym0us-ann", "are reserved"),
    ],
)
def test_malformed_and_reserved_names_are_refused(db, name, reason):
    with pytest.raises(InputError, match=reason):
        sign_up(name, PASSWORD)


def test_search_for_a_pseudonym_finds_its_owner(db, visit, person, ann, adam):
    """An old account may have another person's pseudonym as its name."""
    eve = person(get_pseudonym(ann))
    found = visit(adam).get("/moderate/people/", {"who": eve.name})
    assert found.headers["Location"] == f"/moderate/people/{get_pseudonym(ann)}/"


@pytest.mark.parametrize("name", ["..", "a/b", "?", "ann"])
def test_admin_can_erase_accounts_with_any_name(db, visit, person, name, adam):
    """Old accounts may have names that are refused now."""
    one, browser = person(name), visit(adam)
    page = browser.get(f"/moderate/people/{get_pseudonym(one)}/").text
    found = re.search(r'href="(/people/erase/[^"]+)"', page)
    typed = {"sure": "on", "password": PASSWORD}
    assert browser.post(found[1], typed).status_code == 302
    assert fresh(one).erased
    assert browser.post(found[1], typed).status_code == 404


@pytest.mark.parametrize("password", ["margaret-smith", "Margaret-Smith1", "margaretsmith"])
def test_password_similar_to_the_name_is_refused(db, visit, person, password):
    typed = {"password": password, "again": password}
    joined = visit().post("/people/join/", {"name": "margaret-smith", **typed})
    one = person("Margaret-Smith")
    changed = visit(one).post("/people/password/", {"old": PASSWORD, **typed})
    again = visit().post(create_reset_link(one, 30), typed)
    for answer in (joined, changed, again):
        assert answer.status_code == 422
        assert "too similar to the name" in answer.text
    assert fresh(one).check_password(PASSWORD)
