"""Measurements of families, stored until their data change."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class Measured(models.Model):
    """The stability of the models, by one way of counting depths.

    Attributes:
        depth: "declared", "lineage" or "edit".
        stamp: of the versions and answers that it was made from.
        made_at: when.
        seconds: how long it took.
        answers: for each model its name, revision, and `winosmith.metrics.Stability.record` without
            the families; or the `fault` that prevented the measurement.
        drawings: SVG for the page, made by this site.
        fault: why nothing could be measured; "" otherwise.
    """

    depth = models.CharField(max_length=8, primary_key=True)
    stamp = models.CharField(max_length=64)
    made_at = models.DateTimeField(default=timezone.now)
    seconds = models.FloatField(default=0)
    answers = models.JSONField(default=list)
    drawings = models.JSONField(default=list)
    fault = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"stability by {self.depth} depth, {self.made_at:%Y-%m-%d %H:%M}"
