"""What the site holds about a worker, for themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from winosmith.web.market.keys import unseal
from winosmith.web.market.models import Identity, Participation

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = ["studies_of"]


def _kept(part: Participation) -> Iterable[Identity]:
    return part.identities.exclude(sealed="").order_by("pk")


def studies_of(person: Person) -> list[dict[str, Any]]:
    """Return a person's parts in studies, with the ids by which a market knows them."""
    rows = Participation.objects.filter(person=person).select_related("study")
    return [
        {
            "market": part.study.provider,
            "ids": {row.kind: unseal(row.sealed) for row in _kept(part)},
            "work": part.study.kind,
            "began": part.began,
            "ended": part.ended,
            "state": part.state,
            "market_says": part.verdict,
            "seconds": part.seconds,
            "paid": part.paid,
            "bonus": part.bonus,
            "currency": part.study.currency,
        }
        for part in rows
    ]
