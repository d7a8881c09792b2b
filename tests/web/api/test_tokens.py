"""Tokens: shown once, stored as digests, with no more rights than their owner."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.web.api.calling import Program, program
from winosmith.errors import InputError
from winosmith.web.api import models as tokens
from winosmith.web.api.models import Token
from winosmith.web.people.gates import new_key
from winosmith.web.people.privacy import (
    delete_old_rows,
    erase,
    export_personal_data,
    save_agreement,
)


@pytest.fixture
def ann(db: Any, person: Any) -> Any:
    """Return a user who agreed to the texts."""
    made = person("ann")
    save_agreement(made)
    return made


def _form(**changes: Any) -> dict[str, Any]:
    return {"key": new_key(), "name": "nightly", "days": "90", **changes}


def test_token_is_shown_once_and_not_stored(ann, visit):
    browser, form = visit(ann), _form()
    page = browser.post("/tokens/", form)
    text = page.context["text"]
    assert page.status_code == 200
    assert page.text.count(text) == 1
    assert "no-store" in page["Cache-Control"]
    assert text.startswith("ws_")
    assert len(text) == 3 + 43
    assert Program(text).get("me").json()["name"] == "ann"
    for model in apps.get_models():
        assert text not in str(list(model._base_manager.values())), model
    again = browser.post("/tokens/", form, follow=True)
    assert text not in again.text
    assert Token.objects.count() == 1
    assert text[:8] in again.text


@pytest.mark.parametrize(
    "changes",
    [{"name": " "}, {"name": "x" * 61}, {"days": "0"},
     {"days": "367"}, {"days": "x"}, {"key": ""}],
)  # fmt: skip
def test_invalid_form_for_a_token_is_refused(ann, visit, changes):
    """A token needs a name, and an end within a year."""
    page = visit(ann).post("/tokens/", _form(**changes))
    assert page.status_code == 422
    assert page.context["error"]
    assert not ann.tokens.exists()
    assert page.context["name"] == changes.get("name", "nightly")


def test_expired_and_revoked_tokens_are_refused(ann, visit):
    one, two, three, four = (program(ann) for _ in range(4))
    rows = list(ann.tokens.order_by("pk"))
    assert one.get("me").status_code == 200
    ann.tokens.filter(pk=rows[0].pk).update(expires=timezone.now() - timedelta(seconds=1))
    assert visit(ann).post(f"/tokens/{rows[1].pk}/revoke/").status_code == 302
    assert three.call("delete", "me/token").status_code == 204
    assert [one.get("me").status_code for one in (one, two, three, four)] == [401] * 3 + [200]
    visit(ann).post("/tokens/revoke/")
    assert four.get("me").status_code == 401


def test_tokens_end_with_their_owners_account(ann):
    caller = program(ann)
    type(ann).objects.filter(pk=ann.pk).update(is_active=False)
    assert caller.get("me").status_code == 401
    type(ann).objects.filter(pk=ann.pk).update(is_active=True)
    assert caller.get("me").status_code == 200
    erase(ann, texts=False)
    assert caller.get("me").status_code == 401
    assert not ann.tokens.exists()


def test_only_the_day_of_the_last_use_is_stored(ann):
    """Further uses on that day write nothing."""
    caller = program(ann)
    caller.get("me")
    token = ann.tokens.get()
    assert token.used == timezone.now().date()
    with CaptureQueriesContext(connection) as queries:
        caller.get("me")
    assert not [q for q in queries if q["sql"].startswith(("UPDATE", "INSERT"))]


def test_number_of_valid_tokens_is_limited(ann):
    """Revoked tokens don't count, and are deleted after a time."""
    made = [tokens.create_token(ann, f"n{n}")[0] for n in range(tokens.MAX_TOKENS)]
    with pytest.raises(InputError, match="20 tokens"):
        tokens.create_token(ann, "more")
    assert tokens.revoke_token(ann, made[0].pk)
    assert not tokens.revoke_token(ann, made[0].pk)
    tokens.create_token(ann, "more")
    ann.tokens.filter(pk=made[0].pk).update(revoked=timezone.now() - timedelta(days=91))
    assert delete_old_rows()["api"] == 1
    assert ann.tokens.count() == tokens.MAX_TOKENS


def test_personal_data_contain_tokens_without_digests(ann):
    program(ann)
    told = json.dumps(export_personal_data(ann), default=str)
    assert "a program" in told
    assert ann.tokens.get().digest not in told


def test_me_lists_the_texts_that_a_paid_judge_must_accept(person, db):
    worker = person("worker", hired=True, is_judge=True)
    (text,) = program(worker).get("me").json()["to_agree"]
    assert text.endswith("/people/texts/study/1/")
    save_agreement(worker, judging=True)
    assert program(worker).get("me").json()["to_agree"] == []
