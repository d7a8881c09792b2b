"""What is written about a release agrees with what it holds: cards, Croissant, tasks, changes."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from winosmith._version import __version__
from winosmith.errors import DataError
from winosmith.release._card import part_rows
from winosmith.release._content import Content
from winosmith.release._croissant import croissant
from winosmith.release._documents import documents
from winosmith.release._fault import AGAIN, Faults
from winosmith.release._markdown import cell
from winosmith.release._parts import TEST
from winosmith.release._proof_croissant import (
    data_files,
    prove_croissant,
    prove_validated,
    read_text,
)
from winosmith.release._record import record_of
from winosmith.release._write import write_harness

__all__ = ["prove_documents", "read_tombstones"]

_STONE = ("id", "last", "withdrawn", "reason", "became")


def read_tombstones(folder: Path, faults: Faults) -> list[dict[str, str]]:
    """Return what was withdrawn."""
    path, stones = "tombstones.jsonl", []
    try:
        lines = (folder / path).read_text("utf-8").splitlines()
    except (OSError, ValueError):
        faults.add(path, "it is missing or can't be read")
        return []
    for number, line in enumerate(lines, start=1):
        try:
            stone = json.loads(line)
            needed = {"id", "last", "withdrawn"} <= stone.keys() <= set(_STONE)
            if not needed or not all(isinstance(value, str) for value in stone.values()):
                raise ValueError(
                    "a tombstone has id, last, withdrawn, reason and became, nothing else"
                )
        except (ValueError, AttributeError) as error:
            faults.add(path, f"this is no tombstone: {error}", line=number)
            continue
        stones.append(stone)
    return stones


def prove_documents(
    folder: Path, record: Mapping[str, Any], content: Content, faults: Faults
) -> None:
    """Find texts that say something else than the problems and release.json."""
    _stones(content, faults)
    _changes(folder, record, content, faults)
    _counts(folder, record, content, faults)
    prove_croissant(folder, content, faults)
    _harness_tells(folder, content, faults)
    if content.made_with == f"winosmith {__version__}":
        _as_written(folder, record, content, faults)
    else:
        faults.notes.append(
            f"it was made with {content.made_with}, and this is {__version__}: its cards were "
            "checked for their counts, not word for word"
        )
    prove_validated(folder, faults)


def _stones(content: Content, faults: Faults) -> None:
    ids = set(content.dataset.ids)
    buried_ids = {stone["id"] for stone in content.tombstones}
    for number, stone in enumerate(content.tombstones, start=1):
        if stone["id"] in ids:
            faults.add(
                "tombstones.jsonl",
                f"{stone['id']!r} is withdrawn, and is still there",
                "take the problem out and release again",
                line=number,
            )
        if "became" in stone and stone["became"] not in ids | buried_ids:
            faults.add(
                "tombstones.jsonl",
                f"{stone['id']!r} became {stone['became']!r}, which never was there",
                line=number,
            )
    buried = sum(stone["withdrawn"] == content.about.version for stone in content.tombstones)
    told = content.changes.get("withdrawn", 0) + content.changes.get("edited", 0)
    if buried != told:
        faults.add(
            "tombstones.jsonl", f"{buried} are withdrawn or edited in this version, not {told}"
        )


def _changes(folder: Path, record: Mapping[str, Any], content: Content, faults: Faults) -> None:
    about, path = content.about, "CHANGELOG.md"
    lines = content.history.splitlines()
    at = next((n for n, line in enumerate(lines, start=1) if line.startswith("## ")), None)
    if at is None or lines[at - 1] != f"## {about.version} ({about.date})":
        faults.add(path, "its first section is not of this version", line=at or 1)
        return
    end = next((n for n in range(at, len(lines)) if lines[n].startswith("## ")), len(lines))
    for kind, count in content.changes.items():
        if f"- {kind}: {count:,}" not in lines[at:end]:
            faults.add(path, f"it does not say that {count:,} are {kind}", line=at)


def _counts(folder: Path, record: Mapping[str, Any], content: Content, faults: Faults) -> None:
    """Find counts of release.json and of the card that are not those of the files."""
    told = record["counts"]
    for part, counts in content.counts.items():
        for kind, count in counts.items():
            said = told.get(part, {}).get(kind) if isinstance(told.get(part), dict) else None
            if said != count:
                faults.add("release.json", f"{part} has {count} {kind}, not {said}")
    lines = (read_text(folder, "README.md", faults) or "").splitlines()
    for row in part_rows(content):
        wanted = f"| {' | '.join(map(cell, row[:-1]))} |"
        if not any(line.startswith(wanted) for line in lines):
            stem = f"| {row[0]} |"
            at = next((n for n, line in enumerate(lines, start=1) if line.startswith(stem)), 1)
            faults.add("README.md", f"{row[0]} has {row[1]:,} problems, {row[2]:,} whole twins, "
                       f"{row[3]:,} singles; it says something else", line=at)  # fmt: skip


def _harness_tells(folder: Path, content: Content, faults: Faults) -> None:
    """Find problems of test in the tasks, which have answers."""
    test = set(content.parts[TEST].ids) if TEST in content.parts else set()
    texts = {p.sentence for p in content.parts[TEST]} if test else set()
    for path in sorted((folder / "harness").rglob("*.jsonl")):
        name = path.relative_to(folder).as_posix()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1):
            try:
                told = json.loads(line)
                sentence = f"{told['before']}_{told['rest']}" if "before" in told else ""
                held = told["id"] in test or sentence in texts
            except (ValueError, KeyError, TypeError):
                faults.add(name, "this is no record of a task", line=number)
                continue
            if held:
                faults.add(name, f"{told['id']!r} is a problem of test, with its answer",
                           "take it out and release again", line=number)  # fmt: skip


def _as_written(folder: Path, record: Mapping[str, Any], content: Content, faults: Faults) -> None:
    """Write everything again from the problems, and compare it line by line."""
    texts = dict(documents(content))
    texts["croissant.json"] = croissant(content, data_files(folder))
    told = {fault.where.partition(":")[0] for fault in faults}
    for name, text in texts.items():
        if name not in told:
            _same(name, read_text(folder, name, faults), text, faults)
    again = record_of(content, record["files"])
    for key, value in again.items():
        if key not in ("digest", "counts") and json.loads(json.dumps(value)) != record.get(key):
            faults.add("release.json", f"its {key} does not follow from the files")
    expected = {*texts, *(f"data/{name}" for name in _data_names(content))}
    for name, text in _harness(content).items():
        expected.add(name)
        if name not in told:
            _same(name, read_text(folder, name, faults), text, faults)
    for name in sorted(record["files"].keys() - expected):
        faults.add(name, "it is no file of a release", "remove it and release again")


def _harness(content: Content) -> dict[str, str]:
    """Return the texts of the tasks; none where a problem must not be in one, which is told."""
    with tempfile.TemporaryDirectory() as aside:
        with contextlib.suppress(DataError):
            write_harness(content, Path(aside))
        return {
            path.relative_to(aside).as_posix(): path.read_text("utf-8")
            for path in sorted(Path(aside).rglob("*"))
            if path.is_file()
        }


def _data_names(content: Content) -> Iterator[str]:
    for part in content.parts:
        yield from (f"{part}.jsonl", f"{part}.parquet")
        if part != TEST:
            yield f"{part}-labels.lst"


def _same(name: str, told: str | None, wanted: str, faults: Faults) -> None:
    if told is None or told == wanted:
        return
    lines, right = told.split("\n"), wanted.split("\n")
    pairs = enumerate(zip(lines, right, strict=False), start=1)
    number = next((n for n, (a, b) in pairs if a != b), min(len(lines), len(right)) + 1)
    says = lines[number - 1] if number <= len(lines) else ""
    should = right[number - 1] if number <= len(right) else ""
    faults.add(
        name,
        f"it says {_short(says)}; from the problems follows {_short(should)}",
        AGAIN,
        line=number,
    )


def _short(line: str) -> str:
    return "nothing" if not line else repr(line if len(line) <= 70 else f"{line[:70]}…")
