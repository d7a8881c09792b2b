"""Rate limits, kept in the database, so that all workers count together.

Somebody with an account is counted by it, everybody else by their network. What is stored of
either is a digest that only the holder of the site's key can make.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.db import OperationalError
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from winosmith.errors import WinosmithError
from winosmith.web._lock import PATIENCE, since, writing
from winosmith.web.people.models import Hits, Person, keyed

HOUR = timedelta(hours=1)

SOON = 1.0
"""Seconds for which reading waits to be counted."""

BITS = {4: 24, 6: 48}
"""Of an address that are kept: what a provider commonly gives to one customer or office."""


class TooMany(WinosmithError):  # noqa: N818 - it tells when to come again, not of a fault
    """Somebody did something more often than the site allows; `again` is when they may."""

    def __init__(self, what: str, again: datetime):
        self.what, self.again = what, again
        super().__init__(f"too many in an hour ({what}); come again at {again:%H:%M} UTC")

    @property
    def seconds(self) -> int:
        """How long to wait, 1 or more."""
        return max(1, round((self.again - timezone.now()).total_seconds()))


def address(request: HttpRequest) -> str:
    """Return the address that a request comes from; "" when there is none (a socket file).

    Behind a proxy (the site has a public address) it is the last hop of X-Forwarded-For, the one
    that the proxy itself wrote; whatever stands before it, the client may have made up.
    """
    if settings.SITE.public_url:
        hops = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).split(",")
        if hops[-1].strip():
            return hops[-1].strip()
    return str(request.META.get("REMOTE_ADDR", ""))


def network(where: str) -> str:
    """Return the network of an address: a /24, or a /48 of IPv6; "unknown" for what is none.

    >>> # network("192.0.2.77") == "192.0.2.0/24"
    """
    try:
        found = ip_address(where.strip("[]"))
    except ValueError:
        return "unknown"
    if isinstance(found, IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    return str(ip_network((found, BITS[found.version]), strict=False))


def _who(somebody: HttpRequest | Person | str) -> str:
    if isinstance(somebody, HttpRequest):
        if not somebody.user.is_authenticated:
            return keyed("network", network(address(somebody)))
        somebody = somebody.user
    return keyed("limit", somebody if isinstance(somebody, str) else f"person {somebody.pk}")


def rate_limit(somebody: HttpRequest | Person | str, what: str, most: int) -> None:
    """Count that somebody does something; refuse it when the last hour is full.

    The last hour is this clock hour and as much of the one before as it reaches into.

    Args:
        somebody: a request (its account, or else its network), a person, or a text of your own
            that stands for somebody.
        what: a word of 20 letters or fewer; each is counted by itself.
        most: how many within an hour.

    Raises:
        TooMany: the hour is full; nothing was counted.
    """
    now = timezone.now()
    hour = now.replace(minute=0, second=0, microsecond=0)
    who = _who(somebody)
    with writing():
        hits = Hits.objects.filter(who=who, what=what, hour=hour - HOUR)
        before = hits.values_list("count", flat=True).first() or 0
        rows = Hits.objects.select_for_update()
        row, _new = rows.get_or_create(who=who, what=what, hour=hour, defaults={"count": 0})
        # Of the hour before counts the share into which the last sixty minutes reach.
        if row.count + 1 + before * (1 - (now - hour) / HOUR) <= most:
            row.count += 1
            row.save(update_fields=["count"])
            return
    raise TooMany(what, _again(before, row.count, most, hour, now))


def rate_limit_reading(somebody: HttpRequest | Person | str, what: str, most: int) -> None:
    """Count as `rate_limit` does that somebody reads; uncounted where nothing can be written.

    Raises:
        TooMany: the hour is full.
    """
    with suppress(OperationalError), since(PATIENCE - SOON):
        rate_limit(somebody, what, most)


def _again(before: int, count: int, most: int, hour: datetime, now: datetime) -> datetime:
    """Return when one more fits: hits of an hour fade evenly over the next."""
    if count + 1 <= most:
        return max(now, hour + HOUR * (1 - (most - count - 1) / max(1, before)))
    return hour + HOUR + HOUR * (1 - max(0, most - 1) / max(1, count))


def uncount(somebody: HttpRequest | Person | str, what: str) -> None:
    """Take back what `rate_limit` counted last, for something that turned out to be harmless."""
    with writing():
        rows = Hits.objects.filter(who=_who(somebody), what=what, count__gt=0)
        newest = rows.order_by("-hour").values("pk")[:1]
        Hits.objects.filter(pk__in=list(newest.values_list("pk", flat=True))).update(
            count=F("count") - 1
        )


def wants_page(request: HttpRequest) -> bool:
    """Tell whether a refusal is best told as a page: programs that load files ask for no HTML."""
    accepted = request.headers.get("Accept", "text/html")
    return "text/html" in accepted or bool(getattr(request, "htmx", False))


def answer_too_many(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Show who does something too often when to come again, with status 429 (middleware)."""

    def middleware(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def process_exception(request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, TooMany):
            return None
        if wants_page(request):
            wait = -(-error.seconds // 60)
            page = render(request, "429.html", {"wait": wait}, status=429)
        else:
            told = f"429: this is no data, but {error}, after {error.seconds} seconds.\n"
            page = HttpResponse(told, status=429, content_type="text/plain; charset=utf-8")
        page.headers["Retry-After"] = str(error.seconds)
        return page

    middleware.process_exception = process_exception  # type: ignore[attr-defined]
    return middleware
