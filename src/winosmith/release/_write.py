"""Make the public folder of a release from a finished build or from files.

Problems that must not be published are refused or omitted. The files are written into a hidden
folder, which is renamed when it is complete. Test answers are written to the owner's private
folder. In a keyed release, a secret coin chooses one of two equivalent presentations of each block.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from winosmith import exposure, formats, validate
from winosmith.blocks import spread_embargo
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError, OutputError
from winosmith.finished import IDS_NAME
from winosmith.humans import make_canary
from winosmith.lineage import UNVALIDATED
from winosmith.locks import try_lock
from winosmith.metrics import Copies, find_copies
from winosmith.outputs import PRIVATE, atomic_write, remove_stale_files, sha256
from winosmith.parallel import Advance, Step, no_progress
from winosmith.problem import Extra, Problem
from winosmith.records import dump_json
from winosmith.release import _content, _source, _verify
from winosmith.release._about import About
from winosmith.release._content import Splitting
from winosmith.release._files import format_labels, list_files
from winosmith.release._interchange import JUDGED_BY, REMOVED_BY
from winosmith.release._source import Fields, PreviousRelease, Source, assign_ids, make_id

_Paths = Sequence[str | Path] | str | Path

_MAX_SHOWN = 3
"""Maximum number of faults with the same remedy that an error message lists."""


@dataclass(frozen=True, eq=False)
class PreparedRelease:
    """The checked content of a release, and the owner's private data.

    Attributes:
        solved: id of a test problem → its answer, if known.
        source_ids: id of a problem → its id in the source, if the release has new ids.
        pairs: for a keyed release, the problems in both presentations; the content has the first
            presentations until `apply_coins`.
        coins: the private files with the coins, by name.
        unchecked: why test was not searched for fields that reveal its answers; see
            `_verify.check_content`.
    """

    content: _content.Content
    solved: Mapping[str, int | None]
    source_ids: Mapping[str, str]
    unchecked: str
    secrets: _verify.Secrets | None = None
    pairs: tuple[exposure.Pair, ...] = ()
    coins: Mapping[str, str] = field(default_factory=dict)

    @property
    def answered_problems(self) -> dict[str, Problem]:
        return {
            problem.id: replace(problem, answer=self.solved[problem.id])
            for problem in self.content.parts.get(_content.TEST, ())
            if problem.id in self.solved
        }

    @property
    def copies(self) -> Copies:
        """The copies; contradictions in test are included if its answers are known."""
        answered = self.answered_problems
        return find_copies(Dataset(answered.get(p.id, p) for p in self.content.dataset))


def prepare_content(
    source: Source,
    about: About,
    previous: PreviousRelease | None,
    splitting: Splitting,
    judges: Callable[[Problem], Fields],
    new_ids: bool,
    leave_out: bool,
    keyed: bool,
) -> PreparedRelease:
    """Prepare a release; a keyed release has the first presentations until `apply_coins`."""
    digest = new_ids or bool(source.build)
    every = (p for dataset in source.parts.values() for p in dataset)
    numbered = Dataset(replace(p, id=f"{at} {p.id}") for at, p in enumerate(every))
    hidden = {p.id.partition(" ")[2] for p in spread_embargo(numbered) if p.embargo}
    left_out = {"under embargo": len(hidden)} if hidden else {}
    parts = _filter_parts(source.parts, lambda part, problem: problem.id in hidden)
    _content.check_origins(Dataset(_content.index_problems(parts).values()), splitting.origins)
    if splitting.disjoint and list(parts) == [_content.PROBLEMS]:
        former = previous.old_problems if previous else ()
        parts = _content.split_dataset(parts[_content.PROBLEMS], splitting, former)
    withheld = _verify.read_secrets(source.private) if source.private is not None else None
    if withheld is not None and _content.TEST in parts:
        known = {problem.id: problem.answer for problem in withheld.solved}
        test = (replace(p, answer=known.get(p.id, p.answer)) for p in parts[_content.TEST])
        parts[_content.TEST] = Dataset(test, _content.TEST)
    blocks = present_parts(parts) if keyed else []
    second = {problem.id: problem for block in blocks for problem in block.b}
    if keyed:
        first = {problem.id: problem for block in blocks for problem in block.a}
        parts = map_problems(parts, lambda p: first[p.id])
    named = assign_ids(parts, about.name, previous, source, second) if digest else dict(parts)
    old_of = {
        new.id: old
        for part, dataset in parts.items()
        for old, new in zip(dataset, named[part], strict=True)
    }
    if previous is not None:
        named, more = _omit_known_problems(named, previous, about, leave_out)
        left_out |= more
    if empty := [part for part, dataset in named.items() if not len(dataset)]:
        raise DataError(f"no problems are left in {empty[0]}; omit its file")
    named = _content.sort_test(named)
    answered = named.get(_content.TEST, Dataset())
    is_answered = any(answer is not None for answer in answered.answers)
    secrets = withheld or (_verify.Secrets(answered) if is_answered else None)
    seen = (
        Problem(p.id, p.sentence, p.options, blank=p.blank)
        for p in _content.index_problems(named).values()
    )
    mark = previous.content.canary if previous else make_canary(Dataset(seen))  # no answers

    def make_released_problem(part: str, problem: Problem) -> Problem:
        old = old_of[problem.id]
        removed = {} if part == _content.TEST else source.removal_fields.get(old.id, {})
        fields = dict(judges(old))
        if about.judges == "count":
            fields.pop(JUDGED_BY, None)
        return _source.add_provenance(
            problem, mark, {**fields, **removed}, for_test=part == _content.TEST
        )

    ready = {
        part: Dataset((make_released_problem(part, problem) for problem in dataset), part)
        for part, dataset in named.items()
    }
    source_ids = {
        id_: source.old_ids.get(old_of[id_].id, old_of[id_].id)
        for id_ in (_content.index_problems(ready) if digest else ())
    }
    unvalidated = {
        part: count for part, of in named.items() if (count := validate.count_unvalidated(of))
    }
    content = _content.Content(
        about,
        ready,
        mark,
        ("twin", *splitting.origins),
        "digest" if digest else "kept",
        source.build or ({"unvalidated": unvalidated} if unvalidated else {}),
        left_out,
    )
    pairs: tuple[exposure.Pair, ...] = ()
    if keyed:
        made = {old_of[problem.id].id: problem for problem in content.problems}
        pairs, counts = pair_presentations(blocks, made)
        content = replace(content, keyed=counts)
        if not pairs:
            raise DataError(
                "no block has two equivalent presentations: the order of options matters in all of "
                "them; release without `keyed=True`"
            )
    if previous is not None:
        absent = {
            make_id(form, about.name): f"dropped by {source.removal_fields[old][REMOVED_BY]}"
            if old in source.removal_fields
            else "held back"
            for old, problem in source.absent_problems.items()
            for form in _content.iter_forms(problem, keyed)
        }
        earlier = map_problems(ready, make_form_restorer(pairs, previous))
        found = _source.find_changes(earlier, previous, about.withdrawn, source_ids, absent)
        content = replace(
            content,
            previous={"version": previous.version, "digest": previous.digest},
            tombstones=_source.make_tombstones(found, previous, about),
            changes=found,
            history=previous.history,
        )
    places = {new: source.places.get(old.id, "") for new, old in old_of.items()}
    unchecked = _refuse_faults(content, secrets, places)
    answers = {problem.id: problem.answer for problem in answered} if secrets else {}
    return PreparedRelease(content, answers, source_ids, unchecked, secrets, pairs)


def apply_coins(
    prepared: PreparedRelease, statement: _content.CoinStatement, key: bytes
) -> PreparedRelease:
    """Choose the presentations of a keyed release by its coins, and check the result.

    `statement` has a placeholder for the commitment.
    """
    pairs, name = prepared.pairs, prepared.content.about.full_name
    coins = exposure.compute_coins(key, name, pairs)
    shown = {pair.a.id: pair.a if coins[pair.block] else pair.b for pair in pairs}
    parts = map_problems(prepared.content.parts, lambda p: apply_form(p, shown.get(p.id)))
    digest = exposure.compute_data_digest(name, parts)
    keyed = exposure.KeyedRelease(pairs, coins, digest, statement.without)
    lines = exposure.format_presentations(pairs)
    statement = replace(statement, commitment=exposure.compute_commitment(key, digest, lines))
    content = replace(prepared.content, parts=parts, keyed=statement)
    unchecked = _refuse_faults(content, prepared.secrets, {})
    solved = {**prepared.solved}
    solved |= {id_: form.answer for id_, form in shown.items() if id_ in solved}
    files = {exposure.COINS: exposure.format_coins(key, keyed), exposure.PRESENTATIONS: lines}
    return replace(prepared, content=content, solved=solved, coins=files, unchecked=unchecked)


def _filter_parts(
    parts: Mapping[str, Dataset], omits: Callable[[str, Problem], bool]
) -> dict[str, Dataset]:
    return {
        part: Dataset((problem for problem in dataset if not omits(part, problem)), part)
        for part, dataset in parts.items()
    }


def _refuse_faults(
    content: _content.Content, secrets: _verify.Secrets | None, places: Mapping[str, str]
) -> str:
    """Raise a DataError with the faults, or return why test was not searched for leaks.

    `places` has the problems' locations in the user's files.
    """

    def locate(found: re.Match[str]) -> str:
        return places.get(content.parts[found[1]][int(found[2]) - 1].id) or found[0]

    by_remedy: dict[str, list[str]] = {}
    faults, unchecked = _verify.check_content(content, secrets)
    for fault in faults:
        text = re.sub(r"data/([\w-]+)\.jsonl:(\d+)", locate, f"{fault.where}: {fault.what}")
        by_remedy.setdefault(fault.remedy, []).append(text)
    lines = ["these problems must not be released:"]
    for do, found in by_remedy.items():
        more = [f"and {len(found) - _MAX_SHOWN:,} more"] if len(found) > _MAX_SHOWN else []
        lines.append("\n".join(found[:_MAX_SHOWN] + more) + f"; {do}")
    if by_remedy:
        raise DataError("\n".join(lines))
    return unchecked


def _omit_known_problems(
    parts: Mapping[str, Dataset], previous: PreviousRelease, about: About, leave_out: bool
) -> tuple[dict[str, Dataset], dict[str, int]]:
    if previous.content.about.name != about.name:
        raise InputError(
            f"the previous release is of {previous.content.about.name!r}, and this one of "
            f"{about.name!r}; give a release of the same benchmark"
        )
    if previous.version == about.version:
        raise InputError(f"{about.version} is the version of the previous release; give a new one")
    dead = {stone.id for stone in previous.content.tombstones} - set(about.restored)
    withdrawn = dead & _content.index_problems(parts).keys()
    test = parts.get(_content.TEST, Dataset())
    answered = {stone.id for stone in previous.content.tombstones if stone.answered}
    # A test problem measures nothing if its answer is published, or that of a related problem (the
    # other half, the family, copies and near-duplicates).
    published = [problem for problem in previous.problems.values() if problem.answer is not None]
    blocks = _content.find_sorted_blocks((*test, *published))
    mixed = [block for block in blocks if block[-1] >= len(test)]
    known = {test[row].id for block in mixed for row in block if row < len(test)}
    known |= answered.intersection(test.ids)
    refused = []
    if withdrawn:
        refused.append(
            f"{len(withdrawn)} problems were withdrawn ({min(withdrawn)!r}, …); add "
            "`leave_out=True`, or list them under `restored` in release.toml"
        )
    if known:
        refused.append(
            f"{len(known)} test problems ({min(known)!r}, …) measure nothing, because they or "
            "their other halves, relatives or copies were published with answers by "
            f"{previous.version}; add `leave_out=True`, or move them to train"
        )
    if refused and not leave_out:
        raise DataError("\n".join(refused))
    counts = {
        "withdrawn before": len(withdrawn),
        f"in test, with an answer that {previous.version} published": len(known - withdrawn),
    }
    kept = _filter_parts(
        parts, lambda part, p: p.id in withdrawn or (part == _content.TEST and p.id in known)
    )
    return kept, {reason: count for reason, count in counts.items() if count}


@dataclass(frozen=True, eq=False)
class ReleaseResult:
    """The result of `release`.

    Attributes:
        folder: folder of the release.
        content: content of the release.
        private_folder: the folder in private/ with the owner's files, which contain the answers to
            test and the problems' ids in the source; None if neither is known.
        is_new: whether the folder is new; False if an identical release already existed.
        copies: identical problems and their contradictions, including test if answers are known.
        unchecked: why test was not searched for fields that reveal its answers; "" if it was, or if
            there is no test.
    """

    folder: Path
    content: _content.Content
    private_folder: Path | None
    is_new: bool
    copies: Copies
    unchecked: str


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
    columns: formats.Columns | None = None,
    encoding: str | None = None,
    step: Step | None = None,
) -> ReleaseResult:
    """Write a release to a new folder in `out`, named NAME-VERSION-DIGITS (digits of the digest).

    Args:
        source: a finished build, files that are already split, or one file that is not split.
        about: the description by the benchmark's makers.
        out: the folder for releases; created if it does not exist.
        previous: the previous release, for the changelog and the withdrawn problems.
        splitting: settings of the split.
        votes: files with the judges' votes; see `winosmith.validate.read_votes`. Votes for a build
            use the problems' ids in the pool.
        new_ids: make ids from the problems' texts even for files; a build always gets new ids.
        leave_out: omit problems that were withdrawn, or are in test and were published with their
            answers, instead of raising an error.
        keyed: publish each block in one of two equivalent presentations, chosen by secret coins.
            They allow tests of a model's dependence on the release; see `winosmith.exposure`. The
            coins come from random bytes of the operating system. These bytes are drawn once for a
            version and saved in private/; no seed determines them.
        format_name: format name of the files.
        pair_by: an additional column of the files that both halves of a twin share.
        columns: names of the files' columns that can't be recognised.
        encoding: the files' encoding if it is not UTF-8.
        step: shows progress.

    Raises:
        InputError: the source can't be read or is unfinished, the previous release is keyed and
            this one is not, or the coins of this version are lost.
        DataError: problems must not be released unchanged; the message names a remedy.
        OutputError: the folder can't be written, or has another release of this version.
        MissingExtraError: pyarrow is not installed.
    """
    show = step or no_progress
    paths = _list_paths(source)
    with show("reading", None):
        found = _source.read_source(
            paths, format_name, pair_by=pair_by, columns=columns, encoding=encoding
        )
        before = _source.read_previous(previous) if previous is not None else None
        judges = _source.make_judge_lookup(_list_paths(votes), found)
    if before is not None and before.content.keyed and not keyed:
        raise InputError(
            f"the previous release {before.version} is keyed, so this release must also be "
            "keyed to keep its ids; add `keyed=True`"
        )
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; give a folder")
    with show("checking", None):
        done = prepare_content(
            found, about, before, splitting or Splitting(), judges, new_ids, leave_out, keyed
        )
        if done.content.keyed:
            done = apply_coins(done, done.content.keyed, get_or_draw_key(out, about))
    total = len(list_files(done.content, {}))
    with show("writing", total) as advance, create_hidden_folder(out, about) as hidden:
        folder = out / _content.make_folder_name(write_files(done.content, hidden, advance))
        for other in find_releases(out, about):
            if other != folder:
                raise make_version_error(other)
        is_new = not folder.exists()
        if is_new:
            hidden.rename(folder)
        elif _source.compute_checksums(hidden) != _source.compute_checksums(folder):
            raise OutputError(f"{folder} was changed after it was released; remove it")
        private_folder = write_private(done, folder)
        if keyed:
            get_pending_path(out, about).unlink(missing_ok=True)
    return ReleaseResult(folder, done.content, private_folder, is_new, done.copies, done.unchecked)


def _list_paths(paths: _Paths) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


@contextlib.contextmanager
def create_hidden_folder(out: Path, about: About) -> Iterator[Path]:
    """Yield a new hidden folder in `out`; remove it at the end, unless it was renamed.

    The folders of earlier runs that were killed are removed first.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        remove_stale_files(out.glob(f".{about.name}-*.{'?' * 8}"))
        folder = Path(tempfile.mkdtemp(dir=out, prefix=f".{about.name}-{about.version}."))
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise OutputError(f"{out}: {error.strerror or error}; choose another folder") from error
    try:
        with contextlib.suppress(OSError):  # some file systems have no locks
            try_lock(handle)
        folder.chmod(0o755)
        yield folder
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}; nothing was released") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # no effect if it was renamed
        os.close(handle)


def write_files(content: _content.Content, folder: Path, advance: Advance) -> dict[str, Any]:
    """Return the contents of release.json."""
    sums: dict[str, dict[str, Any]] = {}

    def add_file(path: str, raw: bytes) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with (folder / path).open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        sums[path] = {"sha256": sha256(folder / path), "bytes": len(raw)}

    for done, (path, write) in enumerate(list_files(content, sums).items()):
        advance(done, path)
        add_file(path, write())
    record = _content.make_record(content, sums)
    add_file(_content.RECORD, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())
    checksums = _content.format_checksums({path: of["sha256"] for path, of in sums.items()})
    add_file(_content.CHECKSUMS, checksums.encode())
    return record


def write_private(prepared: PreparedRelease, folder: Path) -> Path | None:
    """Write the owner's files to private/ next to the release; return their folder, if any.

    The files contain the answered test problems, the source ids and the coins of a keyed release.
    """
    files = dict(prepared.coins)
    test = prepared.content.parts.get(_content.TEST, Dataset())
    answered = Dataset(prepared.answered_problems.values())
    if len(answered) and len(answered) == len(test):
        files["test.jsonl"] = "".join(formats.to_lines(answered))
        if None not in answered.answers:
            files["test-labels.lst"] = format_labels(answered)
    if prepared.source_ids:
        files[IDS_NAME] = "".join(
            sorted(dump_json({"id": i, "old_id": o}) + "\n" for i, o in prepared.source_ids.items())
        )
    if not files:
        return None
    private = folder.parent / PRIVATE / folder.name
    private.parent.mkdir(mode=0o700, exist_ok=True)
    private.mkdir(mode=0o700, exist_ok=True)
    for name, text in files.items():
        with atomic_write(private / name) as file:
            file.write(text)
        (private / name).chmod(0o600)
    return private


def present_parts(parts: Mapping[str, Dataset]) -> list[exposure.PresentedBlock]:
    """Return the two presentations of each block of problems in all parts.

    Fields specific to the source's format are removed, because they may name options or their
    order.
    """
    sides = _source.map_ids_to_sides(parts)
    problems = [
        replace(p, extra=Extra({UNVALIDATED: True} if p.extra.get(UNVALIDATED) else {}))
        for p in _content.index_problems(parts).values()
    ]
    return exposure.present_blocks(problems, [sides[problem.id] for problem in problems])


def pair_presentations(
    blocks: Iterable[exposure.PresentedBlock], released: Mapping[str, Problem]
) -> tuple[tuple[exposure.Pair, ...], _content.CoinStatement]:
    """Pair the presentations of released problems, and count the blocks of each kind.

    `released` maps each id in the source to the released problem in its first presentation. The
    pairs are sorted by block and id. The statement has a placeholder for the commitment.
    """
    pairs, kinds = [], Counter[str | None]()
    for block in blocks:
        if not (ids := [released[p.id].id for p in block.a if p.id in released]):
            continue
        kinds[block.kind] += 1
        for first, second in zip(block.a, block.b, strict=False):  # b may be empty
            if problem := released.get(first.id):
                a = replace(problem, answer=first.answer)
                b = replace(
                    a, sentence=second.sentence, options=second.options, answer=second.answer
                )
                pairs.append(exposure.Pair(min(ids), a, b))
    pairs.sort(key=lambda pair: (pair.block, pair.a.id))
    return tuple(pairs), _content.CoinStatement(
        "0" * 64, kinds["names"], kinds["options"], kinds[None]
    )


def map_problems(
    parts: Mapping[str, Dataset], change: Callable[[Problem], Problem]
) -> dict[str, Dataset]:
    """Change each problem, and sort the test part by the changed texts."""
    return _content.sort_test(
        {part: Dataset(map(change, dataset), part) for part, dataset in parts.items()}
    )


def make_form_restorer(
    pairs: tuple[exposure.Pair, ...], previous: PreviousRelease
) -> Callable[[Problem], Problem]:
    """Make a function that undoes the changes that coins caused since the previous release."""
    forms = {(form.id, _content.digest_text(form)): form for p in pairs for form in (p.a, p.b)}

    def restore_form(problem: Problem) -> Problem:
        old = previous.problems.get(problem.id)
        form = forms.get((old.id, _content.digest_text(old))) if old else None
        return apply_form(problem, form)

    return restore_form


def apply_form(problem: Problem, form: Problem | None) -> Problem:
    """Return the problem in the given form, but keep a withheld answer withheld."""
    return replace(form, answer=None) if form and problem.answer is None else form or problem


def find_releases(out: Path, about: About) -> list[Path]:
    name = f"{about.name}-{about.version}"
    return [
        folder
        for folder in sorted(out.glob(f"{name}-*"))
        if (folder / _content.RECORD).is_file() and folder.name.rpartition("-")[0] == name
    ]


def make_version_error(folder: Path) -> OutputError:
    return OutputError(
        f"{folder} is another release of this version; a version can be released only once, so "
        "choose a new version, or remove that folder if it was never published"
    )


def get_pending_path(out: Path, about: About) -> Path:
    """Return the path of the file with the secret bytes of an unfinished release."""
    return out / PRIVATE / f"{about.name}-{about.version}.{exposure.COINS}"


def get_or_draw_key(out: Path, about: About) -> bytes:
    """Return the secret bytes of a release; draw and save them if there are none yet."""
    path = get_pending_path(out, about)
    if path.is_file():
        return exposure.read_key(path)
    for folder in find_releases(out, about):
        own = out / PRIVATE / folder.name / exposure.COINS
        if own.is_file():
            return exposure.read_key(own)
        record = _source.read_record(folder)
        if not isinstance(record, dict) or record.get("keyed") is None:
            raise make_version_error(folder)
        raise InputError(
            f"{own} is missing, so the coins of this finished release are lost; restore the file "
            "from your copy, or release a new version, which gets new coins"
        )
    key = exposure.draw_key()
    with atomic_write(path) as file:
        path.parent.chmod(0o700)
        json.dump({"bytes": key.hex()}, file)
    path.chmod(0o600)
    return key
