"""`Content`: everything that a release publishes, its record, and the digest that names it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from winosmith._version import __version__
from winosmith.dataset import Dataset
from winosmith.metrics import Copies, copies, detectable_by_share
from winosmith.options import declaration
from winosmith.problem import Problem
from winosmith.records import canonical
from winosmith.release import _parts
from winosmith.release._about import About
from winosmith.release._parts import DEV, PROBLEMS
from winosmith.release._tables import COLUMNS, JUDGES, QUESTION_COLUMNS
from winosmith.report import Signature

RECORD, CHECKSUMS, TOMBSTONES = "release.json", "checksums.txt", "tombstones.jsonl"

MADE_WITH = f"winosmith {__version__}"

ADDRESS = 12
"""Digits of the digest in the name of a release's folder."""

Text = Annotated[str, Field(min_length=1)]


@declaration
class Tombstone:
    """A line of tombstones.jsonl: a withdrawn or edited problem, without its text."""

    id: Text
    """The id of the problem."""
    last: Text
    """The last version that had it."""
    withdrawn: Text
    """The first version without it."""
    reason: str = ""
    """The reason."""
    became: str = ""
    """The id of the edited problem that replaces it."""

    def line(self) -> str:
        """Return the line."""
        return canonical({key: value for key, value in asdict(self).items() if value}) + "\n"


@dataclass(frozen=True, eq=False)
class Content:
    """Everything that a release publishes.

    Attributes:
        about: the description by its makers.
        parts: the problems by part; those of test have no answers.
        canary: the string that every problem contains.
        disjoint: what two sides don't share: "twin", and on request "contributor" or "source".
        ids: "digest" if they are made from what a solver sees, "kept" if they are the source's.
        build: the report of the build, for the cards; empty for files.
        left_out: the number of omitted problems by reason.
        previous: version and digest of the previous release, or None.
        tombstones: the problems that this release or an earlier one withdrew.
        changes: by kind, the ids of the problems that changed since the previous release, each
            with a note.
        history: the changelog of the previous release, from its first section.
    """

    about: About
    parts: Mapping[str, Dataset]
    canary: str
    disjoint: tuple[str, ...] = ("twin",)
    ids: str = "kept"
    build: Mapping[str, Any] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    previous: Mapping[str, str] | None = None
    tombstones: Sequence[Tombstone] = ()
    changes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    history: str = ""

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Every problem once, in the order of the parts."""
        return tuple(_parts.unique(self.parts).values())

    @cached_property
    def dataset(self) -> Dataset:
        """The same as one data set."""
        return Dataset(self.problems, self.about.name)

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """The counts of each part, and of all parts under "all"."""
        every = {**self.parts, "all": self.dataset}
        return {part: _counts_of(dataset) for part, dataset in every.items()}

    @property
    def configurations(self) -> dict[str, dict[str, str]]:
        """The configurations of the hub: the part of each split."""
        return _parts.configurations(self.parts)

    @property
    def hub_configs(self) -> list[dict[str, Any]]:
        """The settings of the hub's card: the files of each configuration, the default first."""
        configs: list[dict[str, Any]] = [
            {
                "config_name": name,
                "data_files": [
                    {"split": split, "path": f"data/{part}.parquet"}
                    for split, part in splits.items()
                ],
            }
            for name, splits in self.configurations.items()
        ]
        return [{**configs[0], "default": True}, *configs[1:]]

    @property
    def task_part(self) -> str | None:
        """The part in the tasks for harnesses, whose answers are public."""
        return next((part for part in (DEV, PROBLEMS) if part in self.parts), None)

    @cached_property
    def copies(self) -> Copies:
        """Identical problems; of test, whose answers are withheld, no contradictions."""
        return copies(self.dataset)

    @property
    def signature(self) -> str:
        """What determines the numbers of the release."""
        version = {"release": self.about.version}
        return str(Signature(self.dataset.digest, len(self.dataset), version, 0))

    @cached_property
    def has_questions(self) -> bool:
        """Whether some problems aren't sentences with one `_` and at most five options."""
        return any(not p.blank_is_plain or len(p.options) > 5 for p in self.problems)

    @property
    def columns(self) -> Mapping[str, tuple[str, str]]:
        """The kind and meaning of each column of its tables."""
        return {**COLUMNS, **QUESTION_COLUMNS} if self.has_questions else COLUMNS

    @property
    def options(self) -> str:
        """The numbers of options, in words."""
        many = sorted({len(problem.options) for problem in self.problems})
        return " to ".join(map(str, sorted({many[0], many[-1]})))

    @property
    def by_source(self) -> Counter[str]:
        """The number of problems of each source in `about`."""
        named = {source.name for source in self.about.source}
        found = (problem.origin.source if problem.origin else None for problem in self.problems)
        return Counter(name if name in named and name else "*" for name in found)

    @property
    def days(self) -> list[str]:
        """The days on which problems were written, ascending."""
        return sorted({p.origin.created for p in self.problems if p.origin and p.origin.created})

    @property
    def judged(self) -> str:
        """The number of judged problems and of their judges, in words; empty if there are none."""
        counts = [p.extra[JUDGES] for p in self.problems if JUDGES in p.extra]
        if not counts:
            return ""
        sizes = sorted({int(str(count)) for count in counts})
        people = " to ".join(map(str, sorted({sizes[0], sizes[-1]})))
        return (
            f"{len(counts):,} of {len(self.problems):,} problems were judged, each by {people} "
            "people."
        )

    @property
    def warnings(self) -> list[str]:
        """Sentences about generated problems without a verdict, and about identical problems."""
        generated = [
            f"{count:,} of {part}" for part, count in self.build.get("unvalidated", {}).items()
        ]
        found = [f"Generated, and not found valid by judges: {', '.join(generated)}."]
        return (found if generated else []) + self.copies.sentences()

    @cached_property
    def detectable(self) -> dict[str, tuple[tuple[float, float | None], ...]]:
        """The smallest difference between two models that each part detects."""
        every = {**self.parts, "all": self.dataset}
        return {part: detectable_by_share(dataset) for part, dataset in every.items()}


def _counts_of(dataset: Dataset) -> dict[str, int]:
    authors = {p.origin.author for p in dataset if p.origin and p.origin.author}
    return {
        "problems": len(dataset),
        "twins": len(dataset.twins),
        "singles": len(dataset.singles),
        "families": sum(len(rows) > 1 for rows in dataset.families.values()),
        "contributors": len(authors),
    }


def record_of(content: Content, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the object of release.json.

    Args:
        content: of the release.
        files: the `sha256` and `bytes` of all files but release.json and checksums.txt.
    """
    record: dict[str, Any] = {
        "release": 1,
        "made_with": MADE_WITH,
        "signature": content.signature,
        "canary": content.canary,
        "ids": content.ids,
        "disjoint": list(content.disjoint),
        "counts": content.counts,
        "digests": {part: dataset.digest for part, dataset in content.parts.items()},
        "configurations": content.configurations,
        "left_out": dict(content.left_out),
        **(content.copies.record() if content.copies.sentences() else {}),
        "previous": dict(content.previous) if content.previous else None,
        "changes": {kind: len(found) for kind, found in content.changes.items()},
        "about": content.about.record(),
        "build": dict(content.build),
        "files": {path: dict(files[path]) for path in sorted(files)},
    }
    return {"digest": digest_of(record), **record}


def digest_of(record: Mapping[str, Any]) -> str:
    """Return the digest of release.json's object without its digest; it covers all files."""
    rest = {key: value for key, value in sorted(record.items()) if key != "digest"}
    return hashlib.sha256(canonical(rest).encode()).hexdigest()


def address(record: Mapping[str, Any]) -> str:
    """Return the name of a release's folder: NAME-VERSION-DIGITS."""
    about = record["about"]
    return f"{about['name']}-{about['version']}-{record['digest'][:ADDRESS]}"


def checksum_text(sums: Mapping[str, str]) -> str:
    """Return the text of checksums.txt, as sha256sum reads it."""
    return "".join(f"{sums[path]}  {path}\n" for path in sorted(sums))
