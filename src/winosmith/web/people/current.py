"""Who is there: an account, or somebody whom only this browser's session knows."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import Person
from winosmith.web.people.sessions import WRITER


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
