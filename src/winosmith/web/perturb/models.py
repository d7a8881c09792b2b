"""Versions: the problems of a family, each with its place in the tree."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Version(models.Model):
    """A problem's place in its family: the root, or what was perturbed from another version.

    A problem that nobody has perturbed has no row here. The root gets one with its first child;
    its own parent is None and its depths are 0.

    Attributes:
        root: the problem that the family grew from; a root's own is itself.
        parent: the problem that was perturbed; None for the root.
        step: perturbations between the root and this version: 0 for the root.
        declared: the depth that the contributor, or a file, states; None where nothing is stated.
        lineage: the token positions touched on the path from the root, None where that is not
            known (see `winosmith.lineage`).
        edit: the token edit distance to the root.
        covered: it is under embargo only because what stands above it is; see
            `winosmith.web.problems.embargoes`.
        digest: of the sentence and the options, so that a family holds no version twice.
        against: the model that the contributor wanted to fool; None where they chose none.
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
        indexes: ClassVar = [
            models.Index(fields=["root", "problem"], name="version_family"),
            models.Index(fields=["root", "digest"], name="version_digest"),
        ]

    def __str__(self) -> str:
        return f"version {self.problem_id} of family {self.root_id}, step {self.step}"
