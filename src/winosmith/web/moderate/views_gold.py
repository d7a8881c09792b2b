"""The page of contested gold questions: judges who say that the known answer is wrong."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from winosmith.errors import InputError
from winosmith.web.judge import gold
from winosmith.web.judge.models import Contest
from winosmith.web.moderate.deciding import LONGEST
from winosmith.web.moderate.rows import rows
from winosmith.web.people.gates import moderators_only
from winosmith.web.people.models import Person
from winosmith.web.problems.once import new_key, once

__all__ = ["contests", "settle"]

MOST = 50
"""Contests on the page, the oldest first."""


@require_GET
@moderators_only
def contests(request: HttpRequest) -> HttpResponse:
    """Show what judges contest, and what was settled last."""
    return _contests(request)


@require_POST
@moderators_only
def settle(request: HttpRequest, number: int) -> HttpResponse:
    """Settle one contest, once: the judge is right and the question retires, or it stands."""
    one = get_object_or_404(Contest, pk=number)
    upheld, words = request.POST.get("upheld") == "1", request.POST.get("answer", "")

    def act() -> dict[str, Any]:
        if not 1 <= len(words.strip()) <= LONGEST:
            raise InputError(_("answer the judge in 1 to %d characters") % LONGEST)
        gold.settle(one, request.user, upheld=upheld, answer=words)
        return {"contest": one.pk}

    try:
        once(request.user, request.POST.get("key", ""), request.path, act)
    except InputError as error:
        return _contests(request, error, one.pk, words)
    return redirect("moderate:contests")


def _contests(
    request: HttpRequest, error: InputError | None = None, number: int = 0, words: str = ""
) -> HttpResponse:
    query = Contest.objects.select_related(
        "slot__problem__twin__contributor", "slot__problem__as_gold"
    )
    waiting = [_shown(request.user, one) for one in query.filter(upheld=None).order_by("at")[:MOST]]
    context = {
        "waiting": waiting,
        "settled": query.exclude(upheld=None).order_by("-pk")[:20],
        "error": error,
        "number": number,
        "words": words,
        "key": new_key(),
    }
    return render(request, "moderate/contests.html", context, status=409 if error else 200)


def _shown(reader: Person, one: Contest) -> dict[str, Any]:
    problem, chosen = one.slot.problem, one.slot.choice
    return {
        "contest": one,
        "row": rows(reader, [problem])[0],
        "chose": "" if chosen is None else problem.options[chosen],
        "own": one.slot.holder_id == reader.pk,
    }
