"""The process of a round under a real server: started over HTTP, ended, killed, taken up."""

from __future__ import annotations

import http.cookiejar
import os
import re
import signal
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from tests.waiting import LONGEST, until  # type: ignore[import-not-found]
from tests.web.rounds.making import FILL  # type: ignore[import-not-found]
from tests.web.serving import PASSWORD  # type: ignore[import-not-found]
from winosmith.testing import chat_server
from winosmith.web.rounds import lock

pytestmark = pytest.mark.long

RECIPE = """
roots = 2
[embed]
dimensions = 16
[filter]
ensemble_size = 16
[split]
dev = 0.2
test = 0.2
[[solvers]]
name = "slow"
solver = "chat"
model = "m"
base_url = "{url}"
max_tokens = 5
"""


class Browser:
    """Somebody who is logged in, and sends forms with what the page had hidden in them."""

    def __init__(self, url: str, name: str) -> None:
        jar = http.cookiejar.CookieJar()
        self.url = url
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        self.send("/people/login/", "/people/login/", name=name, password=PASSWORD)

    def page(self, path: str) -> str:
        """Return a page."""
        with self.opener.open(self.url + path, timeout=60) as answer:
            found: str = answer.read().decode()
        return found

    def send(self, page: str, path: str, **fields: str) -> str:
        """Send a form of a page; return the page that it leads to."""
        hidden = dict(
            re.findall(r'name="(csrfmiddlewaretoken|key)" value="(\w+)"', self.page(page))
        )
        data = urllib.parse.urlencode({**hidden, **fields}).encode()
        request = urllib.request.Request(  # noqa: S310 - of the test's own server
            self.url + path, data, {"Referer": self.url + page}
        )
        with self.opener.open(request, timeout=60) as answer:
            found: str = answer.read().decode()
        return found


def test_a_round_outlives_its_process_and_its_server(served: Callable[..., Any]) -> None:
    """Killed -9 it is taken up, and again after a new start of the site; then it ends."""
    free, asked = threading.Event(), threading.Event()

    def author(messages: Any) -> str:
        asked.set()
        free.wait(LONGEST)
        return "1"

    with chat_server(author) as url:
        site = served(models=[])
        site.people(adam="admin")
        site.do(FILL.format(twins=60))
        (site.folder / "recipes").mkdir()
        (site.folder / "recipes" / "slow.toml").write_text(RECIPE.format(url=url), "utf-8")
        adam = Browser(site.url, "adam")

        def at_the_solver() -> int:
            """Return the process that waits for the solver; 0 while none does."""
            doing = lock.look(site.folder)
            waits = doing is not None and doing.step == "solving with slow" and asked.is_set()
            return doing.process if doing is not None and waits else 0

        adam.send("/rounds/start/", "/rounds/start/", name="first", recipe="slow")
        process = until(at_the_solver)
        page = adam.page("/rounds/round/first/")
        assert "slow answers" in page
        assert re.search(r"Step \d+ of \d+", page)
        os.kill(process, signal.SIGKILL)
        second = until(lambda: (found := at_the_solver()) and found != process and found)
        assert site.stop() == 0
        assert lock.look(site.folder) is None
        site.start()
        assert until(at_the_solver) not in (process, second)
        free.set()
        until(lambda: "Publish the round" in adam.page("/rounds/round/first/"))
        adam.send("/rounds/round/first/", "/rounds/round/first/publish/")
    assert site.get("/rounds/round/first/").status == 200
    shown = site.admin("round", str(site.folder), "list").stdout
    assert re.search(r"first +done +120 ", shown)
