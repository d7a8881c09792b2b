"""The files of a release, written into a folder that nobody sees before it is complete."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.errors import OutputError
from winosmith.outputs import sha256
from winosmith.release._columns import table_of, write_table
from winosmith.release._content import Content
from winosmith.release._croissant import DataFile, croissant
from winosmith.release._documents import documents
from winosmith.release._interchange_inspect import inspect_task
from winosmith.release._interchange_lm_eval import lm_eval_task
from winosmith.release._parts import DEV, PROBLEMS, TEST
from winosmith.release._record import CHECKSUMS, RECORD, checksum_lines, record_of

__all__ = ["aside", "labels_of", "metadata", "write_all", "write_harness"]

Advance = Callable[[int, str], None]


@contextlib.contextmanager
def aside(out: Path, name: str) -> Iterator[Path]:
    """Lend a hidden folder beside the release; it is removed when the block does not finish.

    Raises:
        OutputError: the folder can't be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=out, prefix=f".{name}."))
    except OSError as error:
        raise OutputError(f"{out}: {error.strerror or error}; choose another folder") from error
    try:
        folder.chmod(0o755)
        yield folder
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise OutputError(f"{folder}: {error.strerror or error}; nothing was released") from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def write_all(content: Content, folder: Path, advance: Advance) -> dict[str, Any]:
    """Write every file of a release into an empty folder; return what release.json says."""
    (folder / "data").mkdir()
    done = 0
    for part, dataset in content.parts.items():
        advance(done, part)
        _put(folder / f"data/{part}.jsonl", "".join(formats.lines(dataset)).encode())
        if part != TEST:
            _put(folder / f"data/{part}-labels.lst", labels_of(content, part).encode())
        with (folder / f"data/{part}.parquet").open("wb") as file:
            write_table(table_of(dataset), file, metadata(content))
        done += len(dataset)
    advance(done, "cards and tasks")
    write_harness(content, folder)
    for name, text in documents(content).items():
        _put(folder / name, text.encode())
    data = {
        path: DataFile(path, held["sha256"], held["bytes"])
        for path, held in _held(folder).items()
        if path.startswith("data/")
    }
    _put(folder / "croissant.json", croissant(content, data).encode())
    record = record_of(content, _held(folder))
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    _put(folder / RECORD, text.encode())
    sums = {path: held["sha256"] for path, held in record["files"].items()}
    sums[RECORD] = hashlib.sha256(text.encode()).hexdigest()
    _put(folder / CHECKSUMS, "".join(checksum_lines(sums)).encode())
    return record


def metadata(content: Content) -> Mapping[str, str]:
    """Return the texts that a Parquet file of the release carries."""
    about = content.about
    return {
        "canary": content.canary,
        "licence": about.licence,
        "name": about.name,
        "version": about.version,
    }


def labels_of(content: Content, part: str) -> str:
    """Return the answers of a part alone, one a line, 1 for the first option."""
    return "".join(f"{p.answer + 1}\n" for p in content.parts[part] if p.answer is not None)


def write_harness(content: Content, folder: Path) -> None:
    """Write the tasks of the harnesses for the part whose answers are public, if there is one."""
    part = next((one for one in (DEV, PROBLEMS) if one in content.parts), None)
    if part is not None:
        name = content.about.name
        told: dict[str, Any] = {"name": name, "canary": content.canary}
        lm_eval_task(content.parts[part], folder / "harness" / "lm_eval", **told)
        inspect_task(content.parts[part], folder / "harness" / "inspect_ai", **told)


def _put(path: Path, raw: bytes) -> None:
    with path.open("wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())


def _held(folder: Path) -> dict[str, dict[str, Any]]:
    """Return every file of the folder with its checksum and size."""
    return {
        path.relative_to(folder).as_posix(): {
            "sha256": sha256(path),
            "bytes": path.stat().st_size,
        }
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
