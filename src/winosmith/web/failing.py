"""What is shown when the site itself fails: a fault of the code, or a database that is away."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

__all__ = ["failed"]

AGAIN = 5
"""Seconds until a browser or a program may try again: a database restarts in about as many."""


def failed(request: HttpRequest) -> HttpResponse:
    """Answer with 503 while the database is away (nothing was kept), with 500 for a fault.

    The page reads nothing from the database, which may be what failed.
    """
    away = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
    page = HttpResponse(render_to_string("500.html"), status=503 if away else 500)
    if away:
        page.headers["Retry-After"] = str(AGAIN)
    return page
