"""Read the output folder of a finished build, for later builds, rounds, releases and sites."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError
from winosmith.outputs import PRIVATE, sha256
from winosmith.records import parse_json, read_json_lines

CHECKSUMS_NAME = "checksums.sha256"
"""Name of the file that a build writes last."""

RECIPE = "recipe.toml"
DROPPED = "dropped.jsonl"
WITHHELD = f"{PRIVATE}/withheld.jsonl"
IDS_NAME = "ids.jsonl"
IDS = f"{PRIVATE}/{IDS_NAME}"
SCORES = f"{PRIVATE}/scores.jsonl"


@dataclass(frozen=True)
class BuildFiles:
    """The files of a finished build, which are read on demand."""

    folder: Path

    @property
    def digest(self) -> str:
        """The SHA-256 of the file that contains the checksums of all public files."""
        return hashlib.sha256((self.folder / CHECKSUMS_NAME).read_bytes()).hexdigest()

    @property
    def exists(self) -> bool:
        """Whether the folder contains a build, finished or not."""
        return any((self.folder / name).exists() for name in ("report.json", CHECKSUMS_NAME))

    def check(self) -> None:
        again = "run winosmith build again"
        try:
            lines = (self.folder / CHECKSUMS_NAME).read_text("utf-8").splitlines()
        except OSError as error:
            raise InputError(f"{self.folder} contains an unfinished build; {again}") from error
        for number, line in enumerate(lines, start=1):
            digits, _, name = line.partition("  ")
            path = self.folder / name
            if not name or not path.resolve().is_relative_to(self.folder.resolve()):
                raise FormatError(
                    f"this line is not the checksum of a build file; {again}",
                    self.folder / CHECKSUMS_NAME,
                    number,
                )
            if not path.is_file() or sha256(path) != digits:
                raise InputError(f"{path} was changed after the build; {again}")

    @cached_property
    def report(self) -> dict[str, Any]:
        return dict(parse_json((self.folder / "report.json").read_text("utf-8")))

    def read_problems(self, split: str) -> Dataset:
        """Return the problems of a split, such as "train_xl", "dev" or "private/test".

        Raises:
            OSError: the build has no such split.
        """
        recipe = tomllib.loads((self.folder / RECIPE).read_text("utf-8"))
        format_name = recipe["files"]["format"]
        path = self.folder / f"{split}{formats.get_writer(format_name).suffix}"
        if not path.stat().st_size:
            return Dataset([], split)
        return formats.read(path, format_name, as_written=True)

    def read_dropped(self) -> Iterator[dict[str, Any]]:
        return read_json_lines(self.folder / DROPPED)

    def read_withheld_records(self) -> Iterator[dict[str, Any]]:
        """Yield the private records of dropped problems, if there are private files."""
        return self._read_private_records(WITHHELD)

    def read_scores(self) -> Iterator[dict[str, Any]]:
        """Yield each problem's AFLite score, if AFLite was used and there are private files."""
        return self._read_private_records(SCORES)

    def read_pool_ids(self) -> dict[str, str]:
        """Map each problem's id to its id in the pool, if there are private files."""
        return read_old_ids(self.folder / PRIVATE)

    def _read_private_records(self, name: str) -> Iterator[dict[str, Any]]:
        path = self.folder / name
        return read_json_lines(path) if path.is_file() else iter(())


def read_old_ids(private_folder: Path) -> dict[str, str]:
    """Map each problem's id to its previous id, read from a build's or release's private folder.

    The mapping is empty if the folder has no file of ids.
    """
    path = private_folder / IDS_NAME
    records = read_json_lines(path) if path.is_file() else ()
    return {record["id"]: record["old_id"] for record in records}
