"""What `verify` checks: a list of small checks, each of which yields the faults that it finds.

The files are those that release.json names, with the bytes that it names. The data are read again
from them: each problem is one that may be published, the same in every file, on the side of the
split that release.json states. Nothing withheld is in any file. Texts for people, such as the
cards, are not read: their checksums are the proof.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, RecipeError
from winosmith.humans import CANARY
from winosmith.outputs import sha256
from winosmith.problem import Problem
from winosmith.records import canonical, json_lines, parsed
from winosmith.release import _content, _interchange
from winosmith.release._about import about_of
from winosmith.release._content import KINDS, RECORD, TEST, Content
from winosmith.release._documents import DOCUMENTS
from winosmith.release._gather import Secrets, leaked, licence_faults
from winosmith.release._source import OWN_KEYS
from winosmith.release._write import labels_of
from winosmith.results import Result

AGAIN = "download it again, or release again"
REMOVE = "take it out and release again"


@dataclass(frozen=True, slots=True)
class Fault(Result):
    """One thing that is wrong with a release.

    Attributes:
        where: the file and line ("data/test.jsonl:3"), relative to the release.
        what: what is wrong.
        do: what to do about it.
    """

    where: str
    what: str
    do: str = AGAIN

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.do}"


@dataclass(frozen=True, eq=False)
class Evidence:
    """A release as it is read again.

    Attributes:
        folder: the release.
        record: the object of release.json.
        sums: the SHA-256 of each file in the folder, by its path there.
        content: its problems, and what release.json states about them.
        secrets: what must not be published; None if it is not known.
    """

    folder: Path
    record: Mapping[str, Any]
    sums: Mapping[str, str]
    content: Content
    secrets: Secrets | None = None

    @property
    def parts(self) -> Mapping[str, Dataset]:
        """The problems by part."""
        return self.content.parts

    def text(self, path: str) -> str:
        """Return the text of a file; raises OSError or ValueError if it can't be read."""
        return (self.folder / path).read_bytes().decode("utf-8")


_KINDS: Mapping[str, type] = {
    "digest": str, "canary": str, "ids": str, "disjoint": list, "counts": dict, "digests": dict,
    "configurations": dict, "about": dict, "files": dict,
}  # fmt: skip
"""The keys of release.json that are read again, each with the kind of its value."""


def read_record(folder: Path) -> dict[str, Any] | Fault:
    """Return the object of release.json, or why there is none."""
    try:
        record = parsed((folder / RECORD).read_text("utf-8"))
        canonical(record).encode("utf-8")  # half a character, or nested so deep, has no digest
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        return Fault(RECORD, f"it can't be read ({why}), so this is not a release")
    if not isinstance(record, dict) or record.get("release") != 1:
        return Fault(RECORD, "it is not that of a release (release: 1)")
    bad = [key for key, kind in _KINDS.items() if not isinstance(record.get(key), kind)]
    if bad:
        return Fault(RECORD, f"{', '.join(bad)} is missing or of another kind")
    odd = [part for part in record["counts"] if part not in (*_content.PARTS, "all")]
    if odd:
        return Fault(RECORD, f"counts has {odd[0]!r}, which is not a part")
    try:
        about_of(record["about"])
    except RecipeError as error:
        return Fault(RECORD, f"about: {error}")
    return record


def check_checksums(
    folder: Path, record: Mapping[str, Any], sums: Mapping[str, str]
) -> Iterator[Fault]:
    """Find files that are missing, changed, too many or not files, and another digest."""
    named, outside = record["files"], {RECORD, _content.CHECKSUMS}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield Fault(name, "it is a link", "replace it with the file itself")
        elif not path.is_file() and not (path.is_dir() and any(path.iterdir())):
            yield Fault(name, "it is neither a file nor a folder with files", "remove it")
    for path in sorted(named.keys() | (sums.keys() - outside)):
        entry = named.get(path)
        if path not in sums:
            yield Fault(path, "it is missing")
        elif entry is None:
            yield Fault(path, "release.json does not name it", "remove it")
        elif not isinstance(entry, dict) or sums[path] != entry.get("sha256"):
            yield Fault(path, "its SHA-256 is not the one in release.json")
    listed = "".join(
        _content.checksum_lines({p: s for p, s in sums.items() if p != _content.CHECKSUMS})
    )
    try:
        same = (folder / _content.CHECKSUMS).read_text("utf-8") == listed
    except (OSError, ValueError):
        same = False
    if not same:
        yield Fault(_content.CHECKSUMS, "its lines are not the SHA-256 of the files")
    if _content.digest_of(record) != record["digest"]:
        yield Fault(RECORD, "its digest is not that of the rest of it")
    elif folder.resolve().name != _content.address(record):
        yield Fault(
            RECORD,
            f"the folder's name is not its address, {_content.address(record)}",
            "rename the folder, if nothing else is wrong",
        )


def checksums_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a folder, by its path there."""
    return {
        path.relative_to(folder).as_posix(): sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def read_parts(folder: Path, record: Mapping[str, Any]) -> tuple[dict[str, Dataset], list[Fault]]:
    """Return the problems by part, and every record that is not a problem."""
    parts: dict[str, Dataset] = {}
    faults: list[Fault] = []
    for part, path in _content.data_files(record["counts"]).items():
        try:
            held = formats.scan(folder / path, "winosmith", as_written=True)
        except FormatError as error:
            faults.append(Fault(path, f"it can't be read ({error.reason})"))
            continue
        rows = zip(held.lines, held.items, strict=True)
        bad = [(one.line, str(one.reason)) for one in held.bad]
        bad += [(n, "it is a claim") for n, item in rows if not isinstance(item, Problem)]
        faults += [Fault(f"{path}:{n}", f"this is not a problem: {why}") for n, why in bad]
        parts[part] = Dataset((p for p in held.items if isinstance(p, Problem)), part)
    return parts, faults


def check_problems(found: Evidence) -> Iterator[Fault]:
    """Find problems that must not be published as they are."""
    first: dict[str, tuple[str, Problem]] = {}
    for part, dataset in found.parts.items():
        for row, problem in enumerate(dataset, start=1):
            place, other = first.setdefault(problem.id, (part, problem))
            faults = [(f"is another problem in {place}", AGAIN)] if other != problem else []
            if place == part:
                faults += _faults_of(problem, part, found.record)
            for what, do in faults:
                yield Fault(f"data/{part}.jsonl:{row}", f"{problem.id!r} {what}", do)


def _faults_of(problem: Problem, part: str, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if problem.embargo:
        yield "is under embargo", REMOVE
    if problem.extra.get(CANARY) != record["canary"]:
        yield "does not contain the canary", AGAIN
    if part == TEST:
        if problem.answer is not None:
            yield "has its answer, although it is of test", "remove the answer and release again"
        odd = [key for key in problem.extra if key not in OWN_KEYS]
        if odd:
            yield f"has {odd[0]!r}, which may reveal its answer", REMOVE
    elif problem.answer is None:
        yield "has no answer, although it is not of test", AGAIN
    author = problem.origin.author if problem.origin else None
    if author and "@" in author:
        yield "has what looks like an address as its contributor", "use a pseudonym"
    created = problem.origin.created if problem.origin else None
    if created and len(created) > 10:
        yield "reveals the hour at which it was written", "release again"
    if record["ids"] == "digest":
        stem = _content.id_of(problem, record["about"]["name"])
        if problem.id != stem and not problem.id.startswith(f"{stem}-"):
            yield "has an id that is not made from its text; it may reveal the answer", AGAIN


def check_splits(found: Evidence) -> Iterator[Fault]:
    """Find problems that belong together on two sides of a split, and sizes that are not nested."""
    parts = found.parts
    kinds = [kind for kind in KINDS if kind == "twin" or kind in found.content.disjoint]
    for one in _content.straddles(parts, kinds):
        other = parts[one.other_part][one.other_row]
        yield Fault(
            f"data/{one.part}.jsonl:{one.row + 1}",
            f"{parts[one.part][one.row].id!r} and {other.id!r} (data/{one.other_part}.jsonl:"
            f"{one.other_row + 1}) are on two sides of a split: {one.why}",
            "move both to one side and release again",
        )
    sizes = [part for part in _content.NESTED if part in parts]
    for small, large in pairwise(sizes):
        ids, more = parts[small].ids, parts[large].ids
        if more[: len(ids)] != ids:
            row = next((r for r, one in enumerate(ids) if more[r : r + 1] != (one,)), 0)
            yield Fault(f"data/{small}.jsonl:{row + 1}", f"it is not the beginning of {large}")


def check_order(found: Evidence) -> Iterator[Fault]:
    """Find a test set in another order than that of a digest of its texts."""
    seen = [(_content.sight(problem), problem.id) for problem in found.parts.get(TEST, ())]
    wrong = next((row for row in range(1, len(seen)) if seen[row] < seen[row - 1]), None)
    if wrong is not None:
        what = "the order is not that of a digest of the texts; it may reveal the answers"
        yield Fault(f"data/{TEST}.jsonl:{wrong + 1}", what, "release again")


def check_licences(found: Evidence) -> Iterator[Fault]:
    """Find licences that are missing or don't fit."""
    places = {
        problem.id: f"data/{part}.jsonl:{row}"
        for part, dataset in found.parts.items()
        for row, problem in enumerate(dataset, start=1)
    }
    for problem_id, what, do in licence_faults(found.content.about, found.content.problems):
        yield Fault(places.get(problem_id, RECORD), what, do)


def check_statements(found: Evidence) -> Iterator[Fault]:
    """Find counts, configurations and digests in release.json that are not those of the data."""
    content, record = found.content, found.record
    for part, counts in content.counts.items():
        for kind, count in counts.items():
            stated = record["counts"].get(part)
            stated = stated.get(kind) if isinstance(stated, dict) else None
            if stated != count:
                yield Fault(RECORD, f"{part} has {count} {kind}, not {stated}")
    if record["configurations"] != _content.configurations(content.parts):
        yield Fault(RECORD, "its configurations are not those of the parts")
    for part, dataset in content.parts.items():
        if record["digests"].get(part) != dataset.digest:
            yield Fault(RECORD, f"its digest of {part} is not that of the problems")


def check_tables(found: Evidence) -> Iterator[Fault]:
    """Find labels and Parquet files that differ from the JSON Lines."""
    for part, dataset in found.parts.items():
        if part != TEST:
            path = f"data/{part}-labels.lst"
            try:
                labels, wanted = found.text(path).split("\n"), labels_of(dataset).split("\n")
            except (OSError, ValueError):
                yield Fault(path, "it can't be read")
            else:
                if labels != wanted:
                    row = _first_difference(labels, wanted)
                    yield Fault(f"{path}:{row}", "it does not have the answers of the problems")
        path = f"data/{part}.parquet"
        try:
            table = _interchange.read_table(found.folder / path)
        except (OSError, ValueError) as error:
            yield Fault(path, f"it can't be read ({str(error).splitlines()[0]})")
        else:
            yield from _table_faults(path, table, _interchange.table_of(dataset))


def _table_faults(path: str, table: Any, wanted: Any) -> Iterator[Fault]:
    if not table.schema.equals(wanted.schema):
        yield Fault(path, "its columns are not those of a release")
    elif len(table) != len(wanted):
        yield Fault(path, f"it has {len(table)} rows; the JSON Lines have {len(wanted)}")
    elif not table.equals(wanted):
        name = next(n for n in wanted.column_names if not table[n].equals(wanted[n]))
        row = _first_difference(table[name].to_pylist(), wanted[name].to_pylist())
        yield Fault(path, f"the {name} of row {row} is not that of the JSON Lines")


def _first_difference(some: list[Any], wanted: list[Any]) -> int:
    """Return the 1-based place where two lists begin to differ."""
    pairs = enumerate(zip(some, wanted, strict=False), start=1)
    return next((n for n, (one, other) in pairs if one != other), min(len(some), len(wanted)) + 1)


def check_files(found: Evidence) -> Iterator[Fault]:
    """Find files that no release has, such as the labels of test."""
    names = {RECORD, _content.CHECKSUMS, "croissant.json", *DOCUMENTS}
    names |= {name for part in found.parts for name in _content.data_names(part)}
    for path in found.sums:
        if path not in names and not _TASK_FILE.fullmatch(path):
            yield Fault(path, "it is not a file of a release", "remove it and release again")


_HEX = re.compile(r"\b[0-9a-f]{64}\b")
_TASK_FILE = re.compile(r"harness/(lm_eval|inspect_ai)/(\w+\.(jsonl|py|yaml)|winosmith\.json)")


def check_loading(found: Evidence) -> Iterator[Fault]:
    """Find splits that README.md's settings or croissant.json load from another file."""
    wanted = {
        (name, split): f"data/{part}.parquet"
        for name, splits in _content.configurations(found.parts).items()
        for split, part in splits.items()
    }
    yield from _compared(found, "README.md", _loaded_by_hub, wanted)
    tables = {part: f"data/{part}.parquet" for part in found.parts}
    data = {path: digest for path, digest in found.sums.items() if path.startswith("data/")}
    yield from _compared(found, "croissant.json", _loaded_by_croissant, tables | data)


def _compared(
    found: Evidence,
    name: str,
    read: Callable[[str], Mapping[Any, Any]],
    wanted: Mapping[Any, Any],
) -> Iterator[Fault]:
    try:
        stated = read(found.text(name))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        yield Fault(name, "its files and splits can't be read")
        return
    for key in sorted(stated.keys() | wanted.keys(), key=str):
        if stated.get(key) != wanted.get(key):
            shown = key if isinstance(key, str) else " ".join(key)
            what = f"it states {stated.get(key)} for {shown}, not {wanted.get(key)}"
            yield Fault(name, _HEX.sub(lambda digits: f"{digits[0][:12]}…", what))


def _loaded_by_hub(text: str) -> dict[tuple[str, str], str]:
    """Return the file of each configuration and split, by the settings of a card."""
    _, settings, _ = text.split("---\n", 2)
    configs = [parsed(line[2:]) for line in settings.splitlines() if line.startswith("- {")]
    return {
        (one["config_name"], file["split"]): file["path"]
        for one in configs
        for file in one["data_files"]
    }


def _loaded_by_croissant(text: str) -> dict[str, str]:
    """Return the SHA-256 of each file, and the file of each part."""
    description = parsed(text)
    files = {one["contentUrl"]: one["sha256"] for one in description["distribution"]}
    tables = {
        record["@id"]: " ".join({one["source"]["fileObject"]["@id"] for one in record["field"]})
        for record in description["recordSet"]
    }
    return files | tables


def check_tasks(found: Evidence) -> Iterator[Fault]:
    """Find records of tasks that are not those of the problems with public answers."""
    part = _content.task_part(found.parts)
    problems = found.parts[part] if part else ()
    canary = found.record["canary"]
    wanted = {
        json.dumps(record)
        for problem in problems
        for record in _interchange.task_records(problem, canary)
    }
    for path in found.sums:
        if path.startswith("harness/") and path.endswith(".jsonl"):
            for line, record in _records(found, path):
                if isinstance(record, Fault):
                    yield record
                elif json.dumps(record) not in wanted:
                    what = f"{record.get('id')!r} is not as data/{part}.jsonl has it"
                    yield Fault(f"{path}:{line}", what)


def _records(found: Evidence, path: str) -> Iterator[tuple[int, dict[str, Any] | Fault]]:
    """Yield the objects of a file with their lines; a fault, and no more, at what is none."""
    try:
        yield from json_lines(found.text(path), path)
    except FormatError as error:
        yield error.line or 1, Fault(f"{path}:{error.line}", error.reason)
    except (OSError, ValueError):
        yield 1, Fault(path, "it can't be read")


_STONE = {"id", "last", "withdrawn", "reason", "became"}


def check_tombstones(found: Evidence) -> Iterator[Fault]:
    """Find withdrawn problems that are still there, and texts of withdrawn problems."""
    path, ids = "tombstones.jsonl", set(found.content.dataset.ids)
    for line, stone in _records(found, path):
        if isinstance(stone, Fault):
            yield stone
        elif not {"id", "last", "withdrawn"} <= stone.keys() <= _STONE:
            what = "a tombstone has id, last, withdrawn, and at most reason and became"
            yield Fault(f"{path}:{line}", what)
        elif stone["id"] in ids:
            yield Fault(f"{path}:{line}", f"{stone['id']!r} is withdrawn, and still there", REMOVE)


def check_secrets(found: Evidence) -> Iterator[Fault]:
    """Find what the private folder withholds, if it is given."""
    if found.secrets is None:
        return
    for part, row, what, do in leaked(found.parts, found.secrets):
        yield Fault(f"data/{part}.jsonl" + ("" if row is None else f":{row + 1}"), what, do)
    for path in found.sums:
        text = (found.folder / path).read_bytes().decode("utf-8", "replace")
        if found.secrets.digests & set(_HEX.findall(text)):
            yield Fault(path, "it has the SHA-256 of a private file, with which guesses at short "
                        "answers can be tested")  # fmt: skip


CHECKS: Mapping[str, tuple[Callable[[Evidence], Iterator[Fault]], ...]] = {
    "problems": (check_problems, check_order),
    "splits and licences": (check_splits, check_licences),
    "files": (check_statements, check_tables, check_files, check_loading, check_tasks),
    "what is withheld": (check_tombstones, check_secrets),
}
"""The checks of a release that can be read, by what is shown while they run."""
