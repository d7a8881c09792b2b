"""Consent, and the export, hiding, erasure and retention of personal data.

The consent and the contributor licence have versions; everybody is asked to agree to each new
version. Each area adds functions for its own rows to the registries below when the site starts. The
functions run in the caller's transaction, in reverse order of registration.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
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
from winosmith.web.people.models import Document, Invitation, Person, Session, get_pseudonym


def get_current_documents() -> list[Document]:
    """Return the newest version of each document, starting with the consent."""
    return list(Document.objects.raw(_PENDING, [None]))


def get_pending_documents(
    person: Person | None, *, judging: bool = False, answering: bool = False
) -> list[Document]:
    """Return the current documents that a person, or a visitor (None), has not agreed to.

    With `judging`, paid judges only need to agree to the text on paid studies. With `answering`,
    respondents need no contributor licence, because they contribute no sentences.
    """
    paid_judge = bool(judging and person is not None and person.hired and person.is_judge)
    kinds = {"study"} if paid_judge else {"consent"} if answering else {"consent", "licence"}
    pending = Document.objects.raw(_PENDING, [person.pk if person else None])
    return [document for document in pending if document.kind in kinds]


# Raw SQL, because each form needs this, and building the query takes Django over 1 ms.
_PENDING = """
    SELECT * FROM people_document document
    WHERE NOT EXISTS (SELECT 1 FROM people_document newer
                      WHERE newer.kind = document.kind AND newer.version > document.version)
    AND NOT EXISTS (SELECT 1 FROM people_agreement
                    WHERE person_id = %s AND document_id = document.id)
    ORDER BY kind
"""


def save_agreement(
    person: Person,
    shown: set[int] | None = None,
    *,
    judging: bool = False,
    answering: bool = False,
) -> None:
    """Record that a person agrees to the current documents, and when.

    `shown` contains the keys of the documents that the person was shown; None stands for the
    current documents. If a new version was published in the meantime, InputError is raised.
    """
    with writing():
        models.check_still_active(person)
        needed = get_pending_documents(person, judging=judging, answering=answering)
        if shown is not None and not {document.pk for document in needed} <= shown:
            raise InputError(_("A text has changed in the meantime; read the new version."))
        for document in needed:
            person.agreements.get_or_create(document=document)


def publish_document(kind: str, text: str, *, licence: str = "") -> Document:
    """Create a new version of a document, to which people must agree before contributing again."""
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise InputError("the text is empty; enter the text that people must agree to")
    with writing():
        newest = Document.objects.filter(kind=kind).order_by("-version").first()
        if newest and (newest.text, newest.licence) == (text, licence):
            raise InputError("the text is unchanged; edit it to make a new version")
        version = newest.version + 1 if newest else 1
        return Document.objects.create(kind=kind, version=version, text=text, licence=licence)


def create_first_documents() -> None:
    """Create the first version of each document, and a new version if the licence has changed.

    This function runs after each migration, and so at each start of the site.
    """
    with writing():
        for kind in Document.Kind.values:
            licence = "" if kind == "consent" else settings.RULES.licence
            newest = Document.objects.filter(kind=kind).order_by("-version").first()
            if newest is None or newest.licence != licence:
                text = render_to_string(f"people/documents/{kind}.txt", {"licence": licence})
                publish_document(kind, text, licence=licence)


exporters: dict[str, tuple[Callable[[Person], Any], str]] = {}
"""For each name in the exported file, a function and a label. The function returns an area's data
about a person, for JSON. The label names the model that these data describe."""

reference_names: dict[str, tuple[str, Callable[[Person, Any], str | None]]] = {}
"""For each column that points at an area's row, the relation to load, and a function that returns
the name that a person may see, or None."""

text_withdrawers: list[Callable[[Person], int]] = []
"""Functions that withdraw a person's texts, and return their number."""

erasers: list[Callable[[Person, bool], bool | None]] = []
"""Functions that erase a person, and return whether texts remain. With True, they also erase the
person's unreleased texts."""

cleaners: dict[str, Callable[[datetime, datetime], int]] = {}
"""For each kind of rows, a function that deletes old rows in its own transactions, and returns
their number. It gets the current time and the time before which rows are old."""


SECRET_COLUMNS = {
    *("id", "digest", "key", "session_key", "session_data", "person", "holder", "contributor"),
    *("gold", "n", "place", "block", "cursor"),
}
"""Columns that contain the site's keys, or reveal current or future gold questions."""


def export_personal_data(person: Person) -> dict[str, Any]:
    """Return all data about a person, from every table with a relation to people."""
    data: dict[str, Any] = {
        "name": None if person.anonymous else person.name,
        "pseudonym": get_pseudonym(person),
        "joined": person.joined,
        "last_login": person.last_login,
        "news_seen": person.news_seen,
        "email": person.email,
        "roles": {
            "judge": person.is_judge,
            "moderator": person.is_moderator,
            "admin": person.is_superuser,
        },
        "agreed": [
            {"text": a.document.kind, "version": a.document.version, "at": a.at}
            for a in person.agreements.select_related("document")
        ],
        **{name: describe(person) for name, (describe, _table) in exporters.items()},
    }
    data["other"] = {
        f"{model._meta.label}.{column}": rows
        for model, column in _find_columns_with_people()
        if (rows := _export_rows(model, column, person))
    }
    return data


def _find_columns_with_people() -> list[tuple[type[Model], str]]:
    own = {"people.Agreement", *(table for _describe, table in exporters.values())}
    return [
        (relation.related_model, relation.field.name)
        for relation in Person._meta.get_fields(include_hidden=True)
        if relation.auto_created
        and not relation.concrete
        and relation.field.name != "contributor"
        and relation.related_model._meta.label not in own
    ]


def _export_rows(model: type[Model], column: str, person: Person) -> list[dict[str, Any]]:
    """Return rows without keys, other people's data, or anything that reveals gold questions.

    A problem's id is included if the person may see it; other ids could reveal gold questions.
    """
    fields = model._meta.concrete_fields
    own = [f for f in fields if f.name not in SECRET_COLUMNS and not f.is_relation]
    named = {f.name: reference_names[f.name] for f in fields if f.name in reference_names}
    rows = model._base_manager.filter(**{column: person})
    if named:
        rows = rows.select_related(*(relation for relation, _name in named.values()))
    exported = []
    for row in rows:
        names = {key: name(person, getattr(row, key)) for key, (_relation, name) in named.items()}
        known = {key: name for key, name in names.items() if name is not None}
        exported.append({field.name: getattr(row, field.attname) for field in own} | known)
    return sorted(exported, key=str)  # the stored order could reveal more


def withdraw_texts(person: Person) -> int:
    """Withdraw everything that a person wrote; return the number of withdrawn twins.

    Only moderators and the contributor still see these texts.
    """
    with writing():
        return sum(area(person) for area in reversed(text_withdrawers))


def erase(person: Person, texts: bool) -> None:
    """Erase a person, so that no remaining data can be linked to them; this can't be undone.

    The name, the password, the roles, all sessions, drafts, leases, comments, and reading records
    of the person are deleted. Their salt is replaced, so that their published pseudonym can't be
    traced. Released text remains, and so do the agreements to its licence, without a name.

    With `texts`, the person's unreleased texts are withdrawn and blanked. Problems that others
    perturbed from these texts remain, without the edits, which would reveal the texts.
    """
    with writing():
        person = Person.objects.select_for_update().get(pk=person.pk)
        admins = Person.objects.select_for_update().filter(is_superuser=True, is_active=True)
        if person.is_superuser and not admins.exclude(pk=person.pk).exists():
            raise InputError(_("This person is the only admin; appoint another admin first."))
        digest = _compute_erasure_digest(person)
        stays = [area(person, texts) for area in reversed(erasers)]
        models.Done.objects.filter(person=person).delete()
        person.sessions.all().delete()
        Invitation.objects.filter(person=person).delete()
        Invitation.objects.filter(Q(used_by=person) | Q(made_by=person)).update(label="")
        if not any(stays):
            person.agreements.all().delete()
        person.salt, person.entry = models.make_salt(), models.make_salt()
        person.erased = timezone.now()
        person.set_name(f"erased-{secrets.token_hex(12)}")
        person.is_active = person.is_judge = person.is_moderator = person.is_superuser = False
        person.last_login = person.news_seen = None
        person.email = ""
        person.set_unusable_password()
        person.save()
        # Restoring a backup undoes the erasure, so a log next to the database records it. The line
        # is on the disk before the commit, so that a crash loses no entry. A line truncated by a
        # crash ends at the first newline of the next entry.
        entry = {"at": timezone.now().isoformat(), "person": person.pk, "digest": digest}
        line = f"\n{json.dumps({**entry, 'texts': texts})}\n".encode()
        path = settings.SITE.folder / ERASURES
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())


def _compute_erasure_digest(person: Person) -> str:
    # Only a backup still has the salt to compute it.
    return models.make_digest("erased", f"{person.pk}:{person.salt}")


def has_erasure_log() -> bool:
    return (settings.SITE.folder / ERASURES).exists()


def find_people_to_erase_again() -> list[tuple[Person, bool]]:
    """Find the people who were erased but are present again because a backup was restored.

    Returns:
        Each person, in the order of keys, and whether their unreleased texts were erased, too.
    """
    path = settings.SITE.folder / ERASURES
    logged: dict[tuple[int, str], bool] = {}
    for line in path.read_text("utf-8", "replace").splitlines() if path.exists() else ():
        with suppress(ValueError, KeyError, TypeError):  # a truncated line
            entry = parse_json(line)
            key = (int(entry["person"]), str(entry["digest"]))
            logged[key] = logged.get(key, False) or bool(entry["texts"])
    found = Person.objects.filter(pk__in={number for number, _digest in logged}, erased=None)
    digests = [
        (person, (person.pk, _compute_erasure_digest(person))) for person in found.order_by("pk")
    ]
    return [(person, logged[key]) for person, key in digests if key in logged]


def erase_again() -> int:
    people = find_people_to_erase_again()
    for person, texts in people:
        erase(person, texts)
    return len(people)


MAIL_RETENTION = timedelta(days=7)
"""Time for which admins can see the emails that the mail server rejected."""

HIT_RETENTION = timedelta(days=1)
"""Time for which rate-limit counts are needed: the last hour overlaps the previous clock hour. This
is never more than `SiteRules.retention_days`, which is at least a day."""

CHUNK = 2000
"""Number of rows deleted per transaction, so that others can write in between."""


def delete_old_rows(now: datetime | None = None) -> dict[str, int]:
    """Delete old rows; return the number of deleted rows of each kind.

    Network digests are deleted after a day, sessions when they end, and rejected emails after
    `MAIL_RETENTION`. The records of forms, links, and people without an account who never wrote
    anything are deleted after `SiteRules.retention_days`, as are the rows in `cleaners`.
    """
    now = now or timezone.now()
    before = now - timedelta(days=settings.RULES.retention_days)
    mails = Job.objects.filter(kind=MAIL, state=Job.State.FAILED, ended__lt=now - MAIL_RETENTION)
    visitors = Person.objects.filter(anonymous=True, erased=None, joined__lt=before)
    idle = visitors.filter(twins=None, event=None, sessions=None, drafts=None)
    old: dict[str, QuerySet[Any]] = {
        "hits": models.Hits.objects.filter(hour__lt=now - HIT_RETENTION),
        "sessions": Session.objects.filter(expire_date__lt=now),
        "forms": models.Done.objects.filter(at__lt=before),
        "invitations": Invitation.objects.filter(expires__lt=before),
        "people": idle,
        "mails": mails,
    }
    deleted = dict.fromkeys(old, 0)
    for name, rows in old.items():
        while keys := list(rows.values_list("pk", flat=True)[:CHUNK]):
            with writing():
                rows.model.objects.filter(pk__in=keys).delete()
            deleted[name] += len(keys)
    return deleted | {name: clean(now, before) for name, clean in cleaners.items()}
