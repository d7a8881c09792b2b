"""The outside of a release: its files are those that it names, with the bytes that it names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winosmith.errors import RecipeError
from winosmith.outputs import sha256
from winosmith.release._about import about_of
from winosmith.release._fault import AGAIN, Faults
from winosmith.release._parts import PARTS
from winosmith.release._record import CHECKSUMS, RECORD, address, digest_of

__all__ = ["prove_files", "read_record"]

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
    path = folder / RECORD
    try:
        record = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        faults.add(RECORD, f"it can't be read ({why}), so this is no release", AGAIN)
        return None
    if not isinstance(record, dict) or record.get("release") != 1:
        faults.add(RECORD, "it is not that of a release (release: 1)", AGAIN)
        return None
    bad = [key for key, kind in _KINDS.items() if not isinstance(record.get(key), kind)]
    if bad:
        faults.add(RECORD, f"{', '.join(bad)} is missing or of another kind", AGAIN)
        return None
    odd = [part for part in record["counts"] if part not in (*PARTS, "all")]
    if odd:
        faults.add(RECORD, f"counts has {odd[0]!r}, which is no part", AGAIN)
        return None
    try:
        about_of(record["about"])
    except RecipeError as error:
        faults.add(RECORD, f"about: {error}", AGAIN)
        return None
    return record


def prove_files(folder: Path, record: Mapping[str, Any], faults: Faults) -> None:
    """Find files that are missing, changed, too many or no files; and another address."""
    named = record["files"]
    there = _there(folder, faults)
    sums = {path: sha256(folder / path) for path in there}
    for path in sorted(named.keys() - there):
        faults.add(path, "it is missing")
    for path in sorted(there - named.keys() - {RECORD, CHECKSUMS}):
        faults.add(path, "release.json does not name it", "remove it")
    for path in sorted(there & named.keys()):
        told = named[path] if isinstance(named[path], dict) else {}
        if sums[path] != told.get("sha256"):
            faults.add(path, "its SHA-256 is not the one in release.json")
        elif (folder / path).stat().st_size != told.get("bytes"):
            faults.add(path, "its size is not the one in release.json")
    _checksums(folder, sums, faults)
    if digest_of(record) != record["digest"]:
        faults.add(RECORD, "its digest is not that of what it says and of the files")
    elif folder.resolve().name != address(record):
        faults.add(
            RECORD,
            f"the folder's name is not its address, {address(record)}",
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
        lines = (folder / CHECKSUMS).read_text("utf-8").splitlines()
    except (OSError, ValueError):
        faults.add(CHECKSUMS, "it is missing or can't be read")
        return
    told = set()
    for number, line in enumerate(lines, start=1):
        found = _LINE.fullmatch(line)
        if found is None:
            faults.add(CHECKSUMS, f"{line[:60]!r} is no checksum and file", line=number)
            continue
        told.add(found[2])
        if found[2] in sums and sums[found[2]] != found[1]:
            faults.add(CHECKSUMS, f"the SHA-256 of {found[2]} is another", line=number)
        elif found[2] not in sums:
            faults.add(CHECKSUMS, f"there is no file {found[2]}", line=number)
    for path in sorted(sums.keys() - told - {CHECKSUMS}):
        faults.add(CHECKSUMS, f"{path} has no line")
