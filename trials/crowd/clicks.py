"""Attacks by random clicks, and an honest crowd, on a site with default settings."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

from .scenario import UNWATCHED, open_site

ATTACKS = (
    "3 judges who click", "19 accounts of one address", "2 accounts of one address and a third",
    "a paid job", "a human test",
)  # fmt: skip

HELD_AT_MOST = 0.05
"""Maximum fraction of honest judges on hold."""

MEDIAN, SPREAD, RIGHT = 9.0, 0.6, 0.93
"""An honest judge's seconds per problem (log-normal), and fraction of correct answers."""


def attack(
    folder: Path, database: str | None, who: str, problems: int, *, watched: bool = True
) -> dict[str, Any]:
    """Run one attack; return the number of its answers and their effect.

    Args:
        folder: folder of the new site.
        database: as for `scenario.open_site`.
        who: one of `ATTACKS`.
        problems: number of problems to judge, or of twins in the test.
        watched: whether the default limits apply; without them, clicks decide.
    """
    open_site(folder, database, **({} if watched else UNWATCHED))
    from . import inside

    if who == "a human test":
        return _submit_tests(problems)
    writer = inside.make_people("writer", 1)[0]
    inside.make_problems(problems, writer.key)
    if who == "a paid job":
        return _complete_job(problems)
    shared = {"19": 19, "2 ": 2}.get(who[:2], 0)
    people = inside.make_people("bot", max(3, shared), is_judge=True)
    for at, one in enumerate(people):
        address = "192.0.2.1" if at < shared else f"198.51.100.{at + 1}"
        _judge_by_pages(one, address, 6.0 if shared else 0.0, problems // 2)
    return _summarize_outcome()


def _summarize_outcome() -> dict[str, Any]:
    from django.db.models import Q

    from winosmith.web.judge.models import Slot, Verdict

    given = Slot.objects.filter(gold=False).exclude(answered_at=None)
    return {
        "answers": given.count(),
        "decided": Verdict.objects.count(),
        "waiting": given.filter(Q(provisional=True) | Q(excluded=True)).count(),
    }


def _judge_by_pages(one: Any, address: str, seconds: float, most: int) -> None:
    """Judge through the pages from one address, taking some seconds for each problem."""
    from django.test import Client

    from winosmith.web.judge.models import Slot
    from winosmith.web.people.gates import new_key

    browser = Client(REMOTE_ADDR=address, SERVER_NAME="127.0.0.1")
    browser.cookies.load(one.cookies)
    browser.post("/judge/next/", {"key": new_key()})
    for _ in range(most):
        slot = Slot.objects.filter(holder=one.key, open=True, answered_at=None).first()
        if slot is None:
            return
        sent = {"problem": slot.ref, "choice": "0"}
        browser.post("/judge/local/", {**sent, "key": new_key()})
        advance_time(one.key, seconds)
        browser.post("/judge/answer/", {**sent, "key": new_key()})


def advance_time(person: int, seconds: float) -> None:
    """Advance the time for a judge by moving their actions into the past."""
    from django.db.models import F

    from winosmith.web.judge.models import Judge, Slot

    ago = timedelta(seconds=seconds)
    for name in ("taken_at", "local_at", "answered_at"):
        rows = Slot.objects.filter(holder=person, **{f"{name}__isnull": False})
        rows.update(**{name: F(name) - ago})
    for name in ("since", "gold_since"):
        if any(field.name == name for field in Judge._meta.get_fields()):
            rows = Judge.objects.filter(person=person, **{f"{name}__isnull": False})
            rows.update(**{name: F(name) - ago})


def _complete_job(problems: int) -> dict[str, Any]:
    """Let three workers finish a study's job immediately, and the market approve them."""
    from decimal import Decimal

    from winosmith.web.judge.exclusion import include_paid_votes
    from winosmith.web.judge.turns import lease_next_problem, store_answer, store_local_answer
    from winosmith.web.market.studies import create_study
    from winosmith.web.market.workers import Arrival, start_participation
    from winosmith.web.people.privacy import save_agreement

    pay = {
        "reward": Decimal("2.00"),
        "currency": "GBP",
        "minutes": 10,
        "code": "DONE1",
        "places": 3,
    }
    study, _token = create_study("clicks", "prolific", "judge", problems // 2, **pay)
    for n in range(3):
        arrival = Arrival(study.pk, f"{n:024x}", f"{1000 + n:024x}", f"browser {n}")
        part = start_participation(study, arrival)
        save_agreement(part.person)
        for _ in range(problems // 2):
            slot = lease_next_problem(part.person)
            if slot is None:
                break
            store_local_answer(part.person, slot.ref, 0)
            store_answer(part.person, slot.ref, 0)
        include_paid_votes(part.pk, "the market approved the submission")
    return _summarize_outcome()


def _submit_tests(problems: int) -> dict[str, Any]:
    """Let a participant submit a whole test at once; return how many answers enter the results."""
    from winosmith import Dataset, Problem
    from winosmith.web.jobs import wait_for_job
    from winosmith.web.people.models import Person
    from winosmith.web.take.rounds import close_round, open_round
    from winosmith.web.take.sheets import assign_sheet, store_answer, submit_sheet

    from .sentences import make_twin

    made = [
        Problem(f"t{number}{letter}", sentence, ("lantern", "kettle"), right, f"t{number}")
        for number in range(problems)
        for letter, (sentence, right) in zip("ab", make_twin(f"t{number}").halves(), strict=True)
    ]
    opened_round, _left = open_round(Dataset(made), "clicks")
    person = Person.objects.create_user("subject")
    sitting = assign_sheet(person, opened_round)
    asked = len(sitting.sheet.record["items"])
    for number in range(1, asked + 1):
        store_answer(person, sitting.ref, number, "A", 0.2)
    submit_sheet(person, sitting.ref)
    wait_for_job(close_round("clicks"))
    opened_round.refresh_from_db()
    figures = opened_round.figures
    counted = figures["answers"] if figures else 0
    return {"answers": asked, "decided": counted, "waiting": asked - counted}


def judge_honestly(folder: Path, database: str | None, judges: int, votes: int) -> dict[str, Any]:
    """Simulate careful judges with individual paces; return the number suspended, by reason.

    Three of them judge each problem, one in ten problems is gold, and training comes first.
    """
    open_site(folder, database)
    from winosmith.web.judge.models import Judge, Slot, Verdict
    from winosmith.web.judge.trust import add_gold
    from winosmith.web.judge.turns import (
        lease_next_problem,
        needs_local_answer,
        store_answer,
        store_local_answer,
    )
    from winosmith.web.people.models import Person
    from winosmith.web.problems.models import Problem

    from . import inside

    rng = random.Random(7)  # noqa: S311
    for ref in inside.make_problems(votes, state="held"):
        problem = Problem.objects.get(ref=ref)
        if problem.answer == 0:
            add_gold(problem, "The other option would not be moved with that.")
    inside.make_problems(judges * votes // 3)
    people = inside.make_people("judge", judges, is_judge=True)
    crowd = [Person.objects.get(pk=one.key) for one in people]
    for _ in range(votes):
        for person in rng.sample(crowd, len(crowd)):
            slot = lease_next_problem(person)
            if slot is None:
                continue  # on hold, with the maximum number of waiting votes
            ref, right = slot.ref, slot.problem.answer
            if needs_local_answer(slot):
                store_local_answer(person, ref, rng.randrange(2))
            advance_time(person.pk, MEDIAN * rng.lognormvariate(0.0, SPREAD))
            store_answer(person, ref, right if rng.random() < RIGHT else 1 - right)
    given = Slot.objects.filter(gold=False).exclude(answered_at=None)
    held = Judge.objects.filter(held__isnull=False)
    return {
        "votes": given.count(),
        "decided": Verdict.objects.count(),
        "held": held.count(),
        "causes": sorted(held.values_list("cause", flat=True)),
        "waiting": given.filter(provisional=True).count(),
    }
