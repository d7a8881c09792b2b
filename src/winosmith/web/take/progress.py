"""How far the rounds are: sheets given, handed in, given up; each subject by code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from winosmith.web.take.models import Round, Sitting

__all__ = ["Standing", "standing", "subjects_of"]

_COUNTS = {
    state: Count("sittings", filter=Q(sittings__state=state), distinct=True)
    for state in Sitting.State.values
}


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a round is.

    Attributes:
        round: the round.
        problems: in its data.
        sheets: a row each: code, test, order, questions, and how many are being taken (`given`),
            handed in (`done`), given up (`dropped`).
        given, done, dropped: the same over all sheets.
    """

    round: Round
    problems: int
    sheets: list[dict[str, Any]]
    given: int
    done: int
    dropped: int


def standing(round_: Round) -> Standing:
    """Return how far a round is."""
    rows = round_.sheets.annotate(**_COUNTS).order_by("test", "order")
    sheets = [
        {
            "code": row.code,
            "test": row.test,
            "order": row.order,
            "questions": len(row.record["items"]),
            **{state: getattr(row, state) for state in _COUNTS},
        }
        for row in rows
    ]
    totals = {state: sum(sheet[state] for sheet in sheets) for state in _COUNTS}
    return Standing(round_, round_.materials.count(), sheets, **totals)


def subjects_of(round_: Round) -> list[dict[str, Any]]:
    """Return each sheet that is or was out: whose by code, how far; what they answered, never."""
    rows = Sitting.objects.filter(subject__round=round_).select_related("subject", "sheet")
    rows = rows.annotate(answered=Count("answers", filter=~Q(answers__letter="")))
    return [
        {
            "code": row.subject.code,
            "sheet": row.sheet.code,
            "state": row.get_state_display(),
            "answered": row.answered,
            "of": len(row.sheet.record["items"]),
            "given": row.given,
            "ended": row.ended,
            "pace": row.pace,
            "held": row.held,
            "ref": row.ref,
        }
        for row in rows.order_by("pk")
    ]
