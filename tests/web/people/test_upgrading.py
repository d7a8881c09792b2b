"""A site from before: its rows are carried over to what is kept now, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest


@pytest.fixture
def tables(database: Any) -> Iterator[Callable[[str], Any]]:
    """Return what brings the tables of people to a migration, and returns their models as then."""
    from django.core.management import call_command
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    def bring(name: str) -> Any:
        call_command("migrate", "people", name, verbosity=0)
        return MigrationExecutor(connection).loader.project_state(("people", name)).apps

    yield bring
    call_command("migrate", verbosity=0)


def test_accounts_from_before_keep_their_names_and_take_their_looks(tables: Any) -> None:
    """Of accounts that look alike the first has the look; people without an account have none."""
    from winosmith.errors import InputError
    from winosmith.web.people.accounts import sign_up

    people = tables("0001_initial").get_model("people", "Person").objects
    for name in ("ann", "аnn", "..", "p-0123456789ab"):
        people.create(name=name, password="x")
    people.create(name="anonymous-1", anonymous=True)
    people.create(name="worker-1", hired=True)
    rows = tables("0002_person_look").get_model("people", "Person").objects.order_by("pk")
    assert [(one.name, one.look) for one in rows] == [
        ("ann", "ann"),
        ("аnn", None),
        ("..", ".."),
        ("p-0123456789ab", "p-oi23456789ab"),
        ("anonymous-1", None),
        ("worker-1", None),
    ]
    with pytest.raises(InputError, match="looks like one"):
        sign_up("αnn", "twins-and-cups")


def test_sessions_from_before_go_on_as_digests(tables: Any, visit: Any) -> None:
    """A cookie from before the digests works after them, and its key stands in no row."""
    from winosmith.web.people.models import Person, Session
    from winosmith.web.people.sessions import WRITER, SessionStore

    session = tables("0003_sessions_signed").get_model("people", "Session").objects
    writer = Person.objects.create_anonymous()
    end = datetime.now(UTC) + timedelta(days=1)
    data = SessionStore().encode({WRITER: writer.pk})
    session.create(session_key="k" * 32, session_data=data, expire_date=end, person_id=writer.pk)
    tables("0004_session_digests")
    browser = visit()
    browser.cookies["session"] = "k" * 32
    assert browser.get("/people/").context["person"] == writer
    assert len(Session.objects.get().session_key) == 64
