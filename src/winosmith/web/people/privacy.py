"""Consent, and the data about a person: exported, hidden, erased, and deleted in time.

Consent and contributor licence have versions; everybody is asked again for a new one. Each area
adds functions for its own rows to the lists below when the site starts. They run in the caller's
transaction, those of higher areas first.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Model, Q, QuerySet
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.records import parse_json
from winosmith.web._lock import writing
from winosmith.web._site import ERASURES
from winosmith.web.jobs import MAIL, Job
from winosmith.web.people import models
from winosmith.web.people.models import Agreement, Document, Invitation, Person, Session, pseudonym


def _current() -> dict[str, int]:
    """Return the key of the newest version of each kind of text."""
    return dict(Document.objects.order_by("version").values_list("kind", "pk"))


def current_documents() -> list[Document]:
    """Return the newest version of each text, the consent first."""
    return list(Document.objects.filter(pk__in=_current().values()).order_by("kind"))


def missing(person: Person | None, *, judging: bool = False) -> list[Document]:
    """Return the current texts that somebody has not agreed to.

    Args:
        person: None for a visitor.
        judging: the texts for judging, which are fewer for a person who is paid only to judge.
    """
    paid_judge = bool(judging and person is not None and person.hired and person.is_judge)
    agreed = set(Agreement.objects.filter(person=person).values_list("document", flat=True))
    needed = {key for kind, key in _current().items() if (kind == "study") == paid_judge}
    left = needed - agreed  # usually none: then the texts are not read
    return list(Document.objects.filter(pk__in=left).order_by("kind")) if left else []


def has_agreed(person: Person) -> bool:
    """Return whether a person has agreed to every current text."""
    return not missing(person)


def agree(person: Person, shown: set[int] | None = None, *, judging: bool = False) -> None:
    """Store a person's agreement to the current texts, with the time.

    Args:
        person: who agrees.
        shown: the documents that the person was shown; None for the current ones.
        judging: as in `missing`.

    Raises:
        InputError: a new version came out after the texts were shown, or the person was erased.
    """
    with writing():
        models.stop_if_gone(person)
        needed = missing(person, judging=judging)
        if shown is not None and not {document.pk for document in needed} <= shown:
            raise InputError(_("a text has changed in the meantime; read the new version"))
        for document in needed:
            Agreement.objects.get_or_create(person=person, document=document)


def publish(kind: str, text: str, *, licence: str = "") -> Document:
    """Create a new version of a text; everybody is asked again before their next contribution.

    Raises:
        InputError: the text is empty, or is the current one.
    """
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise InputError("the text is empty; write what people agree to")
    with writing():
        newest = Document.objects.filter(kind=kind).order_by("-version").first()
        if newest and (newest.text, newest.licence) == (text, licence):
            raise InputError("this text holds already; change it to make a new version")
        version = newest.version + 1 if newest else 1
        return Document.objects.create(kind=kind, version=version, text=text, licence=licence)


def first_documents() -> None:
    """Create the first version of each text, and a new one if the site's licence has changed.

    It runs after every migration, so at each start of the site.
    """
    with writing():
        for kind in Document.Kind.values:
            licence = "" if kind == "consent" else settings.RULES.licence
            newest = Document.objects.filter(kind=kind).order_by("-version").first()
            if newest is None or newest.licence != licence:
                publish(kind, shipped(kind, licence), licence=licence)


def shipped(kind: str, licence: str = "") -> str:
    """Return the text of a kind for a new site; headings are lines without a full stop."""
    return render_to_string(f"people/documents/{kind}.txt", {"licence": licence})


telling: dict[str, tuple[Callable[[Person], Any], str]] = {}
"""By the name in the file: returns what an area holds about somebody, as JSON can hold it; and the
label of the model whose rows it describes in words of its own."""

naming: dict[str, tuple[str, Callable[[Person, Any], str | None]]] = {}
"""By the column that points at something of an area: what is looked up with it; and returns the
name by which a person may know it, None if they may not see it."""

hiding: list[Callable[[Person], int]] = []
"""Each withdraws a person's texts, and returns how many."""

erasing: list[Callable[[Person, bool], bool | None]] = []
"""Each erases a person, and with True also their unreleased texts; returns whether texts stay."""

tidying: dict[str, Callable[[datetime, datetime], int]] = {}
"""By the kind of rows: each deletes old rows in its own transactions, given now and the end of the
retention time, and returns how many.
"""


WITHHELD = {
    *("id", "digest", "key", "session_key", "session_data", "person", "holder", "contributor"),
    *("gold", "n", "place", "block", "cursor"),
}
"""Columns that are keys of the site, or reveal which questions are gold or will be."""


def data_about(person: Person) -> dict[str, Any]:
    """Return all data about a person, for JSON.

    It covers every table that points at people, also new ones.
    """
    data: dict[str, Any] = {
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
        **{name: describe(person) for name, (describe, _table) in telling.items()},
    }
    data["other"] = {
        f"{model._meta.label}.{column}": rows
        for model, column in _pointing()
        if (rows := _rows(model, column, person))
    }
    return data


def _pointing() -> list[tuple[type[Model], str]]:
    """Return each table and column that points at people, except those described by an area."""
    relations = Person._meta.get_fields(include_hidden=True)
    columns = [
        (relation.related_model, relation.field.name)
        for relation in relations
        if relation.auto_created and not relation.concrete
    ]
    own = {"people.Agreement", *(table for _describe, table in telling.values())}
    return [
        (model, column)
        for model, column in columns
        if column != "contributor" and model._meta.label not in own
    ]


def _rows(model: type[Model], column: str, person: Person) -> list[dict[str, Any]]:
    """Return the rows of a table that point at a person, with their problems."""
    rows = model._base_manager.filter(**{column: person})
    about = [field.name for field in model._meta.concrete_fields if field.name in naming]
    if about:
        rows = rows.select_related(*(naming[name][0] for name in about))
    return sorted((_row(row, about, person) for row in rows), key=str)  # their own order tells more


def _row(row: Model, about: Iterable[str], person: Person) -> dict[str, Any]:
    """Return a row without other people's data: keys, and marks of gold.

    A problem is named if the person may see it; other ids could reveal gold.
    """
    values = {
        field.name: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if field.name not in WITHHELD and not field.is_relation
    }
    names = {name: naming[name][1](person, getattr(row, name)) for name in about}
    return values | {name: known for name, known in names.items() if known is not None}


def hide(person: Person) -> int:
    """Withdraw everything that a person wrote; return the number of twins.

    Only moderators and the contributor still see it.
    """
    with writing():
        return sum(area(person) for area in reversed(hiding))


def erase(person: Person, texts: bool) -> None:
    """Erase a person: nothing that stays can be linked to them. This can't be undone.

    Deleted are the name, the password, the roles, all sessions, drafts, leases, comments, and notes
    of what they read. Their salt is deleted, so that their published pseudonym leads nowhere; what
    stays gets a new one. Released text stays. Their agreements stay without a name if sentences
    stay that need the licence.

    Args:
        person: with an account or without.
        texts: also withdraw and blank everything unreleased that they wrote. Problems that others
            perturbed from it stay, without the edits, which would reveal it.

    Raises:
        InputError: they are the only admin.
    """
    with writing():
        person = Person.objects.select_for_update().get(pk=person.pk)
        admins = Person.objects.select_for_update().filter(is_superuser=True, is_active=True)
        if person.is_superuser and not admins.exclude(pk=person.pk).exists():
            raise InputError(_("This is the only admin; make another one first."))
        digest = _erasure_digest(person)
        stays = [area(person, texts) for area in reversed(erasing)]
        models.Done.objects.filter(person=person).delete()
        person.sessions.all().delete()
        Invitation.objects.filter(person=person).delete()
        Invitation.objects.filter(Q(used_by=person) | Q(made_by=person)).update(label="")
        if not any(stays):
            person.agreements.all().delete()
        person.salt, person.entry = models.new_salt(), models.new_salt()
        person.erased = timezone.now()
        person.call(f"erased-{secrets.token_hex(12)}")
        person.is_active = person.is_judge = person.is_moderator = person.is_superuser = False
        person.last_login = person.news_seen = person.mailed = None
        person.email, person.mail_news = "", False
        person.set_unusable_password()
        person.save()
        _log_erasure(person, digest, texts)


def _erasure_digest(person: Person) -> str:
    """Return a person's name in the log of erasures; only a backup has the salt to find it."""
    return models.keyed("erased", f"{person.pk}:{person.salt}")


def _log_erasure(person: Person, digest: str, texts: bool) -> None:
    """Append an erasure to a log next to the database, because restoring a backup undoes it.

    It is on the disk before the commit, so that a crash loses none. A line that a crash cut off
    ends at the next line's first newline.
    """
    entry = {"at": timezone.now().isoformat(), "person": person.pk, "digest": digest}
    line = f"\n{json.dumps({**entry, 'texts': texts})}\n".encode()
    path = settings.SITE.folder / ERASURES
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def has_erasure_log() -> bool:
    """Return whether the site has a log of erasures."""
    return (settings.SITE.folder / ERASURES).exists()


def to_erase_again() -> list[tuple[Person, bool]]:
    """Return the people of the log of erasures whom a restored backup brought back.

    Returns:
        Each with whether their unreleased texts were erased, too; in the order of their keys.
    """
    path = settings.SITE.folder / ERASURES
    logged: dict[tuple[int, str], bool] = {}
    for line in path.read_text("utf-8", "replace").splitlines() if path.exists() else ():
        with suppress(ValueError, KeyError, TypeError):  # a line that was cut off
            entry = parse_json(line)
            key = (int(entry["person"]), str(entry["digest"]))
            logged[key] = logged.get(key, False) or bool(entry["texts"])
    found = Person.objects.filter(pk__in={number for number, _digest in logged}, erased=None)
    digests = [(person, (person.pk, _erasure_digest(person))) for person in found.order_by("pk")]
    return [(person, logged[key]) for person, key in digests if key in logged]


def erase_again() -> int:
    """Erase those people again; return how many.

    Raises:
        InputError: one of them is the only admin.
    """
    people = to_erase_again()
    for person, texts in people:
        erase(person, texts)
    return len(people)


MAILS = timedelta(days=7)
"""How long a mail that the mail server refused is shown to admins."""

HITS = timedelta(days=1)
"""How long hits are needed: the last hour reaches into the one before. At most
`SiteRules.retention_days`, which is at least a day."""

CHUNK = 2000
"""Rows deleted in one transaction, so that others can write in between."""


def tidy(now: datetime | None = None) -> dict[str, int]:
    """Delete old rows; return how many of each kind.

    Network digests go after a day, sessions when they end, refused mails after `MAILS`. After
    `SiteRules.retention_days` go the records of forms, links, and people without an account who
    never wrote anything; and the rows that other areas added to `tidying`.
    """
    now = now or timezone.now()
    before = now - timedelta(days=settings.RULES.retention_days)
    mails = Job.objects.filter(kind=MAIL)
    gone = {
        "hits": _delete(models.Hits.objects.filter(hour__lt=now - HITS)),
        "sessions": _delete(Session.objects.filter(expire_date__lt=now)),
        "forms": _delete(models.Done.objects.filter(at__lt=before)),
        "invitations": _delete(Invitation.objects.filter(expires__lt=before)),
        "people": _delete(_never_wrote(before)),
        "mails": _delete(mails.filter(state=Job.State.FAILED, ended__lt=now - MAILS)),
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
    """Return people without an account, a session, or any rows."""
    return Person.objects.filter(
        twins=None,
        event=None,
        sessions=None,
        drafts=None,
        anonymous=True,
        erased=None,
        joined__lt=before,
    )
