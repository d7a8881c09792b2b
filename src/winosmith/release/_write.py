"""From a finished build, or from files, to the folder that is published.

The files are written into a folder that nobody sees before it is complete. Then it gets its name,
and its owner the answers of test.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.dataset import Dataset
from winosmith.errors import OutputError
from winosmith.locks import try_lock
from winosmith.metrics import Copies
from winosmith.outputs import PRIVATE, remove_remains, sha256
from winosmith.parallel import Advance, Step, silent
from winosmith.records import canonical
from winosmith.release import _content, _interchange
from winosmith.release._about import About
from winosmith.release._content import Content
from winosmith.release._documents import DOCUMENTS
from winosmith.release._gather import Splitting, gathered
from winosmith.release._source import judges_of, read_previous, read_source

_Paths = Sequence[str | Path] | str | Path


@dataclass(frozen=True, eq=False)
class Released:
    """What was released.

    Attributes:
        folder: the release.
        content: what it holds.
        key: the folder below private/ with what its owner keeps: the answers of test, and which
            id was which one of the source; None where neither is known.
        anew: whether it was written now, or was there already with the same bytes.
        copies: what is there more than once; of test, too, where its answers are known.
    """

    folder: Path
    content: Content
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
    collected: _Paths = (),
    new_ids: bool = False,
    leave_out: bool = False,
    format_name: str | None = None,
    pair_by: str | None = None,
    step: Step | None = None,
) -> Released:
    """Write a release: a folder NAME-VERSION-DIGITS below `out`, named by what it holds.

    Args:
        source: a finished build, or files that are split already, or one that is not.
        about: what its makers say of it.
        out: the folder for releases; made if need be.
        previous: the release before, for the changelog and what was withdrawn.
        splitting: what sides may not share; how to split one file.
        votes: who judged; see `winosmith.validate.read_votes`. Votes of a build name problems by
            their ids in the pool.
        collected: the problems that the votes are about; of a build whose private folder, which
            says which was which, is not there.
        new_ids: make ids from what a solver sees, also for files; a build always gets them.
        leave_out: leave out what was withdrawn, or is in test and was published with its answer,
            in place of refusing it.
        format_name: of the files.
        pair_by: a further column of the files that the halves of a twin share.
        step: shows progress.

    Raises:
        InputError: the source can't be read or is not finished, or something must not be released.
        DataError: problems that must not be released as they are, with what to do.
        OutputError: the folder can't be written, or holds another release of this version.
        MissingExtraError: pyarrow is not installed.
    """
    show = step or silent
    paths = _listed(source)
    splitting = splitting or Splitting()
    with show("reading", None):
        found = read_source(paths, format_name, pair_by)
        before = read_previous(previous) if previous is not None else None
        judges = judges_of(_listed(votes), _listed(collected), found)
    with show("checking", None):
        done = gathered(found, about, before, splitting, judges, new_ids, leave_out)
        content = done.content
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; name a folder")
    total = sum(map(len, content.parts.values()))
    with (
        show("writing", total) as advance,
        aside(out, about) as hidden,
    ):
        record = write_all(content, hidden, advance)
        folder = out / _content.address(record)
        anew = placed(hidden, folder)
        key = owners_key(content, done.solved, done.source_ids, folder)
    return Released(folder, content, key, anew, done.copies)


def _listed(paths: _Paths) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


@contextlib.contextmanager
def aside(out: Path, about: About) -> Iterator[Path]:
    """Lend a hidden folder beside the release; it is removed when the block does not finish.

    Those of earlier runs that were killed are removed first.

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


def write_all(content: Content, folder: Path, advance: Advance) -> dict[str, Any]:
    """Write every file of a release into an empty folder; return what release.json says."""
    (folder / "data").mkdir()
    about, done = content.about, 0
    texts = {
        "canary": content.canary,
        "licence": about.licence,
        "name": about.name,
        "version": about.version,
    }
    for part, dataset in content.parts.items():
        advance(done, part)
        _put(folder / f"data/{part}.jsonl", "".join(formats.lines(dataset)).encode())
        if part != _content.TEST:
            _put(folder / f"data/{part}-labels.lst", labels_of(dataset).encode())
        with (folder / f"data/{part}.parquet").open("wb") as file:
            _interchange.write_table(_interchange.table_of(dataset), file, texts)
        done += len(dataset)
    advance(done, "cards and tasks")
    write_harness(content, folder)
    for name, text_of in DOCUMENTS.items():
        _put(folder / name, text_of(content).encode())
    _put(folder / "croissant.json", _interchange.croissant(content, _held(folder)).encode())
    record = _content.record_of(content, _held(folder))
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    _put(folder / _content.RECORD, text.encode())
    sums = {path: held["sha256"] for path, held in record["files"].items()}
    sums[_content.RECORD] = hashlib.sha256(text.encode()).hexdigest()
    _put(folder / _content.CHECKSUMS, "".join(_content.checksum_lines(sums)).encode())
    return record


def labels_of(dataset: Dataset) -> str:
    """Return the answers of a part, one a line, 1 for the first option."""
    return "".join(f"{p.answer + 1}\n" for p in dataset if p.answer is not None)


def write_harness(content: Content, folder: Path) -> None:
    """Write the tasks of the harnesses for the part whose answers are public, if there is one."""
    part = _content.task_part(content.parts)
    if part is not None:
        name = content.about.name
        shared: dict[str, Any] = {"name": name, "canary": content.canary}
        _interchange.lm_eval_task(content.parts[part], folder / "harness" / "lm_eval", **shared)
        _interchange.inspect_task(content.parts[part], folder / "harness" / "inspect_ai", **shared)


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


def placed(hidden: Path, folder: Path) -> bool:
    """Give the finished folder its name; return False when it was there with the same bytes."""
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
        if _held(hidden) != _held(folder):
            raise OutputError(f"{folder} was changed after it was released; remove it")
        shutil.rmtree(hidden)
        return False
    hidden.rename(folder)
    return True


def owners_key(
    content: Content, solved: Dataset | None, source_ids: Mapping[str, str], folder: Path
) -> Path | None:
    """Write for the owner, into private/ beside the release, what must not be published.

    That is the answers of test, in its order, and which id was which one of the source.

    Args:
        content: of the release.
        solved: the test problems with answers; None where they are not known.
        source_ids: by the ids of the release; empty where they are the same.
        folder: the release.

    Returns:
        The folder; None where there is nothing to keep.
    """
    files = _answers(content, solved)
    if source_ids:
        files[_content.SOURCE_IDS] = sorted(
            canonical({"id": one, "old_id": old}) + "\n" for one, old in source_ids.items()
        )
    if not files:
        return None
    key = folder.parent / PRIVATE / folder.name
    key.parent.mkdir(mode=0o700, exist_ok=True)
    key.mkdir(mode=0o700, exist_ok=True)
    for name, lines in files.items():
        (key / name).touch(0o600)
        (key / name).write_text("".join(lines), "utf-8", newline="\n")
    return key


def _answers(content: Content, solved: Dataset | None) -> dict[str, list[str]]:
    if _content.TEST not in content.parts or solved is None:
        return {}
    answers = {_content.sight(problem): problem.answer for problem in solved}
    test = content.parts[_content.TEST]
    if any(answers.get(_content.sight(problem)) is None for problem in test):
        return {}
    answered = [replace(problem, answer=answers[_content.sight(problem)]) for problem in test]
    return {
        "test.jsonl": [*formats.lines(answered)],
        "test-labels.lst": [f"{p.answer + 1}\n" for p in answered if p.answer is not None],
    }
