"""Judges, moderators, pauses: who changes what, and that it is written down."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from winosmith.errors import InputError
from winosmith.web.judge.models import Judge, Slot
from winosmith.web.judge.turns import next_problem
from winosmith.web.moderate.people import appoint, carry_out, unfinished
from winosmith.web.people.models import Person, pseudonym


def _appoint(person: Any, other: Any, kind: str, reason: str = "because") -> Any:
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
    eva, adam = moderator(), Person.objects.create_superuser("adam")
    other = Person.objects.create_superuser("abel")
    for who, whom in ((eva, adam), (eva, eva), (adam, adam), (adam, other)):
        with pytest.raises(
            InputError,
            match="can’t make this change",
        ):
            _appoint(who, whom, kind)


@pytest.mark.parametrize("kind", ["moderator", "no-moderator"])
def test_only_admins_make_moderators(db: Any, person: Any, moderator: Any, kind: str) -> None:
    """A moderator neither makes nor unmakes moderators; an admin does."""
    eva, adam = moderator(), Person.objects.create_superuser("adam")
    bob = person("bob", is_moderator=kind == "no-moderator")
    with pytest.raises(InputError, match="can’t make this change"):
        _appoint(eva, bob, kind)
    _appoint(adam, bob, kind)
    bob.refresh_from_db()
    assert bob.is_moderator == (kind == "moderator")


@pytest.mark.parametrize("role", [{}, {"is_judge": True}])
def test_others_appoint_nobody(db: Any, person: Any, role: dict[str, bool]) -> None:
    """Contributors and judges give no roles."""
    with pytest.raises(InputError, match="can’t make this change"):
        _appoint(person("ann", **role), person("bob"), "judge")


def test_people_without_an_account_never_judge(db: Any, moderator: Any) -> None:
    """An anonymous person gets no role."""
    with pytest.raises(InputError, match="can’t make this change"):
        _appoint(moderator(), Person.objects.create_anonymous(), "judge")


def test_a_paused_judge_gets_nothing_until_they_may_again(
    db: Any, person: Any, moderator: Any, twin: Any, do: Any
) -> None:
    """While paused a judge gets no problem; afterwards they do."""
    eva, bob = moderator(), person("bob", is_judge=True)
    do(eva, "let-through", twin()[0])
    _appoint(eva, bob, "pause", "gold missed")
    assert Judge.objects.get(person=bob).held
    assert next_problem(bob) is None
    with pytest.raises(InputError):
        _appoint(eva, bob, "pause")
    _appoint(eva, bob, "resume", "talked it over")
    assert not Judge.objects.get(person=bob).held
    assert next_problem(bob) is not None


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
            "Everybody with an account may judge on this site, with or without the role of a judge."
            in page
        )
    assert shown == [True, False]


@pytest.fixture
def voted(db: Any, person: Any, moderator: Any, twin: Any) -> tuple[Any, Any]:
    """Return a moderator, and a judge who gave a vote to each of six problems."""
    eva, bob = moderator(), person("bob", is_judge=True)
    for n in range(3):
        for half in twin(state="judging"):
            Slot.objects.create(
                problem=half, twin=half.twin, n=1, place=n, holder=bob, open=False, choice=0,
                taken_at=timezone.now(), answered_at=timezone.now(),
            )  # fmt: skip
    return eva, bob


def _excluded(judge: Any) -> int:
    return Slot.objects.filter(holder=judge, excluded=True).count()


def test_many_votes_are_taken_out_bit_by_bit(voted: Any, visit: Any) -> None:
    """What one request has no time for is told on the judge's page, and any moderator goes on."""
    eva, bob = voted
    path = f"/moderate/people/{pseudonym(bob)}/"
    made = _appoint(eva, bob, "exclude", "guesses")
    assert unfinished(bob) == (made, 6)
    carry_out(made, seconds=-1)
    assert _excluded(bob) == 0
    page = visit(eva).get(path).content.decode()
    assert "6 votes remain" in page
    assert "data-go-on" in page
    sent = visit(eva).post(f"{path}appoint/", {"kind": "go-on"})
    assert sent.headers["Location"] == path
    assert (_excluded(bob), unfinished(bob)) == (6, None)
    assert "left to do" not in visit(eva).get(path).content.decode()


def test_a_form_sent_again_overrules_nothing_later(voted: Any) -> None:
    """Votes that were counted again stay so when the older decision is carried out once more."""
    eva, bob = voted
    first = _appoint(eva, bob, "exclude", "guesses")
    carry_out(first)
    carry_out(_appoint(eva, bob, "include", "a mistake"))
    carry_out(first)
    assert _excluded(bob) == 0
    later = _appoint(eva, bob, "exclude", "guesses")
    Slot.objects.filter(holder=bob, problem=Slot.objects.latest("pk").problem).update(
        answered_at=later.at.replace(year=later.at.year + 1)
    )
    carry_out(later)
    assert _excluded(bob) == 5
