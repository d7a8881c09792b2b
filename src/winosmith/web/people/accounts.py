"""Accounts: sign-up, log-in, new passwords, and texts written before the account existed.

An invitation is a link for one person: to a new account with roles, or back to an old one.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, cast

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.addresses import address, network
from winosmith.web.people.gates import rate_limit, uncount
from winosmith.web.people.models import (
    Agreement,
    Invitation,
    Person,
    look,
    new_salt,
    stop_if_gone,
    token_digest,
)

Role = Literal["contributor", "judge", "moderator", "admin"]

ROLES: dict[str, tuple[str, ...]] = {
    "contributor": (),
    "judge": ("is_judge",),
    "moderator": ("is_judge", "is_moderator"),
    "admin": ("is_judge", "is_moderator", "is_superuser"),
}
"""The columns that each role sets."""


def invite(
    roles: Iterable[Role], minutes: int, *, by: Person | None = None, label: str = ""
) -> str:
    """Return the path of a new link that creates one account with these roles.

    `label` describes it in the list of working links. Only a digest is stored, so that a reader of
    the database or of a backup can't use the link.

    Raises:
        InputError: `by` may not give one of the roles, or a role is unknown.
    """
    given: dict[str, bool] = {}
    for role in roles:
        if role not in ROLES:
            raise InputError(f"{role!r} is no role; the roles are {', '.join(ROLES)}")
        if by is not None and not may_invite(by, role):
            raise InputError(_("You may not give this role; ask an admin."))
        given |= dict.fromkeys(ROLES[role], True)
    return _new_link(minutes, made_by=by, label=label, **given)


def reset(person: Person, minutes: int, *, by: Person | None = None) -> str:
    """Return the path of a new link with which a person sets a new password.

    Raises:
        InputError: there is no such account, or `by` is not an admin.
    """
    if not person.is_active or person.anonymous:
        raise InputError(_("There is no account with this name."))
    if by is not None and not (by.is_active and by.is_superuser):
        raise InputError(_("Only admins can restore access."))
    with writing():
        recovery_links(person).update(used=timezone.now())
        return _new_link(minutes, made_by=by, person=person)


def recovery_link(person: Person, minutes: int) -> str:
    """Return the path of a link for a new password, to be mailed; earlier links keep working."""
    return _new_link(minutes, person=person)


def may_invite(by: Person, role: str) -> bool:
    """Return whether somebody may give a role: moderators invite judges, admins everybody."""
    return by.is_active and (by.is_superuser or (by.moderates and role in ("contributor", "judge")))


def invitation_of(token: str) -> Invitation | None:
    """Return the working link of a token; None for any other text."""
    return _working_links().filter(digest=token_digest(token)).select_related("person").first()


def past_invitation(token: str) -> Invitation | None:
    """Return the link of a token, even if it has ended; None for any other text.

    Ended links are deleted after `SiteRules.retention_days`.
    """
    return Invitation.objects.filter(digest=token_digest(token)).first()


def recovery_links(person: Person) -> QuerySet[Invitation]:
    """Return the working links that set a new password for a person."""
    return _working_links().filter(person=person)


def _use(invitation: Invitation, person: Person) -> None:
    """Mark a link as used; if several requests use it at once, one succeeds.

    Raises:
        InputError: it was used, revoked or expired in the meantime.
    """
    with writing():
        now = timezone.now()
        if not _working_links().filter(pk=invitation.pk).update(used=now, used_by=person):
            raise InputError(
                _("This link has already been used or has expired; ask for a new one.")
            )


def end_invitation(invitation: Invitation) -> None:
    """Revoke a link."""
    with writing():
        _working_links().filter(pk=invitation.pk).update(used=timezone.now())


def _working_links() -> QuerySet[Invitation]:
    return Invitation.objects.filter(used=None, expires__gt=timezone.now())


def _new_link(minutes: int, **fields: object) -> str:
    token = secrets.token_urlsafe(24)
    with writing():
        Invitation.objects.create(
            digest=token_digest(token),
            expires=timezone.now() + timedelta(minutes=minutes),
            **fields,
        )
    return f"/people/join/{token}/"


class Argon2(Argon2PasswordHasher):
    """Argon2id with OWASP's minimum: 19 MiB, two passes, one thread.

    Django's 100 MiB and eight threads take six times as long, and 1.6 GB if sixteen people log in
    at once; the limit on guesses compensates for it (OWASP, "Password Storage Cheat Sheet").
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1


RESERVED = re.compile(
    "|".join(map(look, ("anonymous-", "erased-", "worker-")))
    + f"|p-[{look('0123456789abcdef')}]{{12}}"
)
"""The looks of names that the site gives, pseudonyms included."""

WRONG_HERE, WRONG_NETWORK, WRONG_NAME = 10, 300, 200
"""Failed log-ins an hour: with one name from one network (a person who guesses), from one network
(a class may share one), and with one name from anywhere (many machines that guess)."""

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
    """Create an account.

    Args:
        name: only the people who run the site see it.
        password: checked by `AUTH_PASSWORD_VALIDATORS`.
        anonymous: the person who wrote in this browser so far. They become the account, so that
            they keep their texts and never judge them.
        invitation: gives its roles, and is used in the same transaction.

    Raises:
        InputError: the site requires an invitation, the name is taken or not valid, or the
            invitation was used in the meantime.
        ValidationError: the password is too easy to guess.
    """
    if invitation is None and settings.RULES.signup == "invited":
        raise InputError(_("New people join this site by invitation; ask a moderator for a link."))
    name = _checked_name(name)
    try:
        with writing():
            _check_free(name)
            person = Person.objects.select_for_update().filter(
                pk=anonymous.pk if anonymous else None, anonymous=True, is_active=True
            ).first() or Person(name=name)
            person.anonymous = False
            person.call(name)
            for role in ROLES["admin"]:
                setattr(person, role, bool(invitation and getattr(invitation, role)))
            validate_password(password, person)
            person.set_password(password)
            person.save()
            if invitation is not None:
                _use(invitation, person)
            return person
    except IntegrityError:  # somebody took the name in the same moment
        raise InputError(TAKEN) from None


def _checked_name(name: str) -> str:
    name = unicodedata.normalize("NFKC", name).strip()
    try:
        Person._meta.get_field("name").clean(name, None)
    except ValidationError as error:
        raise InputError(" ".join(error.messages)) from None
    if not name[0].isalnum():
        raise InputError(_("A name begins with a letter or a digit; choose another one."))
    if RESERVED.match(look(name)):
        raise InputError(_("Names that start like this are reserved; choose another one."))
    return name


def _check_free(name: str) -> None:
    try:
        Person.objects.get_by_natural_key(name)
    except Person.DoesNotExist:
        if Person.objects.filter(look=look(name)).exists():
            raise InputError(
                _("This name looks too similar to an existing one; choose another one.")
            ) from None
        return
    raise InputError(TAKEN)


def check_login(
    request: HttpRequest,
    name: str,
    password: str,
    then: Callable[[Person], object] = lambda _person: None,
) -> Person | None:
    """Return the person of a name and password, or None if they don't match.

    Attempts are counted in one transaction before the password is checked, so that simultaneous
    attempts all count; a second transaction subtracts a successful one. Nothing is locked in
    between, because checking a password takes long.

    Args:
        request: of the attempt; its network counts.
        name: of the account.
        password: as typed.
        then: called after a success, in the second transaction.

    Raises:
        RateLimitError: there were too many failures within an hour; this attempt is not counted.
    """
    name = unicodedata.normalize("NFKC", name).strip()
    where = network(address(request))
    tries = (  # in one order for all: two that wait for these rows never wait for each other
        (f"both {where} {name.lower()}", WRONG_HERE),
        (f"name {name.lower()}", WRONG_NAME),
        (f"network {where}", WRONG_NETWORK),
    )
    with writing():
        for somebody, most in tries:
            rate_limit(somebody, "log-in", most)
    found = authenticate(request, username=name, password=password)
    if found is None:
        return None
    with writing():
        for somebody, _most in tries:
            uncount(somebody, "log-in")
        then(cast(Person, found))
    return cast(Person, found)


@dataclass(frozen=True, slots=True)
class OpenAccess:
    """The numbers of ways into an account without its password.

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
        texts = (
            ngettext("%d log-in", "%d log-ins", self.browsers) % self.browsers,
            ngettext("%d token of a program", "%d tokens of programs", self.tokens) % self.tokens,
            ngettext("%d link for a new password", "%d links for a new password", self.links)
            % self.links,
        )
        counts = (self.browsers, self.tokens, self.links)
        return ", ".join(text for text, count in zip(texts, counts, strict=True) if count)


def count_access(person: Person) -> OpenAccess:
    """Return the ways into an account."""
    live = person.sessions.filter(expire_date__gt=timezone.now())
    return OpenAccess(live.count(), person.tokens.live().count(), recovery_links(person).count())


def end_access(person: Person) -> OpenAccess:
    """Log a person out everywhere, and revoke their tokens and links; return what was open."""
    with writing():
        found = count_access(person)
        person.entry = new_salt()
        person.save(update_fields=["entry"])
        person.sessions.all().delete()
        person.tokens.live().update(revoked=timezone.now())
        recovery_links(person).update(used=timezone.now())
    return found


def new_password(person: Person, password: str, invitation: Invitation | None = None) -> OpenAccess:
    """Set a new password, and end all access to the account; return what was open.

    Raises:
        ValidationError: the password is too easy to guess.
        InputError: the link was used meanwhile, or the account is closed.
    """
    with writing():
        stop_if_gone(person)
        validate_password(password, person)
        if invitation is not None:
            _use(invitation, person)
        person.set_password(password)
        person.save(update_fields=["password"])
        return end_access(person)


adopting: list[Callable[[Person, Person], None]] = []
"""Each moves the rows of a person without an account (the second) to an account (the first)."""


def adopt(account: Person, anonymous: Person) -> None:
    """Move everything of a person without an account to an account, which never judges it.

    Texts that the account has already read are withdrawn. Each area moves its own rows
    (`adopting`).

    Raises:
        InputError: the one has no account, or the other has one.
    """
    with writing():
        rows = {
            one.pk: one
            for one in Person.objects.select_for_update()
            .order_by("pk")
            .filter(pk__in=(account.pk, anonymous.pk))
        }
        if rows[account.pk].anonymous or not rows[anonymous.pk].anonymous:
            raise InputError(_("Only sentences written without an account can be moved to one."))
        for area in reversed(adopting):
            area(account, anonymous)
        agreed = set(account.agreements.values_list("document_id", flat=True))
        Agreement.objects.filter(person=anonymous).exclude(document__in=agreed).update(
            person=account
        )
        Person.objects.filter(pk=anonymous.pk).update(is_active=False)
        anonymous.sessions.all().delete()
