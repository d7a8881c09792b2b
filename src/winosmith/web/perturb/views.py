"""The pages on which a sentence is chosen and perturbed, and the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Concatenate, ParamSpec
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web.judge.models import note_read
from winosmith.web.people import gates
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import missing
from winosmith.web.perturb import page as pages, rules
from winosmith.web.perturb.rules import Place, Typed
from winosmith.web.problems.checks import RefusedError
from winosmith.web.problems.family import folded, may_perturb, path_to, steps
from winosmith.web.problems.models import Problem, State, Version
from winosmith.web.problems.search import parse
from winosmith.web.problems.states import visible_to
from winosmith.web.read.public import capped_count, page as page_of

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """Show how to perturb, and the public problems, searched and filtered."""
    filters = pages.Choices(request.GET)
    shown = page_of(filters.apply(), request.GET)
    note_read(gates.existing_writer(request), shown.problems)
    count, more = capped_count(filters.apply())
    perturbed = None if filters.chosen or not filters.is_valid() else filters.perturbed()
    others, more_others = capped_count(perturbed.apply()) if perturbed else (0, False)
    context = {
        "filters": filters,
        "page": shown,
        "listed": pages.listed(shown.problems),
        "terms": parse(filters.cleaned_data.get("q", "")),
        "count": count,
        "more": more,
        "others": others,
        "more_others": more_others,
        "perturbed": perturbed.kept().urlencode() if perturbed else "",
        "examples": pages.examples(),
    }
    template = "perturb/results.html" if request.htmx.target == "results" else "perturb/start.html"
    return render(request, template, context, status=200 if filters.is_valid() else 422)


def _agreed(view: View[P]) -> View[P]:
    """Ask for consent before a form is shown; a form that is sent without it keeps its input."""
    asks = gates.agreed(view)

    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return (view if request.method == "POST" else asks)(request, *args, **kwargs)

    return gated


@require_http_methods(["GET", "HEAD", "POST"])
@_agreed
def build(request: HttpRequest, ref: str) -> HttpResponse:
    """Show a sentence to perturb, and carry out the form's buttons."""
    person = gates.existing_writer(request)
    parent = pages.perturbable(person, ref)
    place = Place.below(person, parent)
    note_read(person, [row for row in place.path if visible_to(person, row)])
    if request.method != "POST":
        against = request.GET.get("against", "") or str(request.session.get(AGAINST, ""))
        first = Typed.copied(parent, against)
        return _shown(request, pages.page(place, first, gates.new_key()))
    return _act(request, place)


@require_POST
def check(request: HttpRequest, ref: str) -> HttpResponse:
    """Check the form while somebody types; nothing is written."""
    person = gates.existing_writer(request)
    return _checked(request, Place.below(person, pages.perturbable(person, ref)))


@require_http_methods(["GET", "HEAD", "POST"])
@_agreed
def revise(request: HttpRequest, ref: str) -> HttpResponse:
    """Show one's own version to revise it, and carry out the form's buttons."""
    person = gates.existing_writer(request)
    old = pages.own_version(person, ref)
    if not rules.revisable(person, old):
        done = rules.submitted_problem(person, request.POST.get("key", ""))
        if done:
            return redirect("perturb:made", done)
        messages.warning(
            request, _("This was decided, replaced or withdrawn; it can no longer be revised.")
        )
        return redirect("perturb:made", ref)
    place = Place.of(person, old)
    if request.method != "POST":
        version = Version.objects.select_related("against").get(problem=old)
        against = version.against.name if version.against else ""
        return _shown(request, pages.page(place, Typed.again(old, against), gates.new_key()))
    return _act(request, place)


@require_POST
def check_revision(request: HttpRequest, ref: str) -> HttpResponse:
    """Check the form of a revision while somebody types; nothing is written."""
    person = gates.existing_writer(request)
    return _checked(request, Place.of(person, pages.own_version(person, ref)))


def _act(request: HttpRequest, place: Place) -> HttpResponse:
    """Check or submit the input; the form keeps it in any case."""
    typed = Typed.of(request.POST, len(place.parent.options))
    key = request.POST.get("key", "")
    if request.POST.get("do") != "submit":
        _count_check(request)
        return _shown(request, pages.page(place, typed, key or gates.new_key()))
    try:
        if (place.person or settings.RULES.anonymous) and missing(place.person):
            consent = f"{reverse('people:consent')}?{urlencode({'next': request.path})}"
            return _shown(request, {**pages.page(place, typed, key), "consent": consent}, 422)
        goes = replace(place, person=gates.writer(request))
        limit = partial(gates.rate_limit, request, "perturb", settings.RULES.perturbs_per_hour)
        made = rules.write(goes, typed, key, before=limit)
    except RefusedError as refused:
        return _shown(request, pages.page(place, typed, key, faults=refused.faults), 422)
    except gates.RateLimitError as many:
        again = _("You have reached the site’s limit per hour. Send it in %d minutes.")
        answer = _shown(request, pages.page(place, typed, key, error=again % many.minutes), 429)
        answer.headers["Retry-After"] = str(many.seconds)
        return answer
    except InputError as refused:
        return _shown(
            request, pages.page(place, typed, key or gates.new_key(), error=str(refused)), 422
        )
    if request.session.get(AGAINST) != typed.against:  # otherwise nothing is written
        request.session[AGAINST] = typed.against
    return redirect("perturb:made", made.ref)


AGAINST = "perturb.against"
"""The session's entry with the last chosen model."""


def _checked(request: HttpRequest, place: Place) -> HttpResponse:
    try:
        _count_check(request)
    except gates.RateLimitError as many:
        return gates.paused_part(request, many)
    typed = Typed.of(request.POST, len(place.parent.options))
    return render(request, "perturb/checks.html", pages.checked(place, typed))


def _count_check(request: HttpRequest) -> None:
    gates.rate_limit_typing(request, "check", settings.RULES.perturbs_per_hour)


def _shown(request: HttpRequest, context: dict[str, object], status: int = 200) -> HttpResponse:
    revises = context["revises"]
    if isinstance(revises, Problem):
        where = reverse("perturb:revise", args=[revises.ref])
    else:
        where = reverse("perturb:build", args=[context["parent"].ref])  # type: ignore[attr-defined]
    return render(request, "perturb/build.html", {**context, "where": where}, status=status)


@require_safe
def made(request: HttpRequest, ref: str) -> HttpResponse:
    """Show a version: that it is stored, its place, and the models that it fooled."""
    person = gates.existing_writer(request)
    version = _version(person, ref)
    problem = version.problem
    path = path_to(problem)
    seen = [row for row in path if visible_to(person, row)]
    note_read(person, seen)
    parent = path[-2]
    way = steps(path, person)
    result = pages.outcome(person, problem, version, parent if visible_to(person, parent) else None)
    own = result["own"]
    context = {
        **result,
        "stands": version,
        "parent": parent,
        "here": way[-1],
        **folded(way),
        "anonymous": own and person is not None and person.anonymous,
        "hints": problem.hints if own and problem.state == State.HELD else [],
        "may_perturb": may_perturb(person, problem),
        "may_perturb_parent": may_perturb(person, parent),
        "revisable": rules.revisable(person, problem),
        "flipped": None
        if problem.answer is None or parent.answer is None
        else problem.answer != parent.answer,
    }
    return render(request, "perturb/made.html", context)


@require_safe
def predictions(request: HttpRequest, ref: str) -> HttpResponse:
    """Answer a waiting page: with nothing if nothing changed, otherwise with the results."""
    person = gates.existing_writer(request)
    version = _version(person, ref)
    parent = version.parent if version.parent and visible_to(person, version.parent) else None
    context = pages.outcome(person, version.problem, version, parent)
    known = request.GET.get("done") == str(context["done"])
    if known and request.GET.get("pace") == str(context["pace"]):
        return HttpResponse(status=204)
    return render(request, "perturb/predictions.html", context)


def _version(person: Person | None, ref: str) -> Version:
    """Return a version that the person may see; others don't exist for them."""
    rows = Version.objects.select_related(
        "problem__twin__contributor", "root", "parent__twin", "against"
    )
    found = rows.filter(problem__ref=ref, parent__isnull=False).first()
    if found is None or not visible_to(person, found.problem):
        raise Http404
    return found
