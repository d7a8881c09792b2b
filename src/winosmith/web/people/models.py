"""People: who takes part, in which role, and what they agreed to."""

from __future__ import annotations

import secrets
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

__all__ = ["Agreement", "Document", "Hits", "Invitation", "Person"]


def new_salt() -> str:
    """Return what ties a person's pseudonym to them until it is thrown away."""
    return secrets.token_hex(16)


class People(BaseUserManager["Person"]):
    """Makes people."""

    def create_user(self, name: str, password: str | None = None, **fields: Any) -> Person:
        """Make a person with an account."""
        person = self.model(name=self.model.normalize_username(name), **fields)
        person.set_password(password)
        person.save(using=self._db)
        return person

    def create_superuser(self, name: str, password: str | None = None, **fields: Any) -> Person:
        """Make an admin, who holds every role."""
        every = {"is_judge": True, "is_moderator": True, "is_superuser": True}
        return self.create_user(name, password, **{**every, **fields})

    def create_anonymous(self) -> Person:
        """Make a person without an account, whom only their browser's session knows."""
        return self.create_user(f"anonymous-{secrets.token_hex(12)}", anonymous=True)


class Person(AbstractBaseUser, PermissionsMixin):
    """Somebody who takes part; with an account, or without (`anonymous`).

    Everyone may write. The roles: `is_judge`, `is_moderator`, `is_superuser` (the admin).
    """

    name = models.CharField(
        _("name"), max_length=60, unique=True, validators=[UnicodeUsernameValidator()]
    )
    anonymous = models.BooleanField(default=False)
    is_judge = models.BooleanField(default=False)
    is_moderator = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    salt = models.CharField(max_length=32, default=new_salt, editable=False)
    joined = models.DateTimeField(default=timezone.now)
    erased = models.DateTimeField(null=True, blank=True)

    USERNAME_FIELD = "name"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[People] = People()

    class Meta:
        verbose_name = _("person")
        verbose_name_plural = _("people")

    @property
    def is_staff(self) -> bool:
        """Django's admin pages are the admin's alone."""
        return self.is_superuser

    @property
    def moderates(self) -> bool:
        """Whether the person may decide what becomes of other people's problems."""
        return self.is_active and (self.is_moderator or self.is_superuser)


class Document(models.Model):
    """A text that people agree to; a new version is a new row, and none is ever changed."""

    class Kind(models.TextChoices):
        """What the text is."""

        CONSENT = "consent", _("consent")
        LICENCE = "licence", _("contributor licence")

    kind = models.CharField(max_length=10, choices=Kind)
    version = models.PositiveIntegerField()
    text = models.TextField()
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["kind", "version"], name="document_version")
        ]


class Agreement(models.Model):
    """That a person agreed to a version of a text, and when."""

    person = models.ForeignKey(Person, models.CASCADE, related_name="agreements")
    document = models.ForeignKey(Document, models.PROTECT)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "document"], name="agreed_once")
        ]


class Invitation(models.Model):
    """A link that makes one account with the roles it names; it works once, for a while.

    Only a digest is kept: whoever reads the database can't use it.
    """

    digest = models.CharField(max_length=64, unique=True)
    is_judge = models.BooleanField(default=False)
    is_moderator = models.BooleanField(default=False)
    is_superuser = models.BooleanField(default=False)
    created = models.DateTimeField(default=timezone.now)
    expires = models.DateTimeField()
    used_by = models.ForeignKey(Person, models.SET_NULL, null=True, blank=True)


class Hits(models.Model):
    """How often somebody did something in an hour: rate limits that all workers share."""

    who = models.CharField(max_length=64)
    what = models.CharField(max_length=20)
    hour = models.DateTimeField(db_index=True)
    count = models.PositiveIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["who", "what", "hour"], name="hits_of_an_hour")
        ]
