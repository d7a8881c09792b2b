"""The common parts of all pages: site context, language, numbers, headers, and error pages."""

from __future__ import annotations

import csv
import io
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from django import template
from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.core.paginator import Page
from django.db import InterfaceError, OperationalError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.template.loader import render_to_string
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _, gettext_noop
from django.views.decorators.http import require_http_methods
from django.views.i18n import set_language

from winosmith import __version__, report
from winosmith.errors import RecipeError
from winosmith.outputs import guard_cell
from winosmith.web._rules import CHOSEN


def site_context(request: HttpRequest) -> dict[str, Any]:
    """Return the context that every template needs."""
    return {
        "rules": settings.RULES,
        "winosmith_version": __version__,
        "area": _area(request),
        "languages": settings.LANGUAGES,
    }


def _area(request: HttpRequest) -> str:
    match = request.resolver_match
    if match is None:
        return ""
    if match.namespace == "read":
        return "browse" if match.url_name in ("browse", "problem", "download") else match.url_name
    return match.namespace


LONGEST = 1000
"""Maximum length of an address to return to; a longer one is replaced by the home page."""


@require_http_methods(["GET", "HEAD", "POST"])
def choose_language(request: HttpRequest) -> HttpResponse:
    """Show the languages, or store a choice and return to the previous page.

    An empty choice deletes the stored one, so that the browser's language applies again.
    """
    if request.method != "POST":
        return _language_page(request, request.GET.get("next", ""))
    wanted, back = request.POST.get("language"), request.POST.get("next", "")
    if wanted != "" and wanted not in dict(settings.LANGUAGES):
        return _language_page(request, back, _("Choose one of these languages."), 422)
    answer = redirect(_return_address(request, back))
    if wanted:
        answer.cookies = set_language(request).cookies
    else:
        answer.delete_cookie(
            settings.LANGUAGE_COOKIE_NAME, samesite=settings.LANGUAGE_COOKIE_SAMESITE
        )
    return answer


def _language_page(
    request: HttpRequest, back: str, error: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "languages": settings.LANGUAGES,
        "chosen": request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""),
        "back": _return_address(request, back),
        "error": error,
    }
    return render(request, "language.html", context, status=status)


def _return_address(request: HttpRequest, asked: str) -> str:
    is_here = url_has_allowed_host_and_scheme(
        asked, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return asked if is_here and len(asked) <= LONGEST else resolve_url("read:home")


def fixed(value: float, digits: int) -> str:
    """Return a number with some decimals, rounded as in reports."""
    return number_format(report.fixed(value, f".{digits}f"), use_l10n=True)


def percent(share: float, digits: int = 1) -> str:
    """Return a fraction (0–1) in percent, with the percent sign."""
    return f"{fixed(100 * share, digits)} %"


def whole_percent(share: float) -> int:
    """Return a fraction (0–1) in whole percent, for a bar and its label."""
    return int(report.fixed(100 * share, ".0f"))


def is_number(text: str, digits: int = 18) -> bool:
    """Return whether a text is a whole number of at most `digits` ASCII digits."""
    return text.isascii() and text.isdigit() and len(text) <= digits


def adjacent_pages(page: Page) -> dict[str, str]:
    """Return the queries of the next newer and older pages; "" if there is none."""
    return {
        "newer": f"page={page.number - 1}" if page.has_previous() else "",
        "older": f"page={page.number + 1}" if page.has_next() else "",
    }


def newest_rows(rows: QuerySet[Any], before: str, size: int) -> tuple[list[Any], str]:
    """Return a page of rows, newest first, and the start of the next page.

    Args:
        rows: The rows, greatest key first.
        before: The key that all rows of the page precede; ignored if it is not a number.
        size: The number of rows on a page.

    Returns:
        The rows, and `before` of the next page; "" on the last page.
    """
    if is_number(before):
        rows = rows.filter(pk__lt=int(before))
    found = list(rows[: size + 1])
    return found[:size], str(found[size - 1].pk) if len(found) > size else ""


BOM = "\ufeff"
"""The first character of a CSV file, from which Excel recognises UTF-8."""


def csv_response(rows: Iterable[Iterable[object]], name: str) -> StreamingHttpResponse:
    """Return a response that streams rows as a CSV file; no text is a formula in a spreadsheet."""

    def lines() -> Iterator[str]:
        yield BOM
        for row in rows:
            written = io.StringIO()
            csv.writer(written).writerow(
                guard_cell(cell) if isinstance(cell, str) else cell for cell in row
            )
            yield written.getvalue()

    return as_download(StreamingHttpResponse(lines(), content_type="text/csv; charset=utf-8"), name)


def waiting_page(
    request: HttpRequest, part: str, context: dict[str, Any], busy: bool
) -> HttpResponse:
    """Return the progress part for a waiting page, or make the page reload if nothing is busy."""
    if not busy:
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    return render(request, part, context)


Sent = TypeVar("Sent", bound=HttpResponseBase)


def as_download(response: Sent, name: str) -> Sent:
    """Mark a response as a file to download, and return it."""
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


register = template.Library()


def translate_message(text: str, phrases: Iterable[str]) -> str:
    """Return the translation of an English text that was formatted from one of some phrases.

    The toolkit's messages are only in English, as are texts that the site has stored.

    Args:
        text: The text, such as "2 of 3 judges"; returned unchanged if no phrase matches.
        phrases: The phrases, such as "%(n)s of %(of)s judges", marked for translation.
    """
    for phrase in phrases:
        if found := _phrase_pattern(phrase).fullmatch(text):
            return _(phrase) % found.groupdict()
    return text


ROW_FAULTS = (
    gettext_noop("the row has %(cells)s cells; the header has %(names)s"),
    gettext_noop("this is not a row of a table: %(error)s; is a quotation mark left open?"),
    gettext_noop(
        "this is not a row of a table: %(error)s; is a quotation mark left open? "
        "(lines %(first)s to %(last)s are lost)"
    ),
    gettext_noop("the sentence has no blanks ('_'); 1 is needed"),
    gettext_noop("the sentence has no blanks ('_'); 1 is needed; mark a question with %(key)s"),
    gettext_noop(
        "the sentence has no blanks ('_'); 1 is needed: write one '_' in place of %(text)s"
    ),
    gettext_noop(
        "the sentence has %(n)s blanks ('_'); 1 is needed: write one '_' in place of %(text)s"
    ),
    gettext_noop("the sentence has %(n)s blanks ('_'); 1 is needed"),
    gettext_noop("there are %(n)s options; %(least)s to %(most)s are needed"),
    gettext_noop("an option is empty"),
    gettext_noop("an option contains the blank ('_')"),
    gettext_noop("two options are equal: %(options)s"),
    gettext_noop("two options are equal, one of them the correct one: %(options)s"),
    gettext_noop("the answer is %(answer)s; with %(n)s options it must be 0 to %(last)s"),
    gettext_noop(
        "the answer is %(answer)s; with %(n)s options it must be a number from 1 to %(last)s"
    ),
    gettext_noop("the answer %(answer)s is none of the options %(options)s"),
    gettext_noop("the id %(id)s was already used at %(place)s"),
)
"""Reasons of the toolkit for a row that can't be read, or is not a problem."""


def row_fault(reason: str | None) -> str:
    """Return the reason that a row of a table can't be read, in the reader's language."""
    return translate_message(reason or "", ROW_FAULTS)


@cache
def _phrase_pattern(phrase: str) -> re.Pattern[str]:
    parts = re.split(r"%\((\w+)\)s", phrase)
    found = [re.escape(parts[0])]
    for at in range(1, len(parts), 2):
        name, text = parts[at : at + 2]
        group = f"(?P={name})" if name in parts[1:at:2] else f"(?P<{name}>.+)"
        found += [group, re.escape(text)]
    return re.compile("".join(found), re.DOTALL)


@register.filter
def day(at: date | None) -> str:
    """Return the day of a date or time in the format of all pages; a dash for None."""
    return _format_time(at, _("j M Y"))


@register.filter
def moment(at: datetime | None) -> str:
    """Return a date and time, which times.js converts to the reader's zone; a dash for None."""
    return _format_time(at, _("j M Y, H:i"), "moment")


@register.filter
def clock(at: datetime | None) -> str:
    """Return a time of day, which times.js converts to the reader's zone; a dash for None."""
    return _format_time(at, "H:i", "clock")


def _format_time(at: date | None, how: str, form: str = "") -> str:
    if at is None:
        return "–"
    exact, text = at.isoformat(), date_format(at, how)
    if not form:
        return format_html('<time datetime="{}">{}</time>', exact, text)
    return format_html('<time datetime="{}" data-form="{}">{} UTC</time>', exact, form, text)


WIDTH, HEIGHT = 480, 190
"""Size of a bar chart, which shrinks to the screen."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 6, 10, 36
"""Margins around the bars, for the axes."""

_WIDEST = 34
"""Maximum width of a bar."""


def bar_chart(
    stacks: Sequence[Sequence[tuple[float, bool]]],
    labels: Sequence[str],
    told: str,
    *,
    top: float,
    unit: str = "",
    line: float | None = None,
    axis: str = "",
) -> dict[str, Any]:
    """Return the context of a bar chart for `partials/bars.html`.

    Args:
        stacks: The parts of each bar from the bottom: its height, and whether it is pale.
        labels: The text below each bar, or "".
        told: A description of the chart for people who can't see it.
        top: The value of the highest grid line.
        unit: The unit after the values of grid lines.
        line: The value of a dashed line, or None.
        axis: The text below the labels.
    """
    scale = (HEIGHT - _TOP - _BOTTOM) / top
    slot = (WIDTH - _LEFT - _RIGHT) / max(1, len(stacks))
    width = round(min(0.74 * slot, _WIDEST), 2)
    middles = [_LEFT + slot * (at + 0.5) for at in range(len(stacks))]
    bars = []
    for middle, stack in zip(middles, stacks, strict=True):
        foot, x = 0.0, round(middle - width / 2, 2)
        for value, pale in stack:
            foot += value
            height = round(value * scale, 2)
            bar = {"x": x, "y": _y(foot * scale), "width": width, "height": height, "pale": pale}
            bars.append(bar)
    return {
        "bars": bars,
        "ticks": [(_y(share * top * scale), f"{share * top:g}{unit}") for share in (0, 0.5, 1)],
        "labels": [(round(x, 2), name) for x, name in zip(middles, labels, strict=True) if name],
        "line": None if line is None else _y(line * scale),
        "told": told,
        "axis": axis,
        "width": WIDTH,
        "height": HEIGHT,
        "left": _LEFT,
        "end": WIDTH - _RIGHT,
        "base": HEIGHT - _BOTTOM,
        "middle": (WIDTH - _RIGHT + _LEFT) / 2,
    }


def _y(height: float) -> float:
    return round(HEIGHT - _BOTTOM - height, 2)


AGAIN = 5
"""Seconds until a client may try again: about the time that a database takes to restart."""


def apply_browser_settings(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Apply settings that an admin changed from the next request on, in every process (middleware).

    Checking the file takes a microsecond or two; it is read only if it has changed.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        reload_rules()
        return get_response(request)

    return middleware


_applied_stamp: list[tuple[int, int] | tuple[()] | None] = [()]
"""The `file_stamp` of the settings file that this process uses; () before the first check."""


def reload_rules() -> None:
    """Apply the latest settings of the admins to this process.

    Settings with which a server would not start are logged, and the current ones stay. A file that
    can't be read is tried again at the next request.
    """
    folder = settings.SITE.folder
    try:
        mark = file_stamp(folder / CHOSEN)
        if mark == _applied_stamp[0]:
            return
        with _TURN:
            settings.RULES = settings.RULES.with_chosen(folder, settings.SITE.fixed)
            _applied_stamp[0] = mark
    except OSError:
        logging.getLogger(__name__).exception("settings can't be read")
    except RecipeError as error:
        logging.getLogger(__name__).exception("settings can't be taken up")
        if not isinstance(error.__cause__, OSError):
            _applied_stamp[0] = mark


_TURN = threading.Lock()


def file_stamp(path: Path) -> tuple[int, int] | None:
    """Return two numbers that change when a file is replaced; None without a file."""
    try:
        about = path.stat()
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_mtime_ns


def refuse_nul(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Refuse NUL in addresses and forms with status 400 (middleware).

    PostgreSQL accepts it in no text, not even in a search.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        sent = chain(*(values for _, values in chain(request.GET.lists(), request.POST.lists())))
        if "\0" in request.path or any("\0" in value for value in sent):
            raise SuspiciousOperation("NUL in a request")
        return get_response(request)

    return middleware


def handle_error(request: HttpRequest) -> HttpResponse:
    """Return status 503 while the database is unavailable or locked, and 500 for other errors.

    The page reads nothing from the database, which may be unavailable. With 503 it contains the
    submitted form, to be sent again.
    """
    away = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
    context = {"away": True, **_submitted_form(request)} if away else {}
    page = HttpResponse(render_to_string("500.html", context), status=503 if away else 500)
    if away:
        page.headers["Retry-After"] = str(AGAIN)
    return page


def _submitted_form(request: HttpRequest) -> dict[str, Any]:
    fields = [(name, value) for name, values in request.POST.lists() for value in values]
    if request.FILES or any("password" in name for name, _ in fields):
        return {}
    texts = [value for name, value in fields if " " in value]
    return {"sent": fields, "texts": texts, "where": request.get_full_path()}


class SecretLinkFilter(logging.Filter):
    """Replaces the address of a secret link in the log by its route, because it may still work."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True for every line, after removing secret links."""
        match = getattr(getattr(record, "request", None), "resolver_match", None)
        if match is not None and "token" in match.kwargs and isinstance(record.args, tuple):
            record.args = (*record.args[:-1], f"/{match.route}")
        return True


class ClientAddressFilter(logging.Filter):
    """Removes the client's address from waitress's report of a connection that failed."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True for every line, after removing the address."""
        record.msg = re.sub(r"\bconnected (?!at )\S+", "connected", str(record.msg))
        return True


POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "manifest-src 'self'",
    )
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def security_headers(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Add headers that Django does not set; no shared cache may store a page (middleware)."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if not request.path.startswith("/static/"):
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    return middleware
