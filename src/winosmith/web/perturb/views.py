"""The pages on which a sentence is chosen and perturbed, and what came of it."""

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
from winosmith.web.people.gates import (
    TooMany,
    agreed,
    existing_writer,
    new_key,
    rate_limit,
    rate_limit_typing,
    rest,
    writer,
)
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import missing
from winosmith.web.perturb import rules
from winosmith.web.perturb.page import (
    Choices,
    checked,
    examples,
    listed,
    outcome,
    own_version,
    page,
    perturbable,
)
from winosmith.web.perturb.rules import Place, Typed
from winosmith.web.problems.checks import Refused
from winosmith.web.problems.family import folded, may_perturb, path_to, steps
from winosmith.web.problems.models import Problem, State, Version
from winosmith.web.problems.search import parse
from winosmith.web.problems.states import visible_to
from winosmith.web.read.public import capped_count, page as page_of

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """Show how one perturbs, and what: the public problems, searched and filtered."""
    filters = Choices(request.GET)
    shown = page_of(filters.apply(), request.GET)
    note_read(existing_writer(request), shown.problems)
    count, more = capped_count(filters.apply())
    perturbed = None if filters.chosen or not filters.is_valid() else filters.perturbed()
    others, more_others = capped_count(perturbed.apply()) if perturbed else (0, False)
    context = {
        "filters": filters,
        "page": shown,
        "listed": listed(shown.problems),
        "terms": parse(filters.cleaned_data.get("q", "")),
        "count": count,
        "more": more,
        "others": others,
        "more_others": more_others,
        "perturbed": perturbed.kept().urlencode() if perturbed else "",
        "examples": examples(),
    }
    template = "perturb/results.html" if request.htmx.target == "results" else "perturb/start.html"
    return render(request, template, context, status=200 if filters.is_valid() else 422)


def _agreed(view: View[P]) -> View[P]:
    """Ask for consent before a form is shown; one that is sent without it comes back, all kept."""
    asks = agreed(view)

    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return (view if request.method == "POST" else asks)(request, *args, **kwargs)

    return gated


@require_http_methods(["GET", "HEAD", "POST"])
@_agreed
def build(request: HttpRequest, ref: str) -> HttpResponse:
    """Show a sentence to perturb, and do what the form's buttons say."""
    person = existing_writer(request)
    parent = perturbable(person, ref)
    place = Place.below(person, parent)
    note_read(person, [row for row in place.path if visible_to(person, row)])
    if request.method != "POST":
        against = request.GET.get("against", "") or str(request.session.get(AGAINST, ""))
        first = Typed.copied(parent, against)
        return _shown(request, page(place, first, new_key()))
    return _act(request, place)


@require_POST
def check(request: HttpRequest, ref: str) -> HttpResponse:
    """Answer the form as somebody types, and write nothing."""
    person = existing_writer(request)
    return _checked(request, Place.below(person, perturbable(person, ref)))


@require_http_methods(["GET", "HEAD", "POST"])
@_agreed
def revise(request: HttpRequest, ref: str) -> HttpResponse:
    """Show one's own version to revise it, and do what the form's buttons say."""
    person = existing_writer(request)
    old = own_version(person, ref)
    if not rules.revisable(person, old):
        done = rules.sent(person, request.POST.get("key", ""))
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
        return _shown(request, page(place, Typed.again(old, against), new_key()))
    return _act(request, place)


@require_POST
def check_revision(request: HttpRequest, ref: str) -> HttpResponse:
    """Answer the form of a revision as somebody types, and write nothing."""
    person = existing_writer(request)
    return _checked(request, Place.of(person, own_version(person, ref)))


def _act(request: HttpRequest, place: Place) -> HttpResponse:
    """Check or submit what was typed; whatever happens, the form keeps it."""
    typed = Typed.of(request.POST, len(place.parent.options))
    key = request.POST.get("key", "")
    if request.POST.get("do") != "submit":
        _count_check(request)
        return _shown(request, page(place, typed, key or new_key()))
    try:
        if (place.person or settings.RULES.anonymous) and missing(place.person):
            consent = f"{reverse('people:consent')}?{urlencode({'next': request.path})}"
            return _shown(request, {**page(place, typed, key), "consent": consent}, 422)
        goes = replace(place, person=writer(request))
        limit = partial(rate_limit, request, "perturb", settings.RULES.perturbs_per_hour)
        made = rules.write(goes, typed, key, before=limit)
    except Refused as refused:
        return _shown(request, page(place, typed, key, faults=refused.faults), 422)
    except TooMany as many:
        again = _("You have reached the site’s limit per hour. Send it in %d minutes.")
        answer = _shown(request, page(place, typed, key, error=again % many.minutes), 429)
        answer.headers["Retry-After"] = str(many.seconds)
        return answer
    except InputError as refused:
        return _shown(request, page(place, typed, key or new_key(), error=str(refused)), 422)
    if request.session.get(AGAINST) != typed.against:  # else nothing is written for it
        request.session[AGAINST] = typed.against
    return redirect("perturb:made", made.ref)


AGAINST = "perturb.against"
"""Where a session keeps the model that somebody chose last."""


def _checked(request: HttpRequest, place: Place) -> HttpResponse:
    try:
        _count_check(request)
    except TooMany as many:
        return rest(request, many)
    typed = Typed.of(request.POST, len(place.parent.options))
    return render(request, "perturb/checks.html", checked(place, typed))


def _count_check(request: HttpRequest) -> None:
    rate_limit_typing(request, "check", settings.RULES.perturbs_per_hour)


def _shown(request: HttpRequest, context: dict[str, object], status: int = 200) -> HttpResponse:
    revises = context["revises"]
    if isinstance(revises, Problem):
        where = reverse("perturb:revise", args=[revises.ref])
    else:
        where = reverse("perturb:build", args=[context["parent"].ref])  # type: ignore[attr-defined]
    return render(request, "perturb/build.html", {**context, "where": where}, status=status)


@require_safe
def made(request: HttpRequest, ref: str) -> HttpResponse:
    """Show a version: that it is stored, where it is, who was fooled."""
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
    """Answer a page that waits: with nothing if nothing changed, otherwise with what is there."""
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
