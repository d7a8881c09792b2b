"""Submit twins for judging, and revise, withdraw, export and erase them."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.http import Http404
from django.utils.translation import gettext as _, gettext_noop

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.exclusion import exclude_pending_votes
from winosmith.web.judge.models import Contest, Judge, Seen, Skip, Slot, mark_revision_seen
from winosmith.web.judge.votes import close_slots, open_all_slots, return_slot
from winosmith.web.people.models import Person
from winosmith.web.problems import models
from winosmith.web.problems.lookalikes import AnyHalf, index_problems, unindex_problem
from winosmith.web.problems.models import Event, Problem, State, Twin, Version, make_ref
from winosmith.web.problems.states import REMOVED_STATES, is_visible_to, move

HIDDEN = gettext_noop("the contributor hid everything they wrote")
"""Reason stored in the log and translated for each reader."""

OPEN = (State.HELD, State.JUDGING, State.REJECTED)
"""States in which a revision of a problem is useful."""


def submit_twin(
    contributor: Person | None,
    halves: Sequence[AnyHalf],
    hints: Sequence[str],
    *,
    embargo: bool = False,
    record: Mapping[str, Any] | None = None,
    **columns: Any,
) -> list[Problem]:
    """Create a twin with its problems, and pass these to the judges or to a moderator.

    The problems are created in random order, so that their keys reveal nothing. They are added to
    the near-duplicate index. If the twin is a revision, readers of the old twin are recorded as its
    readers. The caller must be in a transaction.

    There are two halves, or one for a single problem. `hints`, `embargo` and `record` are stored
    with each `Problem`; `columns` are other fields of `Twin`.
    """
    licence = settings.RULES.licence[:60]
    twin = Twin.objects.create(ref=make_ref(), contributor=contributor, licence=licence, **columns)
    state = _choose_first_state(contributor, hints)
    entered = [
        Problem(
            ref=make_ref(),
            twin=twin,
            sentence=half.sentence,
            options=list(half.options),
            answer=half.answer,
            state=state,
            hints=list(hints),
            embargo=embargo,
            record=dict(record or {}),
        )
        for half in secrets.SystemRandom().sample(halves, len(halves))
    ]
    Problem.objects.bulk_create(entered)
    kind = "revise" if twin.revises_id else "submit"
    Event.objects.bulk_create(
        Event(problem=one, actor=contributor, kind=kind, after=state) for one in entered
    )
    index_problems(*entered, new=True)
    if state == State.JUDGING:
        open_all_slots(entered)
    if twin.revises:
        mark_revision_seen(twin.revises, twin)
    return entered


def get_own_halves(person: Person | None, twin: Twin) -> list[Problem]:
    if person is None or twin.contributor_id != person.pk:
        return []
    return list(Problem.objects.filter(twin=twin, gold=False).order_by("pk"))


def get_own_twin(person: Person | None, ref: str) -> Twin:
    found = Twin.objects.select_related("revises").filter(ref=ref, contributor=person).first()
    if found is None or not get_own_halves(person, found):
        raise Http404
    return found


def may_revise(person: Person, twin: Twin) -> bool:
    problems = [half for half in get_own_halves(person, twin) if half.state not in REMOVED_STATES]
    return (
        any(problem.state in OPEN for problem in problems)
        and not any(problem.released for problem in problems)
        and not Twin.objects.filter(revises=twin).exists()
    )


def retire_replaced_halves(person: Person, twin: Twin) -> bool:
    """Retire the halves that a revision replaces; return whether a half was under embargo."""
    if not may_revise(person, twin):
        raise InputError(_("This text has been decided or replaced; it can’t be revised."))
    problems = get_own_halves(person, twin)
    for problem in problems:
        if problem.state not in REMOVED_STATES:
            _retire_problem(person, problem, State("revised"), "revise")
    return any(problem.embargo for problem in problems)


def _retire_problem(
    person: Person, problem: Problem, state: State, kind: str, reason: str = ""
) -> None:
    """Move a problem to a state in which only moderators and its contributor can see it."""
    event = move(problem, state, actor=person, kind=kind, reason=reason)
    if event.before == State.JUDGING:
        close_slots(problem)


def _choose_first_state(person: Person | None, hints: Sequence[str]) -> Any:
    review = settings.RULES.review
    unknown = person is None or person.anonymous or person.hired
    held = review == "all" or (review == "flagged" and (unknown or bool(hints)))
    return State.HELD if held else State.JUDGING


def may_withdraw(person: Person, twin: Twin) -> bool:
    return bool(_find_withdrawable(person, twin))


def _find_withdrawable(person: Person, twin: Twin) -> list[Problem]:
    """Return the halves that a person can withdraw.

    These include halves that a moderator withdrew: after the contributor's own withdrawal, no
    moderator can restore them.
    """
    own = Event.objects.filter(actor=person, kind="withdraw")
    return [
        half
        for half in get_own_halves(person, twin)
        if half.state not in REMOVED_STATES
        or (half.state == State.WITHDRAWN and not own.filter(problem=half).exists())
    ]


def withdraw_twin(person: Person, twin: Twin, reason: str = "") -> None:
    with writing():
        left = _find_withdrawable(person, twin)
        if not left:
            raise InputError(_("There is nothing to withdraw here."))
        for problem in left:
            _retire_problem(person, problem, State("withdrawn"), "withdraw", reason)
        twin.drafts.all().delete()  # drafts of a revision


_EXPORTED_COLUMNS = ("sentence", "options", "answer", "state", "reasons")


def export_problems(person: Person) -> list[dict[str, Any]]:
    events: dict[int, list[Event]] = defaultdict(list)
    for event in Event.objects.filter(problem__twin__contributor=person).order_by("pk"):
        events[event.problem_id].append(event)
    rows = Problem.objects.filter(twin__contributor=person, gold=False)
    rows = rows.select_related("twin", "version__root", "version__parent").order_by("pk")
    found = []
    for row in rows:
        twin = row.twin
        record = {
            "id": row.ref,
            "twin": twin.ref,
            **{name: getattr(row, name) for name in _EXPORTED_COLUMNS},
            **{name: getattr(twin, name) for name in ("topic", "anchor", "domain", "licence")},
            "created": row.created,
            "history": [
                {"at": e.at, "what": e.kind, "after": e.after, "reason": get_contributor_reason(e)}
                for e in events[row.pk]
            ],
        }
        version = getattr(row, "version", None)
        if version is not None and version.parent is not None:
            depths = {name: getattr(version, name) for name in ("declared", "lineage", "edit")}
            record |= {"root": version.root.ref, "parent": version.parent.ref, "depths": depths}
        found.append(record)
    return found


def get_contributor_reason(event: Event) -> str:
    """Return an event's reason if the problem's contributor may see it, otherwise "".

    Only moderators see the reasons for excluding a vote, because these concern the judge.
    """
    votes = event.kind in ("exclude-vote", "include-vote")
    reopened = event.kind == "recount" and event.after == State.JUDGING
    return "" if votes or reopened else event.reason


def get_visible_ref(person: Person, problem: Problem | None) -> str | None:
    return problem.ref if problem is not None and is_visible_to(person, problem) else None


def withdraw_texts(person: Person) -> int:
    twins = [t for t in Twin.objects.filter(contributor=person) if may_withdraw(person, t)]
    for twin in twins:
        withdraw_twin(person, twin, HIDDEN)
    return len(twins)


def move_texts_to_account(account: Person, anonymous: Person) -> None:
    """Move an anonymous person's texts to an account; withdraw those that its owner has read."""
    twins = Twin.objects.filter(contributor=anonymous)
    read = list(twins.filter(pk__in=Seen.objects.filter(person=account).values("twin")))
    Slot.objects.filter(contributor=anonymous).update(contributor=account)
    twins.update(contributor=account)
    Event.objects.filter(actor=anonymous).update(actor=account)
    for twin in read:
        twin.contributor = account
        if may_withdraw(account, twin):
            withdraw_twin(account, twin, _("the contributor has read it as a judge"))


def erase_judge(person: Person, texts: bool) -> bool:
    """Erase a person's judging data, and their texts if `texts` is set.

    Return whether texts remain.
    """
    slots = Slot.objects.filter(holder=person)
    for slot in slots.filter(answered_at=None):
        return_slot(slot)
    slots.update(
        comment="", seconds=None, local_seconds=None, taken_at=None, local_at=None, origin=""
    )
    Skip.objects.filter(person=person).update(comment="")
    Contest.objects.filter(slot__holder=person).update(text="")
    exclude_pending_votes(person)
    for model in (Seen, Judge):
        model.objects.filter(person=person).delete()
    if texts:
        _blank_texts(person)
    left = Problem.objects.filter(twin__contributor=person).exclude(sentence=models.ERASED_SENTENCE)
    return bool(left.exists())


def _blank_texts(person: Person) -> None:
    """Withdraw and blank a person's unreleased problems; the rows remain for counts and the log."""
    unreleased = Problem.objects.filter(twin__contributor=person, released=False)
    for problem in unreleased.select_related("twin"):
        if problem.state not in REMOVED_STATES:
            _retire_problem(person, problem, State("withdrawn"), "erase")
        unindex_problem(problem)
    # Edits and digests could reveal erased texts. Problems that other people perturbed from these
    # texts keep their root, parent and depths.
    children = Problem.objects.filter(version__parent__in=unreleased)
    for child in children.exclude(pk__in=unreleased):
        lineage = {k: v for k, v in (child.record.get("lineage") or {}).items() if k != "edits"}
        if lineage:
            child.record = {**child.record, "lineage": lineage}
            child.save(update_fields=["record"])
    Version.objects.filter(problem__in=unreleased).update(digest="")
    unreleased.update(
        sentence=models.ERASED_SENTENCE,
        options=models.ERASED_OPTIONS,
        answer=None,
        hints=[],
        record={},
    )
    for version in Version.objects.filter(problem__in=unreleased, parent__isnull=False):
        lineage = {"root": version.root.ref, "parent": version.parent.ref}
        record = {"single": True, "lineage": lineage}
        Problem.objects.filter(pk=version.problem_id).update(record=record)
    Event.objects.filter(problem__in=unreleased, actor=person).update(reason="")
    released = Problem.objects.filter(twin__contributor=person, released=True).values("twin")
    twins = Twin.objects.filter(contributor=person).exclude(pk__in=released)
    twins.update(topic="", anchor="", domain="")
