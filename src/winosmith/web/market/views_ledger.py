"""The admin's pages: the studies, and what each has paid."""

from __future__ import annotations

import csv
import io

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from winosmith.cells import guarded
from winosmith.web.market.ledger import COLUMNS, Ledger, ledger
from winosmith.web.market.models import Study
from winosmith.web.market.progress import progress
from winosmith.web.people.gates import admins_only

__all__ = ["one", "studies", "table"]


@require_safe
@admins_only
def studies(request: HttpRequest) -> HttpResponse:
    """Show all studies, and how far each is."""
    rows = [progress(study) for study in Study.objects.order_by("-pk")]
    return render(request, "market/studies.html", {"rows": rows})


@require_safe
@admins_only
def one(request: HttpRequest, name: str) -> HttpResponse:
    """Show the ledger of a study."""
    return render(request, "market/ledger.html", {"ledger": _ledger(name)})


@require_safe
@admins_only
def table(request: HttpRequest, name: str) -> HttpResponse:
    """Send the ledger as a table; workers are pseudonyms."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([guarded(cell) for cell in entry.row()] for entry in _ledger(name).entries)
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}-ledger.csv"'
    return response


def _ledger(name: str) -> Ledger:
    study = Study.objects.filter(name=name).first()
    if study is None:
        raise Http404
    return ledger(study)
