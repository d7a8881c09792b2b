"""Accounts: made, entered, given a new password, and what was written before they were there."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.invitations import use, ways_back
from winosmith.web.people.limits import address, network, rate_limit, uncount
from winosmith.web.people.models import Agreement, Invitation, Person, new_salt
from winosmith.web.suspicions import look


class Argon2(Argon2PasswordHasher):
    """Argon2id with the least that OWASP asks for: 19 MiB, two passes, one thread.

    Django's own 100 MiB and eight threads take six times as long, and 1.6 GB where sixteen people
    log in at once; the limit on guesses does the rest (OWASP, "Password Storage Cheat Sheet").
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1


RESERVED = re.compile(
    "|".join(map(look, ("anonymous-", "erased-", "worker-")))
    + f"|p-[{look('0123456789abcdef')}]{{12}}"
)
"""The looks of names that the site itself gives, pseudonyms among them."""

WRONG_HERE, WRONG_NETWORK, WRONG_NAME = 10, 300, 200
"""Failed log-ins an hour: with one name from one network (a person who guesses), from one network
(a class may sit behind one), and with one name from anywhere (many machines that guess)."""

TAKEN = gettext_lazy("This name is taken; choose another one.")

JOINS = 120
"""New accounts an hour from one network."""


def sign_up(
    name: str,
    password: str,
    *,
    anonymous: Person | None = None,
    invitation: Invitation | None = None,
) -> Person:
    """Make an account.

    Args:
        name: shown to those alone who run the site.
        password: checked as `AUTH_PASSWORD_VALIDATORS` says.
        anonymous: who wrote in this browser so far. They become the account, so that what they
            wrote stays theirs and they never judge it.
        invitation: gives its roles, and is used up in the same transaction.

    Raises:
        InputError: the site asks for an invitation, the name is taken or none, or the invitation
            was used meanwhile.
        ValidationError: the password is too easy to guess.
    """
    if invitation is None and settings.RULES.signup == "invited":
        raise InputError(_("This site takes new people by invitation; ask a moderator for a link."))
    name = _checked_name(name)
    roles = {
        field: bool(invitation and getattr(invitation, field))
        for field in ("is_judge", "is_moderator", "is_superuser")
    }
    try:
        return _made(name, password, anonymous, invitation, roles)
    except IntegrityError:  # somebody took the name in the same moment
        raise InputError(TAKEN) from None


def _made(
    name: str,
    password: str,
    anonymous: Person | None,
    invitation: Invitation | None,
    roles: dict[str, bool],
) -> Person:
    with writing():
        _check_free(name)
        person = Person.objects.select_for_update().filter(
            pk=anonymous.pk if anonymous else None, anonymous=True, is_active=True
        ).first() or Person(name=name)
        person.anonymous = False
        person.call(name)
        for field, given in roles.items():
            setattr(person, field, given)
        validate_password(password, person)
        person.set_password(password)
        person.save()
        if invitation is not None:
            use(invitation, person)
    return person


def _checked_name(name: str) -> str:
    name = unicodedata.normalize("NFKC", name).strip()
    try:
        Person._meta.get_field("name").clean(name, None)
    except ValidationError as error:
        raise InputError(" ".join(error.messages)) from None
    if not name[0].isalnum():
        raise InputError(_("A name begins with a letter or a digit; choose another one."))
    if RESERVED.match(look(name)):
        raise InputError(_("Names that begin like this are the site’s own; choose another one."))
    return name


def _check_free(name: str) -> None:
    try:
        Person.objects.get_by_natural_key(name)
    except Person.DoesNotExist:
        if Person.objects.filter(look=look(name)).exists():
            raise InputError(
                _("This name looks like one that is taken; choose another one.")
            ) from None
        return
    raise InputError(TAKEN)


def enter(request: HttpRequest, name: str, password: str) -> Person | None:
    """Return the person of a name and password; None where they don't fit.

    Failures are counted before the password is looked at, so that many tries at once are many.

    Raises:
        TooMany: too many failures within an hour.
    """
    name = unicodedata.normalize("NFKC", name).strip()
    tries = (
        (f"network {network(address(request))}", WRONG_NETWORK),
        (f"name {name.lower()}", WRONG_NAME),
        (f"both {network(address(request))} {name.lower()}", WRONG_HERE),
    )
    for somebody, most in tries:
        rate_limit(somebody, "log-in", most)
    found = authenticate(request, username=name, password=password)
    if found is None:
        return None
    for somebody, _most in tries:
        uncount(somebody, "log-in")
    return cast(Person, found)


@dataclass(frozen=True, slots=True)
class Doors:
    """How much opens an account without its password.

    Attributes:
        browsers: log-in sessions.
        tokens: of programs.
        links: that set a new password.
    """

    browsers: int
    tokens: int
    links: int

    def __bool__(self) -> bool:
        return any((self.browsers, self.tokens, self.links))

    def __str__(self) -> str:
        told = (
            ngettext("%d log-in", "%d log-ins", self.browsers) % self.browsers,
            ngettext("%d token of a program", "%d tokens of programs", self.tokens) % self.tokens,
            ngettext("%d link for a new password", "%d links for a new password", self.links)
            % self.links,
        )
        counts = (self.browsers, self.tokens, self.links)
        return ", ".join(text for text, count in zip(told, counts, strict=True) if count)


def open_doors(person: Person) -> Doors:
    """Return what opens an account now."""
    live = person.sessions.filter(expire_date__gt=timezone.now())
    return Doors(live.count(), person.tokens.live().count(), ways_back(person).count())


def close_doors(person: Person) -> Doors:
    """Log a person out everywhere; end their tokens and links, too. Return what was open."""
    with writing():
        found = open_doors(person)
        person.entry = new_salt()
        person.save(update_fields=["entry"])
        person.sessions.all().delete()
        person.tokens.live().update(revoked=timezone.now())
        ways_back(person).update(used=timezone.now())
    return found


def new_password(person: Person, password: str, invitation: Invitation | None = None) -> Doors:
    """Give an account a new password; all that opened it ends. Return what that was.

    Raises:
        ValidationError: the password is too easy to guess.
        InputError: the link that let the person in was used meanwhile.
    """
    with writing():
        validate_password(password, person)
        if invitation is not None:
            use(invitation, person)
        person.set_password(password)
        person.save(update_fields=["password"])
        return close_doors(person)


adopting: list[Callable[[Person, Person], None]] = []
"""Each gives what an area holds of somebody without an account, the second, to one, the first."""


def adopt(account: Person, anonymous: Person) -> None:
    """Move everything of a person without an account to one; they never judge what they wrote.

    What the account has read already it can't have judged fairly: that is withdrawn. Each area
    moves what is its own (`adopting`).

    Raises:
        InputError: the one has no account, or the other has.
    """
    with writing():
        rows = {
            one.pk: one
            for one in Person.objects.select_for_update()
            .order_by("pk")
            .filter(pk__in=(account.pk, anonymous.pk))
        }
        if rows[account.pk].anonymous or not rows[anonymous.pk].anonymous:
            raise InputError(_("Only what was written without an account can join one."))
        for area in reversed(adopting):
            area(account, anonymous)
        agreed = set(account.agreements.values_list("document_id", flat=True))
        Agreement.objects.filter(person=anonymous).exclude(document__in=agreed).update(
            person=account
        )
        Person.objects.filter(pk=anonymous.pk).update(is_active=False)
        anonymous.sessions.all().delete()
