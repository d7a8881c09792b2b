"""Client addresses of requests, determined through the configured proxies.

Two rules need client addresses: rate limits count by network, and a single address must not decide
a problem. A proxy that hides its clients' addresses therefore changes verdicts. Errors in the
X-Forwarded-For header are logged, and shown to admins for a day.
"""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.web import _lock
from winosmith.web._lock import limit_write_waits, writing
from winosmith.web.people.models import Hits

NETWORK_BITS = {4: 24, 6: 48}
"""Prefix length of a network, by IP version: the usual size of a customer's network."""

_WITH_PORT = re.compile(r"\[(?P<six>[^\[\]]+)\](?::\d{1,5})?|(?P<four>\d[\d.]+):\d{1,5}")


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address in a string, or None.

    A port, brackets and an IPv6 zone are dropped; an IPv4-mapped IPv6 address becomes IPv4.

    >>> # str(read_address("203.0.113.7:50123")) == "203.0.113.7"
    >>> # str(read_address("[2001:db8::1%eth0]:443")) == "2001:db8::1"
    """
    text = text.strip()
    if match := _WITH_PORT.fullmatch(text):
        text = match["six"] or match["four"]
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def get_client_address(request: HttpRequest) -> str:
    """Return the address of a request's client, or "" if it can't be read.

    If the site has a public address, it is behind proxies, and the client's address is in
    X-Forwarded-For, to which each proxy appends the address that it saw. The addresses are read
    from the right, past the proxies of `SiteRules.proxies`. Clients can forge everything to the
    left of the result.
    """
    header = str(request.META.get("HTTP_X_FORWARDED_FOR", ""))
    hops = header.split(",") if header.strip() else []
    chain = [*hops, str(request.META.get("REMOTE_ADDR", ""))]
    expected = settings.RULES.proxies if settings.SITE.public_url else 0
    if isinstance(expected, int):
        proxies = min(expected, len(hops))
        missing = len(hops) < expected
    else:
        networks = [ip_network(name, strict=False) for name in expected]
        trusted = [
            found is not None and any(found in network for network in networks)
            for found in map(read_address, reversed(chain))
        ]
        # The first address is never a proxy's.
        proxies = min([*trusted, False].index(False), len(hops))
        missing = not hops and trusted[0]
    if missing:
        _log_fault(MISSING, "")
    if hops and not proxies:
        _log_fault(UNNAMED, chain[-1])
    text = chain[-1 - proxies]
    found = read_address(text)
    if found is None:
        _log_fault(UNREADABLE, text)
    return str(found or "")


def get_network(address: str) -> str:
    """Return the network of an address, or "unknown" if it can't be read.

    A network is a /24, or a /48 for IPv6.

    >>> # get_network("192.0.2.77") == "192.0.2.0/24"
    """
    found = read_address(address)
    if found is None:
        return "unknown"
    return str(ip_network((found, NETWORK_BITS[found.version]), strict=False))


UNREADABLE, MISSING, UNNAMED = "unreadable address", "missing address", "unnamed proxy"

_logged_hours: dict[str, datetime] = {}
"""For each fault, the hour in which this process last logged it."""


def _log_fault(fault: str, text: str) -> None:
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    if _logged_hours.get(fault) == hour:
        return
    _logged_hours[fault] = hour
    digits = r"[0-9a-fA-F]" if set(text) & set(".:") else r"\d"
    shown = re.sub(digits, "0", text.strip())[:60]
    logging.getLogger(__name__).warning("%s: %r (digits are shown as 0)", fault, shown)
    with suppress(OperationalError), limit_write_waits(_lock.MAX_WAIT - _lock.MIN_WAIT), writing():
        Hits.objects.get_or_create(who=shown, what=fault, hour=hour)


def list_address_faults() -> list[str]:
    rows = Hits.objects.filter(what__in=(UNREADABLE, MISSING, UNNAMED))
    rows = rows.filter(hour__gt=timezone.now() - timedelta(days=1))
    words = {
        UNREADABLE: _(
            "An address can’t be read: “%s” (each digit is shown as 0). Votes from it are "
            "never put on hold for a shared address. Let the proxy send the client’s address."
        ),
        MISSING: _(
            "X-Forwarded-For is missing, or has fewer addresses than there are proxies%s. "
            "All users may seem to share one address, so their votes can’t decide problems. "
            "Let each proxy add the address that it sees."
        ),
        UNNAMED: _(
            "A request from “%s” (each digit is shown as 0) has X-Forwarded-For, but that is not "
            "one of your proxies, so the header was ignored. If it is a proxy, add it "
            "to `proxies` in site.toml."
        ),
    }
    found = rows.values_list("what", "who").distinct().order_by("what", "who")
    return [words[what] % who for what, who in found]
