"""`winosmith round --site` next to a real server: watched, killed, resumed, published."""

import threading
from typing import Any

import pytest

from tests import forking
from tests.conftest import axe_faults
from tests.waiting import LONGEST, until
from tests.web.looks import enter
from tests.web.rounds.making import FILL
from winosmith.testing import chat_server

pytestmark = [pytest.mark.browser, pytest.mark.long]

STEP = """
from winosmith.web.rounds.models import Round
result = Round.objects.get().doing.get("step") if Round.objects.exists() else None
"""

KEPT = """
from winosmith.web.rounds.models import Round
from winosmith.web.rounds.results import count_problems
made = Round.objects.get()
result = [made.state, count_problems(made)["collected"]]
"""

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


def test_admin_watches_resumes_and_publishes_a_round(site, served, browser, axe_source, tmp_path):
    """The page shows the current step on a phone; after kill -9, a command resumes the round."""
    free = threading.Event()

    def author(messages: Any) -> str:
        free.wait(LONGEST)
        return "1"

    with chat_server(author) as url:
        place = served(models=[])
        place.people(adam="admin")
        place.do(FILL.format(twins=60))
        (place.folder / "recipes").mkdir()
        (place.folder / "recipes" / "slow.toml").write_text(RECIPE.format(url=url), "utf-8")

        def start_command(*words: str) -> Any:
            """Start the command, and wait until it queries the solver."""
            command = ("round", "--site", str(place.folder), *words)
            process = forking.winosmith(command, place.environment, tmp_path / "log")
            until(lambda: place.do(STEP) == "solving with slow")
            return process

        process = start_command("slow", "--name", "first")
        context = browser.new_context(viewport={"width": 320, "height": 640}, bypass_csp=True)
        page = context.new_page()
        enter(context, place.session("adam"))
        page.goto(f"{place.url}/rounds/")
        page.get_by_role("link", name="Start a round").wait_for()
        faults = axe_faults(page, axe_source)
        page.get_by_role("link", name="first").click()
        page.get_by_text("solving with slow").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        faults += axe_faults(page, axe_source)
        process.kill()
        assert process.wait(60) == -9
        page.get_by_text("No process is working on this round.").wait_for()
        second = start_command()
        page.get_by_text("solving with slow").wait_for()
        free.set()
        assert second.wait(LONGEST) == 0, (tmp_path / "log").read_text()
        page.get_by_text("Publish the round").click()
        page.get_by_role("button", name="Publish", exact=True).click()
        page.get_by_text("The round was published.").wait_for()
        faults += axe_faults(page, axe_source)
        context.close()
    assert faults == []
    assert place.get("/rounds/round/first/").status == 200
    assert place.do(KEPT) == ["done", 120]
