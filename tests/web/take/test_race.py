"""Many people start tests at once, in threads, on both databases."""

import contextlib
from collections import Counter
from typing import Any

import pytest

from tests.web.take.conftest import twins
from tests.web.together import at_once
from winosmith.errors import InputError
from winosmith.web import importing
from winosmith.web.judge.models import Slot
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.people.gates import new_key, process_once
from winosmith.web.problems.models import Problem
from winosmith.web.take.models import Sitting, Subject
from winosmith.web.take.sheets import assign_sheet, store_answer

pytestmark = pytest.mark.long


def test_forty_simultaneous_people_get_balanced_sheets(database, opened, person):
    """Each of them starts the test in two windows."""
    made = opened(twins(8), orders=2)
    people = [person(f"s{number}") for number in range(40)]
    found = at_once(lambda who: (who.pk, assign_sheet(who, made).ref), people * 2)
    assert len(set(found)) == 40
    assert Sitting.objects.count() == Subject.objects.count() == 40
    assert set(Counter(Sitting.objects.values_list("sheet", flat=True)).values()) == {10}


def test_judging_and_test_never_show_both_halves_of_a_twin(database, opened, person):
    """Each person judges in one window and starts a test in another."""
    data = twins(6, singles=11)
    importing.import_problems(data, "judging")
    made = opened(data)
    people = [person(f"s{number}") for number in range(24)]

    def act(task: tuple[int, Any]) -> tuple[int, str] | None:
        turn, who = task
        if turn % 2:
            with contextlib.suppress(InputError):
                assign_sheet(who, made)
            return None
        slot = lease_next_problem(who)
        return None if slot is None else (who.pk, slot.problem.ref)

    tasks = [(turn, who) for who in people for turn in (0, 1)]
    judged = [found for found in at_once(act, tasks) if found is not None]
    twin_of = dict(Problem.objects.values_list("ref", "twin"))
    asked = {
        sitting.subject.person_id: {twin_of[i["problem"]] for i in sitting.sheet.record["items"]}
        for sitting in Sitting.objects.select_related("subject", "sheet")
    }
    assert len(judged) > 5
    assert len(asked) > 5
    for who, ref in judged:
        assert twin_of[ref] not in asked.get(who, set())
    assert not Slot.objects.filter(holder__in=asked, open=True, gold=False).exists()


def test_simultaneous_answers_are_each_stored_once(database, opened, ann):
    made = opened(twins(10))
    sitting = assign_sheet(ann, made)
    forms = [(number, new_key()) for number in range(1, 11)]

    def send(form: tuple[int, str]) -> None:
        def act() -> dict[str, Any]:
            store_answer(ann, sitting.ref, form[0], "A", 2.0, to=form[0] + 1)
            return {}

        process_once(ann, form[1], "/tests/", act)

    at_once(send, forms * 3)
    rows = sitting.answers.order_by("number").values_list("number", "letter", "seconds")
    assert list(rows) == [(number, "A", 2.0) for number in range(1, 11)]
