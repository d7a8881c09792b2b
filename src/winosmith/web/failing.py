"""What is shown when the site itself fails: a fault of the code, or a database that is away."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import chain
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

AGAIN = 5
"""Seconds until a browser or a program may try again: a database restarts in about as many."""


def refuse_nul(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Refuse NUL in addresses and forms with 400 (middleware): no text has it.

    PostgreSQL takes it in no text, not even in one that is only looked for.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        sent = chain(*(values for _, values in chain(request.GET.lists(), request.POST.lists())))
        if "\0" in request.path or any("\0" in value for value in sent):
            raise SuspiciousOperation("NUL in a request")
        return get_response(request)

    return middleware


def failed(request: HttpRequest) -> HttpResponse:
    """Answer with 503 while the database is away or locked, with 500 for a fault.

    The page reads nothing from the database, which may be what failed. With 503 it holds what was
    sent, for it to be sent again.
    """
    away = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
    context = {"away": True, **_sent(request)} if away else {}
    page = HttpResponse(render_to_string("500.html", context), status=503 if away else 500)
    if away:
        page.headers["Retry-After"] = str(AGAIN)
    return page


def _sent(request: HttpRequest) -> dict[str, Any]:
    """Return the fields of the form that was sent, unless a password or a file is among them."""
    fields = [(name, value) for name, values in request.POST.lists() for value in values]
    if request.FILES or any("password" in name for name, _ in fields):
        return {}
    texts = [value for name, value in fields if " " in value]
    return {"sent": fields, "texts": texts, "where": request.get_full_path()}
