"""What came of a perturbation: where it stands, and what the models make of it."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from winosmith.web.people.current import existing_writer
from winosmith.web.people.models import Person
from winosmith.web.perturb import rules
from winosmith.web.perturb.family import path_to
from winosmith.web.perturb.models import Version
from winosmith.web.perturb.outcome import outcome
from winosmith.web.perturb.page import folded, steps
from winosmith.web.problems.models import State
from winosmith.web.problems.public import visible_to
from winosmith.web.read.seen import note_read

__all__ = ["made", "predictions"]


@require_safe
def made(request: HttpRequest, ref: str) -> HttpResponse:
    """Show a version: that it is stored, where it stands, who was fooled."""
    person = existing_writer(request)
    version = _version(person, ref)
    problem = version.problem
    path = path_to(problem)
    seen = [row for row in path if visible_to(person, row)]
    note_read(person, seen)
    parent = path[-2]
    way = steps(path, person)
    told = outcome(person, problem, version, parent if visible_to(person, parent) else None)
    own = told["own"]
    context = {
        **told,
        "stands": version,
        "parent": parent,
        "here": way[-1],
        **folded(way),
        "anonymous": own and person is not None and person.anonymous,
        "hints": problem.hints if own and problem.state == State.HELD else [],
        "may_perturb": rules.may_perturb(person, problem),
        "may_perturb_parent": rules.may_perturb(person, parent),
        "revisable": rules.revisable(person, problem),
        "flipped": None
        if problem.answer is None or parent.answer is None
        else problem.answer != parent.answer,
    }
    return render(request, "perturb/made.html", context)


@require_safe
def predictions(request: HttpRequest, ref: str) -> HttpResponse:
    """Answer a page that waits: with nothing where nothing changed, else with what is there."""
    person = existing_writer(request)
    version = _version(person, ref)
    parent = version.parent if version.parent and visible_to(person, version.parent) else None
    context = outcome(person, version.problem, version, parent)
    known = request.GET.get("done") == str(context["done"])
    if known and request.GET.get("pace") == str(context["pace"]):
        return HttpResponse(status=204)
    return render(request, "perturb/predictions.html", context)


def _version(person: Person | None, ref: str) -> Version:
    """Return a version that somebody may see; of any other nobody learns that it exists."""
    rows = Version.objects.select_related(
        "problem__twin__contributor", "root", "parent__twin", "against"
    )
    found = rows.filter(problem__ref=ref, parent__isnull=False).first()
    if found is None or not visible_to(person, found.problem):
        raise Http404
    return found
