"""`Content`: everything that a release holds, from which each of its files is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from winosmith._version import __version__
from winosmith.dataset import Dataset
from winosmith.metrics import Copies, copies
from winosmith.problem import Problem
from winosmith.release._about import About
from winosmith.report import Signature

__all__ = ["Content", "counts_of"]


@dataclass(frozen=True, eq=False)
class Content:
    """Everything that a release holds.

    Attributes:
        about: what its makers say of it.
        parts: its problems, by part; those of test have no answers.
        canary: the string that every problem carries.
        disjoint: what no two sides share: "twin", and "contributor" or "source" on request.
        ids: "digest" where they are made from what a solver sees, "kept" where they are the
            source's own.
        build: what the build reported, for the card; empty where there was none.
        left_out: how many problems were left out, by reason.
        previous: version and digest of the release before, or None.
        tombstones: what was withdrawn in this release or one before, in order.
        changes: how many problems were added, withdrawn, changed and moved since.
        history: CHANGELOG.md's text.
        made_with: the version of winosmith that wrote it.
    """

    about: About
    parts: Mapping[str, Dataset]
    canary: str
    disjoint: tuple[str, ...] = ("twin",)
    ids: str = "kept"
    build: Mapping[str, Any] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    previous: Mapping[str, str] | None = None
    tombstones: Sequence[Mapping[str, str]] = ()
    changes: Mapping[str, int] = field(default_factory=dict)
    history: str = ""
    made_with: str = f"winosmith {__version__}"

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Every problem once, in the order of the parts."""
        seen: dict[str, Problem] = {}
        for dataset in self.parts.values():
            for problem in dataset:
                seen.setdefault(problem.id, problem)
        return tuple(seen.values())

    @cached_property
    def dataset(self) -> Dataset:
        """The same as one data set."""
        return Dataset(self.problems, self.about.name)

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """What each part counts, and all of them under "all"."""
        counted = {part: counts_of(dataset) for part, dataset in self.parts.items()}
        return {**counted, "all": counts_of(self.dataset)}

    @cached_property
    def copies(self) -> Copies:
        """What is there more than once; of test, whose answers are not here, no contradiction."""
        return copies(self.dataset)

    @property
    def signature(self) -> str:
        """What the figures of the release carry."""
        version = {"release": self.about.version}
        return str(Signature(self.dataset.digest, len(self.dataset), version, 0))


def counts_of(dataset: Dataset) -> dict[str, int]:
    """Return what is counted of a part."""
    authors = {p.origin.author for p in dataset if p.origin and p.origin.author}
    return {
        "problems": len(dataset),
        "twins": len(dataset.twins),
        "singles": len(dataset.singles),
        "families": sum(len(rows) > 1 for rows in dataset.families.values()),
        "contributors": len(authors),
    }
