"""What came of a round, for its page: the funnel, sizes, solvers, agreement, what changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from winosmith.report import shown
from winosmith.rounds import Change
from winosmith.web.problems.models import Problem
from winosmith.web.problems.public import public_problems
from winosmith.web.rounds import words
from winosmith.web.rounds.models import Round

__all__ = ["Stage", "changed", "funnel", "results", "roots_of", "sizes"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the funnel.

    Attributes:
        name: in words.
        left: problems that are left after it.
        percent: of what was collected, 0–100.
        dropped: how many went for each reason: [(reason, count)].
    """

    name: str
    left: int
    percent: int
    dropped: list[tuple[str, int]]

    @property
    def gone(self) -> int:
        """How many went."""
        return sum(count for _reason, count in self.dropped)


def results(round_: Round) -> dict[str, Any]:
    """Return what the page of a round that is done shows."""
    record: Mapping[str, Any] = round_.record or {}
    return {
        "cards": _cards(record),
        "funnel": funnel(record["build"]["funnel"]),
        "counts": record["build"]["counts"],
        "solvers": [_solver(name, own) for name, own in record["solvers"].items()],
        "people": _people(record["people"]),
        "artifacts": record["artifacts"],
        "changes": changed(round_),
        "fooling": len(record["fooling"]),
        "signature": record["build"]["signature"],
        "digest": record["digest"],
        "filtered": round_.recipe.get("filter", {}),
    }


def sizes(round_: Round) -> dict[str, int | None]:
    """Return how many problems a round collected and kept; None before it is done."""
    if round_.record is None:
        return {"collected": None, "kept": None}
    build = round_.record["build"]
    return {"collected": build["funnel"]["collected"]["problems"], "kept": build["kept"]}


def funnel(record: Mapping[str, Any]) -> list[Stage]:
    """Return the funnel's stages, from what was collected on."""
    whole = record["collected"]["problems"]
    stages = [Stage(_("collected"), whole, 100, [])]
    for step in record["steps"]:
        left = step["kept"]["problems"]
        stages.append(
            Stage(
                words.stage(step["stage"]),
                left,
                round(100 * left / whole) if whole else 0,
                list(step["dropped"].items()),
            )
        )
    return stages


def changed(round_: Round) -> list[tuple[str, str, str, str]]:
    """Return each figure in words: what it is, in the last round, in this one, the change."""
    rows = [Change(*change) for change in round_.changes]
    return [(words.figure(c.what), _cell(c, c.before), _cell(c, c.now), c.told or "") for c in rows]


def _cell(change: Change, value: float | int | None) -> str:
    return "" if value is None else shown(value, change.form)


def _cards(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    build, people, artifacts = record["build"], record["people"], record["artifacts"]
    cards = [
        (f"{build['kept']:,}", _("problems kept of %s") % _number(build["funnel"]["collected"])),
        (
            shown(artifacts["after"], ".1%"),
            _("of the kept a linear model guesses; before it was %s")
            % shown(artifacts["before"], ".1%"),
        ),
    ]
    if people and people["agree"] is not None:
        cards.append((shown(people["agree"], ".1%"), _("of the judges’ votes are for the answer")))
    right = [own["accuracy"]["value"] for own in record["solvers"].values() if own["accuracy"]]
    if right:
        cards.append((shown(max(right), ".1%"), _("is what the best solver gets")))
    return cards


def _number(count: Mapping[str, Any]) -> str:
    return f"{count['problems']:,}"


def _solver(name: str, own: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "kind": own["solver"],
        "learnt": own["learnt"],
        "revision": own["revision"],
        "seen": own.get("seen", {}),
        "chance": shown(own["accuracy"]["chance"], ".0%") if own["accuracy"] else None,
        **{key: _interval(own[key]) for key in ("accuracy", "twins", "last")},
    }


def _people(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    shares = {
        f"{key}_percent": shown(found[key], ".1%") if found[key] is not None else ""
        for key in ("agree", "unanimous", "accuracy")
    }
    return {**found, **shares}


def _interval(found: Mapping[str, Any] | None) -> tuple[str, str] | None:
    if found is None:
        return None
    low, high = found["interval"]
    return shown(found["value"], ".1%"), f"{shown(low, '.1%')} – {shown(high, '.1%')}"


def roots_of(round_: Round) -> list[Problem]:
    """Return the roots that a round drew for the next one, those that are public still."""
    rows = public_problems().filter(places__round=round_, places__root__isnull=False)
    return list(rows.order_by("places__root"))
