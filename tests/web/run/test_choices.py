"""Settings chosen in the browser: which ones, when they apply, and what overrides them."""

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from django.conf import settings

from tests.web.run.visits import choices
from winosmith.errors import RecipeError
from winosmith.options import declaration
from winosmith.web import Site, SiteRules, _rules
from winosmith.web._rules import CHOSEN, _setting, get_editable, render_settings
from winosmith.web._site import is_site_file, iter_site_files
from winosmith.web.jobs import Job
from winosmith.web.people.gates import new_key
from winosmith.web.run.choices import PENDING
from winosmith.web.run.views import describe_request


def _read_chosen(folder: Path) -> Any:
    return json.loads((folder / CHOSEN).read_text("utf-8"))


def test_saved_settings_apply_at_once_and_after_a_restart(database, send, kept):
    words = "brat\n  fool \nbrat"
    answer = send("/admin/settings/", **choices(title="Graz", judges=5, words_to_flag=words))
    assert answer.status_code == 302
    assert "One per line." in send("/admin/settings/", method="get").text
    rules = settings.RULES
    assert (rules.title, rules.judges, rules.words_to_flag) == ("Graz", 5, ("brat", "fool"))
    opened = Site.open(kept).rules
    assert (opened.title, opened.judges, opened.words_to_flag) == (
        "Graz", 5, ("brat", "fool"))  # fmt: skip
    job = Job.objects.get()
    assert (job.actor.name, job.kind, job.state) == ("adam", "settings", "done")
    assert job.asked == {"title": "Graz", "judges": 5, "words_to_flag": ["brat", "fool"]}
    assert [(str(label), value) for label, value in describe_request(job)] == [
        ("Name of the site", "Graz"), ("Number of judges per problem", "5"),
        ("Words that send a sentence to the moderators", "brat, fool"),
    ]  # fmt: skip


def test_other_processes_apply_changed_settings(db, visit, kept):
    assert "Twins of York" not in visit().get("/guidelines/").text
    (kept / CHOSEN).write_text('{"title": "Twins of York"}')
    assert "Twins of York" in visit().get("/guidelines/").text
    (kept / CHOSEN).unlink()
    assert "Twins of York" not in visit().get("/guidelines/").text


@pytest.mark.parametrize(
    "text", ['{"judges": 2}', '{"topics": "/etc"}', "[]", "{", '{"models": []}']
)
def test_running_server_ignores_an_invalid_settings_file(db, visit, kept, text, caplog):
    """A server that starts refuses it."""
    before = settings.RULES
    (kept / CHOSEN).write_text(text)
    assert visit().get("/guidelines/").status_code == 200
    assert before == settings.RULES
    assert "the settings are not valid" in caplog.text
    with pytest.raises(RecipeError, match=CHOSEN):
        Site.open(kept)


def test_site_toml_overrides_chosen_settings(tmp_path):
    (tmp_path / "site.toml").write_text('title = "Leeds"')
    (tmp_path / CHOSEN).write_text('{"title": "York", "judges": 5}')
    site = Site.open(tmp_path)
    assert (site.rules.title, site.rules.judges, site.fixed) == ("Leeds", 5, {"title"})


def test_settings_of_site_toml_are_ignored_in_the_form(database, send, monkeypatch, kept):
    monkeypatch.setattr(settings, "SITE", replace(settings.SITE, fixed=frozenset({"judges"})))
    assert send("/admin/settings/", **choices(judges=9, title="Graz")).status_code == 302
    assert _read_chosen(kept) == {"title": "Graz"}


def test_files_addresses_and_programs_are_not_editable():
    left = {field.name for field in fields(SiteRules)} - get_editable().keys()
    assert left == {
        "licence", "retention_days", "topics", "models", "model_seconds", "mail", "upload_mb",
        "hold_pace_over", "hold_gold_over", "held_most", "proxies",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"judges": 2, "title": "Kept"}, "It must be odd, so that a majority exists."),
        ({"training_right": 9, "training_questions": 5, "title": "Kept"}, "nobody could pass"),
        ({"hold_accounts": 1, "title": "Kept"}, "It must be 2 or more"),
        ({"language": "English!", "title": "Kept"}, "such as en, de or pt-BR"),
        ({"judges": 101, "title": "Kept"}, "Enter 99 or less."),
        ({"words_to_flag": "x" * 1001, "title": "Kept"}, "at most 10,000 words"),
        ({"judges": 2, "gold_every": -3, "title": "Kept"}, "It must be odd, so that"),
        ({"contact": "not a mail", "title": "Kept"}, "It must contain an email address or a web"),
    ],
)
def test_invalid_settings_are_refused_at_their_field(db, send, kept, typed, told):
    """The message doesn't contain the internal name of the setting."""
    answer = send("/admin/settings/", **choices(**typed))
    page = answer.text
    assert answer.status_code == 422
    assert told in page
    assert 'value="Kept"' in page
    found = re.findall(r'class="field wrong">.*?<ul class="errorlist".*?</ul>', page, re.DOTALL)
    (wrong,) = found[:1] if "gold_every" in typed else found
    assert f'for="id_{next(iter(typed))}"' in wrong
    assert "_" not in re.sub("<[^>]*>", "", wrong)
    assert not (kept / CHOSEN).exists()
    assert not Job.objects.exists()


@declaration
class Longer(SiteRules):
    """The settings with one more field."""

    colour: Annotated[str, _setting("name", more=True, max_length=9)] = "red"
    """Colour of the pages. A word that browsers know."""


def test_new_setting_is_declared_in_one_place(database, send, kept, monkeypatch):
    """The field appears in the form, the initial site.toml, errors and the log.

    The section "More" is open if the setting differs from its default.
    """
    monkeypatch.setattr(_rules, "SiteRules", Longer)
    monkeypatch.setattr(settings, "RULES", Longer())
    page = send("/admin/settings/", method="get").text
    more = page[page.index('<section id="name">') :].partition("<details>")[2]
    assert 'name="colour" value="red" maxlength="9"' in more
    assert "A word that browsers know." in more
    send("/admin/settings/", **choices(colour="blue"))
    assert _read_chosen(kept) == {"colour": "blue"}
    assert settings.RULES.colour == "blue"
    assert describe_request(Job.objects.get()) == [("Colour of the pages", "blue")]
    page = send("/admin/settings/", method="get").text
    assert page.index("<details open>") < page.index('name="colour"')
    line = '# Colour of the pages. A word that browsers know.\n# colour = "red"'
    assert line in render_settings()
    (kept / "other.toml").write_text('color = "blue"')
    with pytest.raises(RecipeError, match=r"other.toml: .* 'color'; did you mean 'colour'"):
        Longer.read(kept / "other.toml")
    (kept / "other.toml").unlink()


def test_default_values_are_not_stored(database, send, kept):
    """So a default that changes later applies."""
    send("/admin/settings/", **choices(title="Graz", judges=5))
    send("/admin/settings/", **choices(judges=SiteRules().judges))
    assert _read_chosen(kept) == {"title": "Graz"}


def test_form_sent_twice_is_one_job(database, adam, visit):
    form, browser = {"key": new_key(), **choices(title="Graz")}, visit(adam)
    assert [browser.post("/admin/settings/", form).status_code for _ in "12"] == [302, 302]
    assert Job.objects.count() == 1


def test_simultaneous_edits_of_two_admins_are_merged(database, send, kept):
    """A form that was opened before another was saved changes only what was edited in it."""
    later = choices(judges=5, open_judging="")
    send("/admin/settings/", **choices(title="Graz"))
    assert send("/admin/settings/", **later).status_code == 302
    assert _read_chosen(kept) == {"title": "Graz", "judges": 5, "open_judging": False}
    assert Job.objects.latest("pk").asked == {"judges": 5, "open_judging": False}


def test_conflicting_settings_of_two_admins_are_refused(database, send, kept):
    later = choices(training_right=5)
    send("/admin/settings/", **choices(training_questions=4))
    answer = send("/admin/settings/", **later)
    assert answer.status_code == 422
    assert "nobody could pass" in answer.text
    assert _read_chosen(kept) == {"training_questions": 4}


def test_settings_that_cannot_be_written_are_not_logged(database, send, kept):
    before = settings.RULES
    (kept / PENDING).mkdir()
    try:
        answer = send("/admin/settings/", **choices(title="Graz"))
    finally:
        (kept / PENDING).rmdir()
    assert answer.status_code == 422
    assert PENDING in answer.text
    assert not Job.objects.exists()
    assert before == settings.RULES


def test_unreadable_settings_file_is_read_again_later(db, visit, kept):
    (kept / "elsewhere").write_text('{"title": "Twins of York"}')
    (kept / CHOSEN).mkdir()
    try:
        assert visit().get("/guidelines/").status_code == 200
    finally:
        (kept / CHOSEN).rmdir()
    (kept / "elsewhere").rename(kept / CHOSEN)
    assert "Twins of York" in visit().get("/guidelines/").text


def test_backup_contains_the_chosen_settings(kept):
    assert CHOSEN not in iter_site_files(kept)
    (kept / CHOSEN).write_text("{}")
    assert CHOSEN in iter_site_files(kept)
    assert is_site_file(CHOSEN)


def test_contact_is_shown_without_mailto():
    assert SiteRules(contact=" mailto:ada@example.org").contact == "ada@example.org"
    assert SiteRules(contact="https://example.org").contact == "https://example.org"
