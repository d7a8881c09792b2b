"""When halves become public: a twin as a whole, or a half that has waited long enough."""

import contextlib
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as site
from django.db import connection, transaction
from django.db.models import F
from hypothesis import HealthCheck, given, strategies as st

from tests.conftest import examples
from tests.waiting import LONGEST
from tests.web.conftest import BOTH
from tests.web.making import fresh, vote
from tests.web.problems.test_public import STATES, Case, twins
from winosmith import Dataset, Problem
from winosmith.errors import InputError
from winosmith.web import importing
from winosmith.web._lock import writing
from winosmith.web.judge.models import Contest, Gold, Judge
from winosmith.web.judge.trust import add_gold, get_askable_questions, settle_contest as settle
from winosmith.web.problems.family import lift_embargo, set_embargo
from winosmith.web.problems.models import Problem as Row, State
from winosmith.web.problems.states import (
    _get_due_problems,
    get_public_problems,
    get_public_time,
    move,
    publish_due_halves,
)


def _judged(author: Any = None, **columns: Any) -> list[Any]:
    """Store a twin that judges hold; return both halves."""
    _case, *halves = next(twins([Case("judging", other="judging")], author))
    for half in halves:
        type(half).objects.filter(pk=half.pk).update(decided=None, **columns)
    return halves


def _to(half: Any, state: str) -> None:
    """Move a half, as a verdict or a moderator would."""
    move(half, State(state), actor=None, kind="verdict")


def _later(halves: Iterable[Any], **time: float) -> None:
    """Let time pass for a twin, and the hourly look come round."""
    rows = type(next(iter(halves))).objects.filter(pk__in=[half.pk for half in halves])
    rows.update(decided=F("decided") - timedelta(**time))
    publish_due_halves()


def _public(*halves: Any) -> list[bool]:
    return [fresh(half).public for half in halves]


def _kinds(half: Any) -> list[str]:
    return list(half.events.values_list("kind", flat=True))


@pytest.mark.parametrize("end", ["valid", "rejected", "withdrawn", "revised"])
def test_a_twin_becomes_public_as_a_whole(
    db: Any, person: Any, ann: Any, eva: Any, visit: Any, end: str
) -> None:
    """A half found valid is nobody's to read before the other is decided, whatever comes of it.

    Its contributor and moderators read it meanwhile, and so does nobody who judges the other.
    """
    judy = person("judy", is_judge=True)
    one, two = _judged(ann)
    _to(one, "valid")

    def readers() -> list[int]:
        path = f"/problems/{one.ref}/"
        return [visit(who).get(path).status_code for who in (None, judy, ann, eva)]

    assert (_public(one, two), readers()) == ([False, False], [404, 404, 200, 200])
    _to(two, end)
    assert (_public(one, two), readers()) == ([True, end == "valid"], [200] * 4)
    assert "late" not in _kinds(one)


def test_a_half_that_waited_long_enough_is_public(db: Any) -> None:
    """After 14 days, and never before, nothing is waited for; the log says once that it was so."""
    for stalls in ("judging", "held"):
        one, two = _judged()
        _to(one, "valid")
        if stalls == "held":
            _to(two, "held")
        _later([one], days=13, hours=23, minutes=59)
        assert _public(one, two) == [False, False]
        assert "late" not in _kinds(one)
        _later([one], minutes=2)
        assert _public(one, two) == [True, False]
        _later([one], hours=1)
        assert _kinds(one).count("late") == 1
        if stalls == "held":
            _to(two, "judging")
        _to(two, "valid")
        assert _public(one, two) == [True, True]


def test_the_days_of_waiting_are_a_setting(db: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `wait_days` 2 a half waits for two days, with 0 not at all."""
    monkeypatch.setattr(site, "RULES", replace(site.RULES, wait_days=2))
    one, two = _judged()
    _to(one, "valid")
    _later([one], days=1)
    assert _public(one) == [False]
    monkeypatch.setattr(site, "RULES", replace(site.RULES, wait_days=0))
    _to(two, "held")
    assert _public(one) == [True]
    three, _four = _judged()
    _to(three, "valid")
    assert _public(three) == [True]


def test_what_was_published_stays(db: Any) -> None:
    """A half that is public stays so when the other is judged again; it goes by itself alone.

    Judged again itself, it waits again.
    """
    one, two = _judged()
    _to(one, "valid")
    _to(two, "valid")
    _to(two, "judging")
    _later([one, two], hours=1)
    assert _public(one, two) == [True, False]
    _to(one, "rejected")
    assert _public(one) == [False]
    _to(one, "valid")
    assert _public(one, two) == [False, False]
    _to(two, "valid")
    assert _public(one, two) == [True, True]


def test_an_attention_question_stalls_nothing(db: Any) -> None:
    """A half that was an attention question, and is retired, is waited for by nobody."""
    one, two = _judged()
    add_gold(two, "A small jug holds little.")
    Gold.objects.update(retired=True)
    _to(one, "valid")
    assert _public(one, two) == [True, False]


def test_what_tells_the_answer_of_an_attention_question_is_not_public(
    db: Any, person: Any, visit: Any, ann: Any, eva: Any
) -> None:
    """The other half of one that is asked waits; it is public with the question's end."""
    one, two = _judged(ann)
    add_gold(two, "A small jug holds little.")
    _to(one, "valid")
    _later([one], days=30)
    assert _public(one) == [False]
    assert (publish_due_halves(), get_public_time(one)) == (0, None)
    page = visit(one.twin.contributor).get(f"/problems/{one.ref}/").content.decode()
    assert "This half is waiting for the other half" in page
    assert "No date is set yet." in page
    judy = person("judy", is_judge=True)
    Judge.objects.create(person=judy)
    slot = vote(judy, two, n=judy.pk, gold=True, right=False, ref="asked")
    contested = Contest.objects.create(slot=slot, text="The jug may be big.")
    settle(contested, eva, upheld=True)
    assert _public(one, two) == [True, False]


def test_no_attention_question_is_asked_beside_what_is_public(db: Any) -> None:
    """If one half is public, the other can't become a question, and isn't asked if it is one."""
    one, two = _judged()
    _to(one, "valid")
    _later([one], days=15)
    with pytest.raises(InputError, match="is public and reveals its answer"):
        add_gold(two, "A small jug holds little.")
    type(two).objects.filter(pk=two.pk).update(gold=True)
    Gold.objects.create(problem=two, explanation="A small jug holds little.")
    assert not get_askable_questions().exists()
    _to(one, "rejected")
    assert list(get_askable_questions()) == [two]


def test_lifting_an_embargo_publishes_no_half_ahead_of_the_other(db: Any) -> None:
    """A half whose embargo ends while judges hold the other waits like one just found valid."""
    one, two = _judged()
    _to(one, "valid")
    _to(two, "valid")
    with writing():
        set_embargo(one)
        _to(two, "judging")
        lift_embargo(one)
    assert _public(one, two) == [False, False]
    _to(two, "rejected")
    assert _public(one, two) == [True, False]
    three, four = _judged()
    _to(three, "valid")
    with writing():
        set_embargo(four)
        lift_embargo(three)
        assert _public(three) == [False]
        _to(four, "valid")
    assert _public(three, four) == [True, False]


def test_imported_halves_wait_for_nothing_but_those_that_are_judged(db: Any) -> None:
    """Imported as valid, a twin is public at once; beside a half that is judged, it waits."""
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
    assert _public(*rows) == [False, False]
    _to(rows[0], "valid")
    assert _public(*rows) == [True, True]


@BOTH
def test_verdicts_on_both_halves_at_once_publish_the_twin(database: Any, ann: Any) -> None:
    """Of two verdicts at once the later sees the earlier: neither half is left to wait."""
    one, two = _judged(ann)
    started = threading.Event()

    def other() -> None:
        started.set()
        try:
            _to(two, "valid")
        finally:
            connection.close()

    thread = threading.Thread(target=other)
    with writing():
        _to(one, "valid")
        thread.start()
        started.wait(LONGEST)
        time.sleep(0.3)
    thread.join(LONGEST)
    assert _public(one, two) == [True, True]


def test_what_is_public_and_what_waits_is_found_by_small_indexes(db: Any) -> None:
    """SQLite, which has no statistics, walks the public problems and those that wait, not all."""
    from winosmith.web.problems.models import Problem

    with connection.cursor() as cursor:  # what ran before on this site may have left some
        cursor.execute("ANALYZE sqlite_master")
        if "sqlite_stat1" in connection.introspection.table_names(cursor):
            cursor.execute("DELETE FROM sqlite_stat1")
            cursor.execute("ANALYZE sqlite_master")
    waiting = Problem.objects.filter(waits=True).order_by("-created", "-pk")
    plans = {
        "problem_public": get_public_problems().order_by("-id")[:20].explain(),
        "problem_waits": _get_due_problems().values_list("twin", flat=True).explain(),
        "problem_waits ": waiting[:20].explain(),
    }
    assert [name for name, plan in plans.items() if f"INDEX {name.strip()}" not in plan] == []


def test_lifting_an_embargo_that_is_not_there_hides_nothing(db: Any) -> None:
    """A public half stays public when its other half is judged again and "lift" is pressed."""
    one, other = _judged()
    for half in (one, other):
        _to(half, "valid")
    _to(one, "judging")
    before = _public(one, other)
    assert before[1]
    lift_embargo(other)
    assert _public(one, other) == before


ACTS = st.one_of(
    st.tuples(st.sampled_from("ab"), st.sampled_from((*STATES, "embargo", "lift"))),
    st.tuples(st.just("time"), st.integers(1, 20)),
)


@given(st.lists(ACTS, max_size=12))
@examples(60, suppress_health_check=list(HealthCheck))
def test_no_half_is_ever_published_ahead_of_the_other(
    ready_site: Any, acts: list[tuple[str, Any]]
) -> None:
    """Whatever is done in whatever order: public is only what may be, and nothing waits in vain.

    A half that becomes public has no other half with the judges or a moderator, unless it was
    decided 14 days ago; and what is valid waits only while the other half does.
    """
    with transaction.atomic():
        halves = dict(zip("ab", _judged(), strict=True))
        days = dict.fromkeys("ab", 0)
        for who, what in acts:
            before = _public(*halves.values())
            if who == "time":
                _later(halves.values(), days=what)
                days = {name: spent + what for name, spent in days.items()}
            elif what in ("embargo", "lift"):
                (set_embargo if what == "embargo" else lift_embargo)(halves[who])
            else:
                with contextlib.suppress(InputError):
                    _to(halves[who], what)
                    days[who] = 0 if what in ("valid", "rejected") else days[who]
            after = _public(*halves.values())
            for name, other, was, now in zip("ab", "ba", before, after, strict=True):
                half = halves[name]
                may = half.state == "valid" and not half.embargo
                free = halves[other].state not in ("held", "judging")
                late = days[name] >= 14
                assert now <= may
                assert now or not (may and (free or was))
                assert free or late or was or not now
        transaction.set_rollback(True)
