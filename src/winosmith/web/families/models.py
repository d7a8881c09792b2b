"""Stored measurements of the models' stability on families."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class Measured(models.Model):
    """The last measurement of the models' stability, for one kind of depth.

    Attributes:
        depth: The kind of depth: "declared", "lineage" or "edit".
        stamp: A digest of the measured versions and answers.
        answers: For each model, its name and revision, and either
            `winosmith.metrics.Stability.record` without the families, or the `fault` that prevented
            the measurement.
        drawings: The site's charts for the page, as SVG.
        fault: The reason why nothing could be measured, or "".
    """

    depth = models.CharField(max_length=8, primary_key=True)
    stamp = models.CharField(max_length=64)
    made_at = models.DateTimeField(default=timezone.now)
    answers = models.JSONField(default=list)
    drawings = models.JSONField(default=list)
    fault = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"stability by {self.depth} depth, {self.made_at:%Y-%m-%d %H:%M}"
