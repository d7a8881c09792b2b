"""A round is carried out: pool, build, solvers, figures, database."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from django.utils import timezone

from winosmith import formats
from winosmith.errors import InputError, OutputError
from winosmith.locks import FileLock
from winosmith.outputs import OutputFolder
from winosmith.rounds import Change, changes, run_round
from winosmith.rounds import Round as Found
from winosmith.study import made_solver, trained_on
from winosmith.validate import write_votes
from winosmith.web._export import chunks, one_moment
from winosmith.web._lock import chunked, writing
from winosmith.web.judge.votes import responses
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import as_public
from winosmith.web.problems.states import public_problems
from winosmith.web.rounds.models import Place, Round
from winosmith.web.rounds.progress import POOL, STORING, Cancelled, Doing, Teller, lock_file
from winosmith.web.rounds.rules import PROBLEMS, VOTES, checked_recipe, recipe_for


def handed_over(round_: Round, told: Callable[[int], None]) -> Path:
    """Write the pool of a round, once; return its folder.

    Problems, votes and lineages are of one moment, people stand under pseudonyms. When the round
    is taken up again, its pool is the one that it began with.

    Args:
        round_: any.
        told: is told how many problems are written.
    """
    folder = round_.folder / "pool"
    output = OutputFolder.open(folder, {"command": "round of a site", "round": round_.name})
    if output.finished(PROBLEMS) and output.finished(VOTES):
        return folder
    votes = []
    with one_moment(), output.write(PROBLEMS) as file:
        done = 0
        for rows in chunks(public_problems()):
            file.writelines(formats.lines(as_public(rows), marked=True))
            votes += list(responses(rows))
            told(done := done + len(rows))
    write_votes(votes, folder / VOTES)
    output.add(VOTES)
    return folder


CHUNK = 1000
"""Rows that are written at once, so that others write in between."""


def store(
    round_: Round, found: Found, timings: list[tuple[str, float]], told: Callable[[int], None]
) -> bool:
    """Write what came of a round; return whether it was still running, and is done now.

    Written twice, as after an interrupt, it is there once.

    Args:
        round_: the row.
        found: what `winosmith.rounds.run_round` returned.
        timings: how long each step took.
        told: is told how many problems are written.
    """
    done = 0
    places = _places(found)
    for chunk in chunked(places, CHUNK):
        numbers = _numbers(old for old, _ in chunk)
        rows = [
            Place(round=round_, problem_id=numbers[old], **fields)
            for old, fields in chunk
            if old in numbers
        ]
        with writing():
            Place.objects.bulk_create(rows, ignore_conflicts=True)
        told(done := done + len(chunk))
    with writing():
        last = round_.last.record if round_.last else None
        return bool(
            Round.objects.filter(pk=round_.pk, state=Round.State.RUNNING).update(
                state=Round.State.DONE,
                busy=False,
                ended=timezone.now(),
                record=dict(found.record),
                changes=list(map(_change, changes(found.record, last))),
                timings=[list(timing) for timing in timings],
            )
        )


def _change(change: Change) -> list[Any]:
    return [change.what, change.before, change.now, change.form]


def _places(found: Found) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield for each problem of the pool its id on the site, and what became of it."""
    build = found.folder / "build"
    verdicts = {
        line["id"]: {"stage": line["stage"], "reason": line["reason"]}
        for name in ("dropped.jsonl", "private/withheld.jsonl")
        for line in _lines(build / name)
    }
    scores = {line["id"]: _score(line) for line in _lines(build / "private/scores.jsonl")}
    roots = {problem.id: at for at, problem in enumerate(_read(found.folder / "roots.jsonl"))}
    for line in _lines(build / "private/ids.jsonl"):
        new = line["id"]
        yield (
            line["old_id"],
            {
                **verdicts.get(new, {}),
                **scores.get(new, {}),
                "root": roots.get(line["old_id"]),
                "fools": found.record["fooling"].get(line["old_id"], []),
            },
        )


def _score(line: dict[str, Any]) -> dict[str, Any]:
    if line["score"] is None:
        return {}
    guessed = round(line["score"] * line["votes"])
    return {
        "score": line["score"],
        "guessed": guessed,
        "asked": line["votes"],
        "phase": line["phase"],
    }


def _numbers(ids: Iterable[str]) -> dict[str, int]:
    rows = Problem.objects.filter(ref__in=list(ids))
    return dict(rows.values_list("ref", "pk"))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def _read(path: Path) -> Iterable[Any]:
    return formats.read(path, as_written=True) if path.stat().st_size else ()


_LOG = logging.getLogger("winosmith.web.rounds")


def _carried_out(round_: Round, lock: FileLock) -> None:
    """Bring a round that waits or runs to its end: done, failed with the reason, or cancelled.

    What an earlier try finished is not done again.

    Args:
        round_: the row.
        lock: of the site's rounds.
    """
    try:
        _begun(round_)
        _worked(round_, lock)
    except Cancelled:
        return
    except (InputError, OutputError) as error:
        _fail(round_, str(error))
    except Exception as error:  # noqa: BLE001 - the round ends, and an admin learns why
        _LOG.exception("the round %s failed", round_.name)
        _fail(round_, f"{type(error).__name__}: {error}")


def _fail(round_: Round, reason: str) -> None:
    """Write down that a round failed, and why, unless it is over already."""
    with writing():
        Round.objects.filter(pk=round_.pk, busy=True).update(
            state=Round.State.FAILED, busy=False, ended=timezone.now(), error=reason[:2000]
        )


def _begun(round_: Round) -> None:
    with writing():
        locked = Round.objects.select_for_update(no_key=True).get(pk=round_.pk)
        if not locked.busy:
            raise Cancelled
        locked.state = Round.State.RUNNING
        locked.began = locked.began or timezone.now()
        locked.save(update_fields=["state", "began"])


def _worked(round_: Round, lock: FileLock) -> None:
    show = Teller(round_, lock, checked_recipe(round_.recipe))
    with show(POOL, None) as advance:
        pool = handed_over(round_, lambda done: advance(done, ""))
    recipe = recipe_for(round_, pool)
    for rule in recipe.solvers:
        if not rule.learn:
            trained_on(rule, recipe.folder)
            made_solver(rule, recipe.folder)  # what is not there is told now, not in an hour
    found = run_round(recipe, round_.folder / "results", last=_last(round_), step=show)
    count = found.record["build"]["funnel"]["collected"]["problems"]
    with show(STORING, count) as advance:
        if not store(round_, found, show.timings, lambda done: advance(done, "")):
            raise Cancelled


def _last(round_: Round) -> str | None:
    """Return the folder of the round that this one is compared with, if it is still there."""
    if round_.last is None:
        return None
    folder = round_.last.folder / "results"
    return str(folder) if (folder / "round.json").exists() else None


def carried_out(folder: Path, round_: Round) -> bool:
    """Carry a round out to its end; return False where another process is at one.

    Args:
        folder: the site's.
        round_: one that waits, or that a process left.
    """
    lock = FileLock.take(lock_file(folder))
    if lock is None:
        return False
    try:
        Doing(round_.pk).say(lock)  # what a process that was killed left there is true no more
        _carried_out(round_, lock)
        return True
    finally:
        lock.close()
