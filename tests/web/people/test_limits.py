"""Rate limits: by account or network, shared by all workers, without an address in the database."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory
from django.utils import timezone

from tests.web.together import at_once
from winosmith.web.people import accounts, gates
from winosmith.web.people.gates import RateLimitError, rate_limit
from winosmith.web.people.models import Hits


def test_an_hour_that_is_full_says_when_to_come_again(db: Any, ann: Any) -> None:
    """The fourth of three an hour, and the first of none, is refused with a time to come."""
    for _ in range(3):
        rate_limit(ann, "write", 3)
    rate_limit(ann, "judge", 3)
    with pytest.raises(RateLimitError) as refused:
        rate_limit(ann, "write", 3)
    assert Hits.objects.get(what="write").count == 3
    wait = refused.value.again - timezone.now()
    assert timedelta() < wait <= timedelta(hours=2)
    assert 1 <= refused.value.seconds <= 7200
    with pytest.raises(RateLimitError) as refused:
        rate_limit(ann, "nothing", 0)
    assert 1 <= refused.value.seconds <= 7200


def test_hits_of_the_last_hour_fade(db: Any, ann: Any) -> None:
    """The clock hour before counts as far as the last hour reaches into it, and then has room."""
    gates.rate_limit(ann, "write", 10)
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    Hits.objects.update(hour=hour - timedelta(hours=1), count=1000)
    with pytest.raises(gates.RateLimitError) as refused:
        gates.rate_limit(ann, "write", 10)
    again = refused.value.again
    left = 10 - 1000 * (1 - (again - hour) / timedelta(hours=1))
    assert left >= 1 - 1e-6
    assert again <= hour + timedelta(hours=1)


def test_a_full_hour_has_room_when_it_says(db: Any) -> None:
    """After a full clock hour the told time is when its hits have faded by one."""
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    told = gates._compute_retry_time(0, 10, 10, hour, hour + timedelta(minutes=50))
    next_hour = hour + timedelta(hours=1)
    assert told > next_hour
    assert 10 * (1 - (told - next_hour) / timedelta(hours=1)) <= 9 + 1e-6


def test_sixteen_threads_never_spend_more_than_there_is(database: Any, ann: Any) -> None:
    """Of sixteen at once, five of five an hour get through, and the sixth never."""
    found = at_once(lambda _: rate_limit(ann, "write", 5), range(16), but=RateLimitError)
    assert sum(isinstance(one, RateLimitError) for one in found) == 11


def test_no_address_is_stored(db: Any, rf: Any) -> None:
    """What is stored of a visitor is a digest: neither address nor network is in the row."""
    rate_limit(rf(REMOTE_ADDR="192.0.2.77"), "write", 5)
    rate_limit(rf(REMOTE_ADDR="192.0.2.78"), "write", 5)
    row = Hits.objects.values().get()
    assert row["count"] == 2
    assert "192.0" not in str(row)


@pytest.fixture
def rf() -> Callable[..., Any]:
    """Return a maker of requests by nobody in particular."""

    def make(**meta: Any) -> Any:
        request = RequestFactory().get("/", **meta)
        request.user = AnonymousUser()
        return request

    return make


def test_too_many_is_a_page_with_a_time(db: Any, visit: Any, rules: Any) -> None:
    """Who does something too often gets status 429, Retry-After, and a page with the minutes."""
    typed = {"name": "x y", "password": "twins-and-cups", "again": "twins-and-cups"}
    assert visit().post("/people/join/", typed).status_code == 422
    Hits.objects.filter(what="join").update(count=accounts.MAX_SIGN_UPS)
    late = visit().post("/people/join/", typed)
    assert late.status_code == 429
    assert int(late.headers["Retry-After"]) > 0
    assert "come back in" in late.content.decode()
