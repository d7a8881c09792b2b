"""Agreement for everyone, and what moderators see of judges and their gold questions."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from winosmith.errors import InputError
from winosmith.web.judge import exclusion, gold
from winosmith.web.judge.agreement import figures
from winosmith.web.judge.models import Contest, Judge, Slot
from winosmith.web.people.gates import moderators_only
from winosmith.web.people.models import Person
from winosmith.web.problems.once import new_key, once

__all__ = ["agreement", "attention", "decide_judge", "settle_contest"]

MOST = 100
"""Judges, and contests, on one page."""


@require_GET
def agreement(request: HttpRequest) -> HttpResponse:
    """Show how far the site's judges agree."""
    found = figures()
    page = {"figures": found, "pairs": _percent(found.pairs)}
    if found.problems:
        page["valid"] = _percent(found.valid / found.problems)
        page["unanimous"] = _percent(found.unanimous / found.problems)
    if found.gold[1]:
        page["gold"] = _percent(found.gold[0] / found.gold[1])
    return render(request, "judge/agreement.html", page)


@require_GET
@moderators_only
def attention(request: HttpRequest) -> HttpResponse:
    """Show which judges are paused, how gold questions went, and what is contested."""
    return render(request, "judge/attention.html", _attention(request))


@require_POST
@moderators_only
def settle_contest(request: HttpRequest) -> HttpResponse:
    """Settle a contested gold question."""
    found = Contest.objects.filter(pk=_key(request, "contest")).first()
    if found is None:
        raise Http404
    by = cast(Person, request.user)

    def act() -> dict[str, Any]:
        upheld = request.POST.get("upheld") == "yes"
        gold.settle(found, by, upheld=upheld, answer=request.POST.get("answer", ""))
        return {}

    return _done(request, act)


@require_POST
@moderators_only
def decide_judge(request: HttpRequest) -> HttpResponse:
    """Let a judge go on, pause them, or take their votes out of the count or back into it."""
    person = Person.objects.filter(pk=_key(request, "person")).first()
    if person is None:
        raise Http404
    by, reason = cast(Person, request.user), request.POST.get("reason", "")
    what = request.POST.get("what", "")
    if what in ("exclude", "include"):
        return _recount(request, what, person, by, reason)
    if what not in ("resume", "pause"):
        raise Http404

    def act() -> dict[str, Any]:
        (exclusion.resume if what == "resume" else exclusion.pause)(person, by)
        return {}

    return _done(request, act)


def _recount(
    request: HttpRequest, what: str, person: Person, by: Person, reason: str
) -> HttpResponse:
    """Take votes out of the count or back; sent twice, the second time there is nothing left.

    No key: each problem is a transaction of its own, so that others write in between.
    """
    change = exclusion.exclude_votes if what == "exclude" else exclusion.include_votes
    try:
        votes = change(person, by, reason)
    except InputError as error:
        page = {**_attention(request), "error": str(error)}
        return render(request, "judge/attention.html", page, status=422)
    messages.success(request, _("Votes changed: %d") % votes)
    return redirect("judge:attention")


def _done(request: HttpRequest, act: Any) -> HttpResponse:
    try:
        _result, new = once(cast(Person, request.user), request.POST.get("key", ""), act)
    except InputError as error:
        page = {**_attention(request), "error": str(error)}
        return render(request, "judge/attention.html", page, status=422)
    if new:
        messages.success(request, _("Done."))
    return redirect("judge:attention")


def _attention(request: HttpRequest) -> dict[str, Any]:
    contests = Contest.objects.filter(upheld=None).order_by("pk")
    contests = contests.select_related("slot__problem__as_gold", "slot__holder")[:MOST]
    asked = {
        judge.pk: _judge(judge)
        for judge in Judge.objects.select_related("person")
        .filter(Q(paused__isnull=False) | Q(person__slots__gold=True))
        .annotate(slots=Count("person__slots"))
        .order_by("-paused", "-slots")[:MOST]
    }
    return {
        "contests": [_contest(found) for found in contests],
        "judges": list(asked.values()),
        "least": gold.LEAST,
        "floor": _percent(gold.FLOOR),
        "me": request.user.pk,
    }


def _judge(judge: Judge) -> dict[str, Any]:
    right, n = gold.record(judge.person, judge.gold_since)
    votes = Slot.objects.filter(holder=judge.person, gold=False, open=False)
    votes = votes.exclude(answered_at=None)
    return {
        "person": judge.person,
        "paused": judge.paused,
        "right": right,
        "asked": n,
        "votes": votes.count(),
        "excluded": votes.filter(excluded=True).count(),
        "key": new_key(),
    }


def _contest(found: Contest) -> dict[str, Any]:
    problem, choice = found.slot.problem, found.slot.choice
    return {
        "contest": found,
        "before_after": problem.sentence.split("_", 1),
        "answer": problem.options[problem.answer or 0],
        "chosen": None if choice is None else problem.options[choice],
        "explanation": problem.as_gold.explanation,
        "key": new_key(),
    }


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _key(request: HttpRequest, name: str) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
