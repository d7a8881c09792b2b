"""Accounts: sign-up, log-in, new passwords, and texts written before the account existed.

An invitation is a link with which one person creates an account or sets a new password.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.addresses import get_client_address, get_network
from winosmith.web.people.gates import rate_limit, undo_rate_limit_count
from winosmith.web.people.models import (
    Agreement,
    Invitation,
    Person,
    check_still_active,
    digest_token,
    get_name_skeleton,
    make_salt,
)

ROLES: dict[str, tuple[str, ...]] = {
    "contributor": (),
    "judge": ("is_judge",),
    "moderator": ("is_judge", "is_moderator"),
    "admin": ("is_judge", "is_moderator", "is_superuser"),
}
"""The model fields that each role sets."""


def invite(role: str, minutes: int, *, creator: Person | None = None, label: str = "") -> str:
    """Return the path of a new link that creates one account with a role, one of `ROLES`.

    `label` describes the link in the list of active links. Only a digest is stored, so that readers
    of the database or of a backup can't use the link.
    """
    if role not in ROLES:
        raise InputError(f"unknown role {role!r}; use one of {', '.join(ROLES)}")
    if creator is not None and not may_invite(creator, role):
        raise InputError(_("You can’t assign this role; ask an admin."))
    permissions = dict.fromkeys(ROLES[role], True)
    return _create_link(minutes, made_by=creator, label=label, **permissions)


def create_reset_link(person: Person, minutes: int, *, creator: Person | None = None) -> str:
    """Return the path of a new password-reset link; the person's earlier links stop working."""
    if not person.is_active or person.anonymous:
        raise InputError(_("There is no account with this name."))
    if creator is not None and not (creator.is_active and creator.is_superuser):
        raise InputError(_("Only admins can restore access."))
    with writing():
        get_reset_links(person).update(used=timezone.now())
        return _create_link(minutes, made_by=creator, person=person)


def create_emailed_reset_link(person: Person, minutes: int) -> str:
    """Return the path of a new password-reset link for an email; earlier links keep working."""
    return _create_link(minutes, person=person)


def may_invite(creator: Person, role: str) -> bool:
    return creator.is_active and (
        creator.is_superuser or (creator.can_moderate and role in ("contributor", "judge"))
    )


def find_invitation(token: str) -> Invitation | None:
    return get_active_links().filter(digest=digest_token(token)).select_related("person").first()


def get_reset_links(person: Person) -> QuerySet[Invitation]:
    return get_active_links().filter(person=person)


def _use_link(invitation: Invitation, person: Person) -> None:
    """Mark a link as used, or raise InputError if it is no longer active.

    Only one of several concurrent requests succeeds.
    """
    with writing():
        now = timezone.now()
        if not get_active_links().filter(pk=invitation.pk).update(used=now, used_by=person):
            raise InputError(
                _("This link has already been used or has expired; ask for a new one.")
            )


def revoke_invitation(invitation: Invitation) -> None:
    with writing():
        get_active_links().filter(pk=invitation.pk).update(used=timezone.now())


def get_active_links() -> QuerySet[Invitation]:
    return Invitation.objects.filter(used=None, expires__gt=timezone.now())


def _create_link(minutes: int, **fields: object) -> str:
    token = secrets.token_urlsafe(24)
    with writing():
        Invitation.objects.create(
            digest=digest_token(token),
            expires=timezone.now() + timedelta(minutes=minutes),
            **fields,
        )
    return f"/people/join/{token}/"


class Argon2(Argon2PasswordHasher):
    """Argon2id with OWASP's minimum: 19 MiB, two passes, one thread.

    Django's default of 100 MiB and eight threads takes six times as long, and needs 1.6 GB for
    sixteen log-ins at once. The limit on guesses compensates for the lower cost. See OWASP's
    "Password Storage Cheat Sheet".
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1


_RESERVED_NAME = re.compile(
    "|".join(map(get_name_skeleton, ("anonymous-", "erased-", "worker-")))
    + f"|p-[{get_name_skeleton('0123456789abcdef')}]{{12}}"
)
"""Pattern of names that are reserved for the site, such as pseudonyms."""

MAX_FAILED_NAME_NETWORK, MAX_FAILED_NETWORK, MAX_FAILED_NAME = 10, 300, 200
"""Maximum number of failed log-ins per hour: for one name from one network (one person guesses),
for one network (a class may share it), and for one name from all networks (many machines guess)."""

NAME_TAKEN = gettext_lazy("This name is taken; choose another one.")

MAX_SIGN_UPS = 120
"""Maximum number of new accounts per hour from one network."""


def sign_up(
    name: str,
    password: str,
    *,
    anonymous: Person | None = None,
    invitation: Invitation | None = None,
) -> Person:
    """Create an account with the roles of an invitation, which is used in the same transaction.

    If an `anonymous` person has written in this browser, this person gets the account, and so keeps
    their texts and never judges them.

    Raises:
        InputError: The site requires an invitation, the name is taken or not valid, or the
            invitation was used in the meantime.
        ValidationError: The password is too easy to guess.
    """
    if invitation is None and settings.RULES.signup == "invited":
        raise InputError(_("New people join this site by invitation; ask a moderator for a link."))
    name = _clean_name(name)
    try:
        with writing():
            _check_name_available(name)
            person = Person.objects.select_for_update().filter(
                pk=anonymous.pk if anonymous else None, anonymous=True, is_active=True
            ).first() or Person(name=name)
            person.anonymous = False
            person.set_name(name)
            for role in ROLES["admin"]:
                setattr(person, role, bool(invitation and getattr(invitation, role)))
            validate_password(password, person)
            person.set_password(password)
            person.save()
            if invitation is not None:
                _use_link(invitation, person)
            return person
    except IntegrityError:  # a concurrent request took the name
        raise InputError(NAME_TAKEN) from None


def _clean_name(name: str) -> str:
    name = unicodedata.normalize("NFKC", name).strip()
    try:
        Person._meta.get_field("name").clean(name, None)
    except ValidationError:
        raise InputError(_("Use at most 60 letters, digits and @.+-_ without spaces.")) from None
    if not name[0].isalnum():
        raise InputError(_("A name must start with a letter or a digit; choose another one."))
    if _RESERVED_NAME.match(get_name_skeleton(name)):
        raise InputError(_("Names that start like this are reserved; choose another one."))
    return name


def _check_name_available(name: str) -> None:
    try:
        Person.objects.get_by_natural_key(name)
    except Person.DoesNotExist:
        if Person.objects.filter(look=get_name_skeleton(name)).exists():
            raise InputError(
                _("This name looks too similar to an existing one; choose another one.")
            ) from None
        return
    raise InputError(NAME_TAKEN)


def check_login(
    request: HttpRequest,
    name: str,
    password: str,
    on_success: Callable[[Person], object] = lambda _person: None,
) -> Person | None:
    """Return the person with a name and password, or None if they don't match.

    An attempt is counted in one transaction before the password is checked, so that simultaneous
    attempts all count. If the password is correct, a second transaction removes the attempt from
    the count, and calls `on_success`. Nothing is locked in between, because checking a password is
    slow. Failures are counted by name and by the request's network.

    Raises:
        RateLimitError: There were too many failures within an hour; this attempt is not counted.
    """
    name = unicodedata.normalize("NFKC", name).strip()
    network = get_network(get_client_address(request))
    tries = (  # always in this order, to avoid deadlocks
        (f"both {network} {name.lower()}", MAX_FAILED_NAME_NETWORK),
        (f"name {name.lower()}", MAX_FAILED_NAME),
        (f"network {network}", MAX_FAILED_NETWORK),
    )
    with writing():
        for counted, most in tries:
            rate_limit(counted, "log-in", most)
    found: Person | None = authenticate(request, username=name, password=password)
    if found is None:
        return None
    with writing():
        for counted, _most in tries:
            undo_rate_limit_count(counted, "log-in")
        on_success(found)
    return found


def end_access(person: Person) -> None:
    """End a person's log-ins, and links that set a new password."""
    with writing():
        person.entry = make_salt()
        person.save(update_fields=["entry"])
        person.sessions.all().delete()
        get_reset_links(person).update(used=timezone.now())


def set_new_password(person: Person, password: str, invitation: Invitation | None = None) -> None:
    """Set a new password, and end all other access to the account.

    Raises:
        ValidationError: The password is too easy to guess.
        InputError: The link was used in the meantime, or the account is closed.
    """
    with writing():
        check_still_active(person)
        validate_password(password, person)
        if invitation is not None:
            _use_link(invitation, person)
        person.set_password(password)
        person.save(update_fields=["password"])
        end_access(person)


adopters: list[Callable[[Person, Person], None]] = []
"""Functions that move an area's rows from a visitor (second argument) to an account (first)."""


def merge_visitor(account: Person, anonymous: Person) -> None:
    """Move a visitor's texts and other rows to an account, which never judges these texts.

    Texts that the account has already read are withdrawn. Each of `adopters` moves its own rows.
    """
    with writing():
        both = Person.objects.select_for_update().filter(pk__in=(account.pk, anonymous.pk))
        rows = {one.pk: one for one in both.order_by("pk")}
        if rows[account.pk].anonymous or not rows[anonymous.pk].anonymous:
            raise InputError(_("Only texts written without an account can be moved to an account."))
        for area in reversed(adopters):
            area(account, anonymous)
        agreed = set(account.agreements.values_list("document_id", flat=True))
        others = Agreement.objects.filter(person=anonymous).exclude(document__in=agreed)
        others.update(person=account)
        Person.objects.filter(pk=anonymous.pk).update(is_active=False)
        anonymous.sessions.all().delete()
