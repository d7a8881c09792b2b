"""Fill a site with a million problems, and time the next problem, pages and searches."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from .scenario import UNWATCHED, open_site
from .sentences import make_twin

BATCH = 5000
"""Number of problems created at once, together with two or three other rows per problem."""

STATES = ("judging",) * 4 + ("valid",) * 5 + ("held",)
"""States of the twins, in rotation."""


def fill_and_time(folder: Path, database: str | None, problems: int, times: int) -> dict[str, Any]:
    """Fill a site, then time requests; return the seconds by request."""
    open_site(folder, database, gold_every=0, **UNWATCHED)
    from .inside import make_people

    judges = make_people("judge", 50, is_judge=True, is_moderator=True)
    start = time.perf_counter()
    fill(problems, [judge.key for judge in judges[:10]])
    filled = time.perf_counter() - start
    _update_statistics()
    found: dict[str, Any] = {"filled": filled, "size": get_database_size(folder)}
    found["claim and answer"] = list(islice(_time_claims(judges[10:]), times))
    veteran = judges[49].key
    _mark_read(veteran, min(20_000, problems // 10))
    _update_statistics()
    found["claim, by who has read much"] = list(islice(_time_claims([judges[49]]), times))
    admin = make_people("admin", 1, is_judge=True, is_moderator=True, is_superuser=True)[0]
    readers = ((judges[20], PAGES), (judges[0], AUTHORS), (judges[49], JUDGES), (admin, ADMINS))
    for reader, pages in readers:
        for name, path in pages.items():
            found[name] = _time_pages(reader, path, times)
    return found


def _update_statistics() -> None:
    """Update PostgreSQL's statistics, as its autovacuum does within a minute."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


PAGES = {
    "page: browse": "/problems/",
    "page: search, a common word": "/problems/?q=kettle",
    "page: search, a rare word": "/problems/?q=fill1000",
    "page: search, two words": "/problems/?q=lantern+boiling",
    "page: a domain": "/problems/?domain=physical",
    "page: judge": "/judge/",
    "page: moderation, held": "/moderate/",
    "page: moderation, valid": "/moderate/?state=valid",
    "page: moderation, a word": "/moderate/?state=held&text=kettle",
    "page: moderation, a rare word": "/moderate/?state=held&text=fill1000",
    "page: moderation, the log": "/moderate/log/",
    "page: moderation, people": "/moderate/people/",
    "page: home": "/",
    "page: data card": "/card/",
    "page: agreement": "/judge/agreement/",
    "page: perturb": "/perturb/",
    "page: families": "/families/",
    "page: models": "/models/",
    "API: problems": "/api/v1/problems",
}

AUTHORS = {
    "page: write, by an author": "/write/",
    "page: an author's twins": "/write/mine/",
    "page: about an author": "/people/",
}
"""Pages of a contributor who wrote a tenth of the problems."""

JUDGES = {"page: what I judged": "/judge/history/", "page: news": "/people/news/"}
"""Pages of a judge who has read many problems."""

ADMINS = {
    "page: an admin's first steps": "/admin/",
    "page: dashboard": "/admin/dashboard/",
    "page: settings": "/admin/settings/",
    "page: tests": "/admin/tests/",
    "page: studies": "/admin/studies/",
    "page: log of the site": "/admin/log/",
}


def fill(problems: int, contributors: list[int]) -> None:
    """Create problems, two per twin, with slots and events as on a real site."""
    from django.core.management.color import no_style
    from django.db import connection, transaction

    from winosmith.web.judge.models import Slot
    from winosmith.web.problems.models import Event, Problem, Twin

    for first in range(0, problems, BATCH):
        with transaction.atomic():
            rows = _iter_rows(first, min(BATCH, problems - first), contributors)
            twins, halves = rows["twins"], rows["problems"]
            Twin.objects.bulk_create(twins, BATCH)
            Problem.objects.bulk_create(halves, BATCH)
            Slot.objects.bulk_create(rows["slots"], BATCH)
            Event.objects.bulk_create(rows["events"], BATCH)
    statements = connection.ops.sequence_reset_sql(no_style(), [Twin, Problem, Slot, Event])
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _iter_rows(first: int, count: int, contributors: list[int]) -> dict[str, list[Any]]:
    from django.conf import settings

    from winosmith.web.judge.models import Slot
    from winosmith.web.judge.votes import get_queue_position
    from winosmith.web.problems.models import Event, Problem, Twin

    made: dict[str, list[Any]] = {"twins": [], "problems": [], "slots": [], "events": []}
    for number in range(first // 2, (first + count) // 2):
        key, state = number + 1, STATES[number % len(STATES)]
        twin = Twin(
            pk=key,
            ref=f"twin{key:012x}",
            contributor_id=contributors[number % len(contributors)],
            domain=("social", "physical")[number % 2],
        )
        made["twins"].append(twin)
        for half, (sentence, answer) in enumerate(make_twin(f"fill{key}").halves()):
            problem = Problem(
                pk=2 * key - 1 + half,
                ref=f"half{2 * key - 1 + half:012x}",
                twin=twin,
                sentence=sentence,
                options=["lantern", "kettle"],
                answer=answer,
                state=state,
            )
            made["problems"].append(problem)
            made["events"].append(Event(problem=problem, kind="submit", after=state))
            if state == "judging":
                made["slots"] += [
                    Slot(
                        problem=problem,
                        n=n,
                        place=get_queue_position(problem) + n,
                        twin=twin,
                        contributor_id=twin.contributor_id,
                    )
                    for n in range(1, settings.RULES.judges + 1)
                ]
    return made


def _time_claims(judges: list[Any]) -> Iterator[float]:
    """Let judges claim and answer problems; yield the seconds of each claim."""
    from winosmith.web.judge.turns import lease_next_problem, store_answer, store_local_answer
    from winosmith.web.people.models import Person

    people = [Person.objects.get(pk=judge.key) for judge in judges]
    while True:
        for person in people:
            start = time.perf_counter()
            slot = lease_next_problem(person)
            yield time.perf_counter() - start
            assert slot is not None
            store_local_answer(person, slot.ref, 0)
            store_answer(person, slot.ref, slot.problem.answer)


def _mark_read(key: int, twins: int) -> None:
    """Record that a judge has read the first twins of the queue."""
    from winosmith.web.judge.models import Judge, Seen
    from winosmith.web.problems.models import Problem

    rows = Problem.objects.filter(state="judging").order_by("pk").values_list("pk", "twin_id")
    seen = {twin: problem for problem, twin in rows[: 2 * twins]}
    Seen.objects.bulk_create(
        (
            Seen(person_id=key, block=twin, twin_id=twin, problem_id=problem)
            for twin, problem in seen.items()
        ),
        BATCH,
        ignore_conflicts=True,
    )
    Judge.objects.filter(person_id=key).update(cursor=0)


def _time_pages(reader: Any, path: str, times: int) -> list[float]:
    from django.test import Client

    client = Client(SERVER_NAME="127.0.0.1")
    for name, value in reader.cookies.items():
        client.cookies[name] = value
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        answer = client.get(path)
        seconds.append(time.perf_counter() - start)
        assert answer.status_code == 200, (path, answer.status_code)
    return seconds


def get_database_size(folder: Path) -> float:
    """Return the size of the database in GB."""
    from django.db import connection

    if connection.vendor == "sqlite":
        return (folder / "site.sqlite3").stat().st_size / 1e9
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0]) / 1e9
