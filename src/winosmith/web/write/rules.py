"""What contributors may do with their twins: send, revise, withdraw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.submissions import enter, may_revise, replace
from winosmith.web.people.consent import has_agreed
from winosmith.web.people.gates import once
from winosmith.web.people.models import Done
from winosmith.web.problems.checks import Refused, by_field, hints
from winosmith.web.problems.models import Twin, new_ref
from winosmith.web.write.checking import Typed, anchor_of, examine
from winosmith.web.write.drafts import revision
from winosmith.web.write.models import Draft

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

SOURCE = "crowd"
"""Of what is written on the site, in the data."""

OF_THE_FORM = ("domain", "options differ")
"""Checks of fields that no half has; the other ones of both halves wait until both are written."""


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
    # The texts are read before one's turn to write comes: others need not wait for that.
    faults = _faults(typed, anchors)
    found = [] if faults else hints(typed.halves(), person, without=revises and revises.pk)

    def act() -> dict[str, str]:
        if not has_agreed(person):
            raise InputError(_("Agree to the site's texts first; what you typed is kept."))
        if faults:
            raise Refused(faults)
        if before:
            before()
        made.append(_made(person, typed, topic, anchors, revises, found))
        Draft.objects.filter(person=person, ref=key).delete()
        return {"twin": made[0].ref}

    made: list[Twin] = []
    result, _new = once(person, key, "twin", act)
    return made[0] if made else Twin.objects.get(ref=result["twin"])


def sent(person: Person | None, key: str) -> str:
    """Return the `ref` of the twin that came of a form; "" when it was not sent."""
    done = Done.objects.filter(person=person, key=key).first() if person else None
    return str(done.result.get("twin", "")) if done else ""


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
    open_checks = [check for check in examine(typed, anchors) if check.verdict in ("fail", "todo")]
    first = [
        check
        for check in open_checks
        if (check.half is None or typed.sentences[check.half] or check.rule == "blank")
        and (check.verdict == "fail" or check.half is not None or check.rule in OF_THE_FORM)
    ]
    return by_field(first or open_checks)


def _made(
    person: Person,
    typed: Typed,
    topic: str,
    anchors: Sequence[str],
    revises: Twin | None,
    found: Sequence[str],
) -> Twin:
    """Write the twin, its halves in random order, and what it replaces."""
    embargo = replace(person, revises) if revises else False
    twin = Twin.objects.create(
        ref=new_ref(),
        contributor=person,
        source=SOURCE,
        domain=typed.domain,
        topic=topic[:200],
        anchor=anchor_of(typed.sentences, anchors)[:200],
        licence=settings.RULES.licence[:60],
        revises=revises,
    )
    enter(twin, typed.halves(), found, embargo=embargo)
    return twin
