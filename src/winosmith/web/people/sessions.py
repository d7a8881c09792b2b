"""Sessions: the database keeps them, each beside the person whose it is.

The cookie holds a key of 165 random bits, the table its SHA-256: whoever reads the database, or a
backup, can't use one. Who is there has an account, or is somebody whom only their session knows.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import Person, Session

WRITER = "writer"
"""Under this a session keeps who writes in it without an account."""


def _digest(key: str | None) -> str:
    """Return what the table keeps of a key; 64 hex digits."""
    return sha256((key or "").encode("utf-8", "surrogatepass")).hexdigest()


class SessionStore(DatabaseStore):
    """Django's store in the database, of digests of keys; its writes wait in the site's queue."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        """Return the model of the rows."""
        return Session

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        """Return the row of a session, with the person in its own column."""
        row: Session = super().create_model_instance(data)
        row.session_key = _digest(row.session_key)
        person = data.get(SESSION_KEY) or data.get(WRITER)
        row.person_id = int(person) if person else None
        return row

    def exists(self, session_key: str | None) -> bool:
        """Tell whether there is a session of a key."""
        return bool(super().exists(_digest(session_key)))

    def load(self) -> dict[str, Any]:
        """Return what the session holds; nothing, and a new key with the next save, for none."""
        rows = Session.objects.filter(expire_date__gt=timezone.now())
        row = rows.filter(session_key=_digest(self.session_key)).first()
        if row is None:
            self._session_key = None
            return {}
        held: dict[str, Any] = self.decode(row.session_data)
        return held

    def save(self, must_create: bool = False) -> None:
        """Write the session; it is on the disk when this returns."""
        with writing():
            super().save(must_create)

    def delete(self, session_key: str | None = None) -> None:
        """End the session of a key; this one where none is named."""
        with writing():
            super().delete(_digest(session_key or self.session_key))


def existing_writer(request: HttpRequest) -> Person | None:
    """Return who writes here, by the session alone; None before a first contribution."""
    if request.user.is_authenticated:
        return cast(Person, request.user)
    number = request.session.get(WRITER)
    if number is None:
        return None
    return Person.objects.filter(pk=number, anonymous=True, is_active=True).first()


def writer(request: HttpRequest) -> Person:
    """Return who writes here; without an account, a person whom this session knows from now on.

    Raises:
        InputError: the site takes sentences from accounts alone, and there is none.
    """
    found = existing_writer(request)
    if found is not None:
        return found
    if not settings.RULES.anonymous:
        raise InputError(_("This site takes sentences from accounts alone; log in or sign up."))
    with writing():
        person = Person.objects.create_anonymous()
    request.session[WRITER] = person.pk
    return person
