"""A finished release gets its name; its owner gets the answers of test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from winosmith import formats
from winosmith.dataset import Dataset
from winosmith.errors import OutputError
from winosmith.outputs import PRIVATE
from winosmith.records import canonical
from winosmith.release._content import Content
from winosmith.release._ids import sight
from winosmith.release._parts import TEST
from winosmith.release._record import RECORD

__all__ = ["SOURCE_IDS", "owners_key", "placed"]

SOURCE_IDS = "ids.jsonl"
"""The owner's file that says which id was which one of the source."""


def placed(hidden: Path, folder: Path) -> bool:
    """Give the finished folder its name; return False when it was there with the same bytes."""
    stem = folder.name.rpartition("-")[0]
    for other in sorted(folder.parent.glob(f"{stem}-*")):
        if other != folder and (other / RECORD).is_file() and other.name.rpartition("-")[0] == stem:
            raise OutputError(
                f"{other} is another release of this version; a version is released once, so give "
                "this one a new number, or remove that folder if nobody has it"
            )
    if folder.exists():
        if not _same(hidden, folder):
            raise OutputError(f"{folder} was changed after it was released; remove it")
        shutil.rmtree(hidden)
        return False
    hidden.rename(folder)
    return True


def _same(one: Path, other: Path) -> bool:
    """Tell whether two folders hold the same files with the same bytes."""

    def held(folder: Path) -> dict[str, Path]:
        return {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}

    mine, theirs = held(one), held(other)
    return mine.keys() == theirs.keys() and all(
        mine[name].read_bytes() == theirs[name].read_bytes() for name in mine
    )


def owners_key(
    content: Content, told: Dataset | None, source_ids: Mapping[str, str], folder: Path
) -> Path | None:
    """Write for the owner, into private/ beside the release, what must not be published.

    That is the answers of test, in its order, and which id was which one of the source.

    Args:
        content: of the release.
        told: the test problems with answers; None where they are not known.
        source_ids: by the ids of the release; empty where they are the same.
        folder: the release.

    Returns:
        The folder; None where there is nothing to keep.
    """
    files = {**_answers(content, told), **_renamed(source_ids)}
    if not files:
        return None
    key = folder.parent / PRIVATE / folder.name
    key.parent.mkdir(mode=0o700, exist_ok=True)
    key.mkdir(mode=0o700, exist_ok=True)
    for name, lines in files.items():
        with os.fdopen(os.open(key / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
                       encoding="utf-8", newline="\n") as file:  # fmt: skip
            file.writelines(lines)
    return key


def _answers(content: Content, told: Dataset | None) -> dict[str, list[str]]:
    if TEST not in content.parts or told is None:
        return {}
    answers = {sight(problem): problem.answer for problem in told}
    test = content.parts[TEST]
    if any(answers.get(sight(problem)) is None for problem in test):
        return {}
    solved = [replace(problem, answer=answers[sight(problem)]) for problem in test]
    return {
        "test.jsonl": [*formats.lines(solved)],
        "test-labels.lst": [f"{p.answer + 1}\n" for p in solved if p.answer is not None],
    }


def _renamed(source_ids: Mapping[str, str]) -> dict[str, list[str]]:
    lines = [canonical({"id": one, "old_id": old}) + "\n" for one, old in source_ids.items()]
    return {SOURCE_IDS: sorted(lines)} if lines else {}
