"""What the site holds about somebody: told as a file, hidden, erased, or deleted when it is old.

Each area answers for what it holds itself, by functions that its application adds to the lists
below when the site starts. They run in the transaction of who calls them, those of the areas that
build on others first.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Model, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import (
    Done,
    Hits,
    Invitation,
    Person,
    Session,
    new_salt,
    pseudonym,
)


class Telling(NamedTuple):
    """How an area tells what it holds about somebody.

    Attributes:
        tell: returns it as JSON can hold it.
        table: the label of the model whose rows it tells in words of its own.
    """

    tell: Callable[[Person], Any]
    table: str


class Naming(NamedTuple):
    """How rows are told that point at something of an area.

    Attributes:
        related: what is looked up with them.
        name: what a person may know it by; None where they may not see it.
    """

    related: str
    name: Callable[[Person, Any], str | None]


telling: dict[str, Telling] = {}
"""By the name in the file."""

naming: dict[str, Naming] = {}
"""By the column that points at it."""

hiding: list[Callable[[Person], int]] = []
"""Each withdraws what somebody wrote, and returns how many texts."""

erasing: list[Callable[[Person, bool], bool | None]] = []
"""Each forgets somebody, with True their unreleased texts, too; returns whether texts stay."""

tidying: dict[str, Callable[[datetime, datetime], int]] = {}
"""By the kind of rows: each deletes, in transactions of its own, what is too old by (now, the
time before which the site keeps nothing), and returns how many rows."""


WITHHELD = {
    *("id", "digest", "key", "session_key", "session_data", "person", "holder", "contributor"),
    *("gold", "n", "place", "block", "cursor"),
}
"""Columns that are keys of the site, or would tell which questions are gold, or come to be."""


def data_about(person: Person) -> dict[str, Any]:
    """Return all data about a person, as JSON can hold them.

    Every table that points at people is in it, also one that is added later.
    """
    told: dict[str, Any] = {
        "name": None if person.anonymous else person.name,
        "pseudonym": pseudonym(person),
        "joined": person.joined,
        "last_login": person.last_login,
        "news_seen": person.news_seen,
        "email": {"address": person.email, "news": person.mail_news, "mailed": person.mailed},
        "roles": {
            "judge": person.is_judge,
            "moderator": person.is_moderator,
            "admin": person.is_superuser,
        },
        "agreed": [
            {"text": a.document.kind, "version": a.document.version, "at": a.at}
            for a in person.agreements.select_related("document")
        ],
        **{name: area.tell(person) for name, area in telling.items()},
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
    own = {"people.Agreement", *(area.table for area in telling.values())}
    return [
        (model, column)
        for model, column in columns
        if column != "contributor" and model._meta.label not in own
    ]


def _rows(model: type[Model], column: str, person: Person) -> list[dict[str, Any]]:
    """Return the rows of a table that point at a person, with what they are about."""
    rows = model._base_manager.filter(**{column: person})
    about = [field.name for field in model._meta.concrete_fields if field.name in naming]
    if about:
        rows = rows.select_related(*(naming[name].related for name in about))
    return sorted((_row(row, about, person) for row in rows), key=str)  # their own order tells more


def _row(row: Model, about: Iterable[str], person: Person) -> dict[str, Any]:
    """Return a row without what is not the person's: keys, and marks of gold.

    A problem is named where the person may see it; by any other's id gold could be known.
    """
    told = {
        field.name: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if field.name not in WITHHELD and not field.is_relation
    }
    names = {name: naming[name].name(person, getattr(row, name)) for name in about}
    return told | {name: known for name, known in names.items() if known is not None}


def hide(person: Person) -> int:
    """Withdraw everything that somebody wrote; return how many twins.

    Nobody but moderators and the contributor sees it any more.
    """
    with writing():
        return sum(area(person) for area in reversed(hiding))


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
        stays = [area(person, texts) for area in reversed(erasing)]
        Done.objects.filter(person=person).delete()
        person.sessions.all().delete()
        Invitation.objects.filter(person=person).delete()
        Invitation.objects.filter(Q(used_by=person) | Q(made_by=person)).update(label="")
        if not any(stays):
            person.agreements.all().delete()
        person.salt, person.entry, person.erased = new_salt(), new_salt(), timezone.now()
        person.call(f"erased-{secrets.token_hex(12)}")
        person.is_active = person.is_judge = person.is_moderator = person.is_superuser = False
        person.last_login = person.news_seen = person.mailed = None
        person.email, person.mail_news = "", False
        person.set_unusable_password()
        person.save()


HITS = timedelta(days=1)
"""How long hits are of use: the last hour reaches into the one before. Never longer than
`SiteRules.retention_days`, whose least is a day."""

CHUNK = 2000
"""Rows deleted in one transaction, so that others write in between."""


def tidy(now: datetime | None = None) -> dict[str, int]:
    """Delete what is no longer needed; return how many rows of each kind.

    Network digests after a day; sessions when they end; after `SiteRules.retention_days` the notes
    of forms that were sent, links that let people in, and people without an account who never wrote
    anything; and what other areas added to `tidying`.
    """
    now = now or timezone.now()
    before = now - timedelta(days=settings.RULES.retention_days)
    gone = {
        "hits": _delete(Hits.objects.filter(hour__lt=now - HITS)),
        "sessions": _delete(Session.objects.filter(expire_date__lt=now)),
        "forms": _delete(Done.objects.filter(at__lt=before)),
        "invitations": _delete(Invitation.objects.filter(expires__lt=before)),
        "people": _delete(_never_wrote(before)),
    }
    for name, area in tidying.items():
        gone[name] = area(now, before)
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
    return Person.objects.filter(
        twins=None,
        event=None,
        sessions=None,
        drafts=None,
        anonymous=True,
        erased=None,
        joined__lt=before,
    )
