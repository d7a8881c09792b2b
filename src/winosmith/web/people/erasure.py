"""What the site holds about somebody: told as a file, hidden, erased, or deleted when it is old.

Other areas join by the signals `tidying` and `erasing`. Receivers run inside the same transaction.
`tidying` comes with `now` and `before` (what is older goes), and a receiver returns how many rows
it deleted; `erasing` comes with `person` and `texts` (whether unreleased text goes, too).
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, Model, OuterRef, QuerySet
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import Hits, Invitation, Person, Session, new_salt, pseudonym
from winosmith.web.predict.models import Prediction
from winosmith.web.problems.models import (
    ERASED_OPTIONS,
    ERASED_SENTENCE,
    Done,
    Event,
    Problem,
    State,
    Twin,
    Version,
)
from winosmith.web.problems.public import visible_to

tidying = Signal()
erasing = Signal()


WITHHELD = {
    *("id", "digest", "key", "session_key", "session_data", "person", "holder", "contributor"),
    *("gold", "n", "place", "block", "cursor"),
}
"""Columns that are keys of the site, or would tell which questions are gold, or come to be."""


def data_about(person: Person) -> dict[str, Any]:
    """Return all data about a person, as JSON can hold them.

    Every table that points at people is in it, also one that is added later.
    """
    from winosmith.web.market.workers import studies_of
    from winosmith.web.take.subjects import tests_of

    told: dict[str, Any] = {
        "name": None if person.anonymous else person.name,
        "pseudonym": pseudonym(person),
        "joined": person.joined,
        "last_login": person.last_login,
        "roles": {
            "judge": person.is_judge,
            "moderator": person.is_moderator,
            "admin": person.is_superuser,
        },
        "problems": _problems(person),
        "agreed": [
            {"text": a.document.kind, "version": a.document.version, "at": a.at}
            for a in person.agreements.select_related("document")
        ],
        "tests": tests_of(person),
        "studies": studies_of(person),
    }
    told["other"] = {
        f"{model._meta.label}.{column}": rows
        for model, column in _pointing()
        if (rows := _rows(model, column, person))
    }
    return told


def _pointing() -> list[tuple[type[Model], str]]:
    """Return each table and column that points at people, but those told in words of their own."""
    relations = Person._meta.get_fields(include_hidden=True)
    columns = [
        (relation.related_model, relation.field.name)
        for relation in relations
        if relation.auto_created and not relation.concrete
    ]
    own = ("people.Agreement", "problems.Twin", "take.Subject", "market.Participation")
    return [
        (model, column)
        for model, column in columns
        if column != "contributor" and model._meta.label not in own
    ]


def _problems(person: Person) -> list[dict[str, Any]]:
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


def _rows(model: type[Model], column: str, person: Person) -> list[dict[str, Any]]:
    """Return the rows of a table that point at a person, their problems looked up with them."""
    rows = model._base_manager.filter(**{column: person})
    if any(field.name == "problem" for field in model._meta.concrete_fields):
        rows = rows.select_related("problem__twin")
    return [_row(row, person) for row in rows]


def _row(row: Model, person: Person) -> dict[str, Any]:
    """Return a row without what is not the person's: keys, and marks of gold.

    A problem is named where the person may see it; by any other's id gold could be known.
    """
    told = {
        field.name: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if field.name not in WITHHELD and not field.is_relation
    }
    problem = getattr(row, "problem", None)
    if problem is None or not visible_to(person, problem):
        return told
    return {**told, "problem": problem.ref}


HIDDEN = gettext_noop("the contributor hid everything they wrote")
"""The reason in the log, in the site's language; it is translated for whoever reads it."""


def hide(person: Person) -> int:
    """Withdraw everything that somebody wrote; return how many twins.

    Nobody but moderators and the contributor sees it any more.
    """
    from winosmith.web.judge.entering import may_withdraw, withdraw

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
    from winosmith.web.judge.slots import give_back
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
    from winosmith.web.judge.slots import close_slots
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


HITS = timedelta(days=1)
"""How long hits are of use: the last hour reaches into the one before. Never longer than
`SiteRules.retention_days`, whose least is a day."""

CHUNK = 2000
"""Rows deleted in one transaction, so that others write in between."""


def tidy(now: datetime | None = None) -> dict[str, int]:
    """Delete what is no longer needed; return how many rows of each kind.

    Network digests after a day, those of votes after two hours; sessions when they end; and after
    `SiteRules.retention_days` the notes of forms that were sent, links that let people in, how long
    answers took, people without an account who never wrote anything, and what other areas added to
    `tidying`.
    """
    from winosmith.web.judge.trust import forget_origins
    from winosmith.web.judge.votes import forget_timings

    now = now or timezone.now()
    before = now - timedelta(days=settings.RULES.retention_days)
    gone = {
        "hits": _delete(Hits.objects.filter(hour__lt=now - HITS)),
        "sessions": _delete(Session.objects.filter(expire_date__lt=now)),
        "forms": _delete(Done.objects.filter(at__lt=before)),
        "invitations": _delete(Invitation.objects.filter(expires__lt=before)),
        "timings": forget_timings(before),
        "origins": forget_origins(now),
        "people": _delete(_never_wrote(before)),
    }
    with writing():
        for receiver, count in tidying.send(sender=Person, now=now, before=before):
            area = receiver.__module__.split(".")[-2]
            gone[area] = gone.get(area, 0) + int(count or 0)
    return gone


def _delete(query: QuerySet) -> int:
    deleted = 0
    while keys := list(query.values_list("pk", flat=True)[:CHUNK]):
        with writing():
            query.model.objects.filter(pk__in=keys).delete()
        deleted += len(keys)
    return deleted


def _never_wrote(before: datetime) -> QuerySet[Person]:
    """Return people without an account whose session is over and of whom nothing is left."""
    of_them = {"person": OuterRef("pk")}
    return Person.objects.filter(
        ~Exists(Twin.objects.filter(contributor=OuterRef("pk"))),
        ~Exists(Event.objects.filter(actor=OuterRef("pk"))),
        ~Exists(Session.objects.filter(**of_them)),
        anonymous=True,
        erased=None,
        drafts=None,
        joined__lt=before,
    )
