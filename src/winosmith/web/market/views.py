"""Pages of a study: the market's link, the work, and the admin's ledger."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.models import Slot
from winosmith.web.market import workers
from winosmith.web.market.ledger import (
    COLUMNS,
    compute_ledger,
    compute_planned_wage,
    iter_payments,
)
from winosmith.web.market.models import UNUSED_VERDICTS, WORKING, WRITE, Participation, Study
from winosmith.web.market.studies import (
    PROVIDERS,
    UnfilledLinkError,
    find_study,
    is_link_replaced,
)
from winosmith.web.pages import make_csv_response
from winosmith.web.people import gates
from winosmith.web.people.accounts import merge_visitor
from winosmith.web.people.privacy import get_pending_documents

MAX_STARTS = 240
"""Maximum number of starts per hour from one network."""

ERROR_STATUS = {
    workers.StudyClosedError: 410,
    workers.NotInvitedError: 403,
    workers.StartedElsewhereError: 409,
}


@require_safe
def store_link_ids(request: HttpRequest, token: str) -> HttpResponse:
    """Move the ids in a study link to an encrypted cookie."""
    study = find_study(token)
    if study is None and is_link_replaced(token):
        reason = _("This link was replaced. Open the study again on the marketplace’s site.")
        return render(request, "market/refused.html", {"reason": reason}, status=410)
    if study is None:
        raise Http404
    provider = PROVIDERS[study.provider]
    try:
        worker, submission = provider.read_link_ids(request.GET, study.market_study)
    except UnfilledLinkError as error:
        page = {"reason": str(error), "unfilled": error, "provider": provider}
        return render(request, "market/refused.html", page, status=422)
    except InputError as error:
        messages.error(request, str(error))
        return redirect("market:work")
    response = redirect("market:welcome")
    workers.store_arrival(request, response, study, worker, submission)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
def show_welcome(request: HttpRequest) -> HttpResponse:
    """Show the tasks and the pay of a study; for a POST request, start the study."""
    arrival = workers.read_arrival(request)
    study = Study.objects.filter(pk=arrival.study).first() if arrival else None
    if arrival is None or study is None:
        return redirect("market:work")
    try:
        before = workers.find_started_participation(study, arrival)
        logged_in = request.user.is_authenticated
        if before is not None and logged_in and request.user.pk == before.person_id:
            return redirect("market:work")
        part = workers.find_participation(gates.get_current_writer(request))
        account = logged_in and part is None
        busy = part is not None and part.state == WORKING
        free = Q(lease_until=None) | Q(lease_until__lte=timezone.now())
        slots = Slot.objects.filter(free, open=True, gold=False)
        left = before is not None or study.kind == WRITE or slots.exists()
        page = {
            "study": study,
            "wage": compute_planned_wage(study),
            "before": before,
            "account": account,
            "busy": busy,
            "left": left,
            "may_begin": not (account or busy) and left,
        }
        if request.method == "POST" and page["may_begin"]:
            return _start_study(request, study, arrival)
    except tuple(ERROR_STATUS) as error:
        page = {"reason": str(error)}
        return render(request, "market/refused.html", page, status=ERROR_STATUS[type(error)])
    status = 409 if request.method == "POST" else 200
    return render(request, "market/welcome.html", page, status=status)


def _start_study(request: HttpRequest, study: Study, arrival: workers.Arrival) -> HttpResponse:
    """Start the study in a new session, and move the visitor's texts to the new participant."""
    gates.rate_limit(request, "study", MAX_STARTS)
    before = gates.get_current_writer(request)
    with writing():
        part = workers.start_participation(study, arrival)
        if before is not None and before.anonymous:
            merge_visitor(part.person, before)
        gates.begin_session(request, part.person)
    if get_pending_documents(part.person, judging=True):
        return redirect(f"{reverse('people:consent')}?next={reverse('market:work')}")
    return redirect("market:work")


@require_safe
def show_work(request: HttpRequest) -> HttpResponse:
    part = workers.find_participation(gates.get_current_writer(request))
    if part is None:
        if workers.read_arrival(request) is not None:
            return redirect("market:welcome")
        return render(request, "market/nobody.html")
    code = workers.get_completion_code(part)
    provider = PROVIDERS[part.study.provider]
    page = {
        "part": part,
        "study": part.study,
        "provider": provider,
        "workload": workers.measure_workload(part),
        "consent": bool(get_pending_documents(part.person, judging=True)),
        "code": code,
        "way_back": provider.make_return_url(code) if code else "",
        "turned_away": part.verdict in UNUSED_VERDICTS,
    }
    return render(request, "market/work.html", page)


@require_POST
def end_work(request: HttpRequest, end: Callable[[Participation], None]) -> HttpResponse:
    part = workers.find_participation(gates.get_current_writer(request))
    if part is not None:
        gates.process_form(request, part.person, lambda: end(part))
    return redirect("market:work")


@require_safe
@gates.admins_only
def show_ledger(request: HttpRequest, name: str) -> HttpResponse:
    context = {"ledger": compute_ledger(get_object_or_404(Study, name=name))}
    return render(request, "market/ledger.html", context)


@require_safe
@gates.admins_only
def download_bonuses(request: HttpRequest, name: str) -> StreamingHttpResponse:
    """Send the due bonuses with the workers' ids on the market, to pay them there."""
    rows = iter_payments(compute_ledger(get_object_or_404(Study, name=name)))
    return make_csv_response(rows, f"{name}-bonuses.csv")


@require_safe
@gates.admins_only
def download_ledger(request: HttpRequest, name: str) -> StreamingHttpResponse:
    study = get_object_or_404(Study, name=name)
    rows = [entry.make_cells() for entry in compute_ledger(study).entries]
    return make_csv_response([COLUMNS, *rows], f"{name}-ledger.csv")
