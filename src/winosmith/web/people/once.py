"""Writes that happen once, however often their form is sent."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import Done, Person


class Reused(InputError):  # noqa: N818
    """A key that another form was sent with."""


def new_key() -> str:
    """Return a key for one form that is shown: 32 hex digits."""
    return secrets.token_hex(16)


def once(
    person: Person, key: str, form: str, act: Callable[[], dict[str, Any]]
) -> tuple[dict[str, Any], bool]:
    """Do something for the first form with this key; for the others return what came of it.

    Args:
        person: who sent the form; the keys of others can't be met.
        key: from `new_key`, out of the form.
        form: which form it is, such as the path that it is sent to; a key is good for one form.
        act: does the writing and returns what JSON can hold. It runs in the same transaction as
            the note that it ran: both are on the disk, or neither.

    Returns:
        What `act` returned, with `form` beside it, and whether it ran now.

    Raises:
        InputError: the key is none.
        Reused: another form was sent with it.
    """
    if not 16 <= len(key) <= 64 or not key.isalnum():
        raise InputError(_("the form carries no key; open the page again"))
    with writing():
        done, new = Done.objects.get_or_create(person=person, key=key)
        if new:
            done.result = {**act(), "form": form}
            done.save(update_fields=["result"])
        elif done.result.get("form") != form:
            raise Reused(_("This form was used for something else; open the page again."))
        return done.result, new
