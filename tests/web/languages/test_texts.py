"""Texts in the reader's language, in the site's language, and in the sentences' own."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

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


def test_numbers_use_the_decimal_mark_of_the_language(site, arabic):
    found = {}
    for language in ("en", "ar"):
        with translation.override(language):
            found[language] = to_fixed(-1234.5678, 2), to_percent(0.99951)
    assert found["en"] == ("-1234.57", "100.0 %")
    assert found["ar"] == ("-1234,57", "100,0 %")


def test_rule_errors_are_in_the_language_of_the_page(db, arabic, visit, ann):
    form = {"name": "ann", "password": "cups-and-jugs", "again": "cups-and-jugs"}
    for wish, told in (("ar", made_up("This name is taken")), ("en", "This name is taken")):
        answer = visit().post("/people/join/", form, headers={"accept-language": wish})
        assert answer.status_code == 422
        assert told in answer.content.decode()


def test_downloads_are_equal_in_every_language(refs, arabic):
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = refs["session of moderator"]
    paths = [*(f"/download/{name}" for name in FILES), "/card/data-card.md",
             "/families/data/problems.jsonl"]  # fmt: skip
    assert len(paths) >= 5
    for path in paths:
        first, second = (
            client.get(path, headers={"accept-language": wish}) for wish in ("en", "ar")
        )
        assert first.status_code == second.status_code, path
        if first.status_code == 200:
            assert first.getvalue() == second.getvalue(), path
            assert first.get("ETag") == second.get("ETag"), path


def test_reason_is_stored_in_the_site_language_and_translated(refs, arabic):
    """The moderator's own words stay as they are."""
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


def test_sentences_carry_the_lang_of_the_site_rules(refs, arabic):
    tag = '<p class="sentence" lang="{}" dir="auto">The public kettle'
    page = Client().get("/problems/public-a/", headers=ARABIC).content.decode()
    assert tag.format("en") in page
    with override_settings(RULES=replace(settings.RULES, language="nl")):
        page = Client().get("/problems/public-a/", headers=ARABIC).content.decode()
    assert tag.format("nl") in page


@pytest.mark.parametrize("language", ["", "english!", 'en" onload="x', "e", None, 5])
def test_invalid_language_tag_in_the_rules_is_refused(language):
    with pytest.raises(RecipeError, match="language is "):
        SiteRules(language=language)


def test_dates_follow_the_language(db, arabic):
    """Formats come from the catalogue: no template hard-codes one with English names."""
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
