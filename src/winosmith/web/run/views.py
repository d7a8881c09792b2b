"""Pages for admins: setup steps, settings, imports, tests, studies, jobs and backups.

The template tags describe the log of admins' actions, with the labels of the forms that started
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django import template
from django.conf import settings as site_settings
from django.contrib import messages
from django.db.models import QuerySet
from django.forms import ChoiceField, Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from winosmith import formats
from winosmith.errors import RecipeError, WinosmithError
from winosmith.web.jobs import (
    BACKUP,
    BUSY_STATES,
    MAIL,
    SETTINGS,
    STUDY,
    Job,
    get_worker_process_id,
    periods,
)
from winosmith.web.market.models import Study
from winosmith.web.market.studies import make_study_link, measure_progress
from winosmith.web.pages import get_newest_rows, render_waiting_page
from winosmith.web.people.gates import admins_only, process_form
from winosmith.web.people.news import get_site_url
from winosmith.web.run import backups, files, human_tests, studies
from winosmith.web.run.choices import (
    SettingsForm,
    change_settings,
    get_setting_label,
    get_value_label,
    lock_settings,
)
from winosmith.web.run.dashboard import (
    count_incomplete,
    list_setup_steps,
    list_site_faults,
    make_dashboard_context,
)
from winosmith.web.run.files import CHUNK_BYTES, get_max_bytes, store_chunk
from winosmith.web.take.models import Round
from winosmith.web.take.rounds import close_round, count_sittings

PAGE_SIZE = 50

MAX_JOBS_SHOWN = 5
"""Number of a kind's latest jobs that are shown below its form."""


@require_safe
@admins_only
def show_start(request: HttpRequest) -> HttpResponse:
    found = list_setup_steps()
    context = {
        "steps": found,
        "left": count_incomplete(found),
        "jobs": _get_admin_jobs()[:MAX_JOBS_SHOWN],
        "faults": list_site_faults(),
    }
    return render(request, "run/start.html", context)


@require_safe
@admins_only
def show_dashboard(request: HttpRequest) -> HttpResponse:
    context = {**make_dashboard_context(), "faults": list_site_faults()}
    return render(request, "run/dashboard.html", context)


@require_safe
@admins_only
def show_log(request: HttpRequest) -> HttpResponse:
    jobs, older = get_newest_rows(_get_admin_jobs(), request.GET.get("before", ""), PAGE_SIZE)
    page = {"older": f"before={older}" if older else "", "newer": ""}
    return render(request, "run/log.html", {"jobs": jobs, "page": page})


@require_safe
@admins_only
def show_jobs(request: HttpRequest) -> HttpResponse:
    rows = _get_visible_jobs()
    context = {
        "busy": rows.filter(state__in=(*BUSY_STATES, Job.State.SHOWN)).exclude(
            mark__in=list(periods)
        ),
        "failed": rows.filter(state=Job.State.FAILED)[:PAGE_SIZE],
        "duties": rows.filter(mark__in=list(periods)).order_by("at"),
        "worker": get_worker_process_id(site_settings.SITE.folder),
    }
    return render(request, "run/running.html", context)


@admins_only
def edit_settings(request: HttpRequest) -> HttpResponseBase:
    form, person = SettingsForm(request.POST or None), request.user
    if request.method == "POST" and form.is_valid():
        changed = form.get_changes()
        with lock_settings():
            chosen = _process_once(request, form, lambda: change_settings(person, changed).mark)
        if chosen:
            messages.success(request, _("The settings have been saved."))
            return redirect("run:settings")
    return _render_form(request, "run/settings.html", form)


@admins_only
def import_problems(request: HttpRequest) -> HttpResponseBase:
    initial = {"as_": request.GET.get("as", "judging")}
    form = files.ImportForm(request.POST or None, request.FILES or None, initial=initial)
    return _render_preview_page(request, form, "run/import.html")


@admins_only
def show_tests(request: HttpRequest) -> HttpResponseBase:
    form = human_tests.TestForm(request.POST or None, request.FILES or None)
    rows = [count_sittings(row) for row in Round.objects.order_by("-created")]
    return _render_preview_page(request, form, "run/tests.html", rows=rows)


def _render_preview_page(
    request: HttpRequest, form: files.FileForm, page: str, **context: Any
) -> HttpResponseBase:
    if request.method == "POST" and form.is_valid() and (mark := _store_preview(request, form)):
        return redirect("run:job", mark)
    jobs = _get_admin_jobs().filter(kind=form.kind)[:MAX_JOBS_SHOWN]
    return _render_form(request, page, form, jobs=jobs, **context)


def _store_preview(request: HttpRequest, form: Any, part: str = "", **values: str) -> str:
    """Save a job that awaits confirmation; return its `mark`, or "" if the form has errors."""
    sent = form.cleaned_data.get("sent", "")
    if sent and _get_admin_jobs().filter(mark=sent).exists():
        return str(sent)
    try:
        job = form.propose_job(request.user, **values)
    except WinosmithError as error:
        _add_error(form, "file" if "file" in form.fields else None, error)
        return ""

    def save_job() -> str:
        job.save()
        return job.mark

    mark = ""
    try:
        mark = _process_once(request, form, save_job, part)
    finally:
        # After a repeated submission or a write error, the chunks are kept for another attempt.
        if mark != job.mark and not sent:
            job.file.unlink(missing_ok=True)
    return mark


@require_POST
@admins_only
def upload_chunk(request: HttpRequest, mark: str) -> HttpResponse:
    at = request.GET.get("at", "")
    if not (re.fullmatch("[0-9a-f]{32}", mark) and re.fullmatch("[0-9]{1,12}", at)):
        raise Http404
    if request.content_type != "application/octet-stream":
        return HttpResponse(status=415)  # Django has already read a form's body
    try:
        store_chunk(mark, int(at), request.body)
    except WinosmithError as error:
        return HttpResponse(str(error), status=422, content_type="text/plain; charset=utf-8")
    return HttpResponse(status=204)


def _add_error(form: Form, field: str | None, error: WinosmithError) -> None:
    if isinstance(error, RecipeError) and isinstance(form, SettingsForm):
        form.add_setting_error(error)
        return
    for line in str(error).splitlines():
        form.add_error(field, line)


@require_POST
@admins_only
def close_test(request: HttpRequest, name: str) -> HttpResponseBase:
    person, drop = request.user, bool(request.POST.get("drop"))
    get_object_or_404(Round, name=name)
    process_form(request, person, lambda: close_round(name, drop=drop, actor=person))
    return redirect("take:round", name)


@require_POST
@admins_only
def preview_publication(request: HttpRequest, name: str) -> HttpResponseBase:
    get_object_or_404(Round, name=name)

    def save_preview() -> dict[str, str]:
        job = human_tests.propose_publishing(request.user, name)
        job.save()
        return {"job": job.mark}

    return redirect("run:job", process_form(request, request.user, save_preview)["job"])


@admins_only
def show_studies(request: HttpRequest) -> HttpResponseBase:
    form, person = studies.StudyForm(request.POST or None), request.user
    made: list[tuple[Study, str]] = []
    if request.method == "POST" and form.is_valid():

        def create_study() -> str:
            made.append(studies.create_and_log_study(person, form.cleaned_data))
            return made[0][0].name

        if _process_once(request, form, create_study):
            if not made:
                text = _("This study already exists; its link was shown only once.")
                messages.info(request, text)
                return redirect("run:studies")
            return _render_studies(request, studies.StudyForm(), created=made[0])
    return _render_studies(request, form)


STUDY_FORMS: dict[str, type[Any]] = {
    "places": studies.PlacesForm,
    "list": studies.ListForm,
    "paid": studies.DecisionForm,
    "bonuses": studies.BonusForm,
}
"""The forms on a study's page. Each creates a job that must be confirmed."""


@admins_only
def show_study(request: HttpRequest, name: str) -> HttpResponseBase:
    found = get_object_or_404(Study, name=name)
    which = request.POST.get("do", "")
    sent = {which: (request.POST, request.FILES)}
    initial = {"places": {"places": found.places}}
    forms = {
        do: form(*sent.get(do, ()), prefix=do, initial=initial.get(do))
        for do, form in STUDY_FORMS.items()
    }
    asked = forms.get(which)
    if asked is not None and asked.is_valid():
        mark = _store_preview(request, asked, which, name=name)
        if mark:
            return redirect("run:job", mark)
    jobs = _get_admin_jobs().filter(asked__name=name, kind__startswith="study")[:MAX_JOBS_SHOWN]
    context = {
        "row": measure_progress(found),
        "listed": found.screens.filter(allowed=True).count(),
        "kept_out": found.screens.filter(allowed=False).count(),
        "jobs": jobs,
        **forms,
    }
    form = forms["places"] if asked is None else asked
    return _render_form(request, "run/study.html", form, **context)


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only
def change_study(request: HttpRequest, name: str, action: str) -> HttpResponseBase:
    study, person = get_object_or_404(Study, name=name), request.user
    if request.method != "POST":
        return render(request, "run/ask_study.html", {"row": measure_progress(study)})
    links: list[tuple[Study, str]] = []
    actions: dict[str, Callable[[], object]] = {
        "link": lambda: links.append(studies.replace_study_link(person, name)),
        "close": lambda: studies.close_and_log_study(person, name),
    }
    process_form(request, person, actions[action])
    if links:
        return _render_studies(request, studies.StudyForm(), created=links[0])
    return redirect("run:studies")


def _render_studies(
    request: HttpRequest,
    form: studies.StudyForm,
    *,
    created: tuple[Study, str] | None = None,
) -> HttpResponse:
    study, token = created or (None, "")
    context = {
        "rows": [measure_progress(one) for one in Study.objects.order_by("-pk")],
        "made": study,
        "link": make_study_link(study.provider, token, get_site_url(request)) if study else "",
    }
    return _render_form(request, "run/studies.html", form, **context)


@admins_only
def show_backups(request: HttpRequest) -> HttpResponseBase:
    person, form = request.user, Form(request.POST or None)
    if request.method == "POST" and form.is_valid():
        mark = _process_once(request, form, lambda: backups.request_backup(person).mark)
        if mark:
            return redirect("run:job", mark)
    context = {
        "kept": backups.list_backups(),
        "most": backups.MAX_BACKUPS,
        "folder": backups.get_backup_folder(),
        "jobs": _get_admin_jobs().filter(kind=BACKUP)[:MAX_JOBS_SHOWN],
    }
    return _render_form(request, "run/backups.html", form, **context)


@require_safe
@admins_only
def show_job(request: HttpRequest, mark: str) -> HttpResponse:
    context = {"job": _get_job(mark), "address": get_site_url(request)}
    return render(request, "run/job.html", context)


@require_safe
@admins_only
def progress(request: HttpRequest, mark: str) -> HttpResponse:
    found = _get_job(mark)
    return render_waiting_page(request, "run/parts/progress.html", {"job": found}, found.is_busy)


@require_POST
@admins_only
def decide_job(request: HttpRequest, mark: str) -> HttpResponseBase:
    job, person = _get_job(mark), request.user
    acts = {"confirm": job.confirm, "drop": job.discard, "stop": job.stop, "retry": job.retry}
    act = acts.get(request.POST.get("do", ""))
    if act is None:
        raise Http404
    process_form(request, person, lambda: act(person))
    return redirect("run:job", mark)


def _get_job(mark: str) -> Job:
    return get_object_or_404(_get_visible_jobs(), mark=mark)


def _get_admin_jobs() -> QuerySet[Job]:
    return _get_visible_jobs().filter(actor__isnull=False)


def _get_visible_jobs() -> QuerySet[Job]:
    rows = Job.objects.exclude(kind=MAIL, state__in=BUSY_STATES).order_by("-pk")
    return rows.select_related("actor", "decided")


def _process_once(
    request: HttpRequest, form: Form, action: Callable[[], str], part: str = ""
) -> str:
    """Process a form once; return the result of `action`, or "" if the form has errors."""
    try:
        result = process_form(request, request.user, lambda: {"did": action()}, part)
    except WinosmithError as error:
        _add_error(form, None, error)
        return ""
    return str(result["did"])


def _render_form(request: HttpRequest, page: str, form: Form, **context: Any) -> HttpResponse:
    context = {
        "form": form,
        "piece": CHUNK_BYTES,
        "most": get_max_bytes(),
        "address": get_site_url(request),
        **context,
    }
    return render(request, page, context, status=422 if form.errors else 200)


register = template.Library()

FORMAT_TITLES: dict[str, Any] = {one.name: one.title for one in formats.FORMATS} | files.OWN_FORMATS
register.filter("format_title", lambda name: FORMAT_TITLES.get(name, name))

_JOB_FORMS: list[type[Any]] = [files.ImportForm, human_tests.TestForm, *STUDY_FORMS.values()]
REQUEST_FORMS: dict[str, type[Any]] = {
    STUDY: studies.StudyForm,
    **{form.kind: form for form in _JOB_FORMS},
}

OTHER_LABELS = {
    "name": gettext_lazy("Name"),
    "drop": gettext_lazy("Treat unfinished sheets as abandoned"),
}


@register.filter("request_facts")
def describe_request(job: Job) -> list[tuple[Any, str]]:
    """Describe a job's request by form labels and values; the value of a checked box is "".

    Empty fields are omitted, except for settings.
    """
    if job.kind == SETTINGS:
        return [
            (get_setting_label(name), _describe_setting(name, value))
            for name, value in job.asked.items()
        ]
    fields = REQUEST_FORMS[job.kind].base_fields if job.kind in REQUEST_FORMS else {}
    rows = []
    for name, value in job.asked.items():
        text = "" if value is None else str(value)
        if text in ("", "False"):
            continue
        field = fields.get(name) or fields.get(f"{name}_")  # `as` is a keyword in Python
        if text == "True":
            text = ""
        elif isinstance(field, ChoiceField):
            text = str(dict(field.choices).get(text, text))
        rows.append((OTHER_LABELS.get(name, name) if field is None else field.label, text))
    return rows


def _describe_setting(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        value = ", ".join(value)
    return get_value_label(name, str(value)) or "–"
