"""API operations for the token's owner: their account, their twins, and the twins' states."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Query, Router
from pydantic import Field

from winosmith.web.api import door, models as tokens
from winosmith.web.api.door import Ref, RequestData, Response, get_owner, make_auth
from winosmith.web.judge.submissions import get_own_twin
from winosmith.web.judge.votes import Vote
from winosmith.web.people.models import get_pseudonym
from winosmith.web.people.privacy import get_pending_documents
from winosmith.web.write import page as pages


class Token(Response):
    """One of the caller's tokens, without its text."""

    name: str
    start: str
    created: datetime
    expires: datetime
    used: date | None


class Me(Response):
    """The token's owner, and counts of their problems."""

    name: str
    pseudonym: str
    roles: list[str]
    to_agree: list[str] = Field(description="URLs of the consent forms that you must accept first")
    counts: pages.ProblemCounts
    token: Token


class OwnHalf(Response):
    """A summary of one half of one of the caller's twins."""

    id: str
    state: str


class Twin(Response):
    """A summary of one of the caller's twins."""

    ref: str
    created: datetime
    domain: str
    topic: str
    anchor: str
    halves: list[OwnHalf]


class TwinPage(Response):
    """A page of at most 20 of the caller's twins, newest first."""

    items: list[Twin]
    page: int
    pages: int


class HistoryEntry(Response):
    """An event in a problem's history, and its reason."""

    at: datetime
    what: str
    reason: str


class OwnHalfDetail(Response):
    """One half of one of the caller's twins, with votes and history."""

    problem: door.Problem
    state: str
    waits_until: datetime | None = Field(description="as in /problems/{ref}")
    reasons: list[str]
    votes: list[Vote]
    history: list[HistoryEntry]
    may_appeal: bool


class TwinDetail(Response):
    """One of the caller's twins, with the actions that are possible."""

    ref: str
    created: datetime
    halves: list[OwnHalfDetail]
    hints: list[str]
    may_withdraw: bool
    may_revise: bool
    revised_by: str | None


class TwinsQuery(RequestData):
    """The query parameters of the list of twins: the page number."""

    page: int = Field(1, ge=1, le=1_000_000)


router = Router(tags=["me"])


@router.get("/me", response=Me, summary="Read the token's owner", **make_auth())
def read_me(request: HttpRequest) -> dict[str, Any]:
    """Read the token's owner, and counts of their problems."""
    person = get_owner(request)
    roles = {"judge": person.is_judge, "moderator": person.is_moderator}
    roles["admin"] = person.is_superuser
    return {
        "name": person.name,
        "pseudonym": get_pseudonym(person),
        "roles": [role for role, has_role in roles.items() if has_role],
        "to_agree": [
            request.build_absolute_uri(reverse("people:text", args=[text.kind, text.version]))
            for text in get_pending_documents(person, judging=True)
        ],
        "counts": pages.count_problems(person),
        "token": request.auth,
    }


@router.get("/me/tokens", response=list[Token], summary="List your tokens", **make_auth())
def list_tokens(request: HttpRequest) -> list[Any]:
    """List your active tokens."""
    return tokens.list_tokens(get_owner(request))


@router.delete("/me/token", response={204: None}, summary="Revoke this token", **make_auth())
def revoke_token(request: HttpRequest) -> HttpResponse:
    """Revoke the token of this request."""
    tokens.revoke_token(get_owner(request), request.auth.pk)
    return HttpResponse(status=204)


@router.get("/me/twins", response=TwinPage, summary="List your twins", **make_auth())
def list_twins(request: HttpRequest, query: Query[TwinsQuery]) -> dict[str, Any]:
    """List your twins and perturbed sentences, newest first."""
    fields = ("ref", "created", "domain", "topic", "anchor")
    page = Paginator(pages.list_own_twins(get_owner(request)), pages.PAGE_SIZE).get_page(query.page)
    return {
        "items": [
            {
                **{name: getattr(twin, name) for name in fields},
                "halves": [
                    {"id": half.ref, "state": half.state}
                    for half in twin.problems.all()
                    if not half.gold
                ],
            }
            for twin in page.object_list
        ],
        "page": page.number,
        "pages": page.paginator.num_pages,
    }


@router.get("/me/twins/{ref}", response=TwinDetail, summary="Read one of your twins", **make_auth())
def read_twin(request: HttpRequest, ref: Ref) -> dict[str, Any]:
    """Read one of your twins: its state, votes, and possible actions."""
    person = get_owner(request)
    twin = get_own_twin(person, ref)
    context = pages.make_twin_context(person, twin)
    return {
        "ref": twin.ref,
        "created": twin.created,
        "halves": [
            {
                "problem": door.to_records([half["problem"]])[0],
                "state": half["problem"].state,
                "waits_until": half["until"],
                "reasons": half["problem"].reasons,
                "votes": half["votes"],
                "history": [
                    {"at": at, "what": what, "reason": why} for at, what, why in half["history"]
                ],
                "may_appeal": half["may_appeal"],
            }
            for half in context["halves"]
        ],
        **{name: context[name] for name in ("hints", "may_withdraw", "may_revise")},
        "revised_by": context["later"].ref if context["later"] else None,
    }
