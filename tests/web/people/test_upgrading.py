"""A site from before: its rows are carried over to what is kept now, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest


@pytest.fixture
def tables(database: Any) -> Iterator[Callable[..., Any]]:
    """Return what brings an area's tables to a migration, and returns their models as then.

    Without a name all tables become those of now.
    """
    from django.core.management import call_command
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    def bring(name: str = "", area: str = "people") -> Any:
        if not name:
            return call_command("migrate", verbosity=0)
        call_command("migrate", area, name, verbosity=0)
        return MigrationExecutor(connection).loader.project_state((area, name)).apps

    yield bring
    bring()


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
    tables()
    with pytest.raises(InputError, match="looks like one"):
        sign_up("αnn", "twins-and-cups")


def test_sessions_from_before_go_on_as_digests(tables: Any, visit: Any) -> None:
    """A cookie from before the digests works after them, and its key stands in no row."""
    from winosmith.web.people.gates import WRITER, SessionStore
    from winosmith.web.people.models import Session

    people = tables("0003_sessions_signed")
    session = people.get_model("people", "Session").objects
    writer = people.get_model("people", "Person").objects.create(name="anonymous-1", anonymous=True)
    end = datetime.now(UTC) + timedelta(days=1)
    data = SessionStore().encode({WRITER: writer.pk})
    session.create(session_key="k" * 32, session_data=data, expire_date=end, person_id=writer.pk)
    tables()
    browser = visit()
    browser.cookies["session"] = "k" * 32
    assert browser.get("/people/").context["person"].pk == writer.pk
    assert len(Session.objects.get().session_key) == 64


def test_judges_from_before_are_not_trained_and_what_is_paused_waits(
    tables: Any, person: Any
) -> None:
    """Who voted has passed the training; undecided votes of a paused judge wait, decided ones stay.

    What judges hold has a reference of its own afterwards, and fresh places have none.
    """
    from django.utils import timezone

    from tests.web.judge.making import twin  # type: ignore[import-not-found]
    from winosmith.web.judge.models import Judge, Slot
    from winosmith.web.problems.models import Problem

    open_, decided = (twin(halves=1, opened=False)[0] for _ in range(2))
    ann, bob, cem = (person(name) for name in ("ann", "bob", "cem"))
    before = tables("0002_slot_of_judge", "judge")
    judge, slot = (before.get_model("judge", name).objects for name in ("Judge", "Slot"))
    first = timezone.now() - timedelta(days=2)
    for n, who in enumerate((ann, bob, cem), start=1):
        judge.create(person_id=who.pk, paused=timezone.now() if who is ann else None)
        for problem in (open_, decided):
            held = who is cem
            slot.create(
                problem_id=problem.pk, twin_id=problem.twin_id, n=n, place=n, open=held,
                holder_id=who.pk, answered_at=None if held else first + timedelta(days=n),
            )  # fmt: skip
    slot.create(problem_id=open_.pk, twin_id=open_.twin_id, n=4, place=4)
    Problem.objects.filter(pk=decided.pk).update(state="valid")
    tables("0007_trust_indexes", "judge")
    rows = {one.person_id: one for one in Judge.objects.all()}
    assert [rows[who.pk].qualified for who in (ann, bob, cem)] == [
        first + timedelta(days=1), first + timedelta(days=2), None,
    ]  # fmt: skip
    assert [rows[who.pk].cause for who in (ann, bob, cem)] == ["moderator", "", ""]
    assert rows[ann.pk].held is not None
    waiting = Slot.objects.filter(provisional=True)
    assert [(one.holder_id, one.problem_id) for one in waiting] == [(ann.pk, open_.pk)]
    refs = Slot.objects.filter(holder=cem).values_list("ref", flat=True)
    assert {len(ref) for ref in refs} == {16}
    assert set(Slot.objects.exclude(holder=cem).values_list("ref", flat=True)) == {None}
