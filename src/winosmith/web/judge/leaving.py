"""What becomes of what somebody wrote and judged: told to them, hidden, adopted, or erased."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from winosmith.web.judge.entering import may_withdraw, withdraw
from winosmith.web.judge.exclusion import drop_waiting
from winosmith.web.judge.models import Contest, Judge, Seen, Skip, Slot
from winosmith.web.judge.slots import close_slots, give_back
from winosmith.web.people.models import Person
from winosmith.web.problems.lookalikes import forget
from winosmith.web.problems.models import (
    ERASED_OPTIONS,
    ERASED_SENTENCE,
    Event,
    Problem,
    State,
    Twin,
    Version,
)
from winosmith.web.problems.states import move, visible_to

HIDDEN = gettext_noop("the contributor hid everything they wrote")
"""The reason in the log, in the site's language; it is translated for whoever reads it."""


def problems_of(person: Person) -> list[dict[str, Any]]:
    """Return somebody's problems with what was done to each, in three statements however many."""
    events: dict[int, list[Event]] = defaultdict(list)
    for event in Event.objects.filter(problem__twin__contributor=person).order_by("pk"):
        events[event.problem_id].append(event)
    versions = {
        version.problem_id: version
        for version in Version.objects.filter(problem__twin__contributor=person).select_related(
            "root", "parent"
        )
    }
    rows = Problem.objects.filter(twin__contributor=person, gold=False)
    return [
        _problem(row, events[row.pk]) | _family(versions.get(row.pk))
        for row in rows.select_related("twin").order_by("pk")
    ]


def _problem(row: Problem, events: list[Event]) -> dict[str, Any]:
    return {
        "id": row.ref,
        "twin": row.twin.ref,
        "sentence": row.sentence,
        "options": row.options,
        "answer": row.answer,
        "state": row.state,
        "reasons": row.reasons,
        "topic": row.twin.topic,
        "anchor": row.twin.anchor,
        "domain": row.twin.domain,
        "licence": row.twin.licence,
        "created": row.created,
        "history": [
            {"at": e.at, "what": e.kind, "after": e.after, "reason": e.reason} for e in events
        ],
    }


def _family(version: Version | None) -> dict[str, Any]:
    """Return a perturbed problem's place in its family; the words of its parent are another's."""
    if version is None or version.parent is None:
        return {}
    depths = {name: getattr(version, name) for name in ("declared", "lineage", "edit")}
    return {"root": version.root.ref, "parent": version.parent.ref, "depths": depths}


def name_of(person: Person, problem: Problem | None) -> str | None:
    """Return the id of a problem that a person may see."""
    return problem.ref if problem is not None and visible_to(person, problem) else None


def hide_texts(person: Person) -> int:
    """Withdraw everything that somebody wrote; return how many twins."""
    twins = [t for t in Twin.objects.filter(contributor=person) if may_withdraw(person, t)]
    for twin in twins:
        withdraw(person, twin, HIDDEN)
    return len(twins)


def adopt_texts(account: Person, anonymous: Person) -> None:
    """Give what was written without an account to one; withdraw what that one has read already."""
    twins = Twin.objects.filter(contributor=anonymous)
    read = list(twins.filter(pk__in=Seen.objects.filter(person=account).values("twin")))
    Slot.objects.filter(contributor=anonymous).update(contributor=account)
    twins.update(contributor=account)
    Event.objects.filter(actor=anonymous).update(actor=account)
    for twin in read:
        twin.contributor = account
        if may_withdraw(account, twin):
            withdraw(account, twin, _("its contributor has read it as a judge"))


def erase_judge(person: Person, texts: bool) -> bool:
    """Forget how somebody judged, and blank what they wrote where `texts` says so.

    Returns:
        Whether sentences of theirs stay.
    """
    _drop_traces(person)
    if texts:
        _blank(person)
    left = Problem.objects.filter(twin__contributor=person).exclude(sentence=ERASED_SENTENCE)
    return bool(left.exists())


def _drop_traces(person: Person) -> None:
    """Delete what only concerns the person, and the words that they added to answers."""
    for slot in Slot.objects.filter(holder=person, answered_at=None):
        give_back(slot)
    Slot.objects.filter(holder=person).update(
        comment="", seconds=None, local_seconds=None, taken_at=None, local_at=None, origin=""
    )
    Skip.objects.filter(person=person).update(comment="")
    Contest.objects.filter(slot__holder=person).update(text="")
    drop_waiting(person)
    for model in (Seen, Judge):
        model.objects.filter(person=person).delete()


def _blank(person: Person) -> None:
    """Withdraw and blank what is not released; the rows stay for the counts and the log."""
    unreleased = Problem.objects.filter(twin__contributor=person, released=False)
    for problem in unreleased.select_related("twin"):
        if problem.state not in (State.WITHDRAWN, State.REVISED):
            event = move(problem, State(State.WITHDRAWN), by=person, kind="erase")
            if event.before == State.JUDGING:
                close_slots(problem)
        forget(problem)
    _blank_families(unreleased)
    unreleased.update(
        sentence=ERASED_SENTENCE, options=ERASED_OPTIONS, answer=None, hints=[], record={}
    )
    for version in Version.objects.filter(problem__in=unreleased, parent__isnull=False):
        lineage = {"root": version.root.ref, "parent": version.parent.ref}
        record = {"single": True, "lineage": lineage}
        Problem.objects.filter(pk=version.problem_id).update(record=record)
    Event.objects.filter(problem__in=unreleased, actor=person).update(reason="")
    released = Problem.objects.filter(twin__contributor=person, released=True).values("twin")
    Twin.objects.filter(contributor=person).exclude(pk__in=released).update(
        topic="", anchor="", domain=""
    )


def _blank_families(problems: QuerySet[Problem]) -> None:
    """Forget what would spell erased texts again: edits from them, and digests.

    What others perturbed from them stays, with its root, its parent and its depths.
    """
    versions = Version.objects.filter(problem__in=problems)
    for child in Problem.objects.filter(version__parent__in=problems).exclude(pk__in=problems):
        lineage = {k: v for k, v in (child.record.get("lineage") or {}).items() if k != "edits"}
        if lineage:
            child.record = {**child.record, "lineage": lineage}
            child.save(update_fields=["record"])
    versions.update(digest="")
