"""Rounds, and the result of each round for each problem in its pool."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from winosmith.web._site import ROUNDS


class Round(models.Model):
    """A round: public problems are filtered, solvers answer them, and results are compared.

    Attributes:
        busy: Whether the round waits or runs; at most one round does.
        recipe: The table for `winosmith.rounds.parse_round`, without the files of the pool.
        base: The folder to which the relative paths of the recipe's solvers refer.
        last: The published round with which this round is compared.
        doing: The progress of the current step, as in `running.ProgressReporter`.
        error: The reason why the round failed, for moderators.
        record: The results, as in `round.json`; None before the round is done.
        changes: The changes since the last round: [metric, before, now, format].
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting to start")
        RUNNING = "running", _("runs")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    name = models.SlugField(max_length=40, unique=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    busy = models.BooleanField(default=True)
    recipe = models.JSONField()
    base = models.TextField(blank=True)
    last = models.ForeignKey("self", models.PROTECT, null=True, related_name="+")
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="rounds_started"
    )
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="rounds_published"
    )
    doing = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    record = models.JSONField(null=True)
    changes = models.JSONField(default=list)
    created = models.DateTimeField(default=timezone.now)
    began = models.DateTimeField(null=True)
    ended = models.DateTimeField(null=True)
    published = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["busy"], condition=models.Q(busy=True), name="round_at_a_time"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name}, {self.get_state_display()}"

    @classmethod
    def get_last_published(cls) -> Round | None:
        return cls.objects.exclude(published=None).order_by("-published").first()

    @property
    def folder(self) -> Path:
        """The folder of the round's files, which are in `pool/` and `results/`."""
        return Path(settings.SITE.folder, ROUNDS, self.name)


_STAGE_LABELS = {
    "": _("kept"),
    "collected": _("collected"),
    "embargo": _("embargo"),
    "structure": _("structure"),
    "votes": _("votes"),
    "copies": _("duplicates"),
    "embed split": _("used to train the encoder"),
    "aflite": _("filter (AFLite)"),
    "mirror": _("filter (mirror)"),
    "pmi": _("filter (word association)"),
    "random": _("filter (random)"),
    "none": _("filter (none)"),
}


def get_stage_label(stage: str) -> str:
    return str(_STAGE_LABELS.get(stage, stage))


class Place(models.Model):
    """A round's result for a problem in its pool; the problem itself is not changed.

    Attributes:
        stage: The stage that omitted the problem ("aflite", "structure", …); "" if it was kept.
        reason: The reason, as stated by `winosmith.build`.
        score: AFLite's score, 0–1; None if there is no score.
        guessed: The number of correct predictions by models that were not trained on the problem.
        asked: The number of all predictions by these models; both are None without a score.
        phase: The 1-based phase in which the problem was omitted.
        root: The problem's 0-based number among the roots for the next round, or None.
        fools: The names of the solvers that the problem fools, if it is perturbed.
    """

    round = models.ForeignKey(Round, models.PROTECT, related_name="places", db_index=False)
    problem = models.ForeignKey("problems.Problem", models.PROTECT, related_name="places")
    stage = models.CharField(max_length=20, blank=True)
    reason = models.TextField(blank=True)
    score = models.FloatField(null=True)
    guessed = models.PositiveIntegerField(null=True)
    asked = models.PositiveIntegerField(null=True)
    phase = models.PositiveIntegerField(null=True)
    root = models.PositiveIntegerField(null=True)
    fools = models.JSONField(default=list)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["round", "problem"], name="place_once")
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["round", "root"],
                condition=models.Q(root__isnull=False),
                name="place_root",
            ),
            models.Index(fields=["round", "stage", "problem"], name="place_stage"),
        ]
