"""Sessions: the database keeps them, each beside the person whose it is."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore

from winosmith.web._lock import writing
from winosmith.web.people.models import Session

__all__ = ["WRITER", "SessionStore"]

WRITER = "writer"
"""Under this a session keeps who writes in it without an account."""


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

    def save(self, must_create: bool = False) -> None:
        """Write the session; it is on the disk when this returns."""
        with writing():
            super().save(must_create)

    def delete(self, session_key: str | None = None) -> None:
        """End the session."""
        with writing():
            super().delete(session_key)
