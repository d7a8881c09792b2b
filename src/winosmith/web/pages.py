"""Common parts of all pages, such as formats of numbers, security headers, and error pages."""

from __future__ import annotations

import csv
import io
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from django import forms, template
from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.core.paginator import Page
from django.db import InterfaceError, OperationalError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _, gettext_lazy

from winosmith import __version__, report
from winosmith.errors import RecipeError
from winosmith.outputs import guard_cell
from winosmith.web._rules import CHOSEN

# Django's own messages are long, or in programmers' words.
forms.Field.default_error_messages.update(
    min_value=gettext_lazy("Enter %(limit_value)s or more."),
    max_value=gettext_lazy("Enter %(limit_value)s or less."),
    max_length=gettext_lazy("Use at most %(limit_value)s characters; there are %(show_value)s."),
)
forms.ChoiceField.default_error_messages.update(
    invalid_choice=gettext_lazy("“%(value)s” is not one of the choices; choose another one."),
)
forms.SlugField.default_error_messages = {
    "invalid": gettext_lazy("Use only letters, digits, - and _.")
}


def site_context(request: HttpRequest) -> dict[str, Any]:
    match = request.resolver_match
    area = match.namespace if match else ""
    if area == "read":
        area = "browse" if match.url_name in ("problem", "download") else match.url_name
    return {
        "rules": settings.RULES,
        "public_url": settings.SITE.public_url,
        "winosmith_version": __version__,
        "area": area,
    }


def is_site_url(request: HttpRequest, url: str) -> bool:
    return url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )


register = template.Library()


@register.simple_tag(name="number")
def to_fixed(value: float | None, digits: int = 2) -> str:
    """Format a number with `digits` decimals, rounded as in reports; None becomes a dash."""
    if value is None:
        return "–"
    return number_format(report.to_fixed(value, f".{digits}f"), use_l10n=True)


@register.simple_tag(name="share")
def to_percent(fraction: float | str | None, digits: int = 1) -> str:
    """Format a fraction (0–1) as a percentage; None, or a template's "", becomes a dash."""
    if fraction is None or isinstance(fraction, str):
        return "–"
    return f"{to_fixed(100 * fraction, digits)} %"


def format_interval(ends: Sequence[float] | None, digits: int = 2) -> str:
    return "–".join(to_fixed(end, digits) for end in ends) if ends else "–"


@register.simple_tag(name="shares")
def format_percentage_interval(ends: Sequence[float] | None, digits: int = 1) -> str:
    return format_interval([100 * end for end in ends], digits) if ends else "–"


@register.filter("points")
def format_count(value: float) -> Any:
    """Format a count, with decimals if ties make it fractional."""
    if isinstance(value, int):
        return value
    return to_fixed(value, 1 if value == round(value, 1) else 2)


def round_percent(fraction: float) -> int:
    return int(report.to_fixed(100 * fraction, ".0f"))


def is_number(text: str, digits: int = 18) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= digits


def list_adjacent_pages(page: Page) -> dict[str, str]:
    return {
        "newer": f"page={page.number - 1}" if page.has_previous() else "",
        "older": f"page={page.number + 1}" if page.has_next() else "",
    }


def get_newest_rows(rows: QuerySet[Any], before: str, size: int) -> tuple[list[Any], str]:
    """Return a page of rows, newest first, and the value of `before` for the next page.

    The `rows` must be in descending order of their keys. The page has rows with keys below
    `before`, which is ignored if it is not a number. On the last page, the next value is "".
    """
    if is_number(before):
        rows = rows.filter(pk__lt=int(before))
    found = list(rows[: size + 1])
    return found[:size], str(found[size - 1].pk) if len(found) > size else ""


BOM = "\ufeff"
"""Byte order mark at the start of a CSV file, by which Excel recognises UTF-8."""


def make_csv_response(rows: Iterable[Iterable[object]], name: str) -> StreamingHttpResponse:
    """Return a streaming CSV response whose cells can't run as formulas in a spreadsheet."""

    def iter_lines() -> Iterator[str]:
        yield BOM
        for row in rows:
            line = io.StringIO()
            cells = (guard_cell(cell) if isinstance(cell, str) else cell for cell in row)
            csv.writer(line).writerow(cells)
            yield line.getvalue()

    response = StreamingHttpResponse(iter_lines(), content_type="text/csv; charset=utf-8")
    return mark_as_download(response, name)


def render_waiting_page(
    request: HttpRequest, part: str, context: dict[str, Any], busy: bool
) -> HttpResponse:
    """Render the progress part of a waiting page, or make the page reload when the work is done."""
    if not busy:
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    return render(request, part, context)


Sent = TypeVar("Sent", bound=HttpResponseBase)


def mark_as_download(response: Sent, name: str) -> Sent:
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@register.filter("day")
def format_day(time: date | None) -> str:
    return _format_time(time, _("j M Y"))


@register.filter("moment")
def format_moment(time: datetime | None) -> str:
    """Format a moment, which times.js shows in the reader's time zone."""
    return _format_time(time, _("j M Y, H:i"), "moment")


@register.filter("clock")
def format_clock(time: datetime | None) -> str:
    """Format a time of day, which times.js shows in the reader's time zone."""
    return _format_time(time, "H:i", "clock")


def _format_time(time: date | None, pattern: str, kind: str = "") -> str:
    if time is None:
        return "–"
    exact, text = time.isoformat(), date_format(time, pattern)
    if not kind:
        return format_html('<time datetime="{}">{}</time>', exact, text)
    return format_html('<time datetime="{}" data-form="{}">{} UTC</time>', exact, kind, text)


WIDTH, HEIGHT = 480, 190
"""Size of a bar chart in pixels; the chart shrinks to fit the screen."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 6, 10, 36
"""Margins around the bars in pixels, for the axes."""

_WIDEST = 34
"""Maximum width of a bar in pixels."""


def make_bar_chart(
    stacks: Sequence[Sequence[tuple[float, bool]]],
    labels: Sequence[str],
    description: str,
    *,
    top: float,
    unit: str = "",
    line: float | None = None,
    axis: str = "",
) -> dict[str, Any]:
    """Return the context of a bar chart for `partials/bars.html`.

    Args:
        stacks: The parts of each bar, from the bottom up: a part's height, and whether it is pale.
        labels: The text below each bar, or "".
        description: A description of the chart for people who can't see it.
        top: The value of the highest grid line.
        unit: The unit of the values at the grid lines.
        line: The value at which to draw a dashed line, or None.
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
            y = _to_svg_y(foot * scale)
            bars.append({"x": x, "y": y, "width": width, "height": height, "pale": pale})
    return {
        "bars": bars,
        "ticks": [(_to_svg_y(part * top * scale), f"{part * top:g}{unit}") for part in (0, 0.5, 1)],
        "labels": [(round(x, 2), name) for x, name in zip(middles, labels, strict=True) if name],
        "line": None if line is None else _to_svg_y(line * scale),
        "description": description,
        "axis": axis,
        "width": WIDTH,
        "height": HEIGHT,
        "left": _LEFT,
        "end": WIDTH - _RIGHT,
        "base": HEIGHT - _BOTTOM,
        "middle": (WIDTH - _RIGHT + _LEFT) / 2,
    }


def _to_svg_y(height: float) -> float:
    return round(HEIGHT - _BOTTOM - height, 2)


RETRY_SECONDS = 5
"""Seconds after which a client should try again: about as long as a database restart."""


_applied_stamp: list[tuple[int, int] | tuple[()] | None] = [()]
"""File stamp of the settings that this process has applied; () before the first check."""


def reload_rules() -> None:
    """Apply the admins' latest settings to this process, before each request and each job.

    The settings file is read only if it has changed; this check takes one or two microseconds.
    Invalid settings are logged, and the current ones stay in effect. An unreadable file is retried.
    """
    folder = settings.SITE.folder
    try:
        mark = read_file_stamp(folder / CHOSEN)
        if mark == _applied_stamp[0]:
            return
        with _RELOADING:
            settings.RULES = settings.RULES.with_saved_settings(folder, settings.SITE.fixed)
            _applied_stamp[0] = mark
    except OSError:
        logging.getLogger(__name__).exception("the settings can't be read")
    except RecipeError as error:
        logging.getLogger(__name__).exception("the settings are not valid")
        if not isinstance(error.__cause__, OSError):
            _applied_stamp[0] = mark


_RELOADING = threading.Lock()


def read_file_stamp(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_mtime_ns


def reject_nul(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Return middleware that rejects requests with NUL in the URL or a form (status 400).

    PostgreSQL does not accept NUL in any text, not even in a search.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        sent = chain(*(values for _, values in chain(request.GET.lists(), request.POST.lists())))
        if "\0" in request.path or any("\0" in value for value in sent):
            raise SuspiciousOperation("the request contains a NUL character")
        return get_response(request)

    return middleware


def handle_error(request: HttpRequest) -> HttpResponse:
    """Return the error page: status 503 if the database is unavailable or locked, otherwise 500.

    The page does not use the database. With status 503, it contains the submitted form, so that the
    reader can submit the form again.
    """
    away = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
    context: dict[str, Any] = {"away": away}
    if away:
        fields = [(name, value) for name, values in request.POST.lists() for value in values]
        if not request.FILES and not any("password" in name for name, _ in fields):
            texts = [value for _, value in fields if " " in value]
            context |= {"sent": fields, "texts": texts, "where": request.get_full_path()}
    page = HttpResponse(render_to_string("500.html", context), status=503 if away else 500)
    if away:
        page.headers["Retry-After"] = str(RETRY_SECONDS)
    return page


class SecretLinkFilter(logging.Filter):
    """A log filter that replaces secret links, which may still work, with their routes."""

    def filter(self, record: logging.LogRecord) -> bool:
        match = getattr(getattr(record, "request", None), "resolver_match", None)
        if match is not None and "token" in match.kwargs and isinstance(record.args, tuple):
            record.args = (*record.args[:-1], f"/{match.route}")
        return True


class ClientAddressFilter(logging.Filter):
    """A log filter that removes client addresses from waitress's messages on failed connections."""

    def filter(self, record: logging.LogRecord) -> bool:
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


def add_security_headers(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Add security headers that Django does not set, and forbid caching of pages (middleware)."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if not request.path.startswith("/static/"):
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    return middleware
