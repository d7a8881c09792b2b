"""Models of the site, and what each of them predicted."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _


class Model(models.Model):
    """One revision of a model that the site's configuration names.

    What determines its predictions is its digest; another one is another row, so that no
    prediction of an older revision is ever taken for one of a newer.

    Attributes:
        name: as in `site.toml`.
        solver: the kind of solver ("association", "encoder", …).
        revision: how its maker names the revision: a version, a commit, a training run.
        digest: of its weights and of everything else that determines its scores.
        about: what the solver says determines its scores, for pages.
        current: it is configured now; older revisions keep their predictions.
        seen: when its process last said that it is alive.
        fault: why it can't predict at the moment; "" while it can.
        process: what its process does.
    """

    class Process(models.TextChoices):
        """What the process of a model does."""

        STARTING = "starting", _("starts in a moment")
        LOADING = "loading", _("loads the model")
        READY = "ready", _("predicts")

    name = models.CharField(max_length=30)
    solver = models.CharField(max_length=30)
    revision = models.CharField(max_length=80)
    digest = models.CharField(max_length=64)
    about = models.JSONField(default=dict)
    current = models.BooleanField(default=True)
    since = models.DateTimeField(default=timezone.now)
    seen = models.DateTimeField(null=True)
    fault = models.TextField(blank=True)
    process = models.CharField(max_length=8, choices=Process, default=Process.STARTING)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["name", "digest"], name="model_revision"),
            models.UniqueConstraint(
                fields=["name"], condition=models.Q(current=True), name="model_current"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.revision})"


class Stand(models.TextChoices):
    """How a prediction stands."""

    WAITING = "waiting", _("waits for the model")
    DONE = "done", _("predicted")
    LATE = "late", _("the model timed out")
    FAILED = "failed", _("the model failed")


class Prediction(models.Model):
    """What one revision of a model makes of one problem; written by the server alone.

    Attributes:
        urgent: somebody waits for it; what is scored in the background is not.
        scores: one an option, as the solver gave them.
        choice: the 0-based index of the option with the highest score, the first of a tie; None
            until it is done.
        right: whether that is the problem's answer; None if either is not known, and of a tie,
            which is neither right nor fooled, whichever option is written first.
        tie: several options have the highest score (`winosmith.prediction.best_of`): the model
            could not decide between them.
        input: the digest of what the model was shown.
        leased_until: until when no other process takes it up.
        tries: how often a process took it up.
        error: why there is none, in words for people, untranslated; see `why`.
    """

    problem = models.ForeignKey(
        "problems.Problem", models.PROTECT, related_name="predictions", db_index=False
    )
    model = models.ForeignKey(Model, models.PROTECT, related_name="predictions", db_index=False)
    stand = models.CharField(max_length=8, choices=Stand, default=Stand.WAITING)
    urgent = models.BooleanField(default=False)
    scores = models.JSONField(default=list)
    choice = models.PositiveSmallIntegerField(null=True)
    right = models.BooleanField(null=True)
    tie = models.BooleanField(default=False)
    input = models.CharField(max_length=64, blank=True)
    asked_at = models.DateTimeField(default=timezone.now)
    leased_until = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)
    seconds = models.FloatField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["problem", "model"], name="prediction_once")
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["model", "-urgent", "tries", "id"],
                condition=models.Q(stand="waiting"),
                name="prediction_waiting",
            ),
            models.Index(fields=["model", "problem"], name="prediction_of_model"),
            models.Index(fields=["model", "stand", "id"], name="prediction_stands"),
        ]

    def __str__(self) -> str:
        return f"{self.model_id} on problem {self.problem_id}: {self.get_stand_display()}"

    @property
    def why(self) -> str:
        """Why there is no prediction, in the reader's language; "" if there is one."""
        return gettext(self.error) if self.error else ""
