"""Leaving: what somebody wrote is hidden, or they are erased."""

from __future__ import annotations

import secrets

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import Invitation, Person, new_salt
from winosmith.web.people.signals import erasing
from winosmith.web.perturb.models import Version
from winosmith.web.predict.models import Prediction
from winosmith.web.problems.models import Done, Event, Problem, State, Twin

ERASED_SENTENCE, ERASED_OPTIONS = "_", ["1", "2"]
"""What stands in place of an erased text: a problem still, so that nothing trips over it."""

HIDDEN = gettext_noop("the contributor hid everything they wrote")
"""The reason in the log, in the site's language; it is translated for whoever reads it."""


def hide(person: Person) -> int:
    """Withdraw everything that somebody wrote; return how many twins.

    Nobody but moderators and the contributor sees it any more.
    """
    from winosmith.web.write.rules import may_withdraw, withdraw

    with writing():
        twins = [t for t in Twin.objects.filter(contributor=person) if may_withdraw(person, t)]
        for twin in twins:
            withdraw(person, twin, HIDDEN)
        return len(twins)


def erase(person: Person, texts: bool) -> None:
    """Erase somebody: nothing ties what stays to them any more. It can't be taken back.

    Gone are the name, the password, the roles, all sessions, drafts, open leases, comments and
    notes of what they read. Their salt is thrown away, so that the pseudonym under which they
    were published leads nowhere; what stays stands under a new one. Released text stays. Notes of
    what they agreed to stay without a name where sentences stay that need the licence.

    Args:
        person: anyone, with an account or without.
        texts: whether everything unreleased that they wrote is withdrawn and blanked, too. What
            others perturbed from it stays, and its edits, which would spell it again, do not.

    Raises:
        InputError: they are the only admin.
    """
    with writing():
        person = Person.objects.select_for_update().get(pk=person.pk)
        admins = Person.objects.select_for_update().filter(is_superuser=True, is_active=True)
        if person.is_superuser and not admins.exclude(pk=person.pk).exists():
            raise InputError(_("This is the only admin; make another one first."))
        erasing.send(sender=Person, person=person, texts=texts)
        _drop_traces(person)
        if texts:
            _blank(person)
        if (
            not Problem.objects.filter(twin__contributor=person)
            .exclude(sentence=ERASED_SENTENCE)
            .exists()
        ):
            person.agreements.all().delete()
        person.salt, person.entry, person.erased = new_salt(), new_salt(), timezone.now()
        person.call(f"erased-{secrets.token_hex(12)}")
        person.is_active = person.is_judge = person.is_moderator = person.is_superuser = False
        person.last_login = None
        person.set_unusable_password()
        person.save()


def _drop_traces(person: Person) -> None:
    """Delete what only concerns the person, and the words that they added to answers."""
    from winosmith.web.judge.exclusion import drop_waiting
    from winosmith.web.judge.models import Contest, Judge, Seen, Skip, Slot
    from winosmith.web.judge.rows import give_back
    from winosmith.web.moderate.models import Appeal

    for slot in Slot.objects.filter(holder=person, answered_at=None):
        give_back(slot)
    Slot.objects.filter(holder=person).update(
        comment="", seconds=None, local_seconds=None, taken_at=None, local_at=None, origin=""
    )
    Skip.objects.filter(person=person).update(comment="")
    Contest.objects.filter(slot__holder=person).update(text="")
    Appeal.objects.filter(person=person).update(text="")
    drop_waiting(person)
    for model in (Seen, Judge, Done):
        model.objects.filter(person=person).delete()
    person.sessions.all().delete()
    Invitation.objects.filter(person=person).delete()


def _blank(person: Person) -> None:
    """Withdraw and blank what is not released; the rows stay for the counts and the log."""
    from winosmith.web.judge.rows import close_slots
    from winosmith.web.problems.lookalikes import forget
    from winosmith.web.problems.states import move

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
    """Forget what would spell erased texts again: edits from them, digests, models' predictions.

    What others perturbed from them stays, with its root, its parent and its depths.
    """
    versions = Version.objects.filter(problem__in=problems)
    for child in Problem.objects.filter(version__parent__in=problems).exclude(pk__in=problems):
        lineage = {k: v for k, v in (child.record.get("lineage") or {}).items() if k != "edits"}
        if lineage:
            child.record = {**child.record, "lineage": lineage}
            child.save(update_fields=["record"])
    versions.update(digest="")
    Prediction.objects.filter(problem__in=problems).delete()
