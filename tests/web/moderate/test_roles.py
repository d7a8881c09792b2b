"""Judges, moderators, pauses: who changes what, and that it is written down."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.web.making import vote
from tests.web.working import work_off
from winosmith.errors import InputError
from winosmith.web.jobs import Job
from winosmith.web.judge.models import Judge, Slot
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.moderate.people import change_person, get_unfinished_decisions
from winosmith.web.people.models import Person, pseudonym


def _change_person(person: Any, other: Any, kind: str, reason: str = "because") -> Any:
    return change_person(person, other, kind, reason)


def test_moderators_make_judges_and_take_the_role_back(
    db: Any, person: Any, moderator: Any
) -> None:
    """A judge is made and unmade; both stand in the log with who and why."""
    eva, bob = moderator(), person("bob")
    _change_person(eva, bob, "judge", "reads well")
    bob.refresh_from_db()
    assert bob.is_judge
    _change_person(eva, bob, "no-judge", "asked for it")
    bob.refresh_from_db()
    assert not bob.is_judge
    assert [(a.kind, a.actor, a.reason) for a in bob.appointments.order_by("pk")] == [
        ("judge", eva, "reads well"),
        ("no-judge", eva, "asked for it"),
    ]


@pytest.mark.parametrize("kind", ["judge", "no-judge", "moderator", "no-moderator", "pause"])
def test_nobody_changes_admins_or_themselves(
    db: Any, person: Any, moderator: Any, kind: str
) -> None:
    """Admins are changed by nobody here, and nobody changes what they may do themselves."""
    eva, adam = moderator(), Person.objects.create_superuser("adam")
    other = Person.objects.create_superuser("abel")
    for who, whom in ((eva, adam), (eva, eva), (adam, adam), (adam, other)):
        with pytest.raises(
            InputError,
            match="can’t make this change",
        ):
            _change_person(who, whom, kind)


@pytest.mark.parametrize("kind", ["moderator", "no-moderator"])
def test_only_admins_make_moderators(db: Any, person: Any, moderator: Any, kind: str) -> None:
    """A moderator neither makes nor unmakes moderators; an admin does."""
    eva, adam = moderator(), Person.objects.create_superuser("adam")
    bob = person("bob", is_moderator=kind == "no-moderator")
    with pytest.raises(InputError, match="can’t make this change"):
        _change_person(eva, bob, kind)
    _change_person(adam, bob, kind)
    bob.refresh_from_db()
    assert bob.is_moderator == (kind == "moderator")


@pytest.mark.parametrize("role", [{}, {"is_judge": True}])
def test_others_appoint_nobody(db: Any, person: Any, role: dict[str, bool]) -> None:
    """Contributors and judges give no roles."""
    with pytest.raises(InputError, match="can’t make this change"):
        _change_person(person("ann", **role), person("bob"), "judge")


def test_people_without_an_account_never_judge(db: Any, moderator: Any) -> None:
    """An anonymous person gets no role."""
    with pytest.raises(InputError, match="can’t make this change"):
        _change_person(moderator(), Person.objects.create_anonymous(), "judge")


def test_a_paused_judge_gets_nothing_until_they_may_again(
    db: Any, person: Any, moderator: Any, twin: Any, do: Any
) -> None:
    """While paused a judge gets no problem; afterwards they do."""
    eva, bob = moderator(), person("bob", is_judge=True)
    do(eva, "let-through", twin()[0])
    _change_person(eva, bob, "pause", "gold missed")
    assert Judge.objects.get(person=bob).held
    assert lease_next_problem(bob) is None
    with pytest.raises(InputError):
        _change_person(eva, bob, "pause")
    _change_person(eva, bob, "resume", "talked it over")
    assert not Judge.objects.get(person=bob).held
    assert lease_next_problem(bob) is not None


def test_where_everybody_may_judge_the_page_says_what_stops_somebody(
    db: Any, rules: Any, person: Any, moderator: Any, visit: Any
) -> None:
    """Where the role of a judge changes nothing, a moderator reads that holding does."""
    eva, bob = visit(moderator()), person("bob")
    shown = []
    for everybody in (True, False):
        rules(open_judging=everybody)
        page = eva.get(f"/moderate/people/{pseudonym(bob)}/").content.decode()
        shown.append(
            "Anyone with an account can judge on this site, even without the judge role." in page
        )
    assert shown == [True, False]


@pytest.fixture
def voted(db: Any, person: Any, moderator: Any, twin: Any) -> tuple[Any, Any]:
    """Return a moderator, and a judge who gave a vote to each of six problems."""
    eva, bob = moderator(), person("bob", is_judge=True)
    for _ in range(3):
        for half in twin(state="judging"):
            vote(bob, half)
    return eva, bob


def _excluded(judge: Any) -> int:
    return Slot.objects.filter(holder=judge, excluded=True).count()


def test_many_votes_are_excluded_by_the_worker(voted: Any, visit: Any) -> None:
    """The judge's page shows how far it is; any moderator stops it, and lets it continue."""
    eva, bob = voted
    path = f"/moderate/people/{pseudonym(bob)}/"
    form = {"key": os.urandom(16).hex(), "kind": "exclude", "reason": "guesses"}
    assert visit(eva).post(f"{path}appoint/", form).headers["Location"] == path
    (made,) = get_unfinished_decisions(bob)
    assert (made.job.total, _excluded(bob)) == (6, 0)
    to = f"/moderate/jobs/{made.job.mark}/"
    assert f'hx-get="{to}"' in visit(eva).get(path).content.decode()
    assert "will start when the worker is free" in visit(eva).get(to).content.decode()
    for do, state in (("stop", "stopped"), ("retry", "running")):
        sent = visit(eva).post(to, {"key": os.urandom(16).hex(), "do": do})
        assert sent.headers["Location"] == path
        assert Job.objects.get().state == state
    work_off()
    assert (_excluded(bob), get_unfinished_decisions(bob)) == (6, [])
    assert visit(eva).get(to).headers["HX-Refresh"] == "true"
    job = Job.objects.get()
    assert (job.state, job.done) == ("done", 6)


def test_a_decision_that_is_overruled_changes_nothing_more(voted: Any) -> None:
    """Votes that were counted again stay so when the older decision is carried out once more."""
    eva, bob = voted
    first = _change_person(eva, bob, "exclude", "guesses")
    work_off()
    _change_person(eva, bob, "include", "a mistake")
    work_off()
    Job.objects.filter(pk=first.job.pk).update(state="running")
    work_off()
    assert _excluded(bob) == 0
    later = _change_person(eva, bob, "exclude", "guesses")
    Slot.objects.filter(holder=bob, problem=Slot.objects.latest("pk").problem).update(
        answered_at=later.at.replace(year=later.at.year + 1)
    )
    work_off()
    assert _excluded(bob) == 5
