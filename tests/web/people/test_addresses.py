"""Client addresses: through ports, brackets and proxies, and what an admin sees of faults."""

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
    """Forget which faults earlier tests noted within this hour."""
    addresses._logged_hours.clear()


@pytest.fixture
def behind(db: Any, rules: Any) -> Iterator[Callable[..., str]]:
    """Return what reads the address of a request that came through proxies, as they are named."""

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
def test_an_address_is_read_without_its_port(text: str, found: str | None) -> None:
    """Ports, brackets and zones are dropped, IPv4 inside IPv6 is IPv4; anything else is none."""
    read = read_address(text)
    assert (None if read is None else str(read)) == found


TWO = ("127.0.0.1", "10.0.0.0/24")


@pytest.mark.parametrize(
    ("header", "proxies", "found"),
    [
        ("203.0.113.9, 192.0.2.77", 1, "192.0.2.77"),  # before the last, anything may be made up
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
def test_the_client_is_the_first_from_the_right_that_is_no_proxy(
    behind: Any, header: str | None, proxies: Any, found: str
) -> None:
    """Proxies are passed by number or by name; what stands before the client is not believed."""
    assert behind(header, proxies) == found


def test_without_a_named_proxy_headers_are_ignored(behind: Any, db: Any) -> None:
    """A peer that is not a named proxy is the client, and so is any peer of a private site."""
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
def test_admins_see_what_is_wrong_with_addresses(
    behind: Any, adam: Any, visit: Any, caplog: pytest.LogCaptureFixture,
    header: str | None, proxies: Any, fault: str, said: str,
) -> None:  # fmt: skip
    """A fault is in the log once an hour and on admins' pages, without any digit."""
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            behind(header, proxies)
    assert [said in record.getMessage() for record in caplog.records] == [True]
    stored = str(Hits.objects.values_list("who", "what").get()) + caplog.text
    assert "192.0.2" not in stored
    assert "1.2.3.4" not in stored
    admin = visit(adam)
    for page in ("/admin/", "/admin/dashboard/"):
        assert fault in admin.get(page).content.decode()


def test_addresses_that_are_read_leave_no_note(behind: Any) -> None:
    """A site whose proxies send what they should has nothing to show."""
    behind("203.0.113.9, 192.0.2.77")
    behind("192.0.2.77, 10.0.0.2", TWO)
    assert addresses.list_address_faults() == []


@pytest.mark.parametrize("value", [-1, 10, True, "10.0.0.1", ("x",), (1,), ("0.0.0.0/0",), 1.0])
def test_proxies_that_are_none_are_refused(value: Any) -> None:
    """Numbers out of range, names, and a network of everybody are refused."""
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
def test_a_network_is_a_truncated_address(where: str, found: str, site: Any) -> None:
    """Of an address the /24 counts, or the /48 of IPv6; all that can't be read are one network."""
    assert get_network(where) == found
