"""Pages for choosing and perturbing a sentence, and for the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web.judge.models import mark_unpublished_seen
from winosmith.web.people import gates
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import get_pending_documents
from winosmith.web.perturb import page as pages, rules
from winosmith.web.perturb.rules import Position, SentenceInput
from winosmith.web.problems.checks import RefusedError
from winosmith.web.problems.family import fold_steps, get_path, get_visible_steps, may_perturb
from winosmith.web.problems.models import State, Version
from winosmith.web.problems.search import parse_terms
from winosmith.web.problems.states import is_visible_to
from winosmith.web.read.public import count_rows, get_page

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


@require_safe
def show_start(request: HttpRequest) -> HttpResponse:
    filters = pages.SentenceFilters(request.GET)
    shown = get_page(filters.apply(), request.GET)
    mark_unpublished_seen(gates.get_current_writer(request), shown.problems)
    count, more = count_rows(filters.apply())
    perturbed = None if filters.chosen or not filters.is_valid() else filters.select_perturbed()
    others, more_others = count_rows(perturbed.apply()) if perturbed else (0, False)
    context = {
        "filters": filters,
        "page": shown,
        "listed": pages.list_problems_with_families(shown.problems),
        "terms": parse_terms(filters.cleaned_data.get("q", "")),
        "count": count,
        "more": more,
        "others": others,
        "more_others": more_others,
        "perturbed": perturbed.get_params().urlencode() if perturbed else "",
        "examples": pages.get_examples(),
    }
    template = "perturb/results.html" if request.htmx.target == "results" else "perturb/start.html"
    return render(request, template, context, status=200 if filters.is_valid() else 422)


def _require_consent(view: View[P]) -> View[P]:
    """Ask for consent before showing a form.

    Submitted forms are passed to the view even without consent, so that their input is not lost.
    """
    asks = gates.consent_required(view)

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return (view if request.method == "POST" else asks)(request, *args, **kwargs)

    return wrapper


@require_http_methods(["GET", "HEAD", "POST"])
@_require_consent
def perturb_sentence(request: HttpRequest, ref: str) -> HttpResponse:
    person = gates.get_current_writer(request)
    parent = pages.get_perturbable_problem(person, ref)
    position = Position.for_new_version(person, parent)
    mark_unpublished_seen(person, [row for row in position.path if is_visible_to(person, row)])
    if request.method != "POST":
        against = request.GET.get("against", "") or str(request.session.get(CHOSEN_MODEL_KEY, ""))
        # The parent's texts without its answer.
        first = SentenceInput(parent.sentence, tuple(parent.options), against=against)
        return _render_form(request, pages.make_form_context(position, first, gates.new_key()))
    return _process_form(request, position)


@require_POST
def check_sentence(request: HttpRequest, ref: str) -> HttpResponse:
    person = gates.get_current_writer(request)
    parent = pages.get_perturbable_problem(person, ref)
    return _render_checks(request, Position.for_new_version(person, parent))


@require_http_methods(["GET", "HEAD", "POST"])
@_require_consent
def revise_version(request: HttpRequest, ref: str) -> HttpResponse:
    person = gates.get_current_writer(request)
    old = pages.get_own_version(person, ref)
    if not rules.is_revisable(person, old):
        done = gates.get_stored_result(person, request.POST.get("key", "")).get("problem")
        if not done:
            text = _("This sentence was decided, replaced or withdrawn; it can’t be revised.")
            messages.warning(request, text)
        return redirect("perturb:made", done or ref)
    position = Position.for_revision(person, old)
    if request.method != "POST":
        version = Version.objects.select_related("against").get(problem=old)
        against = version.against.name if version.against else ""
        first = SentenceInput.from_version(old, against)
        return _render_form(request, pages.make_form_context(position, first, gates.new_key()))
    return _process_form(request, position)


@require_POST
def check_revision(request: HttpRequest, ref: str) -> HttpResponse:
    person = gates.get_current_writer(request)
    old = pages.get_own_version(person, ref)
    return _render_checks(request, Position.for_revision(person, old))


def _process_form(request: HttpRequest, position: Position) -> HttpResponse:
    """Check or submit the input, and show it in the form again unless a version was created."""
    typed = SentenceInput.from_form(request.POST, len(position.parent.options))
    key = request.POST.get("key", "")
    make_context = partial(pages.make_form_context, position, typed)
    if request.POST.get("do") != "submit":
        _rate_limit_check(request)
        return _render_form(request, make_context(key or gates.new_key()))
    try:
        if (position.person or settings.RULES.anonymous) and get_pending_documents(position.person):
            consent = f"{reverse('people:consent')}?{urlencode({'next': request.path})}"
            return _render_form(request, {**make_context(key), "consent": consent}, 422)
        current = replace(position, person=gates.get_or_create_writer(request))
        limit = partial(gates.rate_limit, request, "perturb", settings.RULES.perturbs_per_hour)
        made = rules.create_version(current, typed, key, precheck=limit)
    except RefusedError as refused:
        return _render_form(request, make_context(key, faults=refused.faults), 422)
    except gates.RateLimitError as many:
        again = _("You have reached the site’s limit per hour. Try again in %d minutes.")
        answer = _render_form(request, make_context(key, error=again % many.minutes), 429)
        answer.headers["Retry-After"] = str(many.seconds)
        return answer
    except InputError as refused:
        return _render_form(request, make_context(key or gates.new_key(), error=str(refused)), 422)
    if request.session.get(CHOSEN_MODEL_KEY) != typed.against:  # otherwise nothing is written
        request.session[CHOSEN_MODEL_KEY] = typed.against
    return redirect("perturb:made", made.ref)


CHOSEN_MODEL_KEY = "perturb.against"
"""Session key for the last chosen model."""


def _render_checks(request: HttpRequest, position: Position) -> HttpResponse:
    try:
        _rate_limit_check(request)
    except gates.RateLimitError as many:
        return gates.render_paused_part(request, many)
    typed = SentenceInput.from_form(request.POST, len(position.parent.options))
    return render(request, "perturb/checks.html", pages.make_checks_context(position, typed))


def _rate_limit_check(request: HttpRequest) -> None:
    gates.rate_limit_typing(request, "check", settings.RULES.perturbs_per_hour)


def _render_form(request: HttpRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    name = "perturb:revise" if context["revises"] else "perturb:build"
    where = reverse(name, args=[(context["revises"] or context["parent"]).ref])
    return render(request, "perturb/build.html", {**context, "where": where}, status=status)


@require_safe
def show_version(request: HttpRequest, ref: str) -> HttpResponse:
    person = gates.get_current_writer(request)
    version = _get_version(person, ref)
    problem = version.problem
    path = get_path(problem)
    mark_unpublished_seen(person, [row for row in path if is_visible_to(person, row)])
    parent = path[-2]
    steps = get_visible_steps(path, person)
    context = pages.make_predictions_context(person, version)
    own = context["own"]
    context |= {
        "stands": version,
        "parent": parent,
        "here": steps[-1],
        **fold_steps(steps),
        "anonymous": own and person is not None and person.anonymous,
        "hints": problem.hints if own and problem.state == State.HELD else [],
        "may_perturb": may_perturb(person, problem),
        "may_perturb_parent": may_perturb(person, parent),
        "revisable": rules.is_revisable(person, problem),
        "flipped": None
        if problem.answer is None or parent.answer is None
        else problem.answer != parent.answer,
    }
    return render(request, "perturb/made.html", context)


@require_safe
def show_predictions(request: HttpRequest, ref: str) -> HttpResponse:
    """Return the models' results to a polling page; status 204 means that nothing has changed."""
    person = gates.get_current_writer(request)
    version = _get_version(person, ref)
    context = pages.make_predictions_context(person, version)
    known = request.GET.get("done") == str(context["done"])
    if known and request.GET.get("pace") == str(context["pace"]):
        return HttpResponse(status=204)
    return render(request, "perturb/predictions.html", context)


def _get_version(person: Person | None, ref: str) -> Version:
    rows = Version.objects.select_related(
        "problem__twin__contributor", "root", "parent__twin", "against"
    )
    found = rows.filter(problem__ref=ref, parent__isnull=False).first()
    if found is None or not is_visible_to(person, found.problem):
        raise Http404
    return found
