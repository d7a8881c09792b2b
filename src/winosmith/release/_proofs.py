"""What `verify` holds a release to, and what it finds: where, what, and what to do about it.

The outside: its files are those that it names, with the bytes that it names. The problems: each as
it may be published, the same in every form. What is written about them agrees with them: cards,
tasks, changes, and croissant.json by our own rules and by mlcroissant's.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from winosmith._version import __version__
from winosmith.dataset import Dataset
from winosmith.errors import DataError, ProblemError, RecipeError, require
from winosmith.formats import lines
from winosmith.humans import CANARY
from winosmith.outputs import sha256
from winosmith.problem import Problem
from winosmith.records import Recorded, problem_of
from winosmith.release import _content, _interchange
from winosmith.release._about import about_of
from winosmith.release._content import Content
from winosmith.release._documents import cell, documents, part_rows
from winosmith.release._interchange import DataFile
from winosmith.release._source import OWN_KEYS
from winosmith.release._write import labels_of, metadata, write_harness

AGAIN = "get it anew, or release again"
"""What to do about a file that is not as it was released."""


@dataclass(frozen=True, slots=True)
class Fault(Recorded):
    """One thing that is wrong with a release.

    Attributes:
        where: the file and line ("data/test.jsonl:3"), relative to the release.
        what: what is wrong.
        do: what to do about it.
    """

    where: str
    what: str
    do: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.do}"


@dataclass
class Faults:
    """Faults in the order in which they are found, and what could not be checked."""

    found: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, path: str, what: str, do: str = AGAIN, *, line: int | None = None) -> None:
        """Take down a fault."""
        self.found.append(Fault(path if line is None else f"{path}:{line}", what, do))

    def __iter__(self) -> Iterator[Fault]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_KINDS: Mapping[str, type] = {
    "digest": str,
    "made_with": str,
    "canary": str,
    "ids": str,
    "disjoint": list,
    "counts": dict,
    "about": dict,
    "build": dict,
    "left_out": dict,
    "changes": dict,
    "files": dict,
}


def read_record(folder: Path, faults: Faults) -> dict[str, Any] | None:
    """Return what release.json says, or None where it can't be made sense of."""
    path = folder / _content.RECORD
    try:
        record = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        faults.add(_content.RECORD, f"it can't be read ({why}), so this is no release", AGAIN)
        return None
    if not isinstance(record, dict) or record.get("release") != 1:
        faults.add(_content.RECORD, "it is not that of a release (release: 1)", AGAIN)
        return None
    bad = [key for key, kind in _KINDS.items() if not isinstance(record.get(key), kind)]
    if bad:
        faults.add(_content.RECORD, f"{', '.join(bad)} is missing or of another kind", AGAIN)
        return None
    odd = [part for part in record["counts"] if part not in (*_content.PARTS, "all")]
    if odd:
        faults.add(_content.RECORD, f"counts has {odd[0]!r}, which is no part", AGAIN)
        return None
    try:
        about_of(record["about"])
    except RecipeError as error:
        faults.add(_content.RECORD, f"about: {error}", AGAIN)
        return None
    return record


def prove_files(folder: Path, record: Mapping[str, Any], faults: Faults) -> None:
    """Find files that are missing, changed, too many or no files; and another address."""
    named = record["files"]
    there = _there(folder, faults)
    sums = {path: sha256(folder / path) for path in there}
    for path in sorted(named.keys() - there):
        faults.add(path, "it is missing")
    for path in sorted(there - named.keys() - {_content.RECORD, _content.CHECKSUMS}):
        faults.add(path, "release.json does not name it", "remove it")
    for path in sorted(there & named.keys()):
        entry = named[path] if isinstance(named[path], dict) else {}
        if sums[path] != entry.get("sha256"):
            faults.add(path, "its SHA-256 is not the one in release.json")
        elif (folder / path).stat().st_size != entry.get("bytes"):
            faults.add(path, "its size is not the one in release.json")
    _checksums(folder, sums, faults)
    if _content.digest_of(record) != record["digest"]:
        faults.add(_content.RECORD, "its digest is not that of what it says and of the files")
    elif folder.resolve().name != _content.address(record):
        faults.add(
            _content.RECORD,
            f"the folder's name is not its address, {_content.address(record)}",
            "rename the folder, if nothing else is wrong",
        )


def _there(folder: Path, faults: Faults) -> set[str]:
    """Return the files of a folder; what is a link or no file is a fault."""
    there = set()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            faults.add(name, "it is a link", "put the file itself there")
        elif path.is_file():
            there.add(name)
        elif not path.is_dir():
            faults.add(name, "it is no file", "remove it")
        elif not any(path.iterdir()):
            faults.add(name, "it is an empty folder", "remove it")
    return there


def _checksums(folder: Path, sums: Mapping[str, str], faults: Faults) -> None:
    try:
        lines = (folder / _content.CHECKSUMS).read_text("utf-8").splitlines()
    except (OSError, ValueError):
        faults.add(_content.CHECKSUMS, "it is missing or can't be read")
        return
    listed = set()
    for number, line in enumerate(lines, start=1):
        found = _LINE.fullmatch(line)
        if found is None:
            faults.add(_content.CHECKSUMS, f"{line[:60]!r} is no checksum and file", line=number)
            continue
        listed.add(found[2])
        if found[2] in sums and sums[found[2]] != found[1]:
            faults.add(_content.CHECKSUMS, f"the SHA-256 of {found[2]} is another", line=number)
        elif found[2] not in sums:
            faults.add(_content.CHECKSUMS, f"there is no file {found[2]}", line=number)
    for path in sorted(sums.keys() - listed - {_content.CHECKSUMS}):
        faults.add(_content.CHECKSUMS, f"{path} has no line")


def read_parts(
    folder: Path, record: Mapping[str, Any], faults: Faults
) -> dict[str, Dataset] | None:
    """Return the problems by part, or None where a line is none that can be released."""
    before = len(faults)
    known: dict[str, Problem] = {}
    parts, first = {}, dict[str, tuple[str, Problem]]()
    for part in [one for one in _content.PARTS if one in record["counts"]]:
        path = f"data/{part}.jsonl"
        problems = _problems(folder, path, known, faults)
        if problems is None:
            continue
        seen: dict[str, int] = {}
        for number, problem in enumerate(problems, start=1):
            if problem.id in seen:
                faults.add(path, f"the id {problem.id!r} is that of line {seen[problem.id]}, too",
                           line=number)  # fmt: skip
                continue
            seen[problem.id] = number
            place, other = first.setdefault(problem.id, (part, problem))
            if other != problem:
                faults.add(path, f"{problem.id!r} is another problem in {place}", line=number)
            if place == part:
                _prove(problem, part, record, path, number, faults)
        parts[part] = Dataset({p.id: p for p in problems}.values(), part)
        if not problems:
            faults.add(path, "it holds no problem")
    fatal = [f for f in faults.found[before:] if f.what.startswith(("it can't be read", "this is"))]
    return None if fatal or not parts else parts


def _problems(
    folder: Path, path: str, known: dict[str, Problem], faults: Faults
) -> list[Problem] | None:
    """Return a file's problems; a line is read once, however many files hold it."""
    try:
        held = (folder / path).read_text("utf-8").split("\n")
    except (OSError, ValueError) as error:
        faults.add(path, f"it can't be read ({getattr(error, 'strerror', None) or error})")
        return None
    if held.pop() != "":
        faults.add(path, "its last line is not ended", line=len(held) + 1)
    found = []
    for number, line in enumerate(held, start=1):
        if line not in known:
            try:
                known[line] = problem_of(json.loads(line))
            except (ValueError, ProblemError, TypeError, AttributeError) as error:
                faults.add(path, f"this is no problem: {error}", line=number)
                continue
            if line + "\n" not in {*lines([known[line]]), *lines([known[line]], marked=True)}:
                faults.add(path, "it is not written as winosmith writes it", line=number)
        found.append(known[line])
    return found


def _prove(
    problem: Problem, part: str, record: Mapping[str, Any], path: str, line: int, faults: Faults
) -> None:
    """Find what must not be in one published problem."""

    def add(what: str, do: str = AGAIN) -> None:
        faults.add(path, f"{problem.id!r} {what}", do, line=line)

    if problem.embargo:
        add("is under embargo", "take it out and release again")
    if problem.extra.get(CANARY) != record["canary"]:
        add("does not carry the canary")
    if part == _content.TEST:
        if problem.answer is not None:
            add("has its answer, though it is of test", "take the answer out and release again")
        odd = [key for key in problem.extra if key not in OWN_KEYS]
        if odd:
            add(f"has {odd[0]!r}, which may tell its answer", "take it out and release again")
    elif problem.answer is None:
        add("has no answer, though it is not of test")
    author = problem.origin.author if problem.origin else None
    if author and "@" in author:
        add("names its contributor by what looks like an address", "put a pseudonym there")
    created = problem.origin.created if problem.origin else None
    if created and len(created) > 10:
        add("tells the hour at which it was written", "release again")
    if record["ids"] == "digest":
        stem = f"{record['about']['name']}-{_content.sight(problem)[: _content.DIGITS]}"
        if not (problem.id == stem or problem.id.startswith(f"{stem}-")):
            add("has an id that is not made from what a solver sees; it may tell the answer")


def prove_order(content: Content, faults: Faults) -> None:
    """Find a test set in an order of somebody's making, and sizes that are not nested."""
    test = content.parts.get(_content.TEST, Dataset())
    seen = [(_content.sight(problem), problem.id) for problem in test]
    wrong = next((row for row in range(1, len(seen)) if seen[row] < seen[row - 1]), None)
    if wrong is not None:
        faults.add(
            f"data/{_content.TEST}.jsonl",
            "the order is not that of what a solver sees; it may tell the answers",
            "release again",
            line=wrong + 1,
        )
    sizes = [
        part for part in content.parts if part.startswith("train_") and part != "train_debiased"
    ]
    for small, large in pairwise(sizes):
        ids, more = content.parts[small].ids, content.parts[large].ids
        if more[: len(ids)] != ids:
            row = next((r for r, one in enumerate(ids) if more[r : r + 1] != (one,)), 0)
            faults.add(f"data/{small}.jsonl", f"it is not the beginning of {large}", line=row + 1)


def prove_forms(folder: Path, content: Content, faults: Faults) -> None:
    """Find labels and Parquet files that say something else than the JSON Lines."""
    for part, dataset in content.parts.items():
        if part != _content.TEST:
            _labels(folder, f"data/{part}-labels.lst", labels_of(content, part), faults)
        path = f"data/{part}.parquet"
        try:
            table, inside = _interchange.read_table(folder / path)
        except (OSError, ValueError) as error:
            why = str(error).splitlines()[0]
            faults.add(path, f"it can't be read ({why})")
            continue
        _parquet(path, table, _interchange.table_of(dataset), faults)
        for key, value in metadata(content).items():
            if inside.get(key) != value:
                faults.add(path, f"its metadata do not carry the {key}")


def _labels(folder: Path, path: str, wanted: str, faults: Faults) -> None:
    try:
        text = (folder / path).read_text("utf-8")
    except (OSError, ValueError):
        faults.add(path, "it is missing or can't be read")
        return
    if text != wanted:
        lines, right = text.split("\n"), wanted.split("\n")
        pairs = enumerate(zip(lines, right, strict=False), start=1)
        number = next((n for n, (a, b) in pairs if a != b), min(len(lines), len(right)))
        faults.add(path, "it does not have the answers of the problems", line=number)


def _parquet(path: str, table: Any, wanted: Any, faults: Faults) -> None:
    if not _interchange.same_columns(table):
        faults.add(path, "its columns are not those of a release")
    elif len(table) != len(wanted):
        faults.add(path, f"it has {len(table)} rows; the JSON Lines have {len(wanted)}")
    elif not table.equals(wanted):
        name = next(n for n in wanted.column_names if not table[n].equals(wanted[n]))
        pairs = zip(table[name].to_pylist(), wanted[name].to_pylist(), strict=True)
        row = next(row for row, (one, other) in enumerate(pairs) if one != other)
        faults.add(path, f"the {name} of row {row + 1} is not that of the JSON Lines")


def prove_croissant(folder: Path, content: Content, faults: Faults) -> None:
    """Find files and record sets that Croissant describes otherwise than they are."""
    path = "croissant.json"
    text = read_text(folder, path, faults)
    if text is None:
        return
    try:
        description = json.loads(text)
        files = {one["@id"]: one for one in description["distribution"]}
        records = {one["@id"]: one for one in description["recordSet"]}
        fields = {part: [f["name"] for f in one["field"]] for part, one in records.items()}
    except (ValueError, KeyError, TypeError) as error:
        faults.add(path, f"it can't be read ({error!r})")
        return
    for name, held in data_files(folder).items():
        one = files.pop(name, None)
        if one is None:
            faults.add(path, f"it does not name {name}")
        elif (one.get("sha256"), one.get("contentSize")) != (held.sha256, f"{held.size} B"):
            faults.add(path, f"the SHA-256 or size of {name} is another")
    for name in files:
        faults.add(path, f"there is no file {name}")
    for part in content.parts:
        one = records.pop(part, None)
        n = content.counts[part]["problems"]
        if one is None:
            faults.add(path, f"there is no record set for {part}")
        elif one.get("description") != f"{n} problems.":
            faults.add(path, f"its record set {part} is not told to have {n} problems")
        elif fields[part] != list(_interchange.COLUMNS):
            faults.add(
                path, f"the fields of its record set {part} are not the columns of the files"
            )
    for part in records:
        faults.add(path, f"it has a record set {part!r}, and there is no such part")


def data_files(folder: Path) -> dict[str, DataFile]:
    """Return the files of the folder data, as they are."""
    return {
        f"data/{path.name}": DataFile(f"data/{path.name}", sha256(path), path.stat().st_size)
        for path in sorted((folder / "data").iterdir())
        if path.is_file()
    }


def prove_validated(folder: Path, faults: Faults) -> None:
    """Let mlcroissant look at croissant.json, where it is installed."""
    if importlib.util.find_spec("mlcroissant") is None:
        faults.notes.append(
            "mlcroissant is not installed, so croissant.json was checked by our own rules alone "
            "(pip install 'winosmith[release]')"
        )
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = require("mlcroissant", "release")
        try:
            issues = library.Dataset(jsonld=str(folder / "croissant.json")).metadata.issues
        except (ValueError, TypeError, KeyError, OSError) as error:
            faults.add("croissant.json", f"mlcroissant: {' '.join(str(error).split())[:200]}")
            return
    for issue in sorted({*issues.errors, *issues.warnings}):
        faults.add("croissant.json", f"mlcroissant: {' '.join(issue.split())[:200]}")


def read_text(folder: Path, name: str, faults: Faults) -> str | None:
    """Return a file's text, or None where it can't be read, which is a fault."""
    try:
        return (folder / name).read_bytes().decode("utf-8")
    except (OSError, ValueError):
        faults.add(name, "it is missing or can't be read")
        return None


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
    counted = content.changes.get("withdrawn", 0) + content.changes.get("edited", 0)
    if buried != counted:
        faults.add(
            "tombstones.jsonl", f"{buried} are withdrawn or edited in this version, not {counted}"
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
    known = record["counts"]
    for part, counts in content.counts.items():
        for kind, count in counts.items():
            said = known.get(part, {}).get(kind) if isinstance(known.get(part), dict) else None
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
    test = set(content.parts[_content.TEST].ids) if _content.TEST in content.parts else set()
    texts = {p.sentence for p in content.parts[_content.TEST]} if test else set()
    for path in sorted((folder / "harness").rglob("*.jsonl")):
        name = path.relative_to(folder).as_posix()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1):
            try:
                record = json.loads(line)
                sentence = f"{record['before']}_{record['rest']}" if "before" in record else ""
                held = record["id"] in test or sentence in texts
            except (ValueError, KeyError, TypeError):
                faults.add(name, "this is no record of a task", line=number)
                continue
            if held:
                faults.add(name, f"{record['id']!r} is a problem of test, with its answer",
                           "take it out and release again", line=number)  # fmt: skip


def _as_written(folder: Path, record: Mapping[str, Any], content: Content, faults: Faults) -> None:
    """Write everything again from the problems, and compare it line by line."""
    texts = dict(documents(content))
    texts["croissant.json"] = _interchange.croissant(content, data_files(folder))
    faulty = {fault.where.partition(":")[0] for fault in faults}
    for name, text in texts.items():
        if name not in faulty:
            _same(name, read_text(folder, name, faults), text, faults)
    again = _content.record_of(content, record["files"])
    for key, value in again.items():
        if key not in ("digest", "counts") and json.loads(json.dumps(value)) != record.get(key):
            faults.add("release.json", f"its {key} does not follow from the files")
    expected = {*texts, *(f"data/{name}" for name in _data_names(content))}
    for name, text in _harness(content).items():
        expected.add(name)
        if name not in faulty:
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
        if part != _content.TEST:
            yield f"{part}-labels.lst"


def _same(name: str, text: str | None, wanted: str, faults: Faults) -> None:
    if text is None or text == wanted:
        return
    lines, right = text.split("\n"), wanted.split("\n")
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
