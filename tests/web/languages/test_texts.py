"""What is in the reader's language, what in the site's, and what in the sentences' own."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.template import Context, engines
from django.test import Client, override_settings
from django.utils import translation

from tests.web.translated import made_up
from winosmith import web
from winosmith.errors import RecipeError
from winosmith.web._rules import SiteRules
from winosmith.web.moderate.decisions import ACTIONS
from winosmith.web.pages import to_fixed, to_percent
from winosmith.web.people.gates import new_key
from winosmith.web.problems.models import Problem
from winosmith.web.read.downloads import FILES

ARABIC = {"accept-language": "ar"}


def test_figures_are_written_as_the_language_does(site: Any, arabic: None) -> None:
    """Arabic has a decimal comma; English and whatever no page shows have a point."""
    found = {}
    for language in ("en", "ar"):
        with translation.override(language):
            found[language] = to_fixed(-1234.5678, 2), to_percent(0.99951)
    assert found["en"] == ("-1234.57", "100.0 %")
    assert found["ar"] == ("-1234,57", "100,0 %")


def test_errors_of_rules_come_in_the_language_of_the_page(
    db: Any, arabic: None, visit: Any, ann: Any
) -> None:
    """A name that is taken is refused in the language that the browser asks for."""
    form = {"name": "ann", "password": "cups-and-jugs", "again": "cups-and-jugs"}
    for wish, told in (("ar", made_up("This name is taken")), ("en", "This name is taken")):
        answer = visit().post("/people/join/", form, headers={"accept-language": wish})
        assert answer.status_code == 422
        assert told in answer.content.decode()


def test_files_are_the_same_in_every_language(refs: dict[str, str], arabic: None) -> None:
    """What is downloaded tells nothing of the language of who downloads it: the bytes are equal."""
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = refs["session of moderator"]
    paths = [*(f"/download/{name}" for name in FILES), "/card/data-card.md",
             "/moderate/log.csv", "/families/data/problems.jsonl"]  # fmt: skip
    assert len(paths) >= 6
    for path in paths:
        first, second = (
            client.get(path, headers={"accept-language": wish}) for wish in ("en", "ar")
        )
        assert first.status_code == second.status_code, path
        if first.status_code == 200:
            assert first.getvalue() == second.getvalue(), path
            assert first.get("ETag") == second.get("ETag"), path


def test_a_reason_is_kept_in_the_sites_language_and_read_in_the_readers(
    refs: dict[str, str], arabic: None
) -> None:
    """An Arabic moderator rejects: the log has the English words, an Arabic reader Arabic ones.

    What the moderator added in words of their own stays as it is.
    """
    with translation.override("en"):
        offered = str(ACTIONS["reject"].reasons[0])
    point = transaction.savepoint()
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = refs["session of moderator"]
    problem = Problem.objects.get(ref="judging-b")
    newest = problem.events.latest("pk").pk if problem.events.exists() else 0
    form = {"key": new_key(), "action": "reject", "preset": "0", "text": "Schade.",
            "pick": f"judging-b:{newest}"}  # fmt: skip
    assert client.post("/moderate/act/", form, headers=ARABIC).status_code in (200, 302)
    kept = problem.events.latest("pk").reason
    assert kept == f"{offered} Schade."
    for headers, told in ((ARABIC, f"{made_up(offered)} Schade."), ({}, kept)):
        assert told in client.get("/moderate/problems/judging-b/", headers=headers).content.decode()
    transaction.savepoint_rollback(point)


def test_sentences_carry_the_language_that_the_site_says(
    refs: dict[str, str], arabic: None
) -> None:
    """On an Arabic page a sentence is said to be English, or what else the site's are in."""
    tag = '<p class="sentence" lang="{}" dir="auto">The public kettle'
    page = Client().get("/problems/public-a/", headers=ARABIC).content.decode()
    assert tag.format("en") in page
    with override_settings(RULES=replace(settings.RULES, language="nl")):
        page = Client().get("/problems/public-a/", headers=ARABIC).content.decode()
    assert tag.format("nl") in page


@pytest.mark.parametrize("language", ["", "english!", 'en" onload="x', "e", None, 5])
def test_a_language_of_sentences_is_named_as_browsers_do(language: Any) -> None:
    """Anything else than a tag like en or de-AT is refused."""
    with pytest.raises(RecipeError, match="language is "):
        SiteRules(language=language)


def test_days_are_written_as_the_language_does(db: Any, arabic: None) -> None:
    """The form of a day comes from the catalogue: no template writes English month names out."""
    day = Context({"day": datetime(2026, 3, 5, 14, 7, tzinfo=UTC)})
    template = engines["django"].from_string('{{ day|date:_("j M Y, H:i") }}').template
    told = {}
    for language in ("en", "ar"):
        with translation.override(language):
            told[language] = template.render(day)
    assert told["en"] == "5 Mar 2026, 14:07"
    assert told["ar"] == "5 مارس 2026, 14:07"
    fixed = re.compile(r"""date:["'][^"']*[DFMNlSPfa][^"']*["']""")
    for path in Path(web.__file__).parent.rglob("templates/**/*.html"):
        for found in fixed.findall(path.read_text("utf-8")):
            assert "_FORMAT" in found, path
