"""What croissant.json says agrees with the files, by our own rules and by mlcroissant's."""

from __future__ import annotations

import importlib.util
import json
import warnings
from pathlib import Path

from winosmith.extras import require
from winosmith.outputs import sha256
from winosmith.release._columns import COLUMNS
from winosmith.release._content import Content
from winosmith.release._croissant import DataFile
from winosmith.release._fault import Faults

__all__ = ["data_files", "prove_croissant", "prove_validated", "read_text"]


def prove_croissant(folder: Path, content: Content, faults: Faults) -> None:
    """Find files and record sets that Croissant describes otherwise than they are."""
    path = "croissant.json"
    text = read_text(folder, path, faults)
    if text is None:
        return
    try:
        told = json.loads(text)
        files = {one["@id"]: one for one in told["distribution"]}
        records = {one["@id"]: one for one in told["recordSet"]}
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
        elif fields[part] != list(COLUMNS):
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
    for told in sorted({*issues.errors, *issues.warnings}):
        faults.add("croissant.json", f"mlcroissant: {' '.join(told.split())[:200]}")


def read_text(folder: Path, name: str, faults: Faults) -> str | None:
    """Return a file's text, or None where it can't be read, which is a fault."""
    try:
        return (folder / name).read_bytes().decode("utf-8")
    except (OSError, ValueError):
        faults.add(name, "it is missing or can't be read")
        return None
