"""The setup steps of a site, its statistics and its plots."""

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
from winosmith.web.run.dashboard import (
    compute_statistics,
    count_incomplete,
    draw_plots,
    list_setup_steps,
    make_funnel_rows,
)

pytestmark = pytest.mark.usefixtures("db")


def _get_steps() -> dict[str, bool]:
    return {step.link_text: step.is_done for step in list_setup_steps()}


def test_new_site_has_five_incomplete_steps(adam):
    assert count_incomplete(list_setup_steps()) == 5
    assert not any(done for act, done in _get_steps().items() if act != "Models")


def test_each_step_is_completed_by_its_action(adam, person):
    named = replace(settings.RULES, title="Graz", contact="a@b.example", training_questions=1,
                    training_right=1)  # fmt: skip
    with override_settings(RULES=named):
        assert _get_steps()["Name and contact"]
        change_settings(adam, {})
        assert _get_steps()["Rules"]
        import_problems(make_twins(1), "judging")
        assert _get_steps()["Import problems"]
        half = single("g-a", state="held")
        assert not _get_steps()["Import gold questions"]
        add_gold(half, "Cups fall.")
        assert _get_steps()["Import gold questions"]
        person("ann")
        assert _get_steps()["Invitations"]
        create_job(adam, "backup", {})
        assert _get_steps()["Backups"]


def test_gold_step_needs_the_questions_of_the_training(adam, monkeypatch):
    for n in range(2):
        add_gold(single(f"g{n}", state="held"), "Cups fall.")
    found = []
    for wanted in (5, 2, 1):
        rules = replace(settings.RULES, training_questions=wanted, training_right=1)
        monkeypatch.setattr(settings, "RULES", rules)
        found.append(_get_steps()["Import gold questions"])
    assert found == [False, True, True]


def test_site_toml_without_rules_leaves_the_step_incomplete(adam, monkeypatch):
    for fixed, done in (({"title", "mail"}, False), ({"judges"}, True)):
        monkeypatch.setattr(settings, "SITE", replace(settings.SITE, fixed=frozenset(fixed)))
        assert _get_steps()["Rules"] is done


def test_old_backup_makes_the_step_incomplete(adam):
    """A backup counts for a week."""
    create_job(adam, "backup", {})
    Job.objects.update(at=datetime.now(UTC) - timedelta(days=8))
    assert not _get_steps()["Backups"]


def test_first_admin_is_led_to_the_steps(visit):
    sent = {"name": "adam", "password": "cups-jugs", "again": "cups-jugs"}
    answer = visit().post(get_first_admin_path(30), sent)
    assert answer["Location"] == "/admin/"


def test_every_page_links_an_admin_to_the_admin_pages(adam, visit):
    """Django's tables are linked only from the first admin page."""
    page = visit(adam).get("/").text
    assert 'href="/admin/"' in page
    assert "/admin/tables/" not in page
    assert 'href="/admin/tables/"' in visit(adam).get("/admin/").text


NOW = datetime(2026, 3, 31, 15, tzinfo=UTC)


def _make_problem(n: int, day: int, *moves: tuple[int, str]) -> Any:
    """Create a problem submitted on a day of March, with later moves to other states."""
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


def test_statistics_count_submissions_verdicts_and_backlog():
    """The backlog of a day is counted at its end."""
    _make_problem(1, 20, (25, "valid"))
    _make_problem(2, 20, (25, "rejected"))
    _make_problem(3, 21, (23, "withdrawn"))
    _make_problem(4, 31)
    _make_problem(5, 1)  # before the period, and still waiting
    found = compute_statistics(NOW)
    assert (found.days[0].isoformat(), found.days[-1].isoformat()) == ("2026-03-02", "2026-03-31")
    at = {day.day: n for n, day in enumerate(found.days)}
    assert [found.submitted[at[day]] for day in (20, 21, 31)] == [2, 1, 1]
    assert (sum(found.submitted), sum(found.valid), sum(found.rejected)) == (4, 1, 1)
    assert (found.valid[at[25]], found.rejected[at[25]]) == (1, 1)
    assert [found.backlog[at[day]] for day in (2, 19, 20, 21, 22, 23, 25, 30, 31)] == [
        1, 1, 3, 4, 4, 3, 1, 1, 2,
    ]  # fmt: skip
    assert [step[1:] for step in make_funnel_rows(found)] == [(4, None), (2, 100.0), (1, 50.0)]


def test_statistics_count_votes_agreement_and_people(person):
    """Votes count on their day, agreement on the day of the verdict, and people once a day."""
    people = [person(name) for name in ("ann", "bob")]
    problem = _make_problem(1, 20, (25, "valid"))
    for n, who in enumerate(people):
        vote(who, problem, n=n, answered_at=datetime(2026, 3, 24, 9 + n, tzinfo=UTC))
    vote(None, problem, n=9, gold=True, answered_at=datetime(2026, 3, 24, tzinfo=UTC))
    Verdict.objects.create(problem=problem, counts="2,1", valid=True,
                           at=datetime(2026, 3, 25, tzinfo=UTC))  # fmt: skip
    Twin.objects.create(ref="w", contributor=people[0], created=datetime(2026, 3, 24, tzinfo=UTC))
    Twin.objects.create(ref="x", contributor=people[1], created=datetime(2026, 3, 26, tzinfo=UTC))
    found = compute_statistics(NOW)
    at = {day.day: n for n, day in enumerate(found.days)}
    assert (found.votes[at[24]], sum(found.votes)) == (2, 2)
    assert found.agreement[at[25]] == pytest.approx(2 / 3)
    assert [one for one in found.agreement if one is not None] == [found.agreement[at[25]]]
    assert (found.judge_counts[at[24]], found.writer_counts[at[24]]) == (2, 0)
    assert (found.judge_counts[at[26]], found.writer_counts[at[26]]) == (0, 1)


def test_every_plot_has_a_table_and_a_description(adam, visit):
    _make_problem(1, 20, (25, "valid"))
    shown = draw_plots(compute_statistics(NOW))
    assert len(shown) == 6
    for plot in shown:
        assert len(plot["rows"]) == 30
        assert all(len(numbers) == len(plot["parts"]) for _day, numbers in plot["rows"])
        drawn = plot["drawing"]
        ends = [(bar["y"], bar["y"] + bar["height"]) for bar in drawn["bars"]]
        assert all(high >= 0 and low <= drawn["base"] + 0.1 for high, low in ends)
    told = {plot["key"]: plot["drawing"]["description"] for plot in shown}
    assert told["submitted"] == "Submitted: 20 Mar 2026: 1"
    page = visit(adam).get("/admin/dashboard/").text
    assert page.count("<svg") == page.count('role="img"') == 6
    assert page.count("<details>") == 6


def test_unchanged_settings_form_changes_nothing():
    form = SettingsForm(choices())
    assert form.is_valid(), form.errors
    assert form.get_changes() == {}
