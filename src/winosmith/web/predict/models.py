"""Database models for the site's models and their predictions."""

from __future__ import annotations

import hashlib
import json
from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from winosmith import Problem as Datum
from winosmith.prediction import find_best_options


class Model(models.Model):
    """A revision of a model configured on the site.

    The digest determines the predictions; each digest has its own row, so that predictions of
    different revisions are never mixed.

    Attributes:
        name: The name in `site.toml`.
        solver: The kind of solver ("association", "encoder", …).
        revision: The publisher's name for the revision: a version, a commit, or a training run.
        digest: The digest of its weights and of everything else that determines its scores.
        about: The solver's description of what determines its scores, for pages.
        current: Whether this revision is configured now; older revisions keep their predictions.
        fault: Why the model can't predict at the moment, or "".
    """

    class Process(models.TextChoices):
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


class Status(models.TextChoices):
    WAITING = "waiting", _("waits for the model")
    DONE = "done", _("predicted")
    LATE = "late", _("the model timed out")
    FAILED = "failed", _("the model failed")


class Prediction(models.Model):
    """A model revision's prediction for a problem; only the server writes it.

    Attributes:
        urgent: Whether a person is waiting for the prediction.
        scores: One score per option, as given by the solver.
        choice: The 0-based index of the highest-scoring option, the first if tied; None until done.
        right: Whether the choice is the problem's answer; None if either is unknown, or for a tie,
            which counts neither as correct nor as fooled.
        tie: Whether several options have the highest score (see `prediction.find_best_options`).
        input: The digest of the model's input.
        leased_until: The end of the lease, before which no other process claims the prediction.
        error: The reason for a missing prediction, as an untranslated message for users.
    """

    problem = models.ForeignKey(
        "problems.Problem", models.PROTECT, related_name="predictions", db_index=False
    )
    model = models.ForeignKey(Model, models.PROTECT, related_name="predictions", db_index=False)
    stand = models.CharField(max_length=8, choices=Status, default=Status.WAITING)
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
    def model_input(self) -> Datum:
        """Return the problem as the model sees it, without answer, contributor and parent."""
        problem = self.problem
        pronoun = problem.record.get("pronoun")
        return Datum(problem.ref, problem.sentence, tuple(problem.options), pronoun=pronoun)

    def complete(self, scores: list[float], seconds: float) -> None:
        """Set the result: one finite score per option. The caller stores it.

        In a batch, `seconds` is the mean duration of its tasks.
        """
        best = find_best_options(scores)
        self._set_input(seconds)
        self.stand, self.error, self.scores = Status.DONE, "", scores
        self.choice, self.tie, answer = best[0], len(best) > 1, self.problem.answer
        self.right = None if answer is None or self.tie else best[0] == answer

    def fail(self, error: str, seconds: float, *, late: bool) -> None:
        """Set the reason for missing scores, as a message for users."""
        self._set_input(seconds)
        self.stand, self.error = Status.LATE if late else Status.FAILED, error

    def _set_input(self, seconds: float) -> None:
        datum = self.model_input
        shown = json.dumps([datum.sentence, datum.options, datum.pronoun], ensure_ascii=False)
        self.input = hashlib.sha256(shown.encode()).hexdigest()
        self.seconds = round(seconds, 4)

    @property
    def failure_reason(self) -> str:
        return gettext(self.error) if self.error else ""
