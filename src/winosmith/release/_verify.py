"""`verify`: read a release again, and list its faults.

The files are those that release.json names, with the same bytes. The problems are read again and
checked as `release` checks them, and the other files of data are compared with them. Texts for
people, such as the cards, are covered only by their checksums.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.parallel import Step, silent
from winosmith.records import parsed
from winosmith.release._checks import Secrets, faults_of, read_secrets
from winosmith.release._content import (
    CHECKSUMS,
    RECORD,
    Content,
    address,
    checksum_text,
    digest_of,
    record_of,
)
from winosmith.release._files import files_of
from winosmith.release._read import Fault, checksums_of, read_content, read_record
from winosmith.release._tables import read_table, table_of


@dataclass(frozen=True, eq=False)
class Verified:
    """The faults of a release.

    Attributes:
        folder: the release.
        faults: what is wrong with it.
        content: its problems; None if they can't be read.
        private: whether it was compared with a private folder.
    """

    folder: Path
    faults: tuple[Fault, ...]
    content: Content | None
    private: bool

    def record(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "folder": str(self.folder),
            "sound": not self.faults,
            "faults": [fault.record() for fault in self.faults],
            "problems": len(self.content.dataset) if self.content else None,
            **(self.content.copies.record() if self.content else {}),
            "private": self.private,
        }


def verify(
    folder: str | Path, *, private: str | Path | None = None, step: Step | None = None
) -> Verified:
    """Read a release again, and find its faults.

    Args:
        folder: the release.
        private: the folder private/ of the build that it was made from, or private/NAME next to
            the release; nothing in it may be published.
        step: shows progress.

    Raises:
        InputError: there is no such folder, or the private one can't be read.
        MissingExtraError: pyarrow is not installed.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; name that of a release")
    show = step or silent
    secrets = None if private is None else read_secrets(private)
    with show("checksums", None):
        record = read_record(folder)
        if isinstance(record, Fault):
            return Verified(folder, (record,), None, private is not None)
        sums = checksums_of(folder)
        faults = list(check_checksums(folder, record, sums))
    with show("reading", None):
        content, bad = read_content(folder, record)
    if bad:
        return Verified(folder, (*faults, *bad), None, private is not None)
    with show("problems", None):
        faults += faults_of(content, secrets)
    with show("files", None):
        found = Evidence(folder, record, sums, content, secrets)
        faults += [fault for check in CHECKS for fault in check(found)]
    return Verified(folder, tuple(faults), content, private is not None)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The files of a release that is read again.

    Attributes:
        folder: the release.
        record: the object of release.json.
        sums: the SHA-256 of each file in the folder, by its path there.
        content: its problems.
        secrets: the contents of the private folder, if it is given.
    """

    folder: Path
    record: Mapping[str, Any]
    sums: Mapping[str, str]
    content: Content
    secrets: Secrets | None

    def text(self, path: str) -> str:
        """Return the text of a file; raises OSError or ValueError if it can't be read."""
        return (self.folder / path).read_bytes().decode("utf-8")


def check_checksums(
    folder: Path, record: Mapping[str, Any], sums: Mapping[str, str]
) -> Iterator[Fault]:
    """Find missing, changed and additional files, and a wrong digest."""
    named, outside = record["files"], {RECORD, CHECKSUMS}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield Fault(name, "it is a link", "replace it with the file itself")
        elif not path.is_file() and not (path.is_dir() and any(path.iterdir())):
            yield Fault(name, "it is neither a file nor a folder with files", "remove it")
    for name in sorted(named.keys() | (sums.keys() - outside)):
        entry = named.get(name)
        if name not in sums:
            yield Fault(name, "it is missing")
        elif entry is None:
            yield Fault(name, "release.json does not name it", "remove it")
        elif not isinstance(entry, dict) or sums[name] != entry.get("sha256"):
            yield Fault(name, "its SHA-256 is not the one in release.json")
    listed = checksum_text({name: digits for name, digits in sums.items() if name != CHECKSUMS})
    try:
        same = (folder / CHECKSUMS).read_text("utf-8") == listed
    except (OSError, ValueError):
        same = False
    if not same:
        yield Fault(CHECKSUMS, "its lines are not the SHA-256 of the files")
    if digest_of(record) != record["digest"]:
        yield Fault(RECORD, "its digest is not that of the rest of it")
    elif folder.resolve().name != (name := address(record)):
        do = "rename the folder, if nothing else is wrong"
        yield Fault(RECORD, f"the folder's name is not its address, {name}", do)


def check_statements(found: Evidence) -> Iterator[Fault]:
    """Find counts, digests and configurations in release.json that are not those of the data."""
    right = record_of(found.content, {})
    for key in ("counts", "digests", "configurations"):
        stated, wanted = found.record[key], right[key]
        for name in {**wanted, **stated}:
            if stated.get(name) != wanted.get(name):
                yield Fault(RECORD, f"its {key} of {name} are not those of the problems")


def check_files(found: Evidence) -> Iterator[Fault]:
    """Find files that no release has, and files of data that differ from the problems."""
    files = files_of(found.content, {})
    for path in found.sums:
        if path not in files and path not in (RECORD, CHECKSUMS):
            yield Fault(path, "it is not a file of a release", "remove it and release again")
    for part, dataset in found.content.parts.items():
        yield from _table_faults(found.folder, f"data/{part}.parquet", dataset)
    for path, write in files.items():
        if path.endswith(".lst") or re.fullmatch(r"harness/.*\.jsonl", path):
            yield from _line_faults(found, path, write().decode())


def _line_faults(found: Evidence, path: str, wanted: str) -> Iterator[Fault]:
    try:
        text = found.text(path)
    except (OSError, ValueError):
        yield Fault(path, "it can't be read")
        return
    if text != wanted:
        line = _first_difference(text.split("\n"), wanted.split("\n"))
        yield Fault(f"{path}:{line}", "it does not agree with the problems")


def _table_faults(folder: Path, path: str, dataset: Dataset) -> Iterator[Fault]:
    try:
        table, wanted = read_table(folder / path), table_of(dataset)
    except (OSError, ValueError, TypeError) as error:
        why = str(error).partition("\n")[0]
        yield Fault(path, f"it can't be compared with the problems ({why})")
        return
    if not table.schema.equals(wanted.schema):
        yield Fault(path, "its columns are not those of a release")
    elif len(table) != len(wanted):
        yield Fault(path, f"it has {len(table)} rows; the JSON Lines have {len(wanted)}")
    elif not table.equals(wanted):
        name = next(n for n in wanted.column_names if not table[n].equals(wanted[n]))
        row = _first_difference(table[name].to_pylist(), wanted[name].to_pylist())
        yield Fault(path, f"the {name} of row {row} is not that of the JSON Lines")


def _first_difference(some: Iterable[Any], wanted: Iterable[Any]) -> int:
    """Return the 1-based position at which two sequences start to differ."""
    pairs = enumerate(zip_longest(some, wanted, fillvalue=object()), start=1)
    return next(at for at, (one, other) in pairs if one != other)


def check_loading(found: Evidence) -> Iterator[Fault]:
    """Find splits that the settings of README.md or croissant.json load from other files."""
    tables = {part: {f"data/{part}.parquet"} for part in found.content.parts}
    data = {path: digits for path, digits in found.sums.items() if path.startswith("data/")}
    for name, loaded, wanted in (
        ("README.md", _loaded_by_hub, found.content.hub_configs),
        ("croissant.json", _loaded_by_croissant, (data, tables)),
    ):
        try:
            if loaded(found.text(name)) != wanted:
                yield Fault(name, "it loads other files than those of the parts")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            yield Fault(name, "its files and splits can't be read")


def _loaded_by_hub(card: str) -> object:
    """Return the files of each configuration, by the settings of a card."""
    _, settings, _ = card.split("---\n", 2)
    return [parsed(line[2:]) for line in settings.splitlines() if line.startswith("- ")]


def _loaded_by_croissant(text: str) -> object:
    """Return the SHA-256 of each file, and the files of each part."""
    description = parsed(text)
    files = {one["contentUrl"]: one["sha256"] for one in description["distribution"]}
    parts = {
        record["@id"]: {field["source"]["fileObject"]["@id"] for field in record["field"]}
        for record in description["recordSet"]
    }
    return files, parts


def check_digests(found: Evidence) -> Iterator[Fault]:
    """Find digests of private files, with which guesses at short answers can be tested."""
    for path in found.sums if found.secrets else ():
        text = (found.folder / path).read_bytes().decode("utf-8", "replace")
        if found.secrets and found.secrets.digests & set(re.findall(r"\b[0-9a-f]{64}\b", text)):
            what = "it has the SHA-256 of a private file, with which answers can be guessed"
            yield Fault(path, what)


CHECKS: tuple[Callable[[Evidence], Iterable[Fault]], ...] = (
    check_statements,
    check_files,
    check_loading,
    check_digests,
)
"""The checks of the files, in addition to those of the problems."""
