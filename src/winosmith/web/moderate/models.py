"""Database models for batches of decisions, appeals, and changes of roles."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from winosmith.web.jobs import Job


class Batch(models.Model):
    """A moderator's action on one or many problems.

    The events of a batch store its identifier (`mark`). A batch is processed in chunks; the row
    stores the progress, so that an interrupted batch resumes and nothing is done twice.

    Attributes:
        where: The filter, as a query string; empty if problems were selected by hand.
        picked: The selected problems: [ref, the last event that the moderator saw].
        seen: The newest event when the moderator confirmed; problems changed later are skipped.
        newest: The newest problem when the moderator confirmed; later problems are not included.
        cursor: The last processed problem, or the last processed event of an undo.
        left: The first skipped problems: [ref, reason].
        undoes: The batch that this batch undoes.
        job: The job that processes all chunks except the first; None if there is only one chunk.
    """

    mark = models.CharField(max_length=32, unique=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT)
    action = models.CharField(max_length=20)
    reason = models.TextField(blank=True)
    where = models.TextField(blank=True)
    picked = models.JSONField(default=list, blank=True)
    seen = models.BigIntegerField(default=0)
    newest = models.BigIntegerField(default=0)
    cursor = models.BigIntegerField(default=0)
    expected = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    left = models.JSONField(default=list, blank=True)
    left_count = models.PositiveIntegerField(default=0)
    job = models.OneToOneField(Job, models.PROTECT, null=True, blank=True)
    undoes = models.OneToOneField("self", models.PROTECT, null=True, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "batches"

    def __str__(self) -> str:
        return f"{self.action} {self.mark[:8]}: {self.done} done, {self.left_count} skipped"

    @property
    def processed_count(self) -> int:
        return self.done + self.left_count

    @property
    def is_busy(self) -> bool:
        return self.job is not None and self.job.is_busy


class Appeal(models.Model):
    """A contributor's appeal against a decision; at most one is open per problem.

    Attributes:
        answer: The event that settled the appeal and contains the answer as its reason, or None.
    """

    problem = models.ForeignKey("problems.Problem", models.PROTECT, related_name="appeals")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT)
    text = models.TextField()
    answer = models.ForeignKey("problems.Event", models.PROTECT, null=True, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["problem"],
                condition=models.Q(answer__isnull=True),
                name="one_open_appeal",
            )
        ]

    def __str__(self) -> str:
        return f"appeal on {self.problem.ref}"


class Appointment(models.Model):
    """A change to a person's role or votes, with who made it and why; rows are never changed.

    Attributes:
        job: The job that changes the votes; None if no votes change.
    """

    class Kind(models.TextChoices):
        JUDGE = "judge", _("made a judge")
        NO_JUDGE = "no-judge", _("no longer a judge")
        MODERATOR = "moderator", _("made a moderator")
        NO_MODERATOR = "no-moderator", _("no longer a moderator")
        PAUSE = "pause", _("put on hold as a judge")
        RESUME = "resume", _("votes counted, may judge again")
        DISCARD = "discard", _("votes on hold discarded")
        EXCLUDE = "exclude", _("votes excluded")
        INCLUDE = "include", _("votes counted again")

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="appointments"
    )
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    kind = models.CharField(max_length=12, choices=Kind)
    reason = models.TextField(blank=True)
    job = models.OneToOneField(Job, models.PROTECT, null=True, blank=True)
    at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {self.at:%Y-%m-%d}"
