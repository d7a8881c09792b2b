"""Client addresses with ports, brackets and proxies, and the faults that admins see."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.test import RequestFactory, override_settings

from winosmith.errors import RecipeError
from winosmith.web import SiteRules
from winosmith.web.people import addresses
from winosmith.web.people.addresses import get_client_address, get_network, read_address
from winosmith.web.people.models import Hits


@pytest.fixture(autouse=True)
def _nothing_noted() -> None:
    """Forget the faults that earlier tests have logged within this hour."""
    addresses._logged_hours.clear()


@pytest.fixture
def behind(db: Any, rules: Any) -> Iterator[Callable[..., str]]:
    """Yield a function that returns the client address of a request behind proxies."""

    def read(header: str | None, proxies: Any = 1, peer: str = "127.0.0.1") -> str:
        rules(proxies=proxies)
        more = {} if header is None else {"HTTP_X_FORWARDED_FOR": header}
        return get_client_address(RequestFactory().get("/", REMOTE_ADDR=peer, **more))

    with override_settings(SITE=replace(settings.SITE, public_url="https://twins.example.org")):
        yield read


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("203.0.113.7:50123", "203.0.113.7"),
        (" 203.0.113.7 ", "203.0.113.7"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("[fe80::1%eth0]:80", "fe80::1"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("[::ffff:192.0.2.7]:50123", "192.0.2.7"),
        ("10.0.0.1", "10.0.0.1"),
        *((text, None) for text in ("", "unknown", "unix:", "192.0.2", "192.0.2.7:", "_hidden",
                                    "[192.0.2.7", "999.0.2.7:80", "192.0.2.7:123456")),
    ],
)  # fmt: skip
def test_address_is_read_without_port_brackets_and_zone(text, found):
    """IPv4 inside IPv6 is read as IPv4; everything else gives None."""
    read = read_address(text)
    assert (None if read is None else str(read)) == found


TWO = ("127.0.0.1", "10.0.0.0/24")


@pytest.mark.parametrize(
    ("header", "proxies", "found"),
    [
        (
            "203.0.113.9, 192.0.2.77",
            1,
            "192.0.2.77",
        ),  # clients can invent all entries before the last
        ("192.0.2.77:50123", 1, "192.0.2.77"),
        ("192.0.2.77, 10.0.0.2", 2, "192.0.2.77"),
        ("203.0.113.9, 192.0.2.77:80, 10.0.0.2:4711", 2, "192.0.2.77"),
        ("192.0.2.77", 2, "192.0.2.77"),
        ("192.0.2.77, 10.0.0.2", TWO, "192.0.2.77"),
        ("203.0.113.9, 192.0.2.77, 10.0.0.3, 10.0.0.2", TWO, "192.0.2.77"),
        ("203.0.113.9, 10.1.0.1", TWO, "10.1.0.1"),  # private, and not one of the proxies
        ("10.0.0.5, 10.0.0.2", TWO, "10.0.0.5"),  # a client in the network of the proxies
        ("2001:db8::5, ::ffff:10.0.0.2", TWO, "2001:db8::5"),
        (None, 1, "127.0.0.1"),
        (None, TWO, "127.0.0.1"),
        (" ", 1, "127.0.0.1"),
        ("203.0.113.9, unknown", 1, ""),
        ("203.0.113.9,", 1, ""),  # an empty entry is not skipped: a client may have sent the other
        ("203.0.113.9,,10.0.0.2", TWO, ""),
        ("203.0.113.9", 0, "127.0.0.1"),
        ("203.0.113.9", (), "127.0.0.1"),
    ],
)
def test_client_is_the_last_address_that_is_not_a_proxy(behind, header, proxies, found):
    """Proxies are skipped by their number or their networks."""
    assert behind(header, proxies) == found


def test_header_of_an_unknown_peer_is_ignored(behind, db):
    """On a private site, the peer is always the client."""
    assert behind("203.0.113.9", TWO, peer="198.51.100.4") == "198.51.100.4"
    with override_settings(SITE=replace(settings.SITE, public_url=None)):
        assert behind("203.0.113.9") == "127.0.0.1"


@pytest.mark.parametrize(
    ("header", "proxies", "fault", "said"),
    [
        ("1.2.3.4;50123", 1, "can’t be read: “0.0.0.0;00000”", "unreadable address"),
        ("unknown", 1, "can’t be read: “unknown”", "unreadable address"),
        (None, 1, "X-Forwarded-For is missing", "missing address"),
        ("192.0.2.77", 2, "fewer addresses than there are proxies", "missing address"),
        (None, TWO, "X-Forwarded-For is missing", "missing address"),
        ("192.0.2.77", ("10.0.0.0/24",), "not one of your proxies", "unnamed proxy"),
    ],
)
def test_faults_of_addresses_are_logged_and_shown_to_admins(
    behind, adam, visit, caplog,
    header, proxies, fault, said
):  # fmt: skip
    """They are logged once an hour, without the digits of addresses."""
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            behind(header, proxies)
    assert [said in record.getMessage() for record in caplog.records] == [True]
    stored = str(Hits.objects.values_list("who", "what").get()) + caplog.text
    assert "192.0.2" not in stored
    assert "1.2.3.4" not in stored
    admin = visit(adam)
    for page in ("/admin/", "/admin/dashboard/"):
        assert fault in admin.get(page).text


def test_readable_addresses_report_no_fault(behind):
    behind("203.0.113.9, 192.0.2.77")
    behind("192.0.2.77, 10.0.0.2", TWO)
    assert addresses.list_address_faults() == []


@pytest.mark.parametrize("value", [-1, 10, True, "10.0.0.1", ("x",), (1,), ("0.0.0.0/0",), 1.0])
def test_invalid_proxies_are_refused(value):
    with pytest.raises(
        RecipeError,
        match=r"proxies is .*; it must (be a whole number from 0 to 9|list)",
    ):
        SiteRules(proxies=value)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("192.0.2.77:4711", "192.0.2.0/24"),
        ("::ffff:192.0.2.77", "192.0.2.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1::/48"),
        ("[2001:db8:1:2::]", "2001:db8:1::/48"),
        ("", "unknown"),
        ("198.51.100.999", "unknown"),
    ],
)
def test_network_is_the_truncated_address(where, found, site):
    """Unreadable addresses are one network."""
    assert get_network(where) == found
