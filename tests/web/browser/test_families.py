"""Families in a browser: branches, no scripts, and hostile texts."""

from typing import Any

import pytest

from tests.web.hostile import TEXTS
from tests.web.looks import VIOLATIONS, Windows, press

pytestmark = pytest.mark.browser

GROWN = """
from tests.web import growing as g
from winosmith.web._lock import writing
from winosmith.web.people.models import Person
with writing():
    ann = Person.objects.create_user("ann")
    alpha, beta = g.model("alpha"), g.model("beta")
    for word in ("lamp", "bowl", "mug", "jar", "pan", "tin"):
        g.family(alpha, beta, by=ann, word=word)
    root = g.version(None, "The cup hit the jug and the _ broke .", by=ann)
    for number in range(40):
        now = g.version(root, f"The cup {number} hit the jug and the _ broke .", by=ann)
        g.says(alpha, now, number % 3 > 0)
        g.says(beta, now, number % 2 > 0, tie=number % 5 == 0)
    for number in range(9):
        now = g.version(now, f"{now.sentence} So {number} .", by=ann)
        g.says(alpha, now, False)
result = [root.ref, now.ref]
"""

CURRENT = """
from winosmith.web._lock import writing
from winosmith.web.predict.models import Model
with writing():
    Model.objects.update(current=True)
"""

HOSTILE = """
from itertools import count
from tests.web import growing as g
from winosmith.web._lock import writing
from winosmith.web.predict.models import Model
g._NUMBERS = count(1000)
with writing():
    root = g.version(None, "The cup hit the jug and the _ broke , again .")
    for text in TEXTS:
        bad = g.version(root, f"{text} hit the jug and the _ broke {text}",
                             options=(text, "jug"))
        g.says(Model.objects.get(name="alpha"), bad, False)
result = root.ref
"""


@pytest.fixture
def reader(served_anew: Any, windows: Windows) -> Any:
    """Return a server with families, a function that opens windows, and two ids."""
    site = served_anew(models=[])
    refs = site.do(GROWN)
    site.do(CURRENT)
    return site, windows.open, refs


def test_branches_open_in_place_by_keyboard(reader):
    """The focus moves to a version that was opened."""
    site, window, (root, last) = reader
    page = window()
    page.goto(f"{site.url}/families/{root}/")
    shown = page.locator("li.node").count()
    page.focus("li.more a")
    page.keyboard.press("Enter")
    page.locator("li.node").nth(shown).wait_for(state="attached")
    page.wait_for_function("document.activeElement.matches('li.node')")
    assert page.url.endswith(f"/families/{root}/")
    while not page.locator(f"#v-{last}").count():
        before = page.locator("li.node").count()
        page.locator("details.folded:not([open]) > summary").last.press("Enter")
        page.locator("li.node").nth(before).wait_for(state="attached")
    assert page.locator("details.folded[open] > summary").count() >= 1


@pytest.mark.long
def test_families_are_readable_without_javascript(reader):
    site, window, (_, last) = reader
    page = window(java_script_enabled=False)
    page.goto(f"{site.url}/families/?q=so")
    press(page, "text=The tree")
    press(page, "li.more a")
    page.locator("details.folded summary").first.click()
    press(page, "details.folded .under a >> nth=0")
    assert page.locator(f"#v-{last}").count() == 1
    press(page, "nav.tabs >> text=beta")
    assert "model=beta" in page.url
    assert page.locator(".verdict").count() > 3


@pytest.mark.long
def test_hostile_texts_run_no_scripts(reader):
    """Hostile sentences and options are text in the tree."""
    site, window, _ = reader
    root = site.do(f"TEXTS = {list(TEXTS)!r}\n{HOSTILE}")
    page = window()
    page.add_init_script(VIOLATIONS)
    for path in (f"/families/{root}/?model=all", "/families/models/"):
        page.goto(f"{site.url}{path}")
        assert page.evaluate("[window.ran, window.broken]") == [None, []]
