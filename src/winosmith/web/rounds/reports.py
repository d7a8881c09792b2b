"""The report and the files of a round, made of what is public at the moment somebody asks.

What was withdrawn, or put under embargo, since the round is in none of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from django.db.models import QuerySet

from winosmith import Dataset, formats
from winosmith.records import canonical
from winosmith.rounds import Change, NextRound, round_page
from winosmith.web.problems.lineages import as_public
from winosmith.web.problems.models import Problem
from winosmith.web.problems.public import public_problems
from winosmith.web.problems.records import lean, numbers, rows
from winosmith.web.rounds.models import Place, Round
from winosmith.web.rounds.results import roots_of

__all__ = ["FILES", "POLICY", "build_report", "lines", "report"]

FILES = {"kept.jsonl": True, "dropped.jsonl": False}
"""File name → whether it holds what the round kept; else what it left out, and why."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "sandbox allow-popups allow-top-navigation-by-user-activation",
    )
)
"""Of a report: it has styles of its own, and neither scripts nor this site's rights."""


def report(round_: Round) -> str:
    """Return the report of a round as `winosmith round` writes it, of what is public still."""
    record = round_.record or {}
    fooled = public_problems().filter(places__round=round_).exclude(places__fools=[])
    found = dict(
        Place.objects.filter(round=round_).exclude(fools=[]).values_list("problem__ref", "fools")
    )
    fooling = sorted(as_public(list(fooled)), key=lambda one: (-len(found[one.id]), one.id))
    following = NextRound(
        Dataset(as_public(roots_of(round_)), "roots"),
        record["roots"]["asked"],
        Dataset(fooling, "fooling"),
        {one.id: tuple(found[one.id]) for one in fooling},
    )
    changes = [Change(*change) for change in round_.changes]
    return round_page(record, changes, following, subtitle="")


def build_report(round_: Round) -> Path | None:
    """Return the file of the build's own report, for moderators; None where it is gone."""
    path = round_.folder / "results" / "build" / "report.html"
    return path if path.exists() else None


def lines(round_: Round, *, kept: bool) -> Iterator[bytes]:
    """Yield the problems of a round that are public still, a JSON record a line.

    Args:
        round_: one that is done.
        kept: those that it kept; else those that it left out, with `stage`, `reason` and, where
            AFLite guessed them, `score`, `guessed`, `asked` and `phase`.
    """
    for chunk in rows(numbers(_problems(round_, kept)), lean(public_problems())):
        places = {
            place.problem_id: place
            for place in Place.objects.filter(round=round_, problem__in=chunk)
        }
        written = formats.lines(as_public(chunk), marked=True)
        for row, line in zip(chunk, written, strict=True):
            told = line
            if not kept:
                told = canonical(json.loads(line) | _why(places[row.pk])) + "\n"
            yield told.encode("utf-8", "surrogatepass")


def _problems(round_: Round, kept: bool) -> QuerySet[Problem]:
    found = Place.objects.filter(round=round_)
    found = found.filter(stage="") if kept else found.exclude(stage="")
    return public_problems().filter(pk__in=found.values("problem")).order_by("pk")


def _why(place: Place) -> dict[str, object]:
    why: dict[str, object] = {"stage": place.stage, "reason": place.reason}
    if place.score is not None:
        for name in ("score", "guessed", "asked", "phase"):
            why[name] = getattr(place, name)
    return why
