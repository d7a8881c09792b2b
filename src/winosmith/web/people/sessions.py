"""Sessions: the database keeps them, each beside the person whose it is."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.functional import SimpleLazyObject

from winosmith.web._lock import writing
from winosmith.web._prepared import Given, Prepared
from winosmith.web.people.agree import not_agreed
from winosmith.web.people.models import Person, Session

__all__ = ["WRITER", "Accounts", "Recognition", "SessionStore"]

WRITER = "writer"
"""Under this a session keeps who writes in it without an account."""


def _live() -> QuerySet[Session]:
    """Return a session with whose it is, and whether they agreed to what holds now."""
    rows = Session.objects.filter(session_key=Given("key"), expire_date__gt=Given("now"))
    waiting = Exists(not_agreed(OuterRef(OuterRef("person"))))
    return rows.select_related("person").annotate(waiting=waiting)


_LIVE = Prepared(_live)
_PERSON = Prepared(lambda: Person.objects.filter(pk=Given("key")))


class Accounts(ModelBackend):
    """Django's log-in by name and password, which finds a session's person at less cost."""

    def get_user(self, user_id: Any) -> Person | None:
        """Return the person of a log-in session; None for one who is gone or shut out."""
        person: Person | None = _PERSON.first(key=user_id)
        return person if person is not None and self.user_can_authenticate(person) else None


class SessionStore(DatabaseStore):
    """Django's store in the database, whose writes wait in the site's queue.

    Attributes:
        person: whose the session was when it was read; None for nobody's.
    """

    person: Person | None = None

    def encode(self, session_dict: dict[str, Any]) -> str:
        """Return what a row holds. It needs no signature: it never leaves the database."""
        return json.dumps(session_dict, separators=(",", ":"))

    def decode(self, session_data: str) -> dict[str, Any]:
        """Return what a row held; nothing where it can't be read."""
        try:
            held: dict[str, Any] = json.loads(session_data)
        except ValueError:
            return {}
        return held

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
            return None
        self.person = row.person
        if self.person is not None:
            self.person.agreed = not row.waiting
        return row

    def save(self, must_create: bool = False) -> None:
        """Write the session; it is on the disk when this returns."""
        with writing():
            super().save(must_create)

    def delete(self, session_key: str | None = None) -> None:
        """End the session."""
        with writing():
            super().delete(session_key)


class Recognition(AuthenticationMiddleware):
    """Django's middleware, which finds out who is there by the one query that reads the session."""

    def process_request(self, request: HttpRequest) -> None:
        """Let `request.user` be who the session says, found out when it is first asked for."""
        super().process_request(request)
        request.user = SimpleLazyObject(lambda: _recognised(request))


def _recognised(request: HttpRequest) -> Person | AnonymousUser:
    """Return whose log-in session this is, by the rules of `django.contrib.auth.get_user`.

    Django itself looks at any session that is not as each of ours is.
    """
    session: Any = request.session
    key, person = session.get(SESSION_KEY), session.person
    if key is None:
        return AnonymousUser()
    known = person is not None and str(person.pk) == key and person.is_active
    if known and session.get(BACKEND_SESSION_KEY) in settings.AUTHENTICATION_BACKENDS:
        carried = session.get(HASH_SESSION_KEY) or ""
        if constant_time_compare(carried, person.get_session_auth_hash()):
            return person
    return get_user(request)
