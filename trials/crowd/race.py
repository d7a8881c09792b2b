"""A race of judges who call the rules in threads: they claim, answer, click twice and replay."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from .scenario import UNWATCHED, open_site


@dataclass
class RaceSettings:
    """Settings for a race.

    Attributes:
        judges: number of judges; each judges in two windows at once.
        problems: number of problems, written by the first judges.
        fault: one of `careless.FAULTS`.
    """

    judges: int = 64
    problems: int = 100
    fault: str = ""
    seed: int = 0


def run_race(folder: Path, database: str | None, how: RaceSettings) -> dict[str, Any]:
    """Run a race in this process; return the audit's findings and the event counts."""
    open_site(folder, database, gold_every=0, **UNWATCHED)
    from . import careless, inside

    if how.fault:
        careless.FAULTS[how.fault]()
    people = inside.make_people("judge", how.judges, is_judge=True)
    for writer in people[:5]:
        inside.make_problems(how.problems // 5, writer.key)
    happened = {"answers": 0, "refused": 0, "expired": 0, "errors": 0}
    lock, over = threading.Lock(), threading.Event()
    with ThreadPoolExecutor(2 * how.judges + 1) as threads:
        dawdler = threads.submit(_expire, over, how.seed, happened)
        windows = [
            threads.submit(_judge, person.key, how.seed * 1000 + window, happened, lock)
            for person in people
            for window in (0, 1)
        ]
        try:
            for window in windows:
                window.result()
        finally:
            over.set()  # otherwise, it would run forever if a window fails
        dawdler.result()
    return {**vars(inside.audit_votes()), "faults": inside.audit_votes().faults, **happened}


def _judge(key: int, seed: int, happened: dict[str, int], lock: threading.Lock) -> None:
    """Judge until no problems are left; send each answer once, twice, or again much later."""
    from django.db import DatabaseError, connection

    from winosmith.errors import InputError
    from winosmith.web.judge import turns
    from winosmith.web.people.models import Person

    rng = random.Random(key * 7919 + seed)  # noqa: S311
    person, before, idle = Person.objects.get(pk=key), [], 0

    def count(what: str) -> None:
        with lock:
            happened[what] += 1

    def answer(ref: str) -> None:
        try:
            turns.store_local_answer(person, ref, rng.randrange(2))
            turns.store_answer(person, ref, rng.randrange(2))
        except InputError:
            count("refused")
        except DatabaseError:
            count("errors")
        else:
            count("answers")

    while idle < 3:
        try:
            slot = turns.lease_next_problem(person)
        except (InputError, DatabaseError):
            count("errors")
            slot = None
        if slot is None:
            idle += 1
            continue
        idle = 0
        ref = slot.ref
        if rng.random() < 0.2:
            continue  # leaves; the same problem is shown later
        answer(ref)
        before.append(ref)
        if rng.random() < 0.3:
            answer(ref)
        if rng.random() < 0.3:
            answer(rng.choice(before))
    connection.close()


def _expire(over: threading.Event, seed: int, happened: dict[str, int]) -> None:
    """Expire leases, a few at random at a time, until the race is over."""
    from django.db import connection
    from django.utils import timezone

    from winosmith.web._lock import writing
    from winosmith.web.judge.models import Slot

    rng = random.Random(seed)  # noqa: S311
    while not over.wait(0.01):
        held = Slot.objects.filter(open=True).exclude(holder=None)
        keys = list(held.values_list("pk", flat=True))
        chosen = rng.sample(keys, len(keys) // 3)
        with writing():
            past = timezone.now() - timedelta(seconds=1)
            happened["expired"] += Slot.objects.filter(
                pk__in=chosen, open=True, holder__isnull=False
            ).update(lease_until=past)
    connection.close()
