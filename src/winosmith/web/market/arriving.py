"""What a worker's browser keeps between the market's link and the work: a claim, and a mark."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from winosmith.web.market.keys import carried, carry
from winosmith.web.market.models import Study
from winosmith.web.market.providers import Claim

__all__ = ["Arrival", "arrival_of", "keep"]

COOKIE = "study"
PATH = "/study/"
SECONDS = 30 * 24 * 3600
"""How long a browser may go on with what it began."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Somebody came by a link of a study.

    Attributes:
        study: its number.
        claim: whom the link named.
        mark: random, this browser's own; with it alone work goes on that was begun.
    """

    study: int
    claim: Claim
    mark: str = field(repr=False)

    @property
    def browser(self) -> str:
        """The digest of the mark, as a participation keeps it."""
        return sha256(self.mark.encode()).hexdigest()


def arrival_of(request: HttpRequest) -> Arrival | None:
    """Return what this browser keeps; None where it came by no link."""
    told: Any = carried(request.COOKIES.get(COOKIE, ""), SECONDS)
    try:
        return Arrival(told["study"], Claim(told["worker"], told["submission"]), told["mark"])
    except (TypeError, KeyError):
        return None


def keep(request: HttpRequest, response: HttpResponse, study: Study, claim: Claim) -> None:
    """Let the browser keep a claim, encrypted; its mark is the same for all that it begins."""
    before = arrival_of(request)
    mark = secrets.token_urlsafe(24) if before is None else before.mark
    value = carry(
        {"study": study.pk, "worker": claim.worker, "submission": claim.submission, "mark": mark}
    )
    response.set_cookie(
        COOKIE,
        value,
        max_age=SECONDS,
        path=PATH,
        httponly=True,
        samesite="Lax",
        secure=settings.SECURE,
    )
