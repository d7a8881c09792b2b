"""Judging: take a problem, answer from the local context and as a whole, or pass it on.

The shapes of what is asked and told come first, then the operations.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

from django.conf import settings
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _
from ninja import Router
from pydantic import Field

from winosmith.web.api.v1.access import asks, owner
from winosmith.web.api.v1.faults import Denied
from winosmith.web.api.v1.keys import Key, acted
from winosmith.web.api.v1.shapes import Asked, Ref, Shape
from winosmith.web.judge import gold
from winosmith.web.judge.answering import LONGEST, answer, answer_local, skip, undo, undoable
from winosmith.web.judge.models import Contest, Judge, Slot
from winosmith.web.judge.taking import (
    claim,
    current,
    go_on,
    in_a_test,
    next_slot,
    shown,
    why_none_left,
)
from winosmith.web.judge.trust import stops, training
from winosmith.web.people.limits import address, rate_limit
from winosmith.web.people.models import Person

Choice = Annotated[int, Field(ge=0, le=4, description="the index of an option")]

Comment = Annotated[str, Field(max_length=LONGEST)]


class ShownOption(Shape):
    """An option, and its index in the problem: they stand in an order of this judge's own."""

    choice: int
    text: str


class HeldProblem(Shape):
    """A problem that you hold: the words around its blank alone, or the whole of it."""

    problem: str = Field(description="stands for it here, for you alone; no problem's id")
    step: Literal["local", "whole"]
    sentence: str = Field(description="`_` stands for the blank")
    options: list[ShownOption]
    taken: datetime
    until: datetime | None = Field(description="afterwards somebody else may take it")


class Nothing(Shape):
    """Why nothing is left for you: places that are on your own problems, known to you, or held."""

    own: int
    seen: int
    held: int
    until: datetime | None


class Standing(Shape):
    """What you hold; else whether something is left, and why not."""

    holding: HeldProblem | None
    left: bool = Field(description="whether there is a problem to claim")
    training: bool = Field(description="pass the training on the site's page /judge/ first")
    held: bool = Field(description="your votes decide nothing until a moderator has looked")
    paused: bool = Field(description="you get no further problem until a moderator has looked")
    in_a_test: bool = Field(description="finish the human test that you are in first")
    nothing: Nothing | None
    undo: str | None = Field(description="the problem whose answer can be taken back, for a minute")


class Answered(Standing):
    """What you hold after an answer; `checked` where the last one was a question with a key."""

    checked: str | None


class CheckedAnswer(Shape):
    """How a question with a known answer went."""

    problem: str
    sentence: str
    options: list[str]
    choice: int | None
    answer: int | None
    right: bool
    explanation: str
    contested: bool


class LocalAnswer(Asked):
    """An answer from the local context."""

    problem: Ref
    choice: Choice


class WholeAnswer(Asked):
    """An answer to the whole problem; null is neither, for what is ambiguous."""

    problem: Ref
    choice: Choice | None = None
    ambiguous: bool = False
    associative: bool = False
    comment: Comment = ""


class Skipped(Asked):
    """Why a problem is passed on."""

    problem: Ref
    reason: Literal["known", "unsure", "broken", "upsetting", "other"]
    comment: Comment = ""


class ProblemMeant(Asked):
    """Which problem is meant."""

    problem: Ref


class Contested(Asked):
    """Why the known answer is wrong."""

    text: str = Field(min_length=1, max_length=2000)


router = Router(tags=["judge"])

MAY = asks("judge", agreed=True)


@router.get("/judging", response=Standing, summary="What you hold", **MAY)
def read_standing(request: HttpRequest) -> dict[str, Any]:
    """Tell what you hold; else whether something is left for you, and why not."""
    return _standing(owner(request))


@router.post("/judging/claim", response=Standing, summary="Claim a problem", **MAY)
def claim_next(request: HttpRequest, key: Key) -> dict[str, Any]:
    """Take the next problem; one that you hold already comes first."""
    return _acted(request, key, lambda person: claim(person) and None)


@router.post("/judging/local", response=Standing, summary="Answer from the local context", **MAY)
def local(request: HttpRequest, sent: LocalAnswer, key: Key) -> dict[str, Any]:
    """Say what fits judging by the words around the blank alone; the first answer stays."""
    return _acted(
        request, key, lambda person: answer_local(person, sent.problem, sent.choice) and None
    )


@router.post("/judging/answer", response=Answered, summary="Answer", **MAY)
def whole(request: HttpRequest, sent: WholeAnswer, key: Key) -> dict[str, Any]:
    """Answer the whole problem, and take the next one."""

    def act(person: Person) -> str | None:
        rate_limit(person, "judge", settings.RULES.answers_per_hour)
        slot = answer(
            person,
            sent.problem,
            sent.choice,
            ambiguous=sent.ambiguous,
            associative=sent.associative,
            comment=sent.comment,
            address=address(request),
        )
        if slot.gold:
            return str(slot.ref)
        go_on(person)
        return None

    return _acted(request, key, act)


@router.post("/judging/skip", response=Standing, summary="Pass a problem on", **MAY)
def pass_on(request: HttpRequest, sent: Skipped, key: Key) -> dict[str, Any]:
    """Pass the problem on, never to get it again, and take the next one."""

    def act(person: Person) -> None:
        rate_limit(person, "judge", settings.RULES.answers_per_hour)
        skip(person, sent.problem, sent.reason, sent.comment)
        go_on(person)

    return _acted(request, key, act)


@router.post("/judging/undo", response=Standing, summary="Take an answer back", **MAY)
def take_back(request: HttpRequest, sent: ProblemMeant, key: Key) -> dict[str, Any]:
    """Take your last answer back, within a minute and before the problem is decided."""
    return _acted(request, key, lambda person: undo(person, sent.problem) and None)


@router.get(
    "/judging/checked/{ref}", response=CheckedAnswer, summary="A question with a key", **MAY
)
def checked(request: HttpRequest, ref: Ref) -> dict[str, Any]:
    """Tell how a question with a known answer went, once it is answered."""
    return _checked(_told(request, ref))


@router.post(
    "/judging/checked/{ref}/contest", response=CheckedAnswer, summary="Contest a key", **MAY
)
def contest(request: HttpRequest, ref: Ref, sent: Contested, key: Key) -> dict[str, Any]:
    """Say that the known answer is wrong; a moderator settles it."""
    slot = _told(request, ref)

    def act() -> dict[str, Any]:
        gold.contest(owner(request), ref, sent.text)
        return {}

    acted(request, key, act)
    return _checked(slot)


def _acted(request: HttpRequest, key: str, act: Callable[[Person], str | None]) -> dict[str, Any]:
    """Do something once; tell what the judge holds now.

    Raises:
        Denied: the training before the first vote is not passed; it is taken on the site's page.
    """
    person = owner(request)
    if training(Judge.objects.filter(person=person).first()) is not None:
        raise Denied(403, _("Pass the training first, in a browser: /judge/"))
    made = acted(request, key, lambda: {"checked": act(person)})
    return {**_standing(person), **made}


def _standing(person: Person) -> dict[str, Any]:
    slot = current(person)
    judge = Judge.objects.filter(person=person).first()
    paused, testing = stops(judge), in_a_test(person)
    learning = training(judge) is not None
    free = slot is None and not (paused or testing or learning)
    left = free and next_slot(person, judge.cursor if judge else 0) is not None
    last = undoable(person)
    return {
        "holding": _held(slot) if slot else None,
        "left": left,
        "training": learning,
        "held": judge is not None and judge.held is not None,
        "paused": paused,
        "in_a_test": testing,
        "nothing": why_none_left(person) if free and not left else None,
        "undo": last.ref if last else None,
    }


def _held(slot: Slot) -> dict[str, Any]:
    """Return what the page of a slot shows, and nothing of the answer or of the other half."""
    told = shown(slot, {})
    return {
        "problem": slot.ref,
        "step": "local" if told["first"] else "whole",
        "sentence": f"{told['before']}_{told['after']}",
        "options": [{"choice": one["value"], "text": one["text"]} for one in told["options"]],
        "taken": slot.taken_at,
        "until": slot.lease_until,
    }


def _told(request: HttpRequest, ref: str) -> Slot:
    slot = gold.answered(owner(request), ref)
    if slot is None:
        raise Http404
    return slot


def _checked(slot: Slot) -> dict[str, Any]:
    problem = slot.problem
    return {
        "problem": slot.ref,
        **{name: getattr(problem, name) for name in ("sentence", "options", "answer")},
        "choice": slot.choice,
        "right": bool(slot.right),
        "explanation": problem.as_gold.explanation,
        "contested": Contest.objects.filter(slot=slot).exists(),
    }
