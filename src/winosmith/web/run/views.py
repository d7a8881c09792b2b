"""The pages of admins: what to do next, settings, files that come in, tests, studies, backups."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.conf import settings as site_settings
from django.contrib import messages
from django.db.models import QuerySet
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from winosmith.errors import InputError, RecipeError, WinosmithError
from winosmith.web.jobs import BACKUP, BUSY, MAIL, TEST, Job, duties, worker_process
from winosmith.web.market.models import Study
from winosmith.web.market.providers import study_link
from winosmith.web.market.studies import progress as how_far
from winosmith.web.pages import newest, waiting_page
from winosmith.web.people.gates import admins_only, form_once
from winosmith.web.people.models import Person
from winosmith.web.run import backups as kept, files, human_tests, studies as paid
from winosmith.web.run.choices import Choices, choose, turn_to_choose
from winosmith.web.run.dashboard import as_context
from winosmith.web.run.steps import faults, left, steps
from winosmith.web.run.uploads import PIECE, most, put
from winosmith.web.take.models import Round
from winosmith.web.take.rounds import keep_figures, round_progress

SIZE = 50
"""Jobs on a page."""

LAST = 5
"""Jobs of a kind that are shown next to the form for another one."""


@require_safe
@admins_only
def start(request: HttpRequest) -> HttpResponse:
    """Show what is to be done next, and what was done last."""
    found = steps()
    context = {"steps": found, "left": left(found), "jobs": _jobs()[:LAST], "faults": faults()}
    return render(request, "run/start.html", context)


@require_safe
@admins_only
def dashboard(request: HttpRequest) -> HttpResponse:
    """Show how the site goes, over days or weeks."""
    context = {**as_context(request.GET.get("by", "")), "faults": faults()}
    return render(request, "run/dashboard.html", context)


@require_safe
@admins_only
def log(request: HttpRequest) -> HttpResponse:
    """Show what admins did on these pages, the newest first."""
    jobs, older = newest(_jobs(), request.GET.get("before", ""), SIZE)
    page = {"older": f"before={older}" if older else "", "newer": ""}
    return render(request, "run/log.html", {"jobs": jobs, "page": page})


@require_safe
@admins_only
def jobs(request: HttpRequest) -> HttpResponse:
    """Show the jobs that wait, run or have failed, and the duties of the site."""
    rows = _shown_jobs()
    context = {
        "busy": rows.filter(state__in=BUSY).exclude(mark__in=list(duties)),
        "failed": rows.filter(state=Job.State.FAILED)[:SIZE],
        "duties": rows.filter(mark__in=list(duties)).order_by("at"),
        "worker": worker_process(site_settings.SITE.folder),
    }
    return render(request, "run/running.html", context)


@admins_only
def settings(request: HttpRequest) -> HttpResponseBase:
    """Show the settings that may be chosen here, and let new ones hold."""
    form, person = Choices(request.POST or None), request.user
    if request.method == "POST" and form.is_valid():
        changed = form.changed()
        with turn_to_choose():
            chosen = _done(request, form, lambda: choose(person, changed).mark)
        if chosen:
            messages.success(request, _("The settings are saved."))
            return redirect("run:settings")
    return _form(request, "run/settings.html", form)


@admins_only
def import_(request: HttpRequest) -> HttpResponseBase:
    """Take a file of problems, and show what would come of it."""
    initial = {"as_": request.GET.get("as", "judging")}
    form = files.ImportForm(request.POST or None, request.FILES or None, initial=initial)
    return _proposed(request, form, "run/import.html")


@admins_only
def tests(request: HttpRequest) -> HttpResponseBase:
    """Show the human tests, and take the file of another one."""
    form = human_tests.TestForm(request.POST or None, request.FILES or None)
    return _proposed(request, form, "run/tests.html")


def _proposed(request: HttpRequest, form: files.FileForm, page: str) -> HttpResponseBase:
    if request.method == "POST" and form.is_valid() and (mark := _shown(request, form)):
        return redirect("run:job", mark)
    jobs = _jobs().filter(kind=form.kind)[:LAST]
    return _form(request, page, form, jobs=jobs, **_beside(form.kind))


def _shown(request: HttpRequest, form: Any, part: str = "", **beside: str) -> str:
    """Keep what is to be confirmed; return the mark of its job, or "" as `_done` does."""
    sent = form.cleaned_data.get("sent", "")
    if sent and _jobs().filter(mark=sent).exists():
        return str(sent)
    try:
        job = form.proposed(request.user, **beside)
    except WinosmithError as error:
        _tell(form, "file" if "file" in form.fields else None, error)
        return ""

    def act() -> str:
        job.save()
        return job.mark

    mark = ""
    try:
        mark = _done(request, form, act, part)
    finally:
        # The form was sent before, or this can't be written: then pieces wait for another try.
        if mark != job.mark and not sent:
            job.file.unlink(missing_ok=True)
    return mark


@require_POST
@admins_only
def piece(request: HttpRequest, mark: str) -> HttpResponse:
    """Keep a piece of a file that is too large for one request, from the byte `at` on."""
    at = request.GET.get("at", "")
    if not (re.fullmatch("[0-9a-f]{32}", mark) and re.fullmatch("[0-9]{1,12}", at)):
        raise Http404
    if request.content_type != "application/octet-stream":
        return HttpResponse(status=415)  # the body of a form has been read by now
    try:
        put(mark, int(at), request.body)
    except WinosmithError as error:
        return HttpResponse(str(error), status=422, content_type="text/plain; charset=utf-8")
    return HttpResponse(status=204)


def _tell(form: Form, field: str | None, error: WinosmithError) -> None:
    if isinstance(error, RecipeError) and isinstance(form, Choices):
        form.refuse(error)
        return
    for line in str(error).splitlines():
        form.add_error(field, line)


def _beside(kind: str) -> dict[str, Any]:
    if kind != TEST:
        return {}
    return {"rows": [round_progress(row) for row in Round.objects.order_by("-created")]}


@require_POST
@admins_only
def close_test(request: HttpRequest, name: str) -> HttpResponseBase:
    """Let nobody take a test any more, once a form."""
    person, given_up = request.user, bool(request.POST.get("drop"))
    done = _with_test(request, name, lambda: human_tests.close_test(person, name, drop=given_up))
    if not isinstance(done, str):
        return done
    keep_figures(get_object_or_404(Round, name=name))  # in no transaction: it may take seconds
    messages.success(request, _("The test is closed; here are its results."))
    return redirect("take:round", name)


@require_POST
@admins_only
def publish_test(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show what would become public of a closed test, for it to be confirmed."""
    person: Person = request.user

    def proposed() -> Job:
        job = human_tests.propose_publishing(person, name)
        job.save()
        return job

    done = _with_test(request, name, proposed)
    return redirect("run:job", done) if isinstance(done, str) else done


def _with_test(request: HttpRequest, name: str, act: Callable[[], Job]) -> HttpResponseBase | str:
    """Do something with a test, once a form; return the job's mark, or why not as a page."""
    get_object_or_404(Round, name=name)
    try:
        done = form_once(request, request.user, lambda: {"job": act().mark})
    except WinosmithError as error:
        jobs = _jobs().filter(kind=TEST)[:LAST]
        context = {"jobs": jobs, "error": error, **_beside(TEST)}
        return _form(request, "run/tests.html", human_tests.TestForm(), status=409, **context)
    return str(done["job"])


@admins_only
def studies(request: HttpRequest) -> HttpResponseBase:
    """Show the studies, and make another one, whose link is shown this once."""
    form, person = paid.StudyForm(request.POST or None), request.user
    made: list[tuple[Study, str]] = []
    if request.method == "POST" and form.is_valid():

        def act() -> str:
            made.append(paid.make_study(person, form.cleaned_data))
            return made[0][0].name

        if _done(request, form, act):
            if not made:
                messages.info(request, _("It has already been made; its link was shown only once."))
                return redirect("run:studies")
            return _studies(request, paid.StudyForm(), made=made[0])
    return _studies(request, form)


STUDY_FORMS: dict[str, type[Any]] = {
    "places": paid.PlacesForm,
    "list": paid.ListForm,
    "paid": paid.PaidForm,
}
"""What a study's page offers; each makes a job that is to be confirmed."""


@admins_only
def study(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show one study, and take what changes who may come, or whose votes count."""
    found = get_object_or_404(Study, name=name)
    which = request.POST.get("do", "")
    first = {"places": {"places": found.places}}
    forms = {
        do: form(
            request.POST if do == which else None,
            request.FILES if do == which else None,
            prefix=do,
            initial=first.get(do),
        )
        for do, form in STUDY_FORMS.items()
    }
    asked = forms.get(which)
    if asked is not None and asked.is_valid():
        mark = _shown(request, asked, which, name=name)
        if mark:
            return redirect("run:job", mark)
    jobs = _jobs().filter(asked__name=name, kind__startswith="study")[:LAST]
    context = {
        "row": how_far(found),
        "listed": found.screens.filter(allowed=True).count(),
        "kept_out": found.screens.filter(allowed=False).count(),
        "jobs": jobs,
        **forms,
    }
    return _form(request, "run/study.html", forms["places"] if asked is None else asked, **context)


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only
def new_link(request: HttpRequest, name: str) -> HttpResponseBase:
    """Ask first; then make a new link of a study, which replaces the one before, and show it."""
    person: Person = request.user
    made: list[tuple[Study, str]] = []

    def act() -> None:
        made.append(paid.link_anew(person, name))

    return _with_study(request, name, act, made)


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only
def close_study(request: HttpRequest, name: str) -> HttpResponseBase:
    """Ask first; then let nobody new come to a study."""
    person: Person = request.user
    return _with_study(request, name, lambda: paid.end_study(person, name), [])


def _with_study(
    request: HttpRequest,
    name: str,
    act: Callable[[], object],
    made: list[tuple[Study, str]],
) -> HttpResponseBase:
    study = get_object_or_404(Study, name=name)
    if request.method != "POST":
        page = {"row": how_far(study)}
        return render(request, "run/ask_study.html", page)
    try:
        form_once(request, request.user, act)
    except InputError as error:
        return _studies(request, paid.StudyForm(), error=error, status=409)
    if made:
        return _studies(request, paid.StudyForm(), made=made[0])
    return redirect("run:studies")


def _studies(
    request: HttpRequest,
    form: paid.StudyForm,
    *,
    made: tuple[Study, str] | None = None,
    error: InputError | None = None,
    status: int = 200,
) -> HttpResponse:
    study, token = made or (None, "")
    context = {
        "rows": [how_far(one) for one in Study.objects.order_by("-pk")],
        "made": study,
        "link": study_link(study.provider, token, _address(request)) if study else "",
        "error": error,
    }
    return _form(request, "run/studies.html", form, status=status, **context)


@admins_only
def backups(request: HttpRequest) -> HttpResponseBase:
    """Show the backups that lie on the server, and make another one."""
    person, form = request.user, Form(request.POST or None)
    if request.method == "POST" and form.is_valid():

        def act() -> str:
            return kept.ask(person).mark

        mark = _done(request, form, act)
        if mark:
            return redirect("run:job", mark)
    context = {
        "kept": kept.kept(),
        "most": kept.KEPT,
        "folder": kept.folder(),
        "jobs": _jobs().filter(kind=BACKUP)[:LAST],
    }
    return _form(request, "run/backups.html", form, **context)


@require_safe
@admins_only
def job(request: HttpRequest, mark: str) -> HttpResponse:
    """Show what is to be confirmed, how far something is, or what came of it."""
    return _job(request, _found(mark))


@require_safe
@admins_only
def progress(request: HttpRequest, mark: str) -> HttpResponse:
    """Answer a page that waits: with how far it is, or that the page is to be read again."""
    found = _found(mark)
    return waiting_page(request, "run/parts/progress.html", {"job": found}, found.busy)


@require_POST
@admins_only
def confirmed(request: HttpRequest, mark: str) -> HttpResponseBase:
    """Confirm, discard, stop or retry a job, once a form."""
    found, person = _found(mark), request.user
    acts = {"confirm": found.confirm, "drop": found.drop, "stop": found.stop, "retry": found.retry}
    act = acts.get(request.POST.get("do", ""))
    if act is None:
        return _job(request, found, status=422)
    try:
        form_once(request, person, lambda: act(person))
    except InputError as error:
        return _job(request, _found(mark), error, status=409)
    return redirect("run:job", mark)


def _job(
    request: HttpRequest, found: Job, error: InputError | None = None, status: int = 200
) -> HttpResponse:
    address = _address(request).rstrip("/")
    context = {"job": found, "error": error, "address": address}
    return render(request, "run/job.html", context, status=status)


def _found(mark: str) -> Job:
    return get_object_or_404(_shown_jobs(), mark=mark)


def _jobs() -> QuerySet[Job]:
    """Return what admins did or asked for, the newest first."""
    return _shown_jobs().filter(actor__isnull=False)


def _shown_jobs() -> QuerySet[Job]:
    """Return the jobs that an admin may see, the newest first: mails to be sent name addresses."""
    rows = Job.objects.exclude(kind=MAIL, state__in=BUSY).order_by("-pk")
    return rows.select_related("actor", "decided")


def _address(request: HttpRequest) -> str:
    return site_settings.SITE.public_url or request.build_absolute_uri("/")


def _done(request: HttpRequest, form: Form, act: Callable[[], str], part: str = "") -> str:
    """Do what a form asks for, once; return what `act` did, or "": the form says what is wrong.

    Args:
        request: with the form and its key.
        form: gets what is wrong.
        act: returns a word that stands for what it did.
        part: of the page, where it has several forms.
    """
    try:
        result = form_once(request, request.user, lambda: {"did": act()}, part)
    except WinosmithError as error:
        _tell(form, None, error)
        return ""
    return str(result["did"])


def _form(
    request: HttpRequest, page: str, form: Form, *, status: int = 200, **context: Any
) -> HttpResponse:
    address = _address(request).rstrip("/")
    told = {"form": form, "piece": PIECE, "most": most(), "address": address}
    return render(request, page, {**told, **context}, status=422 if form.errors else status)
