"""A newcomer bends a sentence against live models; others judge and moderate; it is downloaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.web.looks import press
from tests.web.serving import BUILT_IN, PASSWORD
from winosmith import Dataset
from winosmith.lineage import depths
from winosmith.records import parse_problem

pytestmark = pytest.mark.browser

ROOT = "The city councilmen refused the demonstrators a permit because _ feared violence."
"""Winograd 1972, as quoted in WSC273."""

STEPS = (
    (ROOT.replace("feared", "advocated"), 1),
    (ROOT.replace("feared", "advocated").replace("because", "although"), 0),
    (ROOT.replace("feared", "advocated").replace("because", "although") + " Loudly.", 0),
)

_ROOT = """
from winosmith.web._lock import writing
from winosmith.web.problems.models import Problem, Twin
with writing():
    twin = Twin.objects.create(ref="wsc", source="wsc273", domain="social")
    Problem.objects.create(
        ref="root", twin=twin, sentence={root!r}, answer=0, state="valid",
        options=["The city councilmen", "The demonstrators"],
    )
"""


def _joined(site: Any, browser: Any, name: str) -> Any:
    """Make an account by the forms, consent and all; return its window."""
    page = browser.new_context(base_url=site.url).new_page()
    page.goto("/people/join/?next=/perturb/root/")
    page.locator("main input[name=name]").fill(name)
    for field in page.locator("main input[type=password]").all():
        field.fill(PASSWORD)
    press(page, "main form button >> nth=0")
    return page


def _logged_in(site: Any, browser: Any, name: str, where: str) -> Any:
    page = browser.new_context(base_url=site.url).new_page()
    page.goto(f"/people/login/?next={where}")
    page.locator("main input[name=name]").fill(name)
    page.locator("main input[name=password]").fill(PASSWORD)
    press(page, "main form button >> nth=0")
    return page


def _perturb(page: Any, sentence: str, answer: int) -> None:
    page.fill("#sentence", sentence)
    page.check(f"#answer_{answer}")
    page.click("#submit")
    page.wait_for_url("**/perturb/made/*/")
    page.wait_for_selector("#predictions:not([hx-get])")
    assert page.locator(".prediction").count() == 2


def _errors(page: Any) -> str:
    """Return what the family's page says of each model's errors."""
    page.goto("/families/root/?model=all")
    return " ".join(page.locator("main table").first.inner_text().split())


def test_from_a_sentence_to_a_download_with_lineage(
    served: Callable[..., Any], browser: Any
) -> None:
    """Three versions against two models, a tree that grows, a judge, a moderator, the lineage."""
    site = served(judges=1, review="all", gold_every=0, local_first=False, models=BUILT_IN)
    site.people(bob="judge", eva="moderator")
    site.do(_ROOT.format(root=ROOT))
    ann = _joined(site, browser, "ann")
    if "/people/" in ann.url:  # the texts to agree to
        for box in ann.locator("main input[type=checkbox]").all():
            box.check()
        press(ann, "main form button >> nth=0")
    ann.goto("/perturb/root/")
    told = []
    for sentence, answer in STEPS:
        _perturb(ann, sentence, answer)
        further = ann.get_by_text("Perturb this further").get_attribute("href")
        told.append(_errors(ann))
        assert sentence.split("_")[1].split()[-1] in ann.locator("ol.tree").inner_text()
        ann.goto(further)
    assert len(set(told)) == 3

    eva = _logged_in(site, browser, "eva", "/moderate/?kind=perturbed")
    for _ in STEPS:
        eva.goto("/moderate/?kind=perturbed&state=held")
        eva.locator("input[name=pick]").first.check()
        press(eva, "button[value=let-through]")
        press(eva, ".reason button")
        eva.wait_for_selector(".done")
    bob = _logged_in(site, browser, "bob", "/judge/")
    bob.get_by_role("button", name="Start judging").click()
    for _ in STEPS:
        shown = " ".join(bob.locator("main .sentence").first.inner_text().split())
        answer = 0 if "although" in shown else 1
        bob.locator(".choice", has_text=("councilmen", "demonstrators")[answer]).click()
        asked = bob.locator("main input[name=problem]").first.input_value()
        bob.get_by_role("button", name="Send").click()
        # The next one takes its place in the page, which is not loaded anew.
        bob.locator(f"main input[name=problem][value='{asked}']").first.wait_for(state="detached")

    lines = site.get("/download/problems.jsonl").text.splitlines()
    problems = {record["id"]: record for record in map(json.loads, lines)}
    versions = [record for record in problems.values() if record.get("lineage")]
    assert {record["sentence"] for record in versions} == {sentence for sentence, _ in STEPS}
    parents = [problems[record["lineage"]["parent"]]["sentence"] for record in versions]
    assert parents == [ROOT, STEPS[0][0], STEPS[1][0]]
    assert {record["lineage"]["root"] for record in versions} == {"root"}
    data = Dataset(map(parse_problem, problems.values()))
    assert [of.edit for of in depths(data)] == [0, 1, 2, 4]
