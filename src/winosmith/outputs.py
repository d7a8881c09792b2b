"""Write output files and folders atomically, and resume unfinished ones.

A folder that winosmith wrote contains a manifest, `winosmith.json`, with the recipe and the
checksums of the finished files. Files in `private/` have their own manifest there, because the
checksum of a short answer file would reveal the answers.

`OutputFolder.open` applies these rules:

- A folder is accepted if it is new or empty, or contains only temporary files from a killed run.
- A folder that winosmith wrote with the same recipe and version is resumed: finished files stay,
  and temporary files are removed.
- A folder that winosmith wrote with another recipe or version is refused, and the error lists the
  differences. With `force`, only the files in its manifest are replaced.
- Any other folder that is not empty is refused, even with `force`.

Files are written under a temporary name and renamed when they are complete, so a crash leaves
either the old file or the new one. `guard_cell` prevents a spreadsheet from running a cell as a
formula.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from winosmith._version import __version__
from winosmith.errors import InputError, OutputError
from winosmith.locks import try_lock
from winosmith.records import parse_json

MIN_FREE_BYTES = 1 << 20
"""Number of free bytes below which a failed write is attributed to a full disk."""


@contextlib.contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    r"""Open a temporary file that is renamed to `path` when the block ends without an error.

    Missing folders are created. Text is UTF-8 with `\n` newlines. The file is synced to disk before
    it is renamed. Devices and pipes, such as /dev/null, are written to directly and not replaced.

    Raises:
        OutputError: the folder can't be created or written to, or the disk is full.
    """
    path = Path(path)
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open(mode, **text) as file:  # type: ignore[call-overload]
            yield file
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_PARTIAL)
    except OSError as error:
        raise make_write_error(error, path) from error
    try:
        with os.fdopen(handle, mode, **text) as file:  # type: ignore[call-overload]
            with contextlib.suppress(OSError):  # some file systems have no locks
                try_lock(file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(aside).chmod(0o666 & ~mask)
        Path(aside).replace(path)
    except OSError as error:
        if error.filename not in (None, aside):  # the block's own error for another file
            raise
        raise make_write_error(error, path) from error
    finally:
        Path(aside).unlink(missing_ok=True)


_PARTIAL = ".part"
"""Extension of unfinished files, which stay locked while they are written."""


def remove_stale_files(paths: Iterable[Path]) -> None:
    """Remove the temporary files and folders of killed runs: those that no process has locked."""
    for path in paths:
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                if not try_lock(handle):
                    continue
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
            finally:
                os.close(handle)


def make_write_error(error: OSError, path: Path) -> OutputError:
    hints = {
        errno.ENOSPC: "the disk is full; free some space and run the same command again",
        errno.EACCES: "permission denied; choose another folder or change its permissions",
        errno.EROFS: "the disk is read-only; choose another folder",
        errno.EEXIST: "a file has the same name as its folder; choose another folder",
        errno.ENOTDIR: "a file has the same name as one of its folders; choose another folder",
    }
    number = error.errno
    if number is None and shutil.disk_usage(path.parent).free < MIN_FREE_BYTES:
        number = errno.ENOSPC  # numpy reports a full disk without an error number
    hint = hints.get(number or 0, error.strerror or str(error))
    return OutputError(f"{path}: {hint}")


def sha256(path: str | Path) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


MANIFEST = "winosmith.json"
PRIVATE = "private"


@dataclass
class OutputFolder:
    """A folder with the results of one recipe.

    Attributes:
        recipe: the parameters that determine the results, as a JSON object.
        files: the SHA-256 of each finished file, by its path relative to the folder.
        secret: parameters that must not be published, such as a digest of the answers; they are
            written only to the private manifest.
    """

    path: Path
    recipe: Mapping[str, Any]
    files: dict[str, str] = field(default_factory=dict)
    secret: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        path: str | Path,
        recipe: Mapping[str, Any],
        *,
        secret: Mapping[str, Any] | None = None,
        force: bool = False,
    ) -> OutputFolder:
        """Open a new or unfinished folder; the module's docstring states the rules.

        Raises:
            OutputError: the folder contains files from other programs or results from another
                recipe, or it can't be created.
        """
        path = Path(path)
        recipe, secret = json.loads(json.dumps([recipe, secret or {}], allow_nan=False))
        if path.exists() and not path.is_dir():
            raise OutputError(f"{path} is a file; give a folder")
        for place in (path, path / PRIVATE):
            ours = (path / MANIFEST).exists()
            remove_stale_files(place.glob(f".*{_PARTIAL}" if ours else f".{MANIFEST}.*"))
        if not (path / MANIFEST).exists():
            if path.is_dir() and any(path.iterdir()):
                raise OutputError(
                    f"{path} is not empty and was not written by winosmith; choose a new folder"
                )
            try:
                path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise make_write_error(error, path) from error
            folder = cls(path, recipe, secret=secret)
            folder.save()
            return folder
        held = _read_manifests(path)
        folder = cls(path, recipe, dict(held["files"]), secret)
        there = {"winosmith": held.get("version"), **held["recipe"]}
        here = {"winosmith": __version__, **recipe}
        if (there, held["secret"]) == (here, secret):
            return folder
        if not force:
            old = held["secret"]  # its digests are not shown
            names = [name for name in sorted({*old, *secret}) if old.get(name) != secret.get(name)]
            differs = _list_differences(there, here) or f"different {' and '.join(names)}"
            raise OutputError(
                f"{path} contains results from other settings ({differs}); choose a new folder "
                "or add `force=True` to replace its files"
            )
        folder.clear()
        return folder

    def clear(self) -> None:
        for name in self.files:
            (self.path / name).unlink(missing_ok=True)
        self.files.clear()
        self.save()

    @contextlib.contextmanager
    def write(self, name: str, mode: str = "w") -> Iterator[IO[Any]]:
        """Open a file in the folder for writing, and add it to the manifest when it is complete."""
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target, mode) as file:
            yield file
        self.add(name)

    def write_lines(self, name: str, lines: Iterable[str]) -> None:
        """Write a text file from lines that end with newlines."""
        with self.write(name) as file:
            file.writelines(lines)

    def add(self, name: str) -> None:
        self.files[name] = sha256(self.path / name)
        self.save()

    @contextlib.contextmanager
    def discard_on_error(self) -> Iterator[None]:
        """Remove the folder if the block raises InputError before any file is finished."""
        try:
            yield
        except InputError:
            if not any(self.is_finished(name) for name in self.files):
                self.clear()
                for manifest in (self.path / PRIVATE / MANIFEST, self.path / MANIFEST):
                    manifest.unlink(missing_ok=True)
                for folder in (self.path / PRIVATE, self.path):
                    if folder.is_dir() and not any(folder.iterdir()):
                        folder.rmdir()
            raise

    @contextlib.contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """Yield the path of a checkpoint file, and remove it when the block ends.

        After an error or interrupt, the file stays, and the next run resumes from it. It is in the
        manifest, so `clear` removes it.
        """
        self.files[name] = ""
        self.save()
        yield self.path / name
        (self.path / name).unlink(missing_ok=True)
        del self.files[name]
        self.save()

    def is_finished(self, name: str) -> bool:
        target = self.path / name
        return name in self.files and target.is_file() and sha256(target) == self.files[name]

    def is_complete(self, last: str) -> bool:
        return last in self.files and all(map(self.is_finished, self.files))

    def write_json(self, name: str, record: Mapping[str, Any]) -> None:
        with self.write(name) as file:
            json.dump(record, file, indent=1, ensure_ascii=False, allow_nan=False)
            file.write("\n")

    def save(self) -> None:
        private = {name for name in self.files if name.startswith(f"{PRIVATE}/")}
        public = {name: self.files[name] for name in sorted(self.files.keys() - private)}
        content = {"version": __version__, "recipe": self.recipe, "files": public}
        _write_json(self.path / MANIFEST, content)
        if private or self.secret or (self.path / PRIVATE / MANIFEST).exists():
            kept = {name: self.files[name] for name in sorted(private)}
            (self.path / PRIVATE).mkdir(exist_ok=True)
            content = {"recipe": self.recipe, "secret": self.secret, "files": kept}
            _write_json(self.path / PRIVATE / MANIFEST, content)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with atomic_write(path) as file:
        json.dump(content, file, indent=2, sort_keys=True, ensure_ascii=False)
        file.write("\n")


def _read_manifests(path: Path) -> dict[str, Any]:
    held = {"secret": {}, **_read_manifest(path, path / MANIFEST)}
    if (path / PRIVATE / MANIFEST).exists():
        private = _read_manifest(path, path / PRIVATE / MANIFEST)
        held["files"] = {**held["files"], **private["files"]}
        held["secret"] = dict(private.get("secret", {}))
    return held


def _read_manifest(folder: Path, manifest: Path) -> dict[str, Any]:
    try:
        held = parse_json(manifest.read_text("utf-8"))
        root = folder.resolve()
        safe = all((folder / name).resolve().is_relative_to(root) for name in dict(held["files"]))
        if isinstance(held["recipe"], dict) and safe:
            return dict(held)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise OutputError(f"{manifest} is not a valid manifest; choose a new folder")


def _list_differences(old: Any, new: Any, key: str = "") -> str:
    """Describe the differences between two recipes: "aflite.threshold is 0.75 there, 0.8 here"."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = [
            _list_differences(old.get(name), new.get(name), f"{key}.{name}".lstrip("."))
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
        return "; ".join(found[:4]) + (f"; and {len(found) - 4} more" if len(found) > 4 else "")
    return f"{key} is {old!r} there, {new!r} here"


_FORMULA = re.compile(r"'*(?:[\t\r\n]| *[=+\-@＝＋－＠])")
"""The start of a formula in spreadsheets (OWASP, "CSV Injection")."""


def guard_cell(cell: str) -> str:
    """Prefix a cell with an apostrophe if a spreadsheet would run it as a formula.

    >>> guard_cell("=1+1"), guard_cell("a=b")
    ("'=1+1", 'a=b')
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguard_cell(cell: str) -> str:
    """Remove the apostrophe that `guard_cell` adds to a cell.

    >>> unguard_cell("'=1+1"), unguard_cell("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
