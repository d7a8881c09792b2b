"""States, forms that act only once, and when halves become public: with their twin, or later."""

import contextlib
import threading
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F
from hypothesis import HealthCheck, given, strategies as st

from tests.conftest import examples
from tests.waiting import LONGEST
from tests.web.conftest import BOTH
from tests.web.making import fresh, single, vote
from tests.web.problems.test_public import STATES, Case, twins
from tests.web.together import at_once
from winosmith import Dataset, Problem
from winosmith.errors import InputError
from winosmith.web import importing
from winosmith.web._lock import writing
from winosmith.web.judge.models import Contest, Gold, Judge
from winosmith.web.judge.trust import add_gold, get_askable_questions, settle_contest as settle
from winosmith.web.moderate.queue import QueueFilters, filter_queue
from winosmith.web.people.gates import new_key, process_once
from winosmith.web.people.models import Person
from winosmith.web.problems.family import lift_embargo, set_embargo
from winosmith.web.problems.models import Event, Problem as Row, State
from winosmith.web.problems.states import (
    _get_due_problems,
    get_public_problems,
    get_public_time,
    move,
    publish_due_halves,
)
from winosmith.web.run.dashboard import _count_problems_and_votes


def _make_twin(author: Any = None, **columns: Any) -> list[Any]:
    """Store a twin in judging; return both halves."""
    _case, *halves = next(twins([Case("judging", other="judging")], author))
    for half in halves:
        type(half).objects.filter(pk=half.pk).update(decided=None, **columns)
    return halves


def _move(half: Any, state: str) -> None:
    """Move a half to a state, as a verdict or a moderator does."""
    move(half, State(state), actor=None, kind="verdict")


def _let_time_pass(halves: Iterable[Any], **time: float) -> None:
    """Move the decisions of halves into the past, and run the hourly publishing."""
    rows = type(next(iter(halves))).objects.filter(pk__in=[half.pk for half in halves])
    rows.update(decided=F("decided") - timedelta(**time))
    publish_due_halves()


def _are_public(*halves: Any) -> list[bool]:
    return [fresh(half).public for half in halves]


def _list_event_kinds(half: Any) -> list[str]:
    return list(half.events.values_list("kind", flat=True))


@pytest.mark.parametrize("end", ["valid", "rejected", "withdrawn", "revised"])
def test_twin_becomes_public_as_a_whole(db, person, ann, eva, visit, end):
    """Until the other half is decided, only the contributor and moderators read a valid half."""
    judy = person("judy", is_judge=True)
    one, two = _make_twin(ann)
    _move(one, "valid")

    def readers() -> list[int]:
        path = f"/problems/{one.ref}/"
        return [visit(who).get(path).status_code for who in (None, judy, ann, eva)]

    assert (_are_public(one, two), readers()) == ([False, False], [404, 404, 200, 200])
    _move(two, end)
    assert (_are_public(one, two), readers()) == ([True, end == "valid"], [200] * 4)
    assert "late" not in _list_event_kinds(one)


def test_rejected_half_is_not_listed_as_waiting(db):
    for state, number in (("valid", 1), ("rejected", 1)):
        one, _two = _make_twin()
        _move(one, state)
        assert _count_problems_and_votes()["waits"] == number
        assert filter_queue(QueueFilters(state="", only="waits")).count() == number


def test_half_becomes_public_after_14_days(db):
    """The log records it once."""
    for stalls in ("judging", "held"):
        one, two = _make_twin()
        _move(one, "valid")
        if stalls == "held":
            _move(two, "held")
        _let_time_pass([one], days=13, hours=23, minutes=59)
        assert _are_public(one, two) == [False, False]
        assert "late" not in _list_event_kinds(one)
        _let_time_pass([one], minutes=2)
        assert _are_public(one, two) == [True, False]
        _let_time_pass([one], hours=1)
        assert _list_event_kinds(one).count("late") == 1
        if stalls == "held":
            _move(two, "judging")
        _move(two, "valid")
        assert _are_public(one, two) == [True, True]


def test_wait_days_sets_the_waiting_time(db, rules):
    rules(wait_days=2)
    one, two = _make_twin()
    _move(one, "valid")
    _let_time_pass([one], days=1)
    assert _are_public(one) == [False]
    rules(wait_days=0)
    _move(two, "held")
    assert _are_public(one) == [True]
    three, _four = _make_twin()
    _move(three, "valid")
    assert _are_public(three) == [True]


def test_public_half_stays_public_if_the_other_is_rejudged(db):
    """A half that is judged again itself waits again."""
    one, two = _make_twin()
    _move(one, "valid")
    _move(two, "valid")
    _move(two, "judging")
    _let_time_pass([one, two], hours=1)
    assert _are_public(one, two) == [True, False]
    _move(one, "rejected")
    assert _are_public(one) == [False]
    _move(one, "valid")
    assert _are_public(one, two) == [False, False]
    _move(two, "valid")
    assert _are_public(one, two) == [True, True]


def test_retired_attention_question_does_not_delay_the_other_half(db):
    one, two = _make_twin()
    add_gold(two, "A small jug holds little.")
    Gold.objects.update(retired=True)
    _move(one, "valid")
    assert _are_public(one, two) == [True, False]


def test_other_half_of_an_attention_question_is_hidden(db, person, visit, ann, eva):
    """It would reveal the answer; it becomes public when the question ends."""
    one, two = _make_twin(ann)
    add_gold(two, "A small jug holds little.")
    _move(one, "valid")
    _let_time_pass([one], days=30)
    assert _are_public(one) == [False]
    assert (publish_due_halves(), get_public_time(one)) == (0, None)
    page = visit(one.twin.contributor).get(f"/problems/{one.ref}/").content.decode()
    assert "This half is waiting for the other half" in page
    assert "No date is set yet." in page
    judy = person("judy", is_judge=True)
    Judge.objects.create(person=judy)
    slot = vote(judy, two, n=judy.pk, gold=True, right=False, ref="asked")
    contested = Contest.objects.create(slot=slot, text="The jug may be big.")
    settle(contested, eva, upheld=True)
    assert _are_public(one, two) == [True, False]


def test_attention_question_with_a_public_half_is_refused(db):
    """An existing one is not asked."""
    one, two = _make_twin()
    _move(one, "valid")
    _let_time_pass([one], days=15)
    with pytest.raises(InputError, match="is public and reveals its answer"):
        add_gold(two, "A small jug holds little.")
    type(two).objects.filter(pk=two.pk).update(gold=True)
    Gold.objects.create(problem=two, explanation="A small jug holds little.")
    assert not get_askable_questions().exists()
    _move(one, "rejected")
    assert list(get_askable_questions()) == [two]


def test_lifted_embargo_publishes_no_half_before_the_other(db):
    """Lifting a missing embargo changes nothing."""
    one, two = _make_twin()
    _move(one, "valid")
    _move(two, "valid")
    with writing():
        set_embargo(one)
        _move(two, "judging")
        lift_embargo(one)
    assert _are_public(one, two) == [False, False]
    _move(two, "rejected")
    assert _are_public(one, two) == [True, False]
    three, four = _make_twin()
    _move(three, "valid")
    with writing():
        set_embargo(four)
        lift_embargo(three)
        assert _are_public(three) == [False]
        _move(four, "valid")
    assert _are_public(three, four) == [True, False]
    five, six = _make_twin()
    for half in (five, six):
        _move(half, "valid")
    _move(five, "judging")
    assert _are_public(five, six) == [False, True]
    lift_embargo(six)
    assert _are_public(five, six) == [False, True]


def test_imported_half_waits_for_a_half_in_judging(db):
    one, two = (
        Problem(
            f"of-a-file-{letter}", f"The cup did not fit in the jug since the _ was {word}.",
            ("cup", "jug"), answer, "of-a-file",
        )
        for letter, word, answer in (("a", "big", 0), ("b", "small", 1))
    )  # fmt: skip
    importing.import_problems(Dataset([one]), "judging")
    importing.import_problems(Dataset([one, two]), "valid")
    rows = [Row.objects.get(ref=datum.id) for datum in (one, two)]
    assert _are_public(*rows) == [False, False]
    _move(rows[0], "valid")
    assert _are_public(*rows) == [True, True]


@BOTH
def test_simultaneous_verdicts_on_both_halves_publish_them(database, ann):
    one, two = _make_twin(ann)
    started = threading.Event()

    def other() -> None:
        started.set()
        try:
            _move(two, "valid")
        finally:
            connection.close()

    thread = threading.Thread(target=other)
    with writing():
        _move(one, "valid")
        thread.start()
        started.wait(LONGEST)
        time.sleep(0.3)
    thread.join(LONGEST)
    assert _are_public(one, two) == [True, True]


def test_public_and_waiting_problems_use_partial_indexes(db):
    """SQLite is without statistics here."""
    with connection.cursor() as cursor:  # earlier tests may have left statistics
        cursor.execute("ANALYZE sqlite_master")
        if "sqlite_stat1" in connection.introspection.table_names(cursor):
            cursor.execute("DELETE FROM sqlite_stat1")
            cursor.execute("ANALYZE sqlite_master")
    waiting = Row.objects.filter(waits=True).order_by("-created", "-pk")
    plans = {
        "problem_public": get_public_problems().order_by("-id")[:20].explain(),
        "problem_waits": _get_due_problems().values_list("twin", flat=True).explain(),
        "problem_waits ": waiting[:20].explain(),
    }
    assert [name for name, plan in plans.items() if f"INDEX {name.strip()}" not in plan] == []


ACTS = st.one_of(
    st.tuples(st.sampled_from("ab"), st.sampled_from((*STATES, "embargo", "lift"))),
    st.tuples(st.just("time"), st.integers(1, 20)),
)


@given(st.lists(ACTS, max_size=12))
@examples(60, suppress_health_check=list(HealthCheck))
def test_no_half_is_published_before_the_other(ready_site, acts):
    """The rule holds after any sequence of actions.

    A half becomes public only if the other half is neither in judging nor held, or if it was
    decided 14 days ago. A valid half waits only while the other half is open.
    """
    with transaction.atomic():
        halves = dict(zip("ab", _make_twin(), strict=True))
        days = dict.fromkeys("ab", 0)
        for who, what in acts:
            before = _are_public(*halves.values())
            if who == "time":
                _let_time_pass(halves.values(), days=what)
                days = {name: spent + what for name, spent in days.items()}
            elif what in ("embargo", "lift"):
                (set_embargo if what == "embargo" else lift_embargo)(halves[who])
            else:
                with contextlib.suppress(InputError):
                    _move(halves[who], what)
                    days[who] = 0 if what in ("valid", "rejected") else days[who]
            after = _are_public(*halves.values())
            for name, other, was, now in zip("ab", "ba", before, after, strict=True):
                half = halves[name]
                may = half.state == "valid" and not half.embargo
                free = halves[other].state not in ("held", "judging")
                late = days[name] >= 14
                assert now <= may
                assert now or not (may and (free or was))
                assert free or late or was or not now
        transaction.set_rollback(True)


def test_invalid_move_is_refused(db):
    problem = single("p1", state=State.JUDGING)
    with pytest.raises(InputError, match="can't become 'judging'"):
        move(problem, State.JUDGING, actor=None, kind="reopen")
    assert not Event.objects.exists()


@BOTH
def test_form_sent_by_many_threads_acts_once(database, ann):
    key, acted = new_key(), []

    def send(number: int) -> tuple[dict[str, Any], bool]:
        def act() -> dict[str, Any]:
            acted.append(number)
            Person.objects.create_user(f"made-{number}")
            return {"number": number}

        return process_once(ann, key, "/x/", act)

    results = at_once(send, range(16))
    assert len({result["number"] for result, _ in results}) == 1
    assert [len(acted), sum(new for _, new in results)] == [1, 1]
    assert Person.objects.filter(name__startswith="made").count() == 1
