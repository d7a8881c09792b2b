"""Tokens: what a program shows in place of the person whose it is."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone


class Tokens(models.QuerySet["Token"]):
    """Tokens, by what they are good for."""

    def live(self) -> Tokens:
        """Return those that work, as far as their owners may do anything."""
        return self.filter(expires__gt=timezone.now(), revoked=None)


class Token(models.Model):
    """That whoever shows a certain text acts for a person, as far as its scopes reach.

    Only a digest of the text is kept: whoever reads the database, or a backup, can't use it.

    Attributes:
        name: what its owner calls it ("the nightly download").
        start: its first characters, by which its owner knows it again.
        scopes: some of `tokens.SCOPES`; what the person may not do, no scope lets a program do.
        used: the day on which it was last used; no more is kept of when.
        revoked: when its owner took it back, or it ended with all that opened their account.
    """

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=60)
    digest = models.CharField(max_length=64, unique=True)
    start = models.CharField(max_length=12)
    scopes = models.JSONField(default=list)
    created = models.DateTimeField(default=timezone.now)
    expires = models.DateTimeField(db_index=True)
    used = models.DateField(null=True)
    revoked = models.DateTimeField(null=True, db_index=True)
    objects = Tokens.as_manager()

    def __str__(self) -> str:
        return f"{self.name} ({self.start}…)"
