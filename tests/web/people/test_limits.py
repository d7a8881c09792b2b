"""Rate limits by account or network, without addresses in the database."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory
from django.utils import timezone

from tests.web.together import at_once
from winosmith.web.people import accounts, gates
from winosmith.web.people.gates import RateLimitError, rate_limit
from winosmith.web.people.models import Hits


def test_rate_limit_error_says_when_to_try_again(db, ann):
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


def test_hits_of_the_previous_hour_fade(db, ann):
    """The clock hour before counts by the fraction of it that is in the last 60 minutes."""
    gates.rate_limit(ann, "write", 10)
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    Hits.objects.update(hour=hour - timedelta(hours=1), count=1000)
    with pytest.raises(gates.RateLimitError) as refused:
        gates.rate_limit(ann, "write", 10)
    again = refused.value.again
    left = 10 - 1000 * (1 - (again - hour) / timedelta(hours=1))
    assert left >= 1 - 1e-6
    assert again <= hour + timedelta(hours=1)


def test_retry_time_is_when_one_hit_has_faded(db, ann):
    for _ in range(10):
        gates.rate_limit(ann, "write", 10)
    with pytest.raises(gates.RateLimitError) as refused:
        gates.rate_limit(ann, "write", 10)
    next_hour = Hits.objects.latest("hour").hour + timedelta(hours=1)
    assert refused.value.again > next_hour
    assert 10 * (1 - (refused.value.again - next_hour) / timedelta(hours=1)) <= 9 + 1e-6


def test_simultaneous_hits_do_not_exceed_the_limit(database, ann):
    found = at_once(lambda _: rate_limit(ann, "write", 5), range(16), but=RateLimitError)
    assert sum(isinstance(one, RateLimitError) for one in found) == 11


def test_no_address_is_stored(db):
    """The row has a digest of the network."""
    for address in ("192.0.2.77", "192.0.2.78"):
        request = RequestFactory().get("/", REMOTE_ADDR=address)
        request.user = AnonymousUser()
        rate_limit(request, "write", 5)
    row = Hits.objects.values().get()
    assert row["count"] == 2
    assert "192.0" not in str(row)


def test_page_beyond_the_limit_has_429_and_retry_after(db, visit, rules):
    typed = {"name": "x y", "password": "twins-and-cups", "again": "twins-and-cups"}
    assert visit().post("/people/join/", typed).status_code == 422
    Hits.objects.filter(what="join").update(count=accounts.MAX_SIGN_UPS)
    late = visit().post("/people/join/", typed)
    assert late.status_code == 429
    assert int(late.headers["Retry-After"]) > 0
    assert "come back in" in late.text
