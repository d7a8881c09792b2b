"""The pages of rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web.judge.models import mark_unpublished_seen
from winosmith.web.pages import mark_as_download, render_waiting_page
from winosmith.web.people import gates
from winosmith.web.rounds import results, running
from winosmith.web.rounds.models import Round


class StartForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("Lower-case letters, digits and dashes; part of the round’s URL."),
        max_length=40,
        initial=running.suggest_next_name,
    )
    recipe = forms.ChoiceField(
        label=gettext_lazy("Recipe"),
        help_text=gettext_lazy("A file in the site’s “recipes” folder."),
        choices=lambda: [("", _("the standard recipe")), *((n, n) for n in running.list_recipes())],
        required=False,
    )


@require_safe
def list_rounds(request: HttpRequest) -> HttpResponse:
    rows = Round.objects.order_by("-pk")
    if not _is_moderator(request):
        rows = rows.exclude(published=None).order_by("-published")
    context = {"rounds": [(row, results.count_problems(row)) for row in rows]}
    return render(request, "rounds/index.html", context)


@require_safe
def show_round(request: HttpRequest, name: str) -> HttpResponse:
    round_ = get_visible_round(request, name)
    context: dict[str, Any] = {
        "round": round_,
        "progress": running.get_round_progress(round_),
    }
    if round_.state == Round.State.DONE:
        roots = results.get_public_roots(round_)
        mark_unpublished_seen(gates.get_current_writer(request), roots)
        context |= {**results.make_results_context(round_), "roots": roots}
    return render(request, "rounds/round.html", context)


@require_safe
def progress(request: HttpRequest, name: str) -> HttpResponse:
    round_ = get_visible_round(request, name)
    context = {"round": round_, "progress": running.get_round_progress(round_)}
    return render_waiting_page(request, "rounds/parts/progress.html", context, round_.busy)


@gates.admins_only
def start_round(request: HttpRequest) -> HttpResponse:
    form, person = StartForm(request.POST or None), request.user
    if request.method == "POST" and form.is_valid():
        name, recipe = form.cleaned_data["name"], form.cleaned_data["recipe"]
        table, base = running.read_recipe(recipe) if recipe else ({}, "")
        try:
            gates.process_form(
                request, person, lambda: running.create_round(name, table, base, person)
            )
        except InputError as error:
            form.add_error(None, str(error))
        else:
            return redirect("rounds:one", name)
    status = 422 if form.errors else 200
    return render(request, "rounds/start.html", {"form": form}, status=status)


@require_POST
@gates.admins_only
def change_round(request: HttpRequest, name: str, action: str) -> HttpResponse:
    round_, person = get_visible_round(request, name), request.user
    actions: dict[str, tuple[Callable[[], object], str]] = {
        "publish": (lambda: running.publish_round(person, round_), _("The round was published.")),
        "stop": (lambda: running.cancel_round(round_), _("The round was stopped.")),
        "resume": (lambda: running.resume_round(round_), _("The round was resumed.")),
    }
    change, message = actions[action]
    gates.process_form(request, person, change)
    messages.success(request, message)
    return redirect("rounds:one", name)


def get_visible_round(request: HttpRequest, name: str) -> Round:
    found = get_object_or_404(Round.objects.select_related("last", "started_by"), name=name)
    if not (found.published or _is_moderator(request)):
        raise Http404
    return found


def _is_moderator(request: HttpRequest) -> bool:
    return bool(request.user.is_authenticated and request.user.can_moderate)


MAX_DOWNLOADS_PER_HOUR = 240
"""Maximum number of file and report requests per hour for a network or account."""


@require_safe
def show_report(request: HttpRequest, name: str) -> HttpResponseBase:
    round_ = _get_finished_round(request, name)
    gates.rate_limit_reading(request, "download", MAX_DOWNLOADS_PER_HOUR)
    return _set_report_headers(HttpResponse(results.render_report(round_)))


@require_safe
@gates.moderators_only
def show_build_report(request: HttpRequest, name: str) -> HttpResponseBase:
    path = _get_finished_round(request, name).folder / "results" / "build" / "report.html"
    if not path.exists():
        raise Http404
    return _set_report_headers(
        FileResponse(path.open("rb"), content_type="text/html; charset=utf-8")
    )


@require_safe
def download_file(request: HttpRequest, name: str, which: str) -> HttpResponseBase:
    round_ = _get_finished_round(request, name)
    if which not in results.IS_KEPT_FILE:
        raise Http404
    gates.rate_limit_reading(request, "download", MAX_DOWNLOADS_PER_HOUR)
    parts = (
        ()
        if request.method == "HEAD"
        else results.iter_problems(round_, kept=results.IS_KEPT_FILE[which])
    )
    response = StreamingHttpResponse(parts, content_type="application/x-ndjson")
    response.headers["X-Robots-Tag"] = "noindex"
    return mark_as_download(response, f"{round_.name}-{which}")


def _get_finished_round(request: HttpRequest, name: str) -> Round:
    round_ = get_visible_round(request, name)
    if round_.state != Round.State.DONE:
        raise Http404
    return round_


def _set_report_headers(response: HttpResponseBase) -> HttpResponseBase:
    response.headers["Content-Security-Policy"] = results.REPORT_CSP
    response.headers["X-Robots-Tag"] = "noindex"
    return response
