"""What people agreed to, and what the site holds about them: told, hidden, erased, or gone in time.

Consent and contributor licence have versions; everyone is asked again where a new one holds. Each
area answers for what it holds itself, by functions that its application adds to the lists below
when the site starts. They run in the transaction of who calls them, those of the areas that build
on others first.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Model, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.records import parsed
from winosmith.web._lock import writing
from winosmith.web._site import ERASURES
from winosmith.web.people import models
from winosmith.web.people.models import Agreement, Document, Invitation, Person, Session, pseudonym


def _current() -> dict[str, int]:
    """Return the key of the newest version of each kind of text."""
    return dict(Document.objects.order_by("version").values_list("kind", "pk"))


def current_documents() -> list[Document]:
    """Return the newest version of each text, the consent first."""
    return list(Document.objects.filter(pk__in=_current().values()).order_by("kind"))


def missing(person: Person | None, *, judging: bool = False) -> list[Document]:
    """Return the texts in force that somebody has not agreed to.

    Args:
        person: None for a visitor.
        judging: the texts are for judging, which is less than writing for a person who is paid
            only to judge.
    """
    paid_judge = bool(judging and person is not None and person.hired and person.is_judge)
    agreed = set(Agreement.objects.filter(person=person).values_list("document", flat=True))
    needed = {key for kind, key in _current().items() if (kind == "study") == paid_judge}
    left = needed - agreed  # usually none: then the texts are not read
    return list(Document.objects.filter(pk__in=left).order_by("kind")) if left else []


def has_agreed(person: Person) -> bool:
    """Return whether a person agreed to every text that holds now."""
    return not missing(person)


def agree(person: Person, shown: set[int] | None = None, *, judging: bool = False) -> None:
    """Store that a person agrees to the texts in force, with the time.

    Args:
        person: who agrees.
        shown: the documents that the person had before them; None for those that hold now.
        judging: the texts are for judging, as in `missing`.

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
    """Make a new version of a text; everyone is asked again before their next contribution.

    Raises:
        InputError: the text is empty, or is the one that holds now.
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
    """Make the first version of each text, and a new one when the site's licence changed.

    Runs after every migration, so at each start of the site.
    """
    with writing():
        for kind in Document.Kind.values:
            licence = "" if kind == "consent" else settings.RULES.licence
            newest = Document.objects.filter(kind=kind).order_by("-version").first()
            if newest is None or newest.licence != licence:
                publish(kind, shipped(kind, licence), licence=licence)


def shipped(kind: str, licence: str = "") -> str:
    """Return the text of a kind that a new site starts with; headings are lines without a stop."""
    return {"consent": CONSENT, "licence": LICENCE, "study": STUDY}[kind].format(licence=licence)


CONSENT = """\
What you take part in

This site collects sentence problems for research on language understanding. You may write \
sentences, and, with an account, judge sentences of others. Taking part is voluntary; you can stop \
at any time and need not say why.

What is kept about you

With an account: the name that you chose, a scrambled form of your password, when you joined, and \
to what you agreed. No e-mail address and no real name is asked for; where this site sends mail, \
you may give an address, which is used for what you choose there and for nothing else. Without an \
account: a mark in your browser's cookie, so that you find your own sentences again.

Of everything that you write or judge: the text or the answer, when it was sent, and how long it \
took. To keep the site usable, it counts how often something is done from a network; what it \
stores is a digest of a part of the network address, which only this site could make again. \
Digests, timings and drafts are deleted after the number of days that this page states.

What others see

Sentences that judges find valid are shown to everyone and can be downloaded. They stand under a \
pseudonym, never under your name. Those who run the site can look up which name stands behind a \
pseudonym, so that they can act on abuse. Judges never learn who wrote a sentence, and \
writers never learn who judged it.

What to leave out

Invent the people and the situations. Write nothing by which a living person can be recognised, \
nothing that you did not write yourself, and nothing that was published before.

What you can ask for

On the page about you: all data about you as a file; that your sentences are hidden; that you are \
erased, with everything that ties sentences to you, and, if you wish, with your unpublished \
sentences. What others downloaded before can't be called back. Copies in the site's backups go \
when the backups do.
"""

LICENCE = """\
What you grant

You give the sentences that you send to this site to everyone, under the licence {licence}. \
Anyone may use them as that licence says, also in data sets and in models trained on them. You \
keep every right that is yours; you only can't take the licence back from those who already have a \
copy.

What you assure

You wrote the sentences yourself, you may give them away, and they come from no book, web page, \
data set or language model. If you used the words of others, or a program wrote for you, do not \
send the sentence.

How you are named

Published sentences stand under a pseudonym. You agree that naming the site and the data set is \
enough, and that nobody has to name you.

Marks and answers

Your judgements of sentences (answers, marks, comments) may be published under the same licence, \
without your name.
"""


STUDY = """\
What you take part in

You judge sentences for research on language understanding, and are paid for it. Taking part is \
voluntary; you can stop at any time and need not say why.

What is kept about you

Your id on the market’s site, encrypted, so that you are paid, and a mark in your browser’s \
cookie. Of each sentence: your answer, when you sent it, and how long it took. A digest of a part \
of your network address, which only this site could make again. Digests and timings are deleted \
after the number of days that this page states.

What others see

Your answers, marks and comments may be published under the licence {licence}, without your id. \
Contributors never learn who judged their sentences.

What you can ask for

On the page about you: all data about you as a file, and that you are erased. Copies in the \
site’s backups are deleted with the backups.
"""


class Telling(NamedTuple):
    """How an area tells what it holds about somebody.

    Attributes:
        tell: returns it as JSON can hold it.
        table: the label of the model whose rows it tells in words of its own.
    """

    tell: Callable[[Person], Any]
    table: str


class Naming(NamedTuple):
    """How rows are reported that point at something of an area.

    Attributes:
        related: what is looked up with them.
        name: what a person may know it by; None if they may not see it.
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
        digest = _erasure_digest(person)
        stays = [area(person, texts) for area in reversed(erasing)]
        models.Done.objects.filter(person=person).delete()
        person.sessions.all().delete()
        Invitation.objects.filter(person=person).delete()
        Invitation.objects.filter(Q(used_by=person) | Q(made_by=person)).update(label="")
        if not any(stays):
            person.agreements.all().delete()
        person.salt, person.entry, person.erased = (
            models.new_salt(),
            models.new_salt(),
            timezone.now(),
        )
        person.call(f"erased-{secrets.token_hex(12)}")
        person.is_active = person.is_judge = person.is_moderator = person.is_superuser = False
        person.last_login = person.news_seen = person.mailed = None
        person.email, person.mail_news = "", False
        person.set_unusable_password()
        person.save()
        _log_erasure(person, digest, texts)


def _erasure_digest(person: Person) -> str:
    """Return what names a person in the log of erasures: only a backup has the salt to find it."""
    return models.keyed("erased", f"{person.pk}:{person.salt}")


def _log_erasure(person: Person, digest: str, texts: bool) -> None:
    """Append an erasure to the log, next to the database: restoring a backup undoes the erasure.

    It is on the disk before the commit, so that none is missing after a crash. A line that a crash
    cut off ends at the next line's first newline.
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
    """Return people whom the log of erasures names and a restored backup brought back.

    Returns:
        Each with whether their unreleased texts were erased, too; in the order of their keys.
    """
    path = settings.SITE.folder / ERASURES
    logged: dict[tuple[int, str], bool] = {}
    for line in path.read_text("utf-8", "replace").splitlines() if path.exists() else ():
        with suppress(ValueError, KeyError, TypeError):  # a line that was cut off
            entry = parsed(line)
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
        "hits": _delete(models.Hits.objects.filter(hour__lt=now - HITS)),
        "sessions": _delete(Session.objects.filter(expire_date__lt=now)),
        "forms": _delete(models.Done.objects.filter(at__lt=before)),
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
