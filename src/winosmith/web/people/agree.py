"""Consent and contributor licence: which texts hold now, and who agreed to them."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import Agreement, Document, Person
from winosmith.web.people.texts import shipped


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
