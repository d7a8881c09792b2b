"""What is to be done next on a site, by how it stands; and how it goes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from tests.web.making import single, vote
from tests.web.run.visits import choices
from winosmith.testing import make_twins
from winosmith.web.hosting import get_first_admin_path
from winosmith.web.importing import import_problems
from winosmith.web.jobs import Job, create_job
from winosmith.web.judge.models import Verdict
from winosmith.web.judge.trust import add_gold
from winosmith.web.problems.models import Event, Twin
from winosmith.web.run.choices import SettingsForm, change_settings
from winosmith.web.run.dashboard import compute_statistics, draw_plots, make_funnel_rows
from winosmith.web.run.steps import count_incomplete, list_setup_steps

pytestmark = pytest.mark.usefixtures("db")


def _standing() -> dict[str, bool]:
    return {step.link_text: step.is_done for step in list_setup_steps()}


def test_a_new_site_has_everything_before_it(adam: Any) -> None:
    """With nothing but its admin no step is done, and five of them are needed."""
    assert count_incomplete(list_setup_steps()) == 5
    assert not any(done for act, done in _standing().items() if act != "Models")


def test_each_step_is_done_by_what_it_asks_for(adam: Any, person: Any) -> None:
    """A name and a contact, rules that were looked at, problems, gold, people, a backup."""
    named = replace(settings.RULES, title="Graz", contact="a@b.example", training_questions=1,
                    training_right=1)  # fmt: skip
    with override_settings(RULES=named):
        assert _standing()["Name and contact"]
        change_settings(adam, {})
        assert _standing()["Rules"]
        import_problems(make_twins(1), "judging")
        assert _standing()["Import problems"]
        half = single("g-a", state="held")
        assert not _standing()["Import gold questions"]
        add_gold(half, "Cups fall.")
        assert _standing()["Import gold questions"]
        person("ann")
        assert _standing()["Invitations"]
        create_job(adam, "backup", {})
        assert _standing()["Backups"]


def test_more_gold_than_is_needed_is_told_as_a_number(
    adam: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of fewer it says of how many; of more than the training takes, how many there are."""
    for n in range(2):
        add_gold(single(f"g{n}", state="held"), "Cups fall.")
    told = []
    for wanted in (5, 2, 1):
        rules = replace(settings.RULES, training_questions=wanted, training_right=1)
        monkeypatch.setattr(settings, "RULES", rules)
        told += [
            step.state for step in list_setup_steps() if step.link_text == "Import gold questions"
        ]
    assert told == ["2 of the 5 needed for training", "2 for each judge", "2 for each judge"]


def test_a_site_toml_without_rules_is_no_look_at_them(
    adam: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that names the site alone, or a mail server, leaves the step to be done."""
    for fixed, done in (({"title", "mail"}, False), ({"judges"}, True)):
        monkeypatch.setattr(settings, "SITE", replace(settings.SITE, fixed=frozenset(fixed)))
        assert _standing()["Rules"] is done


def test_an_old_backup_is_none(adam: Any) -> None:
    """After a week the step is to be done again."""
    create_job(adam, "backup", {})
    Job.objects.update(at=datetime.now(UTC) - timedelta(days=8))
    assert not _standing()["Backups"]


def test_the_first_admin_comes_to_the_steps(visit: Any) -> None:
    """The link of the first start makes an account, and leads to what is to be done next."""
    sent = {"name": "adam", "password": "cups-jugs", "again": "cups-jugs"}
    answer = visit().post(get_first_admin_path(30), sent)
    assert answer["Location"] == "/admin/"


def test_every_page_of_an_admin_leads_to_these_pages(adam: Any, visit: Any) -> None:
    """The navigation names them; Django's tables are a link on the first of them alone."""
    page = visit(adam).get("/").content.decode()
    assert 'href="/admin/"' in page
    assert "/admin/tables/" not in page
    assert 'href="/admin/tables/"' in visit(adam).get("/admin/").content.decode()


NOW = datetime(2026, 3, 31, 15, tzinfo=UTC)


def _made(n: int, day: int, *moves: tuple[int, str]) -> Any:
    """Make a problem that came in on a day of March, and went on to states on later ones."""
    at = datetime(2026, 3, day, 12, tzinfo=UTC)
    twin = Twin.objects.create(ref=f"t{n}", created=at)
    state = moves[-1][1] if moves else "judging"
    row = single(f"p{n}", twin=twin, state=state, created=at)
    Event.objects.create(problem=row, kind="submit", after="judging", at=at)
    before = "judging"
    for when, after in moves:
        then = datetime(2026, 3, when, 12, tzinfo=UTC)
        Event.objects.create(problem=row, kind="verdict", before=before, after=after, at=then)
        before = after
    return row


def test_what_came_in_is_followed_until_it_is_decided() -> None:
    """Each day counts what came, what was found valid and what not, and what waited at its end."""
    _made(1, 20, (25, "valid"))
    _made(2, 20, (25, "rejected"))
    _made(3, 21, (23, "withdrawn"))
    _made(4, 31)
    _made(5, 1)  # before the time, and it waits still
    found = compute_statistics("days", NOW)
    assert (found.first[0].isoformat(), found.first[-1].isoformat()) == ("2026-03-02", "2026-03-31")
    at = {day.day: n for n, day in enumerate(found.first)}
    assert [found.submitted[at[day]] for day in (20, 21, 31)] == [2, 1, 1]
    assert (sum(found.submitted), sum(found.valid), sum(found.rejected)) == (4, 1, 1)
    assert (found.valid[at[25]], found.rejected[at[25]]) == (1, 1)
    assert [found.backlog[at[day]] for day in (2, 19, 20, 21, 22, 23, 25, 30, 31)] == [
        1, 1, 3, 4, 4, 3, 1, 1, 2,
    ]  # fmt: skip
    assert [step[1:] for step in make_funnel_rows(found)] == [(4, None), (2, 100.0), (1, 50.0)]
    weeks = compute_statistics("weeks", NOW)
    assert (sum(weeks.submitted), weeks.backlog[-1], len(weeks.first)) == (5, 2, 26)


def test_votes_agreement_and_people_are_counted(person: Any) -> None:
    """Votes by their day, agreement by the verdict's, people once however much they do."""
    people = [person(name) for name in ("ann", "bob")]
    problem = _made(1, 20, (25, "valid"))
    for n, who in enumerate(people):
        vote(who, problem, n=n, answered_at=datetime(2026, 3, 24, 9 + n, tzinfo=UTC))
    vote(None, problem, n=9, gold=True, answered_at=datetime(2026, 3, 24, tzinfo=UTC))
    Verdict.objects.create(problem=problem, counts="2,1", valid=True,
                           at=datetime(2026, 3, 25, tzinfo=UTC))  # fmt: skip
    Twin.objects.create(ref="w", contributor=people[0], created=datetime(2026, 3, 24, tzinfo=UTC))
    Twin.objects.create(ref="x", contributor=people[1], created=datetime(2026, 3, 26, tzinfo=UTC))
    found = compute_statistics("days", NOW)
    at = {day.day: n for n, day in enumerate(found.first)}
    assert (found.votes[at[24]], sum(found.votes)) == (2, 2)
    assert found.agreement[at[25]] == pytest.approx(2 / 3)
    assert [one for one in found.agreement if one is not None] == [found.agreement[at[25]]]
    assert (found.judge_counts[at[24]], found.writer_counts[at[24]]) == (2, 0)
    assert (found.judge_counts[at[26]], found.writer_counts[at[26]]) == (0, 1)


def test_every_plot_has_its_table_and_its_words(adam: Any, visit: Any) -> None:
    """What is drawn stands in a table with a row a day, and in the drawing's name."""
    _made(1, 20, (25, "valid"))
    shown = draw_plots(compute_statistics("days", NOW))
    assert len(shown) == 6
    for plot in shown:
        assert len(plot["rows"]) == 30
        assert all(len(numbers) == len(plot["parts"]) for _day, numbers in plot["rows"])
        drawn = plot["drawing"]
        ends = [(bar["y"], bar["y"] + bar["height"]) for bar in drawn["bars"]]
        assert all(high >= 0 and low <= drawn["base"] + 0.1 for high, low in ends)
    told = {plot["key"]: plot["drawing"]["description"] for plot in shown}
    assert told["submitted"] == "Submitted: 20 Mar 2026: 1"
    page = visit(adam).get("/admin/dashboard/").content.decode()
    assert page.count("<svg") == page.count('role="img"') == 6
    assert page.count("<details>") == 6


def test_the_settings_form_is_the_sites() -> None:
    """The form begins with what holds, so that saving it unchanged changes nothing."""
    form = SettingsForm(choices())
    assert form.is_valid(), form.errors
    assert form.get_changes() == {}
