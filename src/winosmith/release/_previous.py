"""The release before: what it published, and what its owner keeps of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from winosmith import formats
from winosmith.blocks import Former, Side, blocks
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.outputs import PRIVATE
from winosmith.problem import Lineage, Problem
from winosmith.release._ids import Known
from winosmith.release._parts import DEV, TEST, data_files, side
from winosmith.release._place import SOURCE_IDS

__all__ = ["Previous", "known_answers", "read_previous"]


@dataclass(frozen=True, eq=False)
class Previous:
    """The release before.

    Attributes:
        name, version, digest, canary: its own.
        parts: its problems.
        tombstones: what had been withdrawn by then.
        history: its CHANGELOG.md.
        source_ids: the id that each problem had in its source; empty where its owner's private
            folder does not lie beside it.
    """

    name: str
    version: str
    digest: str
    canary: str
    parts: Mapping[str, Dataset]
    tombstones: Sequence[Mapping[str, str]]
    history: str
    source_ids: Mapping[str, str]

    @cached_property
    def problems(self) -> dict[str, Problem]:
        """Every problem once, by its id."""
        return {problem.id: problem for data in self.parts.values() for problem in data}

    @property
    def former(self) -> tuple[Former, ...]:
        """What it had on each side, by the ids of its source; what it did not split is told."""
        return tuple(
            Former(self._in_source(problem), _side(part))
            for part, data in self.parts.items()
            for problem in data
        )

    def _in_source(self, problem: Problem) -> Problem:
        own, root = (self.source_ids.get(id_, id_) for id_ in (problem.id, problem.root))
        return replace(problem, id=own, lineage=Lineage(root, root) if problem.lineage else None)

    @property
    def known(self) -> Known:
        """The ids that it gave."""
        buried = (stone["id"] for stone in self.tombstones)
        by_source = {source: one for one, source in self.source_ids.items()}
        return Known(self.problems, frozenset((*self.problems, *buried)), by_source)


def _side(part: str) -> Side:
    found = side(part)
    return "test" if found == TEST else "dev" if found == DEV else "train"


def read_previous(folder: str | Path) -> Previous:
    """Read the release before.

    Raises:
        InputError: it is no release, or can't be read.
    """
    folder = Path(folder).resolve()
    try:
        told = json.loads((folder / "release.json").read_text("utf-8"))
        paths = data_files(told["counts"])
        return Previous(
            told["about"]["name"],
            told["about"]["version"],
            told["digest"],
            told["canary"],
            {
                part: Dataset(formats.read(folder / path, "winosmith", as_written=True), part)
                for part, path in paths.items()
            },
            tuple(_records(folder / "tombstones.jsonl")),
            (folder / "CHANGELOG.md").read_text("utf-8"),
            _source_ids(folder.parent / PRIVATE / folder.name / SOURCE_IDS),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{folder} is no release ({error}); name the folder of one, such as NAME-1.0.0-…"
        ) from error


def _records(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _source_ids(path: Path) -> dict[str, str]:
    return {line["id"]: line["old_id"] for line in _records(path)} if path.is_file() else {}


def known_answers(test: Dataset, before: Previous) -> list[int]:
    """Return the rows of test problems that measure nothing any more.

    Those are problems whose answer was published before, or that of a problem which belongs to
    them: their other half, one of their family, a copy, or one that looks like a twin.
    """
    told = [problem for problem in before.problems.values() if problem.answer is not None]
    both = Dataset(
        replace(problem, id=f"{at}", lineage=problem.lineage or Lineage(problem.id, problem.id))
        for at, problem in enumerate((*test, *told))
    )
    mixed = (block for block in blocks(both) if max(block) >= len(test))
    return sorted(row for block in mixed for row in block if row < len(test))
