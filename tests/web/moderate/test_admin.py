"""Django's admin pages: they show, under the strict policy, and bypass no rule."""

import re
from typing import Any

import pytest
from django.contrib import admin

from winosmith.web.people.models import Document
from winosmith.web.problems.models import Event, Problem

pytestmark = pytest.mark.usefixtures("db")


def _path(model: Any, page: str) -> str:
    return f"/admin/tables/{model._meta.app_label}/{model._meta.model_name}/{page}"


def test_every_table_is_shown_and_nothing_can_be_changed(
    adam: Any, twin: Any, visit: Any, do: Any
) -> None:
    """Lists and rows open, named by more than a number; only a new document can be added."""
    names = visit(adam).get("/admin/tables/").content.decode()
    assert "indexed sentences" in names.lower()
    assert "remembereds" not in names.lower()
    half = twin(adam)[0]
    other = twin()[0]
    do(adam, "withdraw", other)
    client = visit(adam)
    for model in admin.site._registry:
        shown = client.get(_path(model, ""))
        assert shown.status_code == 200
        assert not re.search(r">\w+ object \(\d+\)<", shown.content.decode())
        if model is not Document:
            assert client.get(_path(model, "add/")).status_code == 403
            assert client.post(_path(model, "add/"), {}).status_code == 403
        row = model.objects.first()
        if row is not None:
            assert client.get(_path(model, f"{row.pk}/change/")).status_code == 200
            assert client.post(_path(model, f"{row.pk}/change/"), {"x": "1"}).status_code == 403
            assert (
                client.post(_path(model, f"{row.pk}/delete/"), {"post": "yes"}).status_code == 403
            )
            sent = {"action": "delete_selected", "_selected_action": row.pk, "post": "yes"}
            client.post(_path(model, ""), sent)
            assert model.objects.filter(pk=row.pk).exists()
    assert Problem.objects.count() == 4
    assert Event.objects.count() == 1
    assert half.state == "held"


def test_no_secret_is_spelt_out_by_asking_for_rows(adam: Any, visit: Any, person: Any) -> None:
    """No address of a list picks rows, neither by a secret's beginning nor by anything else."""
    person("ann", email="ann@example.org")
    asked = ("password__startswith=", "salt__gt=0", "email=ann@example.org", "name__regex=a",
             "agreements__person__entry__lt=f")  # fmt: skip
    for one in asked:
        assert visit(adam).get(f"/admin/tables/people/person/?{one}").status_code == 400, one
    assert visit(adam).get("/admin/tables/people/person/?o=-1&p=1").status_code == 200


def test_a_document_gets_a_new_version(adam: Any, visit: Any) -> None:
    """A new text becomes the next version; the same one again comes back with what is wrong."""
    before = Document.objects.filter(kind="consent").count()
    client, path = visit(adam), _path(Document, "add/")
    sent = {"kind": "consent", "text": "We keep what you write."}
    assert client.post(path, sent).status_code == 302
    newest = Document.objects.filter(kind="consent").order_by("-version").first()
    assert newest.text == "We keep what you write."
    assert Document.objects.filter(kind="consent").count() == before + 1
    again = client.post(path, sent)
    assert again.status_code == 200
    assert "already the current version" in again.content.decode()
    assert Document.objects.filter(kind="consent").count() == before + 1


def test_the_password_is_only_taken_by_the_sites_own_log_in(adam: Any, visit: Any) -> None:
    """Django's own log-in form takes no password: there is no door beside the one that counts."""
    client = visit()
    sent = {"username": "adam", "password": "twins-and-cups"}
    answer = client.post("/admin/tables/login/?next=/admin/tables/", sent)
    assert answer["Location"].startswith("/people/login/")
    assert "_auth_user_id" not in client.session
