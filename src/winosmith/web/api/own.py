"""Oneself: who the token stands for, what they wrote and how it stands.

The shapes of what is asked and told come first, then the operations.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Query, Router
from pydantic import Field

from winosmith.web.api import door, models as tokens
from winosmith.web.api.door import Asked, Ref, Shape, asks, caller, owner
from winosmith.web.judge.submissions import own_problems
from winosmith.web.judge.votes import Vote
from winosmith.web.people.models import Person, pseudonym
from winosmith.web.people.privacy import missing
from winosmith.web.problems.models import Problem as Row, Twin as TwinRow
from winosmith.web.write import page as pages


class Token(Shape):
    """One of your tokens; its text is shown nowhere again."""

    name: str
    start: str
    created: datetime
    expires: datetime
    used: date | None


class Me(Shape):
    """Whom the token stands for."""

    name: str
    pseudonym: str
    roles: list[str]
    to_agree: list[str] = Field(description="texts to agree to, on the site, before you contribute")
    counts: pages.Counts
    token: Token


class OwnHalf(Shape):
    """A half of your own, in short."""

    id: str
    state: str


class Twin(Shape):
    """A twin of your own, in short."""

    ref: str
    created: datetime
    domain: str
    topic: str
    anchor: str
    halves: list[OwnHalf]


class Twins(Shape):
    """A page of your twins, the newest first, 20 or fewer."""

    items: list[Twin]
    page: int
    pages: int


class HistoryEntry(Shape):
    """What was done, and why."""

    at: datetime
    what: str
    reason: str


class WholeOwnHalf(Shape):
    """A half of your own, with what was said and done."""

    problem: door.Problem
    state: str
    waits_until: datetime | None = Field(description="as for every problem")
    reasons: list[str]
    votes: list[Vote]
    history: list[HistoryEntry]
    may_appeal: bool


class WholeTwin(Shape):
    """A twin of your own, with what you can do."""

    ref: str
    created: datetime
    halves: list[WholeOwnHalf]
    hints: list[str]
    may_withdraw: bool
    may_revise: bool
    revised_by: str | None


class TwinsWanted(Asked):
    """Which page."""

    page: int = Field(1, ge=1, le=1_000_000)


router = Router(tags=["me"])


@router.get("/me", response=Me, summary="Who the token stands for", **asks())
def read_me(request: HttpRequest) -> dict[str, Any]:
    """Tell whom the token stands for, and how what they wrote stands."""
    person = owner(request)
    roles = {"judge": person.is_judge, "moderator": person.is_moderator}
    roles["admin"] = person.is_superuser
    return {
        "name": person.name,
        "pseudonym": pseudonym(person),
        "roles": [role for role, held in roles.items() if held],
        "to_agree": [
            request.build_absolute_uri(reverse("people:text", args=[text.kind, text.version]))
            for text in missing(person, judging=True)
        ],
        "counts": pages.counts(person),
        "token": caller(request).token,
    }


@router.get("/me/tokens", response=list[Token], summary="List your tokens", **asks())
def list_tokens(request: HttpRequest) -> list[Any]:
    """List your tokens that work."""
    return tokens.tokens_of(owner(request))


@router.delete("/me/token", response={204: None}, summary="Revoke this token", **asks())
def revoke_token(request: HttpRequest) -> HttpResponse:
    """Let the token of this very request work no more."""
    token = caller(request).token
    assert token is not None  # noqa: S101 - the gate lets no one else in
    tokens.revoke(owner(request), token.pk)
    return HttpResponse(status=204)


@router.get("/me/twins", response=Twins, summary="List what you wrote", **asks())
def list_twins(request: HttpRequest, wanted: Query[TwinsWanted]) -> dict[str, Any]:
    """List your twins and perturbations, the newest first."""
    page = Paginator(pages.twins_of(owner(request)), pages.SIZE).get_page(wanted.page)
    return {
        "items": [_short(twin) for twin in page.object_list],
        "page": page.number,
        "pages": page.paginator.num_pages,
    }


@router.get("/me/twins/{ref}", response=WholeTwin, summary="Read what you wrote", **asks())
def read_twin(request: HttpRequest, ref: Ref) -> dict[str, Any]:
    """Read one of your twins: how it stands, what judges said, what you can do."""
    return _whole(owner(request), _own(owner(request), ref))


def _own(person: Person, ref: str) -> TwinRow:
    """Return one's own twin; of anybody else's nobody learns that it exists."""
    found = TwinRow.objects.filter(ref=ref, contributor=person).first()
    if found is None or not own_problems(person, found):
        raise Http404
    return found


def _short(twin: TwinRow) -> dict[str, Any]:
    halves = [half for half in twin.problems.all() if not half.gold]
    return {
        **{name: getattr(twin, name) for name in ("ref", "created", "domain", "topic", "anchor")},
        "halves": [{"id": half.ref, "state": half.state} for half in halves],
    }


def _whole(person: Person, twin: TwinRow) -> dict[str, Any]:
    told = pages.twin_context(person, twin)
    return {
        "ref": twin.ref,
        "created": twin.created,
        "halves": [_half(half) for half in told["halves"]],
        "hints": told["hints"],
        "may_withdraw": told["may_withdraw"],
        "may_revise": told["may_revise"],
        "revised_by": told["later"].ref if told["later"] else None,
    }


def _half(told: dict[str, Any]) -> dict[str, Any]:
    row: Row = told["problem"]
    return {
        "problem": door.problems([row])[0],
        "state": row.state,
        "waits_until": told["until"],
        "reasons": row.reasons,
        "votes": told["votes"],
        "history": [{"at": at, "what": what, "reason": why} for at, what, why in told["history"]],
        "may_appeal": told["may_appeal"],
    }
