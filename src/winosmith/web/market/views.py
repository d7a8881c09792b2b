"""The pages of a study at work: how far it is, and its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web.market.arriving import arrival_of
from winosmith.web.market.models import TURNED_AWAY, Participation
from winosmith.web.market.providers import PROVIDERS
from winosmith.web.market.working import code_of, finish, leave, part_of, standing
from winosmith.web.people.agree import missing
from winosmith.web.people.current import existing_writer
from winosmith.web.problems.once import new_key, once

__all__ = ["end_it", "give_up", "work"]


@require_safe
def work(request: HttpRequest) -> HttpResponse:
    """Show how far somebody's work is, and the completion code once all of it is stored."""
    part = part_of(existing_writer(request))
    if part is None:
        if arrival_of(request) is not None:
            return redirect("market:welcome")
        return render(request, "market/nobody.html")
    return _show(request, part)


@require_POST
def end_it(request: HttpRequest) -> HttpResponse:
    """End the work, where all of it is stored or none is left."""
    return _act(request, finish)


@require_POST
def give_up(request: HttpRequest) -> HttpResponse:
    """Give the work up."""
    return _act(request, leave)


def _act(request: HttpRequest, act: Callable[[Participation], None]) -> HttpResponse:
    part = part_of(existing_writer(request))
    if part is None:
        return redirect("market:work")

    def acted() -> dict[str, Any]:
        act(part)
        return {}

    try:
        once(part.person, request.POST.get("key", ""), request.path, acted)
    except InputError as error:
        return _show(request, part, error=str(error), status=422)
    return redirect("market:work")


def _show(
    request: HttpRequest, part: Participation, *, error: str = "", status: int = 200
) -> HttpResponse:
    code = code_of(part)
    page = {
        "part": part,
        "study": part.study,
        "provider": PROVIDERS[part.study.provider],
        "standing": standing(part),
        "consent": bool(missing(part.person)),
        "code": code,
        "way_back": PROVIDERS[part.study.provider].way_back(code) if code else "",
        "turned_away": part.verdict in TURNED_AWAY,
        "key": new_key(),
        "finish_key": new_key(),
        "leave_key": new_key(),
        "error": error,
    }
    return render(request, "market/work.html", page, status=status)
