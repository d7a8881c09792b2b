"""From a finished build, or from files, to the folder that is published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from winosmith.errors import OutputError
from winosmith.metrics import Copies
from winosmith.release._about import About
from winosmith.release._content import Content
from winosmith.release._gather import Splitting, gathered
from winosmith.release._place import owners_key, placed
from winosmith.release._previous import read_previous
from winosmith.release._provenance import judges_of
from winosmith.release._record import address
from winosmith.release._source import read_source
from winosmith.release._write import aside, write_all

__all__ = ["Released", "release"]

Step = Callable[[str, int | None], AbstractContextManager[Callable[[int, str], None]]]
"""Shows progress: given a title and a total, yields `advance(done, note)`."""


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
        step: shows progress.

    Raises:
        InputError: the source can't be read or is not finished, or something must not be released.
        DataError: problems that must not be released as they are, with what to do.
        OutputError: the folder can't be written, or holds another release of this version.
        MissingExtraError: pyarrow is not installed.
    """
    show = step or _silent
    paths = _listed(source)
    splitting = splitting or Splitting()
    with show("reading", None):
        found = read_source(paths, format_name)
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
        aside(out, f"{about.name}-{about.version}") as hidden,
    ):
        record = write_all(content, hidden, advance)
        folder = out / address(record)
        anew = placed(hidden, folder)
        key = owners_key(content, done.told, done.source_ids, folder)
    return Released(folder, content, key, anew, done.copies)


def _listed(paths: _Paths) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _silent(title: str, total: int | None) -> AbstractContextManager[Callable[[int, str], None]]:
    return nullcontext(lambda done, note: None)
