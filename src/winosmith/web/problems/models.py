"""Database models for twins, problems, the audit log, families, and the index of sentences."""

from __future__ import annotations

import secrets
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class State(models.TextChoices):
    """The states of a problem; only `winosmith.web.problems.states.move` changes them."""

    HELD = "held", _("waiting for a moderator")
    JUDGING = "judging", _("is being judged")
    VALID = "valid", _("valid")
    REJECTED = "rejected", _("rejected")
    REVISED = "revised", _("replaced by a revision")
    WITHDRAWN = "withdrawn", _("withdrawn")


class Twin(models.Model):
    """A submission by one person: two halves, or a single imported problem.

    Attributes:
        ref: The id in the data; random, so that it reveals nothing.
        revises: The contributor's earlier twin that this twin replaces.
    """

    ref = models.CharField(max_length=80, unique=True)
    contributor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="twins"
    )
    source = models.CharField(max_length=80, default="crowd")
    domain = models.CharField(max_length=40, blank=True)
    topic = models.CharField(max_length=200, blank=True)
    anchor = models.CharField(max_length=200, blank=True)
    licence = models.CharField(max_length=60, blank=True)
    revises = models.ForeignKey("self", models.PROTECT, null=True, blank=True)
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.ref


class Problem(models.Model):
    """One half of a twin, or a single problem.

    Attributes:
        ref: The id in the data; random, so that it reveals neither the answer nor the other half.
        options: A list of 2 to 5 strings.
        answer: The 0-based index of the correct option; None if it is withheld.
        hints: Short messages on why a moderator should check the problem.
        reasons: Why judges did not find the problem valid.
        gold: Whether the problem is a gold question, which is never part of the data.
        waits: Whether only the contributor and moderators see the result, because the other half of
            the twin is undecided; see `winosmith.web.problems.states.update_waits`.
        public: Whether everybody may see the problem. The database computes this column, so that
            queries, SQL, indexes and rows can't differ.
        record: The values of `winosmith.records` without a column (pronoun, lineage, extra).
    """

    ref = models.CharField(max_length=80, unique=True)
    twin = models.ForeignKey(Twin, models.PROTECT, related_name="problems")
    sentence = models.TextField()
    options = models.JSONField()
    answer = models.PositiveSmallIntegerField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=State)
    hints = models.JSONField(default=list, blank=True)
    reasons = models.JSONField(default=list, blank=True)
    embargo = models.BooleanField(default=False)
    gold = models.BooleanField(default=False)
    released = models.BooleanField(default=False)
    waits = models.BooleanField(default=False)
    public = models.GeneratedField(
        expression=models.Q(state=State.VALID, embargo=False, gold=False, waits=False),
        output_field=models.BooleanField(),
        db_persist=True,
    )
    record = models.JSONField(default=dict, blank=True)
    created = models.DateTimeField(default=timezone.now)
    decided = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["state", "id"], name="problem_state"),
            models.Index(fields=["id"], condition=models.Q(public=True), name="problem_public"),
            models.Index(
                fields=["created", "id"], condition=models.Q(waits=True), name="problem_waits"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.ref}: {self.sentence[:60]}"

    def sync_fields(self, **columns: Any) -> None:
        """Set fields to values that a query has stored; `waits` and `public` are reloaded."""
        for name, value in columns.items():
            setattr(self, name, value)
        for name in ("waits", "public"):
            self.__dict__.pop(name, None)

    def log_event(self, kind: str, *, actor: Any = None, **columns: Any) -> Event:
        """Log an event that leaves the state unchanged; `columns` are further fields of `Event`."""
        event = self.make_event(kind, actor=actor, **columns)
        event.save()
        return event

    def make_event(self, kind: str, *, actor: Any = None, **columns: Any) -> Event:
        """Return the unsaved event that `log_event` saves."""
        state = self.state
        return Event(problem=self, actor=actor, kind=kind, before=state, after=state, **columns)


class Event(models.Model):
    """An entry of the audit log: an action on a problem, its actor, and the old and new state.

    Rows are never changed or deleted.

    Attributes:
        undoes: The event that this event undid.
    """

    problem = models.ForeignKey(Problem, models.PROTECT, related_name="events")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True)
    kind = models.CharField(max_length=20)
    before = models.CharField(max_length=10, blank=True)
    after = models.CharField(max_length=10, blank=True)
    reason = models.TextField(blank=True)
    batch = models.CharField(max_length=32, blank=True, db_index=True)
    undoes = models.OneToOneField("self", models.PROTECT, null=True, blank=True)
    at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return f"{self.kind}, {self.before} → {self.after}, {self.at:%Y-%m-%d %H:%M}"


class Remembered(models.Model):
    """An indexed sentence, from the site or a data set, with which new sentences are compared.

    Attributes:
        problem: The problem on this site, whose row contains the text.
        source: The data set of a published sentence ("WinoGrande train_xl"), or "".
        ref: The id in that data set, or "".
        sentence, options: The published text.
    """

    problem = models.OneToOneField(
        Problem, models.CASCADE, null=True, blank=True, related_name="remembered"
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
    """A hash in a sentence's sketch; see `problems.lookalikes`.

    The primary key's index finds the sentences with a hash without reading the table.
    """

    pk = models.CompositePrimaryKey("value", "remembered_id")
    value = models.BigIntegerField()
    remembered = models.ForeignKey(
        Remembered, models.DO_NOTHING, db_index=False, db_constraint=False, related_name="+"
    )


class Version(models.Model):
    """A problem's position in its family, as the root or as a perturbed version.

    A problem without versions has no row. The root gets a row with its first child; its parent is
    None and its depths are 0.

    Attributes:
        root: The root of the family; a root refers to itself.
        parent: The problem that was perturbed; None for the root.
        step: The number of perturbations between the root and this version; 0 for the root.
        declared: The depth stated by the contributor or a file, or None.
        lineage: The number of token positions changed on the path from the root; None if unknown
            (see `winosmith.lineage`).
        edit: The token edit distance to the root.
        covered: Whether the problem is under embargo only because an ancestor is; see
            `winosmith.web.problems.family`.
        digest: The digest of the sentence and the options, which prevents duplicates in a family.
        against: The model that the contributor tried to fool, or None.
    """

    problem = models.OneToOneField(
        "problems.Problem", models.PROTECT, primary_key=True, related_name="version"
    )
    root = models.ForeignKey(
        "problems.Problem", models.PROTECT, related_name="family", db_index=False
    )
    parent = models.ForeignKey(
        "problems.Problem", models.PROTECT, null=True, related_name="children"
    )
    step = models.PositiveIntegerField(default=0)
    declared = models.PositiveIntegerField(null=True)
    lineage = models.PositiveIntegerField(null=True)
    edit = models.PositiveIntegerField(null=True)
    covered = models.BooleanField(default=False)
    digest = models.CharField(max_length=64)
    against = models.ForeignKey(
        "predict.Model", models.PROTECT, null=True, related_name="+", db_index=False
    )

    class Meta:
        app_label = "perturb"  # in "problems", the reference to "predict" would be circular
        indexes: ClassVar = [
            models.Index(fields=["root", "problem"], name="version_family"),
            models.Index(fields=["root", "digest"], name="version_digest"),
        ]

    def __str__(self) -> str:
        return f"version {self.problem_id} of family {self.root_id}, step {self.step}"


def make_ref() -> str:
    """Return a random public id, which reveals nothing about the problem."""
    return secrets.token_hex(8)


ERASED_SENTENCE, ERASED_OPTIONS = "_", ["1", "2"]
"""Replacements for erased text: a valid sentence and options, so that other code keeps working."""
