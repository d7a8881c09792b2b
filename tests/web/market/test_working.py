"""Paid work and its end: a completion code only for stored work."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.web.growing import version
from tests.web.making import fresh, single
from tests.web.market import making as m
from winosmith.web.judge.models import Judge
from winosmith.web.judge.submissions import _choose_first_state, withdraw_twin
from winosmith.web.judge.turns import ProblemLostError, lease_next_problem, undo_answer
from winosmith.web.market.models import Participation
from winosmith.web.market.workers import (
    finish_participation,
    get_completion_code,
    measure_workload,
    sum_work_seconds,
)
from winosmith.web.people.gates import new_key
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Twin

CODE = "https://app.prolific.com/submissions/complete?cc=DONE1"


def _key() -> dict[str, str]:
    return {"key": new_key()}


def _twins(part: Any, count: int) -> list[Any]:
    made = []
    for n in range(count):
        row = Twin.objects.create(ref=f"w{part.pk}-{n}", contributor=part.person)
        for letter in "ab":
            single(f"w{part.pk}-{n}{letter}", twin=row, state="held")
        made.append(row)
    return made


def test_code_is_shown_only_after_all_work_is_stored(db, visit):
    """After that, no answer can be undone."""
    made, _ = m.study(2)
    part = m.working(made)
    halves = m.singles(3)
    browser = visit(part.person)
    m.give(part.person)
    early = browser.post("/study/finish/", _key())
    assert early.status_code == 409
    assert "1 of 2" in early.content.decode()
    assert CODE not in early.content.decode()
    m.give(part.person)
    assert "Finish and get your code" in browser.get("/study/").content.decode()
    assert CODE not in browser.get("/study/").content.decode()
    page = browser.post("/study/finish/", _key(), follow=True)
    assert CODE in page.content.decode()
    with pytest.raises(ProblemLostError):
        undo_answer(part.person, halves[1].ref)
    assert CODE in browser.post("/study/leave/", _key(), follow=True).content.decode()
    assert fresh(part).state == "complete"
    assert part.seconds is not None


def test_worker_can_end_early_if_no_work_is_left(db, visit):
    """A study may have another code for partial work. There is no code for no work."""
    made, _ = m.study(2, short_code="PART1")
    plain, _ = m.study(2)
    m.twin(halves=1)
    part = m.working(made)
    browser = visit(part.person)
    assert browser.post("/study/finish/", _key()).status_code == 409
    m.give(part.person)
    page = browser.get("/study/").content.decode()
    assert "No problem is available for you at the moment" in page
    assert "End here" in page
    assert "PART1" not in page
    page = browser.post("/study/finish/", _key(), follow=True).content.decode()
    assert "cc=PART1" in page
    assert "DONE1" not in page
    idle = m.working(plain, 2)
    assert visit(idle.person).post("/study/finish/", _key()).status_code == 409
    m.twin(halves=1)
    m.give(idle.person)
    page = visit(idle.person).post("/study/finish/", _key(), follow=True).content.decode()
    assert "Please return your submission" in page
    assert "DONE1" not in page


def test_leaving_a_study_frees_the_held_problem(db, ann, visit):
    made, _ = m.study(2)
    m.singles(2)
    part = m.working(made)
    lease_next_problem(part.person)
    page = visit(part.person).post("/study/leave/", _key(), follow=True).content.decode()
    assert "You have left the study" in page
    assert "DONE1" not in page
    assert lease_next_problem(part.person) is None
    assert m.give(ann)
    assert m.give(ann)


def test_returned_or_rejected_worker_sees_no_code(db, visit):
    part, _half = m.judged()
    finish_participation(part)
    browser = visit(part.person)
    assert "DONE1" in browser.get("/study/").content.decode()
    for verdict in ("returned", "rejected"):
        Participation.objects.filter(pk=part.pk).update(verdict=verdict)
        page = browser.get("/study/").content.decode()
        assert "Your participation in this study has ended" in page
        assert "DONE1" not in page


def test_workers_get_individual_codes_if_the_study_has_none(db):
    """So nobody can pass on the code of another worker."""
    made, _ = m.study(1, provider="generic", code="")
    codes = set()
    for n in (1, 2):
        m.twin(halves=1)
        part = m.working(made, n)
        m.give(part.person)
        finish_participation(part)
        codes.add(get_completion_code(fresh(part)))
    assert len(codes) == 2
    assert all(len(code) == 10 for code in codes)


def test_twins_count_as_work_until_they_are_withdrawn(db, visit):
    """Only twins since the start count. They are on hold for a moderator first."""
    made, _ = m.study(2, kind="write")
    part = m.working(made)
    browser = visit(part.person)
    assert "Start writing" in browser.get("/study/").content.decode()
    first, second = _twins(part, 2)
    first.created = part.began - timedelta(hours=1)
    first.save()
    assert measure_workload(part).done == 1
    first.created = part.began
    first.save()
    assert measure_workload(part).is_complete
    withdraw_twin(part.person, second)
    assert measure_workload(part).done == 1
    assert _choose_first_state(part.person, []) == "held"
    assert _choose_first_state(Person(name="ann"), []) == "judging"
    # The link back to the study is on every page.
    assert "1 of 2" in browser.get("/write/").content.decode()


def test_perturbed_problems_do_not_count_as_twins(db):
    """A twin counts even if somebody else perturbs it."""
    made, _ = m.study(1, kind="write")
    part = m.working(made)
    root = version(None, "The cup hit the jug and the _ broke .")
    version(root, "The cup hit the old jug and the _ broke .", by=part.person)
    assert measure_workload(part).done == 0
    own = version(None, "The pot hit the pan and the _ bent .", by=part.person)
    version(own, "The pot hit the old pan and the _ bent .")
    assert measure_workload(part).done == 1


def test_long_gaps_count_only_up_to_the_maximum(site):
    at = [datetime(2026, 1, 1, 12, minute) for minute in (0, 1, 31, 32)]
    assert sum_work_seconds(at, timedelta(minutes=5)) == 60 + 300 + 60
    assert sum_work_seconds(reversed(at), timedelta(minutes=5)) == 420
    assert sum_work_seconds(at[:1], timedelta(minutes=5)) == 0


def test_paused_worker_gets_no_problem_but_can_end(db, visit):
    made, _ = m.study(3)
    m.singles(3)
    part = m.working(made)
    m.give(part.person)
    Judge.objects.filter(person=part.person).update(held=timezone.now(), cause="moderator")
    browser = visit(part.person)
    page = browser.get("/judge/", follow=True).content.decode()
    assert "A moderator must check your answers before you can continue." in page
    assert "End here" in page
    assert "Next problem" not in page
