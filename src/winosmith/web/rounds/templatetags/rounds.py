"""Rounds on the pages of others: flags beside problems, and the roots that wait to be perturbed."""

from __future__ import annotations

from typing import Any

from django import template

from winosmith.web.judge.seen import note_read
from winosmith.web.people.gates import existing_writer
from winosmith.web.problems.models import Problem
from winosmith.web.rounds import flags
from winosmith.web.rounds.models import Round
from winosmith.web.rounds.results import roots_of

register = template.Library()

WANTED = 6
"""Roots that the page of perturbing shows; the page of the round has all."""


@register.simple_tag(takes_context=True)
def flag_of(context: Any, problem: Problem) -> flags.Flag | None:
    """Return the flag on one's own problem; None where there is none, or the reader is another."""
    request = context["request"]
    return flags.flag_of(existing_writer(request), problem, _newest(request))


@register.simple_tag(takes_context=True)
def flag_for_moderators(context: Any, problem: Problem) -> flags.Flag | None:
    """Return the flag that the newest round that is done set; None for whoever moderates not."""
    request = context["request"]
    if not (request.user.is_authenticated and request.user.moderates):
        return None
    if not hasattr(request, "round_done"):
        done = Round.objects.filter(state=Round.State.DONE)
        request.round_done = done.order_by("-ended").first()
    return flags.flag_for_moderators(problem, request.round_done)


@register.simple_tag(takes_context=True)
def flagged_count(context: Any) -> int:
    """Return how many of one's own problems the round that was published last left out."""
    request = context["request"]
    person, round_ = existing_writer(request), _newest(request)
    return flags.flagged(person, round_).count() if person and round_ else 0


@register.simple_tag(takes_context=True)
def wanted_roots(context: Any) -> dict[str, Any]:
    """Return the round that was published last, and the first of its roots: what is wanted."""
    request = context["request"]
    round_ = _newest(request)
    if round_ is None:
        return {"round": None, "roots": ()}
    roots = roots_of(round_)
    note_read(existing_writer(request), roots[:WANTED])
    return {"round": round_, "roots": roots[:WANTED], "more": len(roots) > WANTED}


def _newest(request: Any) -> Round | None:
    """Return the round that was published last, looked for once for a page."""
    if not hasattr(request, "round_published"):
        request.round_published = flags.newest()
    found: Round | None = request.round_published
    return found
