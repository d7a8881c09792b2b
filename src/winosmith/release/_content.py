"""`Content`: everything that a release holds, its record, and the digest that is its address."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from winosmith._version import __version__
from winosmith.dataset import Dataset
from winosmith.metrics import Copies, copies
from winosmith.problem import Problem
from winosmith.records import canonical
from winosmith.release._about import About
from winosmith.release._parts import configurations
from winosmith.report import Signature


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


RECORD, CHECKSUMS = "release.json", "checksums.txt"

ADDRESS = 12
"""Digits of the digest in a release's folder."""


def record_of(content: Content, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return release.json's object.

    Args:
        content: of the release.
        files: every file but release.json and checksums.txt, with its `sha256` and `bytes`.
    """
    record: dict[str, Any] = {
        "release": 1,
        "made_with": content.made_with,
        "signature": content.signature,
        "canary": content.canary,
        "ids": content.ids,
        "disjoint": list(content.disjoint),
        "counts": content.counts,
        "configurations": configurations(content.parts),
        "left_out": dict(content.left_out),
        **(content.copies.record() if content.copies.told() else {}),
        "previous": dict(content.previous) if content.previous else None,
        "changes": dict(content.changes),
        "about": content.about.record(),
        "build": dict(content.build),
        "files": {path: dict(files[path]) for path in sorted(files)},
    }
    return {"digest": digest_of(record), **record}


def digest_of(record: Mapping[str, Any]) -> str:
    """Return the digest over all files, by their checksums, and over what release.json says.

    Args:
        record: of release.json; what it says of its digest is left out.
    """
    rest = {key: value for key, value in sorted(record.items()) if key != "digest"}
    return hashlib.sha256(canonical(rest).encode()).hexdigest()


def address(record: Mapping[str, Any]) -> str:
    """Return the name of a release's folder: NAME-VERSION-DIGITS."""
    about = record["about"]
    return f"{about['name']}-{about['version']}-{record['digest'][:ADDRESS]}"


def checksum_lines(sums: Mapping[str, str]) -> Iterable[str]:
    """Yield the lines of checksums.txt, as sha256sum reads them."""
    for path in sorted(sums):
        yield f"{sums[path]}  {path}\n"


SOURCE_IDS = "ids.jsonl"
"""The owner's file that says which id was which one of the source."""


def canary_text(name: str, canary: str) -> str:
    """Return the file CANARY: what the string is for, after BIG-bench's practice (2022)."""
    return (
        f"{name}: benchmark data, to be kept out of training corpora.\n{canary}\n\n"
        "Every problem carries the line above, and every file here that takes a comment. Leave it\n"
        "where it is. Whoever gathers training data can search for it and leave these texts out;\n"
        "whoever suspects that a model has seen them can ask the model for the line.\n"
    )


def comment(canary: str) -> str:
    """Return the canary as a comment of Markdown."""
    return f"<!-- {canary} -->"
