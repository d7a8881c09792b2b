"""Consent and contributor licence: which texts hold now, who agreed to them, the first texts."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import Agreement, Document, Person


def _current() -> QuerySet[Document]:
    newer = Document.objects.filter(kind=OuterRef("kind"), version__gt=OuterRef("version"))
    return Document.objects.filter(~Exists(newer)).order_by("kind")


def current_documents() -> list[Document]:
    """Return the newest version of each text, the consent first."""
    return list(_current())


def missing(person: Person | None) -> list[Document]:
    """Return the texts that hold now and that somebody has not agreed to."""
    if person is None:
        return current_documents()
    agreed = Agreement.objects.filter(person=person, document=OuterRef("pk"))
    return list(_current().filter(~Exists(agreed)))


def has_agreed(person: Person) -> bool:
    """Tell whether a person agreed to every text that holds now."""
    return not missing(person)


def agree(person: Person, shown: set[int] | None = None) -> None:
    """Write down that a person agrees to every text that holds now; the time stands with it.

    Args:
        person: who agrees.
        shown: the documents that the person had before them; None for those that hold now.

    Raises:
        InputError: a new version came out after the texts were shown.
    """
    with writing():
        needed = missing(person)
        if shown is not None and not {document.pk for document in needed} <= shown:
            raise InputError(_("a text has changed meanwhile; read the new version"))
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
            licence = settings.RULES.licence if kind == "licence" else ""
            newest = Document.objects.filter(kind=kind).order_by("-version").first()
            if newest is None or newest.licence != licence:
                publish(kind, shipped(kind, licence), licence=licence)


def shipped(kind: str, licence: str = "") -> str:
    """Return the text of a kind that a new site starts with; headings are lines without a stop."""
    return LICENCE.format(licence=licence) if kind == "licence" else CONSENT


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
