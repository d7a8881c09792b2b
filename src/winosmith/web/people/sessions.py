"""Sessions: the database keeps them, each beside the person whose it is."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone

from winosmith.web._lock import writing
from winosmith.web._prepared import Given, Prepared
from winosmith.web.people.models import Person, Session

__all__ = ["WRITER", "Accounts", "SessionStore"]

WRITER = "writer"
"""Under this a session keeps who writes in it without an account."""

_LIVE = Prepared(
    lambda: Session.objects.filter(session_key=Given("key"), expire_date__gt=Given("now"))
)
_PERSON = Prepared(lambda: Person.objects.filter(pk=Given("key")))


class Accounts(ModelBackend):
    """Django's log-in by name and password, which finds a session's person at less cost."""

    def get_user(self, user_id: Any) -> Person | None:
        """Return the person of a log-in session; None for one who is gone or shut out."""
        person: Person | None = _PERSON.first(key=user_id)
        return person if person is not None and self.user_can_authenticate(person) else None


class SessionStore(DatabaseStore):
    """Django's store in the database, whose writes wait in the site's queue."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        """Return the model of the rows."""
        return Session

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        """Return the row of a session, with the person in its own column."""
        row: Session = super().create_model_instance(data)
        person = data.get(SESSION_KEY) or data.get(WRITER)
        row.person_id = int(person) if person else None
        return row

    def _get_session_from_db(self) -> Session | None:
        row: Session | None = _LIVE.first(key=self.session_key, now=timezone.now())
        if row is None:
            self._session_key = None
        return row

    def save(self, must_create: bool = False) -> None:
        """Write the session; it is on the disk when this returns."""
        with writing():
            super().save(must_create)

    def delete(self, session_key: str | None = None) -> None:
        """End the session."""
        with writing():
            super().delete(session_key)
