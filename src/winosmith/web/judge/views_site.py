"""How far judges agree, for everyone."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from winosmith.web.judge.agreement import figures
from winosmith.web.numerals import percent


@require_GET
def agreement(request: HttpRequest) -> HttpResponse:
    """Show how far the site's judges agree."""
    found = figures()
    page = {"figures": found, "pairs": _percent(found.pairs)}
    if found.problems:
        page["valid"] = _percent(found.valid / found.problems)
        page["unanimous"] = _percent(found.unanimous / found.problems)
    if found.gold[1]:
        page["gold"] = _percent(found.gold[0] / found.gold[1])
    return render(request, "judge/agreement.html", page)


def _percent(share: float | None) -> str:
    return "" if share is None else percent(share)
