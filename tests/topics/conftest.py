"""The HTTPS server of `tests/fetch`, and what asks it for topics."""

from functools import partial

import pytest

from tests.fetch.conftest import Site, certificate, site  # noqa: F401
from tests.waiting import LONGEST
from winosmith.topics import Fetch, fetch_https


@pytest.fixture
def endpoint(site: Site) -> Site:  # noqa: F811
    """Return a server that answers nothing yet."""
    site.piece = 1000
    return site


@pytest.fixture
def ask(endpoint: Site) -> Fetch:
    """Return a function that asks the server as `HttpTopics` does."""
    return partial(fetch_https, timeout=LONGEST)
