"""Drafts: a topic is drawn, both halves are written and checked, and what is ready is sent.

The shapes of what is asked and told come first, then the operations.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from winosmith.web.api import door
from winosmith.web.api.door import Asked, Key, Ref, Shape, asks, owner
from winosmith.web.people.gates import rate_limit, rate_limit_typing
from winosmith.web.people.models import Person
from winosmith.web.problems.checks import Check
from winosmith.web.problems.lookalikes import Lookalike
from winosmith.web.write import rules
from winosmith.web.write.models import Draft as Row
from winosmith.web.write.page import checked
from winosmith.web.write.rules import Typed
from winosmith.web.write.views import STARTS

Text = Annotated[str, Field(max_length=10_000)]

Number = Annotated[int, Field(ge=0, le=1)]


class Halves(Asked):
    """Both halves as far as they are written: `_` stands for the blank."""

    domain: Literal["", "social", "physical"] = ""
    options: tuple[Text, Text] = ("", "")
    sentences: tuple[Text, Text] = ("", "")
    answers: tuple[Number | None, Number | None] = (0, 1)

    def typed(self) -> Typed:
        """Return the same as the form of the page has it, tidied."""
        form: dict[str, Any] = {"domain": self.domain}
        for number in (0, 1):
            answer = self.answers[number]
            form[f"option_{number + 1}"] = self.options[number]
            form[f"sentence_{number + 1}"] = self.sentences[number]
            form[f"answer_{number + 1}"] = "" if answer is None else str(answer)
        return Typed.of(form)


class Saved(Halves):
    """What to save, and the version that was read before."""

    version: int = Field(ge=0, le=2**31 - 1)


class DraftVersion(Asked):
    """The version of the draft that is meant."""

    version: int = Field(ge=0, le=2**31 - 1)


class Redrawn(Asked):
    """What to draw anew: another topic, or other words of the same one."""

    what: Literal["topic", "words"]


class Written(Shape):
    """Both halves, as they are kept."""

    domain: str
    options: list[str]
    sentences: list[str]
    answers: list[int | None]


class Reading(Shape):
    """How far word association alone gets a half right, in percent."""

    number: int
    percent: int
    words: str
    strong: bool


class ExaminedTwin(Shape):
    """What the rules say of both halves; `ready` to be sent where all pass."""

    ready: bool
    next: str
    checks: list[Check]
    hints: list[str]
    near: list[Lookalike]
    readings: list[Reading]


class Draft(Shape):
    """A draft: its topic, the anchor words to use, and what is written so far."""

    ref: str
    topic: str
    text: str
    anchors: list[str]
    written: Written
    version: int
    saved: datetime
    revises: str | None
    examined: ExaminedTwin


class Submitted(Shape):
    """The twin that came of a draft; see /me/twins/{ref}."""

    twin: str


class ShortDraft(Shape):
    """A draft in a list."""

    ref: str
    topic: str
    version: int
    saved: datetime


router = Router(tags=["write"])


@router.get("/drafts", response=list[ShortDraft], summary="List your drafts", **asks("read"))
def list_drafts(request: HttpRequest) -> list[Any]:
    """List your drafts, the last saved first."""
    return rules.drafts_of(owner(request))


@router.post("/drafts", response={201: Draft}, summary="Draw a topic", **asks("write", agreed=True))
def start_draft(request: HttpRequest, key: Key) -> dict[str, Any]:
    """Draw a topic with anchor words, and open a draft on it."""
    person, topic = owner(request), rules.draw()

    def act() -> dict[str, Any]:
        rate_limit(person, "topic", STARTS * settings.RULES.writes_per_hour)
        return {"draft": rules.start(person, topic).ref}

    return _draft(_own(person, door.acted(request, key, act)["draft"]), person)


@router.get("/drafts/{ref}", response=Draft, summary="Read a draft", **asks("read"))
def read_draft(request: HttpRequest, ref: Ref) -> dict[str, Any]:
    """Read a draft with what the rules say of it."""
    return _draft(_own(owner(request), ref), owner(request))


@router.put("/drafts/{ref}", response=Draft, summary="Save a draft", **asks("write"))
def save_draft(request: HttpRequest, ref: Ref, saved: Saved) -> dict[str, Any]:
    """Save what is written; 409 where it was saved elsewhere since the version was read."""
    person = owner(request)
    rate_limit_typing(person, "save", settings.RULES.writes_per_hour)
    return _draft(rules.save(_own(person, ref), saved.typed(), saved.version), person)


@router.delete("/drafts/{ref}", response={204: None}, summary="Discard a draft", **asks("write"))
def discard_draft(request: HttpRequest, ref: Ref) -> HttpResponse:
    """Throw a draft away."""
    rules.discard(_own(owner(request), ref))
    return HttpResponse(status=204)


@router.post("/drafts/{ref}/check", response=ExaminedTwin, summary="Check", **asks("write"))
def check_draft(request: HttpRequest, ref: Ref, halves: Halves) -> dict[str, Any]:
    """Tell what the rules say of both halves, and write nothing."""
    person = owner(request)
    rate_limit_typing(person, "check", settings.RULES.writes_per_hour)
    return _examined(_own(person, ref), halves.typed(), person)


@router.post("/drafts/{ref}/redraw", response=Draft, summary="Draw anew", **asks("write"))
def redraw(request: HttpRequest, ref: Ref, redrawn: Redrawn, key: Key) -> dict[str, Any]:
    """Draw another topic, or other words of the same one; what is written stays."""
    person = owner(request)
    found = _own(person, ref)

    def act() -> dict[str, Any]:
        rate_limit_typing(person, "save", settings.RULES.writes_per_hour)
        return {"draft": rules.redraw(found, redrawn.what).ref}

    door.acted(request, key, act)
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
    known = door.done_before(request, key) or _sent(person, ref)
    if known:
        return known
    draft = _own(person, ref)
    if draft.version != sent.version:
        raise rules.Stale(draft)

    def before() -> None:
        rate_limit(person, "write", settings.RULES.writes_per_hour)

    twin = rules.submit(person, Typed.of(draft.typed), draft, before=before)
    return door.acted(request, key, lambda: {"twin": twin.ref})


def _sent(person: Person, ref: str) -> dict[str, Any] | None:
    twin = rules.sent(person, ref)
    return {"twin": twin} if twin else None


def _own(person: Person, ref: str) -> Row:
    """Return one's own draft; of anybody else's nobody learns that it exists."""
    found = rules.draft_of(person, ref)
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
