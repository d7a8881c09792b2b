"""What a person's own file of data tells of the tests that they took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from winosmith.web.take.models import Sitting

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = ["tests_of"]


def tests_of(person: Person) -> list[dict[str, Any]]:
    """Return the sheets that a person was given with their answers, as JSON can hold them."""
    rows = Sitting.objects.filter(subject__person=person).order_by("pk")
    return [
        {
            "round": row.subject.round.name,
            "code": row.subject.code,
            "agreed": row.subject.agreed,
            "told": row.subject.declared,
            "sheet": row.sheet.code,
            "state": row.state,
            "given": row.given,
            "ended": row.ended,
            "seconds_a_question": row.pace,
            "held_for_its_pace": row.held,
            "answers": [
                {"question": a.number, "letter": a.letter, "seconds": a.seconds, "at": a.at}
                for a in row.answers.order_by("number")
            ],
            "noted": [
                {"kind": r.kind, "question": r.number, "text": r.text}
                for r in row.remarks.order_by("pk")
            ],
        }
        for row in rows.select_related("subject__round", "sheet")
    ]
