"""Changes of roles, pauses and exclusions: who may decide, and what is logged."""

import os
from typing import Any

import pytest

from tests.web.making import fresh, vote
from tests.web.working import work_off
from winosmith.errors import InputError
from winosmith.web.jobs import Job
from winosmith.web.judge.models import Slot
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.moderate.people import change_person, get_unfinished_decisions
from winosmith.web.people.models import Person, get_pseudonym


def _change_person(person: Any, other: Any, kind: str, reason: str = "because") -> Any:
    return change_person(person, other, kind, reason)


def test_moderators_grant_and_revoke_the_judge_role(db: Any, eva: Any, bob: Any) -> None:
    _change_person(eva, bob, "judge", "reads well")
    assert fresh(bob).is_judge
    _change_person(eva, bob, "no-judge", "asked for it")
    assert not fresh(bob).is_judge
    assert [(a.kind, a.actor, a.reason) for a in bob.appointments.order_by("pk")] == [
        ("judge", eva, "reads well"),
        ("no-judge", eva, "asked for it"),
    ]


@pytest.mark.parametrize("kind", ["judge", "no-judge", "moderator", "no-moderator", "pause"])
def test_own_role_and_admins_cannot_be_changed(db: Any, eva: Any, kind: str, adam: Any) -> None:
    other = Person.objects.create_user("abel", is_superuser=True)
    for who, whom in ((eva, adam), (eva, eva), (adam, adam), (adam, other)):
        with pytest.raises(InputError, match="can’t make this change"):
            _change_person(who, whom, kind)


@pytest.mark.parametrize("kind", ["moderator", "no-moderator"])
def test_only_admins_grant_and_revoke_the_moderator_role(
    db: Any, person: Any, eva: Any, kind: str, adam: Any
) -> None:
    bob = person("bob", is_moderator=kind == "no-moderator")
    with pytest.raises(InputError, match="can’t make this change"):
        _change_person(eva, bob, kind)
    _change_person(adam, bob, kind)
    assert fresh(bob).is_moderator == (kind == "moderator")


def test_anonymous_people_get_no_role(db: Any, eva: Any) -> None:
    with pytest.raises(InputError, match="can’t make this change"):
        _change_person(eva, Person.objects.create_anonymous(), "judge")


def test_paused_judge_gets_no_problem_until_resumed(
    db: Any, bob: Any, eva: Any, twin: Any, do: Any
) -> None:
    do(eva, "let-through", twin()[0])
    _change_person(eva, bob, "pause", "gold missed")
    assert lease_next_problem(bob) is None
    with pytest.raises(InputError):
        _change_person(eva, bob, "pause")
    _change_person(eva, bob, "resume", "talked it over")
    assert lease_next_problem(bob) is not None


def test_page_of_a_person_says_if_everyone_can_judge(
    db: Any, rules: Any, bob: Any, eva: Any, visit: Any
) -> None:
    """Then revoking the judge role has no effect; only a hold stops the person."""
    said = "Anyone with an account can judge on this site, even without the judge role."
    for everybody in (True, False):
        rules(open_judging=everybody)
        page = visit(eva).get(f"/moderate/people/{get_pseudonym(bob)}/").content.decode()
        assert (said in page) is everybody


@pytest.fixture
def six_votes(db: Any, bob: Any, twin: Any) -> None:
    """Make votes of bob on six problems."""
    for half in [*twin(state="judging"), *twin(state="judging"), *twin(state="judging")]:
        vote(bob, half)


def _excluded(judge: Any) -> int:
    return Slot.objects.filter(holder=judge, excluded=True).count()


def test_worker_excludes_many_votes(six_votes: None, eva: Any, bob: Any, visit: Any) -> None:
    """The judge's page shows the progress. Any moderator can stop and resume the job."""
    path = f"/moderate/people/{get_pseudonym(bob)}/"
    form = {"key": os.urandom(16).hex(), "kind": "exclude", "reason": "guesses"}
    assert visit(eva).post(f"{path}appoint/", form).headers["Location"] == path
    (made,) = get_unfinished_decisions(bob)
    assert (made.job.total, _excluded(bob)) == (6, 0)
    to = f"/moderate/jobs/{made.job.mark}/"
    assert f'hx-get="{to}"' in visit(eva).get(path).content.decode()
    assert "The job is queued" in visit(eva).get(to).content.decode()
    for do, state in (("stop", "stopped"), ("retry", "running")):
        sent = visit(eva).post(to, {"key": os.urandom(16).hex(), "do": do})
        assert sent.headers["Location"] == path
        assert Job.objects.get().state == state
    work_off()
    assert (_excluded(bob), get_unfinished_decisions(bob)) == (6, [])
    assert visit(eva).get(to).headers["HX-Refresh"] == "true"
    assert Job.objects.values_list("state", "done").get() == ("done", 6)


def test_overruled_decision_changes_nothing_when_run_again(
    six_votes: None, eva: Any, bob: Any
) -> None:
    """A decision applies only to votes that were given before it."""
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
