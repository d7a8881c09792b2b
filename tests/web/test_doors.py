"""Credentials and links: stored as digests, shown nowhere, and invalid when they should be."""

import re
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry

from tests.web import world as w
from winosmith.web.market.models import Study
from winosmith.web.people.accounts import (
    create_reset_link,
    find_invitation,
    invite,
    revoke_invitation,
)
from winosmith.web.people.models import Invitation, Person, Session
from winosmith.web.people.privacy import save_agreement

HASHED = {
    "people.Person.password": "logs in: Argon2id",
    "people.Session.session_key": "a log-in session: SHA-256 of 165 random bits",
    "people.Invitation.digest": "makes an account, or sets a password: SHA-256 of 192 random bits",
    "market.Study.digest": "begins paid work: SHA-256 of 192 random bits",
    "market.Participation.browser": "goes on with paid work: SHA-256 of 192 random bits",
}
"""Columns of credentials that give access by themselves, and how they are stored."""

SEALED = {
    "market.Identity.sealed": "whom the market pays: encrypted by the site's key",
    "market.Identity.digest": "the same, to find it again: keyed by the site's key",
    "market.Screen.digest": "who may come to a study: keyed by the site's key",
    "judge.Slot.origin": "an address of this hour: keyed by the site's key",
    "people.Hits.who": "an account or a network: keyed by the site's key; or what was no address",
    "people.SiteKey.digest": "that the key is the database's own: keyed by it",
}
"""Columns that reveal something only to the holder of the site's key."""

OPENS_NOTHING = {
    "people.Person.name": "the names that the site gives are random",
    "people.Person.salt": "makes a pseudonym, with the site's key",
    "people.Person.entry": "part of what a session must carry, with the site's key",
    "people.Session.session_data": "whose the session is; its own digest is keyed",
    "market.Study.code": "what the site tells who has finished; the market pays for it",
    "market.Study.short_code": "the same for who ended early",
    "market.Payment.key": "the id of a payment, for the ledger",
    "problems.Done.key": "a form that was sent, beside whose; nobody else meets it",
    "problems.Done.result": "ids of what came of a form",
    "problems.Twin.ref": "an id", "problems.Problem.ref": "an id",
    "judge.Slot.ref": "what its judge alone is shown in place of an id",
    "judge.Judge.together": "a mark of who is held at once, which moderators see as their names",
    "problems.Remembered.ref": "an id", "problems.Event.batch": "an id of the audit log",
    "moderate.Batch.mark": "an id of the audit log", "moderate.Batch.picked": "ids",
    "moderate.Batch.left": "ids",
    "run.Job.mark": "part of an address that admins alone open",
    "write.Draft.ref": "part of an address that its owner alone opens",
    "take.Sitting.ref": "part of an address that its owner alone opens",
    "take.Subject.code": "stands for a subject in results",
    "take.Sheet.code": "stands on the sheet", "take.Sheet.record": "the sheet",
    "take.Round.data": "the digest of public data",
    "perturb.Version.digest": "the digest of a sentence",
    "predict.Model.digest": "the digest of a model's files",
    "predict.Prediction.input": "the digest of a sentence",
    "predict.Prediction.stand": "what a prediction was made from",
    "rounds.Round.record": "digests of what was built", "rounds.Round.recipe": "settings",
    "admin.LogEntry.object_repr": "what a row calls itself",
}  # fmt: skip
"""Other columns with a suspicious name, or with random text."""

TELLING = re.compile(
    r"(key|token|secret|password|digest|hash|salt|entry|code|mark|sealed|nonce|ref|link|data)$"
)
RANDOM = re.compile(r"(?=[^\s]*\d)[0-9A-Za-z_+/=-]{16,}")
"""Text of 16 or more characters without a space, including a digit."""


@pytest.fixture
def world(db: Any) -> Any:
    """Return a site with a live credential of each kind."""
    made = w.make()
    made.refs["way back"] = create_reset_link(made.people["other"], 30).split("/")[-2]
    return made


def _live_credentials(world: Any) -> dict[str, str]:
    """Return the text of each live credential of the site, by its kind."""
    names = ("token", "way back", "study", "writing")
    sessions = [name for name in world.refs if name.startswith("session of ")]
    return {name: world.refs[name] for name in (*names, *sessions)}


def _columns() -> Iterator[tuple[str, Any, Any]]:
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.local_fields:
            if field.get_internal_type() in ("CharField", "SlugField", "TextField", "JSONField"):
                yield f"{model._meta.label}.{field.name}", model, field


def test_no_column_contains_a_live_credential(world):
    told = {
        name: str(list(model._base_manager.values_list(field.name, flat=True)))
        for name, model, field in _columns()
    }
    for what, secret in _live_credentials(world).items():
        assert [name for name, text in told.items() if secret in text] == [], what


def test_every_column_that_may_contain_a_secret_is_listed(world):
    """An unlisted column may contain a secret that nobody has thought of."""
    known = {**HASHED, **SEALED, **OPENS_NOTHING}
    there = {name for name, _, _ in _columns()}
    assert set(known) <= there
    for name, model, field in _columns():
        values = model._base_manager.values_list(field.name, flat=True)
        random = any(RANDOM.fullmatch(str(value)) for value in values)
        telling = TELLING.search(field.name) and model._meta.app_label not in ("auth", "admin")
        assert name in known or not (random or telling), name


def test_stored_digests_are_sha256_of_the_credentials(world):
    kept = {
        *Session.objects.values_list("session_key", flat=True),
        *Invitation.objects.values_list("digest", flat=True),
        *Study.objects.values_list("digest", flat=True),
    }
    assert {sha256(text.encode()).hexdigest() for text in _live_credentials(world).values()} <= kept
    assert len(world.refs["token"]) == 32


@pytest.mark.long
def test_django_admin_shows_no_secrets_or_digests(world):
    secrets = set(_live_credentials(world).values())
    for name in (*HASHED, *SEALED, "people.Person.salt", "people.Person.entry",
                 "people.Session.session_data", "problems.Done.key"):  # fmt: skip
        label, column = name.rsplit(".", 1)
        secrets |= {*apps.get_model(label)._base_manager.values_list(column, flat=True)}
    secrets |= {
        key[:8]
        for key in apps.get_model("problems.Done")._base_manager.values_list("key", flat=True)
    }
    browser, pages = w.browser_of(world, "admin"), ["/admin/tables/"]
    assert browser.get("/admin/tables/").status_code == 200
    for model in admin.site._registry:
        path = f"/admin/tables/{model._meta.app_label}/{model._meta.model_name}/"
        pages.append(path)
        pages += [
            f"{path}{row.pk}/{page}/"
            for row in model.objects.all()
            for page in ("change", "history")
        ]
    for path in pages:
        answer = browser.get(path)
        assert answer.status_code == 200
        page = answer.text
        assert not [secret for secret in secrets - {""} if secret in page], path
    assert not LogEntry.objects.exists()


NEW = {"password": "jugs-and-shelves", "again": "jugs-and-shelves"}


@pytest.mark.parametrize("way", ["change", "reset", "everywhere"])
def test_all_credentials_of_an_account_end_together(db, visit, ann, bob, way):
    """A new password, a reset and "everywhere" end them; other people's are unaffected."""
    save_agreement(ann)
    save_agreement(bob)
    here, there = visit(ann), visit(ann)
    link, bobs = create_reset_link(ann, 30), create_reset_link(bob, 30)
    path, typed = {
        "change": ("/people/password/", {**NEW, "old": "twins-and-cups"}),
        "reset": (link, NEW),
        "everywhere": ("/people/logout/", {"everywhere": "yes"}),
    }[way]
    assert "you are logged in: 2." in here.get("/people/").text
    browser = visit() if way == "reset" else here
    assert browser.post(path, typed, follow=True).status_code == 200
    assert there.get("/people/").status_code == 302
    assert browser.get("/people/").status_code == (302 if way == "everywhere" else 200)
    login = {"name": "ann", "password": "twins-and-cups"}
    assert visit().post("/people/login/", login).status_code == (
        302 if way == "everywhere" else 422
    )
    assert visit().get(link).status_code == 410
    assert visit().get(bobs).status_code == 200


def test_link_page_suggests_a_restart_only_without_an_admin(db, visit, adam):
    """A restart prints the first admin's link."""
    used = invite("admin", 30)
    assert visit().post(used, {**NEW, "name": "amy"}).status_code == 302
    for path in (used, "/people/join/no-such-link/"):
        assert "restart" not in visit().get(path).text
    Person.objects.update(is_superuser=False)
    assert "restart the server" in visit().get(path).text


def test_each_invalid_link_states_its_reason(db, visit, ann):
    joined, used = invite("judge", 30), create_reset_link(ann, 30)
    assert visit().post(joined, {**NEW, "name": "eve"}).status_code == 302
    assert visit().post(used, NEW).status_code == 302
    replaced, newest = create_reset_link(ann, 30), create_reset_link(ann, 30)
    back, late = invite("judge", 30), invite("judge", 30)
    found = find_invitation(back.split("/")[-2])
    assert found is not None
    revoke_invitation(found)
    row = Invitation.objects.latest("pk")
    row.expires -= timedelta(minutes=31)
    row.save()
    said = {
        joined: "was used on",
        used: "It was used to set a new password",
        replaced: "revoked",
        back: "revoked",
        late: "The link expired on",
        "/people/join/no-such-link/": "no such link",
    }
    for path, words in said.items():
        for browser in (visit(), visit(ann)):
            answer = browser.get(path)
            page = answer.text.partition("<main")[2]
            assert answer.status_code in (404, 410)
            assert words in page, path
            assert "works only once, and expires" not in page
            assert browser.person or "/people/login/" in page
        assert visit().post(path, {**NEW, "name": "bob"}).status_code in (404, 410), path
    assert visit().get(newest).status_code == 200


def test_logged_in_user_sees_what_a_link_is_for(db, visit, bob, ann):
    page = visit(ann).get(invite("judge", 30)).text
    assert "creates a new account" in page
    assert "The link works only once, and expires on" in page
    page = visit(ann).get(create_reset_link(bob, 30)).text
    assert "set a new password for an account" in page
    assert "creates a new account" not in page
