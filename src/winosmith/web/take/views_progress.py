"""The pages of moderators: how far the rounds are, and what a closed one gave."""

from __future__ import annotations

from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web.people.gates import moderators_only
from winosmith.web.people.models import Person
from winosmith.web.take.closing import let_count
from winosmith.web.take.models import Round
from winosmith.web.take.progress import standing, subjects_of
from winosmith.web.take.showing import shown_results

__all__ = ["count", "one", "rounds"]


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
    return _round(request, round_)


@require_POST
@moderators_only
def count(request: HttpRequest, name: str) -> HttpResponse:
    """Let a sheet count that is held for its pace."""
    round_ = Round.objects.filter(name=name).first()
    if round_ is None:
        raise Http404
    try:
        let_count(round_, request.POST.get("sheet", ""), cast(Person, request.user))
    except InputError as error:
        return _round(request, round_, str(error))
    return redirect("take:round", name=name)


def _round(request: HttpRequest, round_: Round, error: str = "") -> HttpResponse:
    subjects = subjects_of(round_)
    page: dict[str, Any] = {
        "standing": standing(round_),
        "round": round_,
        "held": [one for one in subjects if one["held"]],
        "error": error,
    }
    if round_.state == Round.State.CLOSED:
        page["results"] = shown_results(round_)
    else:
        page["subjects"] = subjects
    return render(request, "take/round.html", page, status=422 if error else 200)
