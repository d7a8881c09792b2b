"""The pages of moderators: how far the rounds are, and what a closed one gave."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from winosmith.web.people.gates import moderators_only
from winosmith.web.take.models import Round
from winosmith.web.take.progress import standing, subjects_of
from winosmith.web.take.showing import shown_results

__all__ = ["one", "rounds"]


@require_safe
@moderators_only
def rounds(request: HttpRequest) -> HttpResponse:
    """Show all rounds and how far each is."""
    rows = [standing(round_) for round_ in Round.objects.order_by("-created")]
    return render(request, "take/progress.html", {"rows": rows})


@require_safe
@moderators_only
def one(request: HttpRequest, name: str) -> HttpResponse:
    """Show how far a round is; once it is closed, what people answered, by code and by item."""
    round_ = Round.objects.filter(name=name).first()
    if round_ is None:
        raise Http404
    page: dict[str, Any] = {"standing": standing(round_), "round": round_}
    if round_.state == Round.State.CLOSED:
        page["results"] = shown_results(round_)
    else:
        page["subjects"] = subjects_of(round_)
    return render(request, "take/round.html", page)
