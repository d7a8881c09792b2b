"""From a finished build, or from files, to the folder that is published.

Problems that must not be published are refused or omitted. The files are written into a hidden
folder. When it is complete, it gets its name, and its owner gets the answers of test.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from winosmith import formats, validate
from winosmith.blocks import Disjoint
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError, OutputError
from winosmith.exposure import Pair
from winosmith.finished import IDS_NAME
from winosmith.humans import make_canary
from winosmith.locks import try_lock
from winosmith.metrics import Copies, copies
from winosmith.options import declaration
from winosmith.outputs import PRIVATE, atomic_write, remove_remains, sha256
from winosmith.parallel import Advance, Step, no_progress
from winosmith.problem import Problem
from winosmith.records import canonical
from winosmith.release import _content, _source
from winosmith.release._about import About
from winosmith.release._changes import changes, digest_ids, id_of, tombstones
from winosmith.release._files import files_of, labels
from winosmith.release._interchange import JUDGED_BY, REMOVED_BY
from winosmith.release._keyed import (
    earlier_form,
    find_presentations,
    find_releases,
    keep_key,
    map_problems,
    pending_path,
    publish,
    refuse_other,
)
from winosmith.release._source import Fields, Previous, Source
from winosmith.release._verify import Secrets, faults_of, read_secrets

_Paths = Sequence[str | Path] | str | Path

_SHOWN = 3
"""The number of faults with the same remedy in an error."""


@declaration
class Splitting:
    """What the sides of a release don't share, and how one file is split."""

    disjoint: Annotated[tuple[Disjoint, ...], Field(strict=False)] = ()
    """What train, dev and test must not share; they never share twins, families and copies. A file
    that is not split is split. Repeat the option for both."""
    dev: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Fraction of dev, if a file is split."""
    test: Annotated[float, Field(ge=0, le=1)] = 0.14
    """Fraction of test, if a file is split."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Random seed of the split."""

    def __post_init__(self) -> None:
        if self.dev + self.test >= 1:
            raise ValueError(
                f"dev ({self.dev}) and test ({self.test}) leave nothing to train on; their sum "
                "must be below 1"
            )

    @property
    def kinds(self) -> tuple[str, ...]:
        """What two sides must not share, twins included."""
        return tuple(kind for kind in _content.KINDS if kind == "twin" or kind in self.disjoint)


@dataclass(frozen=True, eq=False)
class Gathered:
    """The content of a release, and the files of its owner.

    Attributes:
        content: what is released, checked.
        solved: the known answers of test problems, by their ids in the release.
        source_ids: the id that each problem has in its source, if the release has other ids.
        secrets: what must not be published.
        pairs: for a keyed release, the problems in both presentations; the content has the first,
            until `apply_coins`.
        coins: the private files with the coins, by name.
    """

    content: _content.Content
    solved: Mapping[str, int | None]
    source_ids: Mapping[str, str]
    secrets: Secrets | None = None
    pairs: tuple[Pair, ...] = ()
    coins: Mapping[str, str] = field(default_factory=dict)

    @property
    def answered(self) -> dict[str, Problem]:
        """The test problems with their answers, by their ids in the release, as far as known."""
        return {
            problem.id: replace(problem, answer=self.solved[problem.id])
            for problem in self.content.parts.get(_content.TEST, ())
            if problem.id in self.solved
        }

    @property
    def copies(self) -> Copies:
        """Identical problems, and contradictions among them, also in test if it is answered."""
        answered = self.answered
        return copies(Dataset(answered.get(p.id, p) for p in self.content.dataset))


def gather_content(
    source: Source,
    about: About,
    before: Previous | None,
    splitting: Splitting,
    judges: Callable[[Problem], Fields],
    new_ids: bool,
    leave_out: bool,
    keyed: bool,
) -> Gathered:
    """Return the checked content of a release, and the files of its owner.

    A keyed release has the first presentations; `apply_coins` chooses by the coins.

    Raises:
        InputError: the previous release is of another benchmark, or of the same version.
        DataError: problems must not be released as they are.
    """
    digest = new_ids or bool(source.build)
    hidden = {p.id for dataset in source.parts.values() for p in dataset if p.embargo}
    left_out = {"under embargo": len(hidden)} if hidden else {}
    parts = _without(source.parts, lambda part, problem: problem.id in hidden)
    _content.check_origins(Dataset(_content.unique_problems(parts).values()), splitting.kinds)
    if splitting.disjoint and list(parts) == [_content.PROBLEMS]:
        parts = _content.split(
            parts[_content.PROBLEMS],
            splitting.kinds,
            dev=splitting.dev,
            test=splitting.test,
            seed=splitting.seed,
            former=before.former if before else (),
        )
    withheld = read_secrets(source.private) if source.private is not None else None
    if withheld is not None and _content.TEST in parts:
        known = {problem.id: problem.answer for problem in withheld.solved}
        test = (replace(p, answer=known.get(p.id, p.answer)) for p in parts[_content.TEST])
        parts[_content.TEST] = Dataset(test, _content.TEST)
    forms = find_presentations(parts) if keyed else None
    if forms is not None:
        parts = map_problems(parts, lambda p: forms.first[p.id])
    second = forms.second if forms else {}
    named = digest_ids(parts, about.name, before, source, second) if digest else dict(parts)
    old_of = {
        new.id: old
        for part, dataset in parts.items()
        for old, new in zip(dataset, named[part], strict=True)
    }
    if before is not None:
        named, more = _without_known(named, before, about, leave_out)
        left_out |= more
    if empty := [part for part, dataset in named.items() if not len(dataset)]:
        raise DataError(f"no problem is left of {empty[0]}; omit its file")
    named = _content.sort_test(named)
    answered = named.get(_content.TEST, Dataset())
    is_answered = len(answered) > 0 and None not in answered.answers
    secrets = withheld or (Secrets(answered) if is_answered else None)
    seen = (
        Problem(p.id, p.sentence, p.options, blank=p.blank)
        for p in _content.unique_problems(named).values()
    )
    mark = before.content.canary if before else make_canary(Dataset(seen))  # depends on no answer

    def released(part: str, problem: Problem) -> Problem:
        old = old_of[problem.id]
        removed = {} if part == _content.TEST else source.removed.get(old.id, {})
        fields = dict(judges(old))
        if about.judges == "count":
            fields.pop(JUDGED_BY, None)
        return _source.with_provenance(
            problem, mark, {**fields, **removed}, bare=part == _content.TEST
        )

    ready = {
        part: Dataset((released(part, problem) for problem in dataset), part)
        for part, dataset in named.items()
    }
    source_ids = {
        id_: source.old_ids.get(old_of[id_].id, old_of[id_].id)
        for id_ in (_content.unique_problems(ready) if digest else ())
    }
    unvalidated = {
        part: count for part, of in named.items() if (count := validate.count_unvalidated(of))
    }
    content = _content.Content(
        about,
        ready,
        mark,
        splitting.kinds,
        "digest" if digest else "kept",
        source.build or ({"unvalidated": unvalidated} if unvalidated else {}),
        left_out,
    )
    pairs: tuple[Pair, ...] = ()
    if forms is not None:
        made = {old_of[problem.id].id: problem for problem in content.problems}
        pairs = forms.pairs(made)
        content = replace(content, keyed=forms.count(made))
        if not pairs:
            raise DataError(
                "no block has two equivalent presentations: the order of options has a meaning in "
                "all of them; release without `keyed=True`"
            )
    if before is not None:
        absent = {
            id_of(form, about.name): f"dropped by {source.removed[old][REMOVED_BY]}"
            if old in source.removed
            else "held back"
            for old, problem in source.absent.items()
            for form in _content.forms(problem, keyed)
        }
        earlier = map_problems(ready, earlier_form(pairs, before))
        found = changes(earlier, before, about.withdrawn, source_ids, absent)
        content = replace(
            content,
            previous={"version": before.version, "digest": before.digest},
            tombstones=tombstones(found, before, about),
            changes=found,
            history=before.history,
        )
    _refuse_faults(content, secrets)
    answers = {problem.id: problem.answer for problem in answered} if secrets else {}
    return Gathered(content, answers, source_ids, secrets, pairs)


def apply_coins(done: Gathered, statement: _content.Coins, key: bytes) -> Gathered:
    """Return a keyed release in the presentations of its coins, checked.

    Args:
        done: the release in its first presentations.
        statement: the numbers of its blocks.
        key: the secret bytes.

    Raises:
        DataError: problems must not be released as they are.
    """
    content, keyed, files = publish(done.content, statement, done.pairs, key)
    _refuse_faults(content, done.secrets)
    shown = {pair.a.id: keyed.published(pair).answer for pair in done.pairs}
    solved = {id_: shown.get(id_, answer) for id_, answer in done.solved.items()}
    return replace(done, content=content, solved=solved, coins=files)


def _without(
    parts: Mapping[str, Dataset], omits: Callable[[str, Problem], bool]
) -> dict[str, Dataset]:
    return {
        part: Dataset((problem for problem in dataset if not omits(part, problem)), part)
        for part, dataset in parts.items()
    }


def _refuse_faults(content: _content.Content, secrets: Secrets | None) -> None:
    """Raise DataError with the first faults for each remedy, if there are any."""
    by_remedy: dict[str, list[str]] = {}
    for fault in faults_of(content, secrets):
        by_remedy.setdefault(fault.do, []).append(f"{fault.where}: {fault.what}")
    lines = ["these problems must not be released:"]
    for do, found in by_remedy.items():
        more = [f"and {len(found) - _SHOWN:,} more"] if len(found) > _SHOWN else []
        lines.append("\n".join(found[:_SHOWN] + more) + f"; {do}")
    if by_remedy:
        raise DataError("\n".join(lines))


def _without_known(
    parts: Mapping[str, Dataset], before: Previous, about: About, leave_out: bool
) -> tuple[dict[str, Dataset], dict[str, int]]:
    """Return the parts without withdrawn problems, and test without published answers.

    Raises:
        InputError: the previous release is of another benchmark, or of the same version.
        DataError: there are such problems, and not `leave_out`.
    """
    if before.content.about.name != about.name:
        raise InputError(
            f"the previous release is of {before.content.about.name!r}, this one of "
            f"{about.name!r}; name a release of the same benchmark"
        )
    if before.version == about.version:
        raise InputError(f"{about.version} is the version of the previous release; give a new one")
    dead = {stone.id for stone in before.content.tombstones} - set(about.restored)
    withdrawn = dead & _content.unique_problems(parts).keys()
    test = parts.get(_content.TEST, Dataset())
    known = {test[row].id for row in _known_answers(test, before)}
    refused = []
    if withdrawn:
        refused.append(
            f"{len(withdrawn)} problems were withdrawn ({min(withdrawn)!r}, …); add "
            "`leave_out=True`, or name them under restored in release.toml"
        )
    if known:
        refused.append(
            f"{len(known)} test problems ({min(known)!r}, …) measure nothing: they, their other "
            f"halves, others of their families or copies were published with answers in "
            f"{before.version}; add `leave_out=True`, or move them to train"
        )
    if refused and not leave_out:
        raise DataError("\n".join(refused))
    counts = {
        "withdrawn before": len(withdrawn),
        f"in test, with an answer that {before.version} published": len(known - withdrawn),
    }
    kept = _without(
        parts, lambda part, p: p.id in withdrawn or (part == _content.TEST and p.id in known)
    )
    return kept, {reason: count for reason, count in counts.items() if count}


def _known_answers(test: Dataset, before: Previous) -> list[int]:
    """Return the rows of test problems whose answer was published, or that of a relative.

    Relatives are the other half, the family, copies and near-duplicates.
    """
    answered = [problem for problem in before.problems.values() if problem.answer is not None]
    both = _content.numbered_blocks((*test, *answered))
    mixed = (block for block in both if block[-1] >= len(test))
    return [row for block in mixed for row in block if row < len(test)]


@dataclass(frozen=True, eq=False)
class Released:
    """A release that was made.

    Attributes:
        folder: the release.
        content: everything that it publishes.
        key: the folder below private/ with the owner's files: the answers of test, and the id that
            each problem has in the source; None if neither is known.
        is_new: whether it was written now; otherwise it existed with the same bytes.
        copies: identical problems, also of test if its answers are known.
    """

    folder: Path
    content: _content.Content
    key: Path | None
    is_new: bool
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
    keyed: bool = False,
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
        keyed: publish each block in one of two equivalent presentations, chosen by secret coins,
            so that the dependence of a model on the release can be tested; see
            `winosmith.exposure`. The coins come from random bytes of the operating system, which
            are drawn once for a version and kept in private/; no seed determines them.
        format_name: format name of the files.
        pair_by: a further column of the files that both halves of a twin share.
        step: shows progress.

    Raises:
        InputError: the source can't be read or is not finished, something must not be released,
            the previous release is keyed and this one is not, or the coins of this version are
            lost.
        DataError: problems must not be released as they are; with the remedy.
        OutputError: the folder can't be written, or has another release of this version.
        MissingExtraError: pyarrow is not installed.
    """
    show = step or no_progress
    paths = _listed(source)
    with show("reading", None):
        found = _source.read_source(paths, format_name, pair_by)
        before = _source.read_previous(previous) if previous is not None else None
        judges = _source.judges_of(_listed(votes), found)
    if before is not None and before.content.keyed and not keyed:
        raise InputError(
            f"the previous release {before.version} is keyed, so this one must be, too, to keep "
            "its ids; add `keyed=True`"
        )
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; name a folder")
    with show("checking", None):
        done = gather_content(
            found, about, before, splitting or Splitting(), judges, new_ids, leave_out, keyed
        )
        if done.content.keyed:
            done = apply_coins(done, done.content.keyed, keep_key(out, about))
    total = len(files_of(done.content, {}))
    with show("writing", total) as advance, hidden_folder(out, about) as hidden:
        folder = out / _content.address(write_all(done.content, hidden, advance))
        is_new = move_into_place(hidden, folder, about)
        key = write_private(done, folder)
        if keyed:
            pending_path(out, about).unlink(missing_ok=True)
    return Released(folder, done.content, key, is_new, done.copies)


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


def move_into_place(hidden: Path, folder: Path, about: About) -> bool:
    """Give the finished folder its name; return False if it existed with the same bytes.

    Raises:
        OutputError: there is another release of this version, or it was changed.
    """
    for other in find_releases(folder.parent, about):
        if other != folder:
            raise refuse_other(other)
    if folder.exists():
        if _source.checksums_of(hidden) != _source.checksums_of(folder):
            raise OutputError(f"{folder} was changed after it was released; remove it")
        shutil.rmtree(hidden)
        return False
    hidden.rename(folder)
    return True


def write_private(done: Gathered, folder: Path) -> Path | None:
    """Write the owner's files into private/ next to the release, if there are any.

    They are the answers of test, in its order, the id of each problem in the source, and the coins
    of a keyed release.
    """
    files = dict(done.coins)
    test = done.content.parts.get(_content.TEST, Dataset())
    answered = Dataset(done.answered.values())
    if len(answered) and len(answered) == len(test) and None not in answered.answers:
        files["test.jsonl"] = "".join(formats.to_lines(answered))
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
        with atomic_write(key / name) as file:
            file.write(text)
        (key / name).chmod(0o600)
    return key
