"""Django's admin pages, which only show rows."""

import re
from typing import Any

from django.contrib import admin

from winosmith.web.people.models import Document
from winosmith.web.problems.models import Event, Problem


def _path(model: Any, page: str) -> str:
    return f"/admin/tables/{model._meta.app_label}/{model._meta.model_name}/{page}"


def test_admin_shows_every_table_read_only(adam, twin, visit, do):
    """Only documents can be added."""
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


def test_admin_lists_refuse_filters_in_the_address(adam, visit, person):
    """Filters such as `password__startswith` would reveal secrets letter by letter."""
    person("ann", email="ann@example.org")
    asked = ("password__startswith=", "salt__gt=0", "email=ann@example.org", "name__regex=a",
             "agreements__person__entry__lt=f")  # fmt: skip
    for one in asked:
        assert visit(adam).get(f"/admin/tables/people/person/?{one}").status_code == 400, one
    assert visit(adam).get("/admin/tables/people/person/?o=-1&p=1").status_code == 200


def test_new_document_text_becomes_a_new_version(adam, visit):
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


def test_admin_log_in_redirects_to_that_of_the_site(adam, visit):
    """Django's own log-in form would bypass the site's limit on attempts."""
    client = visit()
    sent = {"username": "adam", "password": "twins-and-cups"}
    answer = client.post("/admin/tables/login/?next=/admin/tables/", sent)
    assert answer["Location"].startswith("/people/login/")
    assert "_auth_user_id" not in client.session
