"""Drafts: unfinished twins."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from winosmith.web.people.gates import new_key


class Draft(models.Model):
    """A person's draft of a twin on a topic.

    Attributes:
        ref: The reference in URLs. It is also the key of the submission, so that a draft becomes
            only one twin even if several windows submit it.
        topic: The topic's title; `text` is its text, and `anchors` are the words drawn from it.
        typed: The input, as returned by `rules.TwinInput.as_form`.
        version: A number that grows with each save, so that no window overwrites another's input.
        revises: The twin that this draft will replace, or None.
    """

    ref = models.CharField(max_length=32, unique=True, default=new_key)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="drafts")
    topic = models.CharField(max_length=200, blank=True)
    text = models.TextField(blank=True)
    anchors = models.JSONField(default=list, blank=True)
    typed = models.JSONField(default=dict, blank=True)
    version = models.PositiveIntegerField(default=0)
    revises = models.ForeignKey(
        "problems.Twin", models.CASCADE, null=True, blank=True, related_name="drafts"
    )
    created = models.DateTimeField(default=timezone.now)
    saved = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["revises"], name="one_revision_at_a_time")
        ]

    def __str__(self) -> str:
        return f"{self.topic} ({self.ref[:8]})"
