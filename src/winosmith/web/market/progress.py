"""How far a study is, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from winosmith.web.judge.models import Slot
from winosmith.web.market.models import Participation, Study

__all__ = ["Progress", "progress"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a study is.

    Attributes:
        states, verdicts: how many participations are in each.
        provisional: votes that await the market's word.
    """

    study: Study
    states: dict[str, int]
    verdicts: dict[str, int]
    provisional: int

    @property
    def began(self) -> int:
        """How many began it."""
        return sum(self.states.values())

    def record(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        study = self.study
        return {
            "study": study.name,
            "market": study.provider,
            "work": study.kind,
            "amount": study.amount,
            "places": study.places,
            "may_begin": study.most,
            "reward": f"{study.reward:.2f}",
            "currency": study.currency,
            "minutes": study.minutes,
            "votes_count": "at once" if study.trust else "when the market confirms them",
            "may_come": study.screens.filter(allowed=True).count() if study.invited_only else None,
            "may_not_come": study.screens.filter(allowed=False).count(),
            "created": study.created.isoformat(),
            "closed": study.closed.isoformat() if study.closed else None,
            "began": self.began,
            "states": self.states,
            "verdicts": self.verdicts,
            "votes_that_wait": self.provisional,
        }


def progress(study: Study) -> Progress:
    """Return how far a study is."""
    rows = list(study.participations.values_list("pk", "state", "verdict"))
    votes = Slot.objects.filter(
        job__in=[pk for pk, _, _ in rows], provisional=True, excluded=False, gold=False
    )
    states, verdicts = (Counter(row[at] for row in rows) for at in (1, 2))
    return Progress(
        study,
        {name: states[name] for name in Participation.State.values},
        {name: verdicts[name] for name in Participation.Verdict.values},
        votes.exclude(answered_at=None).count(),
    )
