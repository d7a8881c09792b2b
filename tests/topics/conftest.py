"""The HTTPS server of `tests/fetch`, and a function that requests topics from it."""

from functools import partial

import pytest

from tests.fetch.conftest import Site, certificate, site  # noqa: F401
from tests.waiting import LONGEST
from winosmith.topics import Fetch, fetch_https


@pytest.fixture
def endpoint(site: Site) -> Site:  # noqa: F811
    """Return a server without any files yet."""
    site.piece = 1000
    return site


@pytest.fixture
def ask(endpoint: Site) -> Fetch:
    """Return a function that requests pages from the server as `HttpTopics` does."""
    return partial(fetch_https, timeout=LONGEST)
