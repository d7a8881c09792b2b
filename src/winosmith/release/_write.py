"""From a finished build, or from files, to the folder that is published.

The files are written into a hidden folder. Once it is complete, it gets its name, and its owner the
answers of test.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.dataset import Dataset
from winosmith.errors import OutputError
from winosmith.finished import IDS_NAME
from winosmith.locks import try_lock
from winosmith.metrics import Copies
from winosmith.outputs import PRIVATE, remove_remains, sha256
from winosmith.parallel import Advance, Step, silent
from winosmith.records import canonical
from winosmith.release import _content
from winosmith.release._about import About
from winosmith.release._files import files_of, labels
from winosmith.release._gather import Gathered, Splitting, gathered
from winosmith.release._source import checksums_of, judges_of, read_previous, read_source

_Paths = Sequence[str | Path] | str | Path


@dataclass(frozen=True, eq=False)
class Released:
    """A release that was made.

    Attributes:
        folder: the release.
        content: everything that it publishes.
        key: the folder below private/ with the owner's files: the answers of test, and the id that
            each problem has in the source; None if neither is known.
        anew: whether it was written now; otherwise it existed with the same bytes.
        copies: identical problems, also of test if its answers are known.
    """

    folder: Path
    content: _content.Content
    key: Path | None
    anew: bool
    copies: Copies


def release(
    source: _Paths,
    about: About,
    out: str | Path,
    *,
    previous: str | Path | None = None,
    splitting: Splitting | None = None,
    votes: _Paths = (),
    new_ids: bool = False,
    leave_out: bool = False,
    format_name: str | None = None,
    pair_by: str | None = None,
    step: Step | None = None,
) -> Released:
    """Write a release: a folder NAME-VERSION-DIGITS below `out`, named by a digest of its files.

    Args:
        source: a finished build, or files that are split already, or one that is not.
        about: the description by its makers.
        out: the folder for releases; made if it is missing.
        previous: the previous release, for the changelog and the withdrawn problems.
        splitting: what sides must not share; how to split one file.
        votes: files with the judges' votes; see `winosmith.validate.read_votes`. Votes of a build
            name problems by their ids in the pool.
        new_ids: make ids from what a solver sees, also for files; a build always gets them.
        leave_out: omit problems that were withdrawn, or are in test and were published with their
            answers, instead of refusing them.
        format_name: of the files.
        pair_by: a further column of the files that both halves of a twin share.
        step: shows progress.

    Raises:
        InputError: the source can't be read or is not finished, or something must not be released.
        DataError: problems must not be released as they are; with the remedy.
        OutputError: the folder can't be written, or has another release of this version.
        MissingExtraError: pyarrow is not installed.
    """
    show = step or silent
    paths = _listed(source)
    with show("reading", None):
        found = read_source(paths, format_name, pair_by)
        before = read_previous(previous) if previous is not None else None
        judges = judges_of(_listed(votes), found)
    with show("checking", None):
        done = gathered(found, about, before, splitting or Splitting(), judges, new_ids, leave_out)
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; name a folder")
    total = len(files_of(done.content, {}))
    with show("writing", total) as advance, hidden_folder(out, about) as hidden:
        folder = out / _content.address(write_all(done.content, hidden, advance))
        anew = placed(hidden, folder)
        key = write_private(done, folder)
    return Released(folder, done.content, key, anew, done.copies)


def _listed(paths: _Paths) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


@contextlib.contextmanager
def hidden_folder(out: Path, about: About) -> Iterator[Path]:
    """Lend a hidden folder next to the release; remove it if the block does not finish.

    The folders of earlier runs that were killed are removed first.

    Raises:
        OutputError: the folder can't be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        remove_remains(out.glob(f".{about.name}-*.{'?' * 8}"))
        folder = Path(tempfile.mkdtemp(dir=out, prefix=f".{about.name}-{about.version}."))
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise OutputError(f"{out}: {error.strerror or error}; choose another folder") from error
    try:
        with contextlib.suppress(OSError):  # a disk without locks
            try_lock(handle)
        folder.chmod(0o755)
        yield folder
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise OutputError(f"{folder}: {error.strerror or error}; nothing was released") from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        os.close(handle)


def write_all(content: _content.Content, folder: Path, advance: Advance) -> dict[str, Any]:
    """Write every file of a release into an empty folder; return the object of release.json."""
    sums: dict[str, dict[str, Any]] = {}

    def put(path: str, raw: bytes) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with (folder / path).open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        sums[path] = {"sha256": sha256(folder / path), "bytes": len(raw)}

    for done, (path, write) in enumerate(files_of(content, sums).items()):
        advance(done, path)
        put(path, write())
    record = _content.record_of(content, sums)
    put(_content.RECORD, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())
    put(
        _content.CHECKSUMS,
        _content.checksum_text({path: of["sha256"] for path, of in sums.items()}).encode(),
    )
    return record


def placed(hidden: Path, folder: Path) -> bool:
    """Give the finished folder its name; return False if it existed with the same bytes.

    Raises:
        OutputError: there is another release of this version, or it was changed.
    """
    stem = folder.name.rpartition("-")[0]
    for other in sorted(folder.parent.glob(f"{stem}-*")):
        if (
            other != folder
            and (other / _content.RECORD).is_file()
            and other.name.rpartition("-")[0] == stem
        ):
            raise OutputError(
                f"{other} is another release of this version; a version is released once, so give "
                "this one a new number, or remove that folder if nobody has it"
            )
    if folder.exists():
        if checksums_of(hidden) != checksums_of(folder):
            raise OutputError(f"{folder} was changed after it was released; remove it")
        shutil.rmtree(hidden)
        return False
    hidden.rename(folder)
    return True


def write_private(done: Gathered, folder: Path) -> Path | None:
    """Write the owner's files into private/ next to the release, if there are any.

    They are the answers of test, in its order, and the id of each problem in the source.
    """
    files: dict[str, str] = {}
    test = done.content.parts.get(_content.TEST, Dataset())
    answered = Dataset(done.answered.values())
    if len(answered) and len(answered) == len(test) and None not in answered.answers:
        files["test.jsonl"] = "".join(formats.lines(answered))
        files["test-labels.lst"] = labels(answered)
    if done.source_ids:
        files[IDS_NAME] = "".join(
            sorted(canonical({"id": i, "old_id": o}) + "\n" for i, o in done.source_ids.items())
        )
    if not files:
        return None
    key = folder.parent / PRIVATE / folder.name
    key.parent.mkdir(mode=0o700, exist_ok=True)
    key.mkdir(mode=0o700, exist_ok=True)
    for name, text in files.items():
        (key / name).touch(0o600)
        (key / name).write_text(text, "utf-8", newline="\n")
    return key
