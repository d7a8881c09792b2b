"""Judges, moderators, pauses: who changes what, and that it is written down."""

from __future__ import annotations

from typing import Any

import pytest

from winosmith.errors import InputError


def _appoint(person: Any, other: Any, kind: str, reason: str = "because") -> Any:
    from winosmith.web.moderate.roles import appoint

    return appoint(person, other, kind, reason)


def test_moderators_make_judges_and_take_the_role_back(
    db: Any, person: Any, moderator: Any
) -> None:
    """A judge is made and unmade; both stand in the log with who and why."""
    eva, bob = moderator(), person("bob")
    _appoint(eva, bob, "judge", "reads well")
    bob.refresh_from_db()
    assert bob.is_judge
    _appoint(eva, bob, "no-judge", "asked for it")
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
    from winosmith.web.people.models import Person

    eva, adam = moderator(), Person.objects.create_superuser("adam")
    other = Person.objects.create_superuser("abel")
    for who, whom in ((eva, adam), (eva, eva), (adam, adam), (adam, other)):
        with pytest.raises(InputError, match="can't do that"):
            _appoint(who, whom, kind)


@pytest.mark.parametrize("kind", ["moderator", "no-moderator"])
def test_only_admins_make_moderators(db: Any, person: Any, moderator: Any, kind: str) -> None:
    """A moderator neither makes nor unmakes moderators; an admin does."""
    from winosmith.web.people.models import Person

    eva, adam = moderator(), Person.objects.create_superuser("adam")
    bob = person("bob", is_moderator=kind == "no-moderator")
    with pytest.raises(InputError, match="can't do that"):
        _appoint(eva, bob, kind)
    _appoint(adam, bob, kind)
    bob.refresh_from_db()
    assert bob.is_moderator == (kind == "moderator")


@pytest.mark.parametrize("role", [{}, {"is_judge": True}])
def test_others_appoint_nobody(db: Any, person: Any, role: dict[str, bool]) -> None:
    """Contributors and judges give no roles."""
    with pytest.raises(InputError, match="can't do that"):
        _appoint(person("ann", **role), person("bob"), "judge")


def test_people_without_an_account_never_judge(db: Any, moderator: Any) -> None:
    """An anonymous person gets no role."""
    from winosmith.web.people.models import Person

    with pytest.raises(InputError, match="can't do that"):
        _appoint(moderator(), Person.objects.create_anonymous(), "judge")


def test_a_paused_judge_gets_nothing_until_they_may_again(
    db: Any, person: Any, moderator: Any, twin: Any, do: Any
) -> None:
    """While paused a judge claims no problem; afterwards they do."""
    from winosmith.web.judge.slots import claim
    from winosmith.web.moderate.votes import is_paused

    eva, bob = moderator(), person("bob", is_judge=True)
    do(eva, "let-through", twin()[0])
    _appoint(eva, bob, "pause", "gold missed")
    assert is_paused(bob)
    assert _claimed(claim, bob) is None
    with pytest.raises(InputError):
        _appoint(eva, bob, "pause")
    _appoint(eva, bob, "resume", "talked it over")
    assert not is_paused(bob)
    assert _claimed(claim, bob) is not None


def _claimed(claim: Any, person: Any) -> Any:
    try:
        return claim(person)
    except InputError:
        return None
