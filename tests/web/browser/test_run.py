"""Setting up a site in a browser, without a terminal."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.looks import press, wrong_with
from tests.web.run.visits import CUPS, HEAD, SCHEMAS
from tests.web.serving import PASSWORD

pytestmark = pytest.mark.browser

GOLD = f"{HEAD},gold.explanation" + "".join(
    f"\nThe big {one} did not fit into the {two} because the _ was small.,{one},{two},2,It is."
    for one, two in (("cup", "box"), ("jug", "bag"))
)

WIDTHS = (1280, 360)

FILLED = """
from winosmith.web.problems.models import Problem
from winosmith.web.take.models import Round
from winosmith.web.market.models import Study
result = [Problem.objects.filter(gold=False, embargo=False).count(),
          Problem.objects.filter(gold=True).count(), Round.objects.get().state,
          Study.objects.get().closed is not None]
"""


def _log_in_first_admin(site: Any, browser: Any) -> Any:
    """Return the first admin's page, opened by the link that the server printed."""
    page = browser.new_context(base_url=site.url, bypass_csp=True).new_page()
    page.goto(re.search(r"First admin (\S+)", site.printed)[1])
    page.fill("main input[name=name]", "adam")
    for field in page.locator("main input[type=password]").all():
        field.fill(PASSWORD)
    press(page, "main form button >> nth=0")
    expect(page.locator("h1")).to_have_text("Next steps")
    return page


def test_first_admin_changes_settings_and_corrects_an_error(served, browser):
    page = _log_in_first_admin(served(), browser)
    press(page, "a:has-text('Name and contact')")
    page.fill("[name=title]", "Twins of Graz")
    page.fill("[name=judges]", "2")
    press(page, "main form.settings button")
    expect(page.locator(".field.wrong")).to_contain_text("It must be odd")
    expect(page.locator("[name=title]")).to_have_value("Twins of Graz")
    page.fill("[name=judges]", "1")
    press(page, "main form.settings button")
    expect(page.locator(".brand")).to_have_text("Twins of Graz")


@pytest.mark.long
def test_large_upload_can_be_refused_cancelled_and_retried(served, browser, tmp_path):
    """Files are uploaded in pieces; a lost piece is sent again."""
    page = _log_in_first_admin(served(options=("--work",)), browser)
    path, held = tmp_path / "large.jsonl", list[Any]()
    path.write_text("".join(
        json.dumps({"id": f"{n}", "sentence": f"The {thing} hit it as the _ was thin.",
                    "options": [thing, "jug"], "answer": 0, "extra": {"x.note": "x" * 1_000_000}})
        + "\n" for n, thing in enumerate(("cup", "ball"))
    ))  # fmt: skip
    page.goto("/admin/import/")
    page.check("[value=published]")
    page.set_input_files("[name=file]", path)
    look, pieces = "button:has-text('Preview')", "**/admin/files/**"

    page.route(pieces, lambda route: route.fulfill(status=422, body="No room."))
    page.click(look)
    expect(page.locator("[data-failed]")).to_have_text("No room.")
    expect(page.locator("[data-sending]")).to_be_hidden()
    page.unroute(pieces)

    page.route(pieces, lambda route: held.append(route))
    page.click(look)
    expect(page.locator(look)).to_be_disabled()
    page.click("[data-cancel]")
    expect(page.locator("[data-sending]")).to_be_hidden()
    expect(page.locator("[data-failed]")).to_be_hidden()
    expect(page.locator(look)).to_be_enabled()
    page.unroute(pieces)

    page.route(pieces, lambda route: route.abort(), times=1)
    press(page, look)
    expect(page.locator("h1")).to_have_text("large.jsonl")
    press(page, "button[value=confirm]")
    expect(page.locator(".box.good")).to_contain_text("2 problems are new")


@pytest.mark.long
def test_site_can_be_set_up_only_in_a_browser(served, browser, axe_source, tmp_path):
    """From the link that the server prints to a backup, axe finds nothing on any page."""
    site = served(options=("--work",))
    page = _log_in_first_admin(site, browser)
    wrong: dict[str, Any] = {}

    def look(name: str) -> None:
        if faults := wrong_with(page, axe_source, *WIDTHS):
            wrong[name] = faults

    def send(text: str, name: str) -> None:
        path = tmp_path / name
        path.write_text(text, "utf-8")
        page.set_input_files("[name=file]", path)
        press(page, "main form:has([name=file]) button:not([type=button])")

    def let_in() -> None:
        press(page, "button[value=confirm]")
        page.wait_for_selector(".box.good")

    look("steps")
    # At 360 px, a shadow shows that the links continue.
    expect(page.locator("nav.areas")).to_have_css("background-image", re.compile("gradient"))

    press(page, "a:has-text('Name and contact')")
    page.fill("[name=title]", "Twins of Graz")
    page.fill("[name=contact]", "twins@example.org")
    page.fill("[name=judges]", "1")
    press(page, "main form.settings button")
    expect(page.locator(".brand")).to_have_text("Twins of Graz")

    page.goto("/admin/import/")
    look("import")
    send(f"{CUPS}No blank is here.,cup,jug,1\n", "cups.csv")
    expect(page.locator(".refused")).to_contain_text("cups.csv:4: the sentence has no blanks")
    look("what would come in")
    let_in()
    expect(page.locator(".box.good")).to_contain_text("2 problems are new")
    look("what came in")
    page.goto("/admin/import/?as=gold")
    send(GOLD, "gold.csv")
    let_in()

    press(page, "nav.areas a:has-text('Invitations')")
    page.select_option("[name=role]", "judge")
    press(page, "main form button >> nth=0")
    expect(page.locator("#link")).to_have_value(re.compile(r"/people/join/"))

    page.goto("/admin/tests/")
    page.fill("[name=name]", "spring")
    send(SCHEMAS, "schemas.csv")
    look("sheets")
    let_in()
    page.goto("/admin/tests/")
    look("tests")
    page.click("summary:has-text('Close the test')")
    press(page, "button:has-text('Close')")
    expect(page).to_have_url(re.compile(r"/tests/progress/spring/$"))

    page.goto("/admin/studies/")
    values = {"name": "pilot", "places": "9", "minutes": "9", "reward": "2.50", "currency": "GBP",
              "code": "DONE1"}  # fmt: skip
    for name, value in values.items():
        page.fill(f"[name={name}]", value)
    press(page, "button:has-text('Create the study')")
    expect(page.locator("#link")).to_have_value(re.compile(r"/study/\S+PROLIFIC_PID"))
    look("studies")
    press(page, "a:has-text('Close')")
    press(page, "button:has-text('Close the study')")

    page.goto("/admin/dashboard/")
    expect(page.locator("figure")).to_have_count(6)
    look("dashboard")
    page.goto("/admin/backups/")
    press(page, "button:has-text('Make a backup now')")
    page.wait_for_selector(".box.good")
    page.goto("/admin/backups/")
    look("backups")
    page.goto("/admin/log/")
    look("log")
    page.goto("/admin/")
    expect(page.locator(".lead")).to_contain_text("The site is ready")
    expect(page.locator(".steps .badge.held")).to_have_count(0)

    assert site.do(FILLED) == [2, 2, "closed", True]
    assert len(list((site.folder / "backups").glob("site-*.tar.gz"))) == 1
    assert not wrong, wrong
