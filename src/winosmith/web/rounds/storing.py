"""What came of a round enters the database: where each problem came out, and the figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from django.utils import timezone

from winosmith import formats
from winosmith.rounds import Change, changes
from winosmith.rounds import Round as Found
from winosmith.web._chunked import chunked
from winosmith.web._lock import writing
from winosmith.web.problems.models import Problem
from winosmith.web.rounds.models import Place, Round

__all__ = ["store"]

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
