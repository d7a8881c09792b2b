"""Queries that are compiled once, and transactions within transactions."""

from __future__ import annotations

from datetime import timedelta

import pytest

pytest.importorskip("django")


def test_a_prepared_query_gives_what_the_query_gives(database, person):
    """Every column of a row and of its relations is as the ORM reads it, at each call anew."""
    from django.utils import timezone

    from winosmith.web._prepared import Given, Prepared
    from winosmith.web.problems.models import Problem, Twin

    ann, now = person("ann"), timezone.now()
    twins = [
        Twin.objects.create(ref="with", contributor=ann, created=now - timedelta(days=1)),
        Twin.objects.create(ref="without", created=now),
    ]
    for twin in twins:
        Problem.objects.create(
            ref=f"half-{twin.ref}",
            twin=twin,
            sentence="It was _ – 100 %.",
            options=["a", "b"],
            state="held",
            record={"kept": None},
        )

    def rows(since):
        found = Problem.objects.select_related("twin__contributor").order_by("pk")
        return found.filter(twin__created__gte=since, state="held")

    asked = Prepared(lambda: rows(Given("since")))
    counted = Prepared(lambda: rows(Given("since")).values_list("ref", "twin__created"))
    for since, count in ((now - timedelta(days=2), 2), (now, 1), (now + timedelta(days=1), 0)):
        found, expected = asked.rows(since=since), list(rows(since))
        assert len(expected) == count
        assert [vars_of(row) for row in found] == [vars_of(row) for row in expected]
        assert counted.rows(since=since) == [(row.ref, row.twin.created) for row in expected]
        assert vars_of(asked.first(since=since)) == vars_of(expected[0] if expected else None)


def vars_of(row):
    """Return the columns of a row, of its twin, and of its contributor."""
    if row is None:
        return None
    loaded = (row, row.twin, row.twin.contributor)
    return [
        {field.attname: getattr(one, field.attname) for field in one._meta.concrete_fields}
        for one in loaded
        if one is not None
    ]


def test_a_prepared_update_sets_what_is_given(database, person):
    """A prepared update changes the rows that it names, values in the columns' own form."""
    from django.utils import timezone

    from winosmith.web._prepared import Given, PreparedUpdate
    from winosmith.web.problems.models import Done

    ann, bob, now = person("ann"), person("bob"), timezone.now()
    for one in (ann, bob):
        Done.objects.create(person=one, key="k")
    change = PreparedUpdate(
        lambda: Done.objects.filter(person=Given("whose")), "result", "at", key="other"
    )
    assert change(whose=ann.pk, result={"to": [1, "é"]}, at=now) == 1
    assert change(whose=0, result={}, at=now) == 0
    row = Done.objects.get(person=ann)
    assert (row.result, row.at, row.key) == ({"to": [1, "é"]}, now, "other")
    assert Done.objects.get(person=bob).key == "k"


def test_prepared_counts_and_removals_are_those_of_the_query(database, person):
    """Rows are counted and removed for what each call gives, and no others."""
    from winosmith.web._prepared import Given, PreparedCount, PreparedDelete
    from winosmith.web.problems.models import Done

    ann, bob = person("ann"), person("bob")
    for one, key in ((ann, "a"), (ann, "b"), (bob, "a")):
        Done.objects.create(person=one, key=key)

    def rows():
        return Done.objects.filter(person=Given("whose")).select_related("person").order_by("at")

    count, remove = PreparedCount(rows), PreparedDelete(lambda: rows().filter(key=Given("key")))
    assert [count(whose=one.pk) for one in (ann, bob)] == [2, 1]
    assert remove(whose=ann.pk, key="a") == 1
    assert remove(whose=ann.pk, key="a") == 0
    assert [count(whose=one.pk) for one in (ann, bob)] == [1, 1]


def test_a_row_that_is_there_is_not_added_again(database, person):
    """Of rows that a constraint is against none is added; the others are as the ORM adds them."""
    from winosmith.web._prepared import insert
    from winosmith.web.problems.models import Done

    ann = person("ann")
    first, second = Done(person=ann, key="a", result={"x": None}), Done(person=ann, key="b")
    assert insert(first, second) == 2
    assert vars_in(Done.objects.get(pk=first.pk)) == vars_in(first)
    second.result = {"later": 1}
    second.save()
    assert insert(Done(person=ann, key="a"), Done(person=ann, key="c"), unless_there=True) == 1
    found = Done.objects.order_by("key").values_list("key", "result")
    assert list(found) == [("a", {"x": None}), ("b", {"later": 1}), ("c", {})]


def vars_in(row):
    """Return the columns of a row."""
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_what_is_written_within_a_transaction_goes_with_it(database, person):
    """An error takes back a whole transaction with the inner ones' writes; the next one holds."""
    from winosmith.web._lock import writing
    from winosmith.web.problems.models import Done

    ann = person("ann")

    def fails_late():
        with writing():
            with writing():
                Done.objects.create(person=ann, key="inner")
            raise KeyError

    with pytest.raises(KeyError):
        fails_late()
    assert not Done.objects.exists()
    with writing(), writing():
        Done.objects.create(person=ann, key="kept")
    assert Done.objects.get().key == "kept"


def test_a_connection_that_the_server_ended_is_made_anew(database):
    """A connection at rest is kept for the next request, unless the server has hung up on it."""
    from django.db import close_old_connections, connection

    from winosmith.web._prepared import Prepared
    from winosmith.web.problems.models import Done

    rows = Prepared(lambda: Done.objects.all())
    for ended in (False, connection.vendor == "postgresql"):
        assert rows.rows() == []
        resting = connection.connection
        if ended:
            hang_up(resting)
        close_old_connections()  # as each request begins
        assert rows.rows() == []
        assert (connection.connection is resting) is not ended


def hang_up(resting):
    """Let the server end a connection."""
    import psycopg

    process = resting.info.backend_pid
    with psycopg.connect(resting.info.dsn) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [process])
