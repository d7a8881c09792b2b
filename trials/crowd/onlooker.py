"""An observer reads all public pages while people judge, to learn answers early."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from .scenario import UNWATCHED, open_site

_chance = random.Random(1)  # noqa: S311


def observe_site(
    folder: Path, database: str | None, problems: int, *, wait_days: int = 14, seed: int = 0
) -> dict[str, int]:
    """Let people judge twins, and read the public pages after every vote.

    Args:
        folder: folder of the new site.
        database: as for `scenario.open_site`.
        problems: number of problems, two per twin, that five people judge in random order.
        wait_days: the site's setting; with 0, a half is public as soon as it is found valid.
        seed: random seed of the judges' turns and answers.

    Returns:
        The numbers of votes, and of public problems at the end. Of the problems still being judged,
        the numbers whose other half could be read with its answer in the download
        (`answers_read`) or on its own page (`pages_read`).
    """
    open_site(folder, database, gold_every=0, wait_days=wait_days, **UNWATCHED)
    from django.test import Client

    from winosmith.web.judge.turns import lease_next_problem, store_answer, store_local_answer
    from winosmith.web.people.models import Person
    from winosmith.web.problems.models import Problem

    from . import inside

    rng, client = random.Random(seed), Client(HTTP_HOST="localhost")  # noqa: S311
    judges = [Person.objects.get(pk=one.key) for one in inside.make_people("j", 6, is_judge=True)]
    inside.make_problems(problems, inside.make_people("writer", 1)[0].key)
    read: dict[str, set[str]] = {"answers": set(), "pages": set()}
    votes, tired = 0, 0
    while tired < 20:
        judge = rng.choice(judges)
        slot = lease_next_problem(judge)
        if slot is None:
            tired += 1
            continue
        tired, votes = 0, votes + 1
        right = int(slot.problem.answer or 0)
        store_local_answer(judge, slot.ref, rng.randrange(2))
        store_answer(judge, slot.ref, right if rng.random() < 0.9 else 1 - right)
        for half in Problem.objects.filter(twin=slot.problem.twin_id, state="judging"):
            others = Problem.objects.filter(twin=half.twin_id).exclude(pk=half.pk)
            (other,) = others.values_list("ref", flat=True)
            if client.get(f"/problems/{other}/").status_code == 200:
                read["pages"].add(half.ref)
            if other in _read_downloaded_answers(client):
                read["answers"].add(half.ref)
    return {
        "votes": votes,
        "public": len(_read_downloaded_answers(client)),
        **{f"{name}_read": len(found) for name, found in read.items()},
    }


def _read_downloaded_answers(client: Any) -> dict[str, int]:
    """Return the answers in the public download, by problem id."""
    where = f"10.{_chance.randrange(256)}.{_chance.randrange(256)}.1"  # without rate limits
    answer = client.get("/download/problems.jsonl", REMOTE_ADDR=where)
    body = b"".join(answer.streaming_content)
    found = map(json.loads, body.decode().splitlines())
    return {one["id"]: one["answer"] for one in found if "id" in one}
