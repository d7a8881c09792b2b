"""What contributors may do with their twins: send, revise, withdraw."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.agree import has_agreed
from winosmith.web.problems.hints import hints
from winosmith.web.problems.lookalikes import remember
from winosmith.web.problems.models import Done, Event, Problem, State, Twin
from winosmith.web.problems.once import once
from winosmith.web.problems.states import move, stay
from winosmith.web.write.checking import anchor_of, examine
from winosmith.web.write.drafts import revision
from winosmith.web.write.fields import Typed
from winosmith.web.write.models import Draft

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = [
    "Refused",
    "may_revise",
    "may_withdraw",
    "own_problems",
    "revise",
    "sent",
    "submit",
    "typed_of",
    "withdraw",
]

SOURCE = "crowd"
"""Of what is written on the site, in the data."""

OPEN = (State.HELD, State.JUDGING, State.REJECTED)
"""Where a half stands when a revision may help it."""

OF_THE_FORM = ("domain", "options differ")
"""Checks of fields that no half has; the other ones of both halves wait until both are written."""

GONE = (State.WITHDRAWN, State.REVISED)


class Refused(InputError):  # noqa: N818
    """A twin that breaks rules; `faults` has what to do, by the field of the form."""

    def __init__(self, faults: dict[str, list[str]]):
        self.faults = faults
        super().__init__(" ".join(text for texts in faults.values() for text in texts))


def submit(
    person: Person,
    typed: Typed,
    key: str,
    *,
    topic: str = "",
    anchors: Sequence[str] = (),
    revises: Twin | None = None,
    before: Callable[[], object] | None = None,
) -> Twin:
    """Make a twin of what was typed, once for a key, and give it to the judges or a moderator.

    Its draft (the one whose `ref` is the key) goes with the same transaction.

    Args:
        person: the contributor, who has agreed to the texts that hold now.
        typed: both halves.
        key: of the form; sent again, it returns the same twin.
        topic: the title of the topic.
        anchors: the words that were drawn from it; empty for none.
        revises: a twin of the same person that this one replaces.
        before: what must succeed first, in the same transaction (a rate limit).

    Raises:
        Refused: a rule is broken; nothing was written.
        InputError: the person has not agreed to the texts, or may not revise that twin.
    """

    def act() -> dict[str, str]:
        if not has_agreed(person):
            raise InputError(_("Agree to the site's texts first; what you typed is kept."))
        if faults := _faults(typed, anchors):
            raise Refused(faults)
        if before:
            before()
        twin = _made(person, typed, topic, anchors, revises)
        Draft.objects.filter(person=person, ref=key).delete()
        return {"twin": twin.ref}

    result, _new = once(person, key, act)
    return Twin.objects.get(ref=result["twin"])


def sent(person: Person | None, key: str) -> str:
    """Return the `ref` of the twin that came of a form; "" when it was not sent."""
    done = Done.objects.filter(person=person, key=key).first() if person else None
    return str(done.result.get("twin", "")) if done else ""


def own_problems(person: Person | None, twin: Twin) -> list[Problem]:
    """Return the halves of a twin that its contributor may know of, and nobody else's."""
    if person is None or twin.contributor_id != person.pk:
        return []
    return list(Problem.objects.filter(twin=twin, gold=False).order_by("pk"))


def may_withdraw(person: Person, twin: Twin) -> bool:
    """Tell whether there is something of the twin that the person can withdraw."""
    return bool(_left(person, twin))


def _left(person: Person, twin: Twin) -> list[Problem]:
    """Return the halves that the person can withdraw.

    Those are the ones that stand, and those that a moderator withdrew, lest another moderator
    brings back what its contributor wants gone.
    """
    return [
        half
        for half in own_problems(person, twin)
        if half.state not in GONE
        or (
            half.state == State.WITHDRAWN
            and not half.events.filter(actor=person, kind="withdraw").exists()
        )
    ]


def withdraw(person: Person, twin: Twin, reason: str = "") -> None:
    """Take both halves back: nobody but moderators and the contributor sees them any more.

    Raises:
        InputError: the twin is not the person's, or nothing of it is left to withdraw.
    """
    with writing():
        left = _left(person, twin)
        if not left:
            raise InputError(_("There is nothing to withdraw here."))
        for problem in left:
            if problem.state == State.WITHDRAWN:
                stay(problem, by=person, kind="withdraw", reason=reason)
            else:
                _retire(person, problem, State.WITHDRAWN, "withdraw", reason)
        Draft.objects.filter(revises=twin).delete()


def may_revise(person: Person, twin: Twin) -> bool:
    """Tell whether a revision may help the twin: a half waits or was rejected, none is released."""
    problems = [half for half in own_problems(person, twin) if half.state not in GONE]
    return (
        any(problem.state in OPEN for problem in problems)
        and not any(problem.released for problem in problems)
        and not Twin.objects.filter(revises=twin).exists()
    )


def revise(person: Person, twin: Twin) -> Draft:
    """Return the draft that revises a twin, filled with it.

    Raises:
        InputError: the twin can't be revised by this person.
    """
    with writing():
        if not may_revise(person, twin):
            raise InputError(_("This twin can't be revised: it is decided, replaced or withdrawn."))
        return revision(person, twin, typed_of(twin))


def typed_of(twin: Twin) -> Typed:
    """Return a twin as it was typed; a half that is missing is empty."""
    problems = list(twin.problems.order_by("pk"))
    options = tuple(problems[0].options[:2]) if problems else ("", "")
    form: dict[str, object] = {"domain": twin.domain, "answer_1": "", "answer_2": ""}
    form |= {f"option_{number}": option for number, option in enumerate(options, 1)}
    for number, problem in enumerate(problems[:2], 1):
        form[f"sentence_{number}"] = problem.sentence
        form[f"answer_{number}"] = "" if problem.answer is None else problem.answer
    return Typed.of(form)


def _faults(typed: Typed, anchors: Sequence[str]) -> dict[str, list[str]]:
    """Return what to do, by field; of a half that is empty no more than to write it."""
    open_checks = [check for check in examine(typed, anchors) if check.verdict != "pass"]
    first = [
        check
        for check in open_checks
        if (check.half is None or typed.sentences[check.half] or check.rule == "blank")
        and (check.verdict == "fail" or check.half is not None or check.rule in OF_THE_FORM)
    ]
    faults: dict[str, list[str]] = {}
    for check in first or open_checks:
        if check.advice not in faults.setdefault(check.field, []):
            faults[check.field].append(check.advice)
    return faults


def _made(
    person: Person, typed: Typed, topic: str, anchors: Sequence[str], revises: Twin | None
) -> Twin:
    """Write the twin, its halves in random order, and what it replaces."""
    from winosmith.web.judge.seen import inherit_seen
    from winosmith.web.judge.slots import open_slots

    embargo = _replace(person, revises) if revises else False
    twin = Twin.objects.create(
        ref=secrets.token_hex(8),
        contributor=person,
        source=SOURCE,
        domain=typed.domain,
        topic=topic[:200],
        anchor=anchor_of(typed.sentences, anchors)[:200],
        licence=settings.RULES.licence[:60],
        revises=revises,
    )
    halves = list(typed.halves())
    found = hints(halves, person, without=twin.revises_id)
    state = _first_state(person, found)
    secrets.SystemRandom().shuffle(halves)
    for half in halves:
        problem = Problem.objects.create(
            ref=secrets.token_hex(8),
            twin=twin,
            sentence=half.sentence,
            options=list(half.options),
            answer=half.answer,
            state=state,
            hints=found,
            embargo=embargo,
        )
        kind = "revise" if revises else "submit"
        Event.objects.create(problem=problem, actor=person, kind=kind, after=state)
        remember(problem)
        if state == State.JUDGING:
            open_slots(problem)
    if revises:
        inherit_seen(revises, twin)
    return twin


def _first_state(person: Person, found: Sequence[str]) -> Any:
    review = settings.RULES.review
    held = review == "all" or (review == "flagged" and (person.anonymous or bool(found)))
    return State.HELD if held else State.JUDGING


def _replace(person: Person, twin: Twin) -> bool:
    """Move the halves that a revision replaces; tell whether one was under embargo."""
    if not may_revise(person, twin):
        raise InputError(_("This twin was decided or replaced meanwhile; it can't be revised."))
    problems = own_problems(person, twin)
    for problem in problems:
        if problem.state not in GONE:
            _retire(person, problem, State.REVISED, "revise", "")
    return any(problem.embargo for problem in problems)


def _retire(person: Person, problem: Problem, to: Any, kind: str, reason: str) -> None:
    from winosmith.web.judge.slots import close_slots

    event = move(problem, State(to), by=person, kind=kind, reason=reason)
    if event.before == State.JUDGING:
        close_slots(problem)
