"""Drafts: a topic is drawn, both halves are written and checked, and what is ready is sent."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Router

from winosmith.web.api.v1.access import asks, owner
from winosmith.web.api.v1.keys import Key, acted, done_before, note
from winosmith.web.api.v1.shapes import Ref
from winosmith.web.api.v1.shapes_drafts import (
    Draft,
    DraftVersion,
    ExaminedTwin,
    Halves,
    Redrawn,
    Saved,
    ShortDraft,
    Submitted,
)
from winosmith.web.people.limits import spend
from winosmith.web.people.models import Person
from winosmith.web.write import drafts, rules
from winosmith.web.write.checking import Typed
from winosmith.web.write.models import Draft as Row
from winosmith.web.write.page import checked
from winosmith.web.write.views import STARTS

__all__ = ["router"]

router = Router(tags=["write"])


@router.get("/drafts", response=list[ShortDraft], summary="List your drafts", **asks("read"))
def list_drafts(request: HttpRequest) -> list[Any]:
    """List your drafts, the last saved first."""
    return drafts.drafts_of(owner(request))


@router.post("/drafts", response={201: Draft}, summary="Draw a topic", **asks("write", agreed=True))
def start_draft(request: HttpRequest, key: Key) -> dict[str, Any]:
    """Draw a topic with anchor words, and open a draft on it."""
    person, topic = owner(request), drafts.draw()

    def act() -> dict[str, Any]:
        spend(person, "topic", STARTS * settings.RULES.writes_per_hour)
        return {"draft": drafts.start(person, topic).ref}

    return _draft(_own(person, acted(request, key, act)["draft"]), person)


@router.get("/drafts/{ref}", response=Draft, summary="Read a draft", **asks("read"))
def read_draft(request: HttpRequest, ref: Ref) -> dict[str, Any]:
    """Read a draft with what the rules say of it."""
    return _draft(_own(owner(request), ref), owner(request))


@router.put("/drafts/{ref}", response=Draft, summary="Save a draft", **asks("write"))
def save_draft(request: HttpRequest, ref: Ref, saved: Saved) -> dict[str, Any]:
    """Save what is written; 409 where it was saved elsewhere since the version was read."""
    person = owner(request)
    return _draft(drafts.save(_own(person, ref), saved.typed(), saved.version), person)


@router.delete("/drafts/{ref}", response={204: None}, summary="Discard a draft", **asks("write"))
def discard_draft(request: HttpRequest, ref: Ref) -> HttpResponse:
    """Throw a draft away."""
    drafts.discard(_own(owner(request), ref))
    return HttpResponse(status=204)


@router.post("/drafts/{ref}/check", response=ExaminedTwin, summary="Check", **asks("write"))
def check_draft(request: HttpRequest, ref: Ref, halves: Halves) -> dict[str, Any]:
    """Tell what the rules say of both halves, and write nothing."""
    person = owner(request)
    return _examined(_own(person, ref), halves.typed(), person)


@router.post("/drafts/{ref}/redraw", response=Draft, summary="Draw anew", **asks("write"))
def redraw(request: HttpRequest, ref: Ref, redrawn: Redrawn, key: Key) -> dict[str, Any]:
    """Draw another topic, or other words of the same one; what is written stays."""
    person = owner(request)
    found = _own(person, ref)
    acted(request, key, lambda: {"draft": drafts.redraw(found, redrawn.what).ref})
    return _draft(_own(person, ref), person)


@router.post(
    "/drafts/{ref}/submit",
    response={201: Submitted},
    summary="Send a twin",
    **asks("write", agreed=True),
)
def submit(request: HttpRequest, ref: Ref, sent: DraftVersion, key: Key) -> dict[str, Any]:
    """Send what a draft holds: one draft becomes one twin, however often it is sent."""
    person = owner(request)
    known = done_before(request, key) or _sent(person, ref)
    if known:
        return known
    draft = _own(person, ref)
    if draft.version != sent.version:
        raise drafts.Stale(draft)

    def before() -> None:
        spend(person, "write", settings.RULES.writes_per_hour)

    twin = rules.submit(
        person,
        Typed.of(draft.typed),
        draft.ref,
        topic=draft.topic,
        anchors=draft.anchors,
        revises=draft.revises,
        before=before,
    )
    note(request, key, {"twin": twin.ref})
    return {"twin": twin.ref}


def _sent(person: Person, ref: str) -> dict[str, Any] | None:
    twin = rules.sent(person, ref)
    return {"twin": twin} if twin else None


def _own(person: Person, ref: str) -> Row:
    """Return one's own draft; of anybody else's nobody learns that it exists."""
    found = drafts.draft_of(person, ref)
    if found is None:
        raise Http404
    return found


def _draft(row: Row, person: Person) -> dict[str, Any]:
    typed = Typed.of(row.typed)
    return {
        **{name: getattr(row, name) for name in ("ref", "topic", "text", "anchors", "version")},
        "saved": row.saved,
        "revises": row.revises.ref if row.revises else None,
        "written": {
            "domain": typed.domain,
            "options": list(typed.options),
            "sentences": list(typed.sentences),
            "answers": list(typed.answers),
        },
        "examined": _examined(row, typed, person),
    }


def _examined(row: Row, typed: Typed, person: Person) -> dict[str, Any]:
    told = checked(row, typed, person)
    return {
        **{name: told[name] for name in ("ready", "next", "hints", "readings")},
        "checks": [check for _name, checks in told["groups"] for check in checks],
        "near": [near["one"] for near in told["near"]],
    }
