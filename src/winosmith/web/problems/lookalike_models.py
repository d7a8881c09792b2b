"""The index of sentences that exist or were published."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Remembered(models.Model):
    """A sentence that new ones are compared with: a problem of the site, or a published one.

    Attributes:
        problem: of the site; its row holds the text.
        source: of a published sentence: the data set ("WinoGrande train_xl"); else empty.
        ref: its id in that data set; else empty.
        sentence, options: the published text.
    """

    problem = models.OneToOneField(
        "problems.Problem", models.CASCADE, null=True, blank=True, related_name="remembered"
    )
    source = models.CharField(max_length=80, blank=True)
    ref = models.CharField(max_length=200, blank=True)
    sentence = models.TextField(blank=True)
    options = models.JSONField(default=list, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["source", "ref"],
                condition=models.Q(problem__isnull=True),
                name="published_once",
            )
        ]

    def __str__(self) -> str:
        return self.ref or f"problem {self.problem_id}"


class Shingle(models.Model):
    """That a sentence is stored under a number of its sketch; see `problems.sketch`.

    The key's index answers which sentences have a number without reading the table.
    """

    pk = models.CompositePrimaryKey("value", "remembered_id")
    value = models.BigIntegerField()
    remembered = models.ForeignKey(
        Remembered, models.DO_NOTHING, db_index=False, db_constraint=False, related_name="+"
    )
