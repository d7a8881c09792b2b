"""Verify a release: read it and list its faults.

The files must be those in release.json, with the same bytes. The problems are checked by the same
functions as in `release`, and the other data files are compared with the problems. Cards and other
descriptions are checked only by their checksums.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.dataset import Dataset
from winosmith.errors import InputError, first_line
from winosmith.exposure import COINS, find_faults, read_private_files
from winosmith.finished import read_old_ids
from winosmith.humans import CANARY
from winosmith.metrics import MIN_GROUPS, SPACING, Copies, Leak, find_clusters, find_leaks
from winosmith.outputs import PRIVATE, sha256
from winosmith.parallel import Step, no_progress
from winosmith.problem import Problem
from winosmith.records import parse_dropped, read_json_lines
from winosmith.release import _content, _source
from winosmith.release._about import explain_conflict
from winosmith.release._content import Content
from winosmith.release._files import list_files
from winosmith.release._interchange import RELEASE_KEYS, make_table, read_table
from winosmith.release._source import REBUILD_ADVICE, Fault, make_id
from winosmith.results import HIDDEN, Result, computed
from winosmith.splits import KEY_FIELDS
from winosmith.text import format_count

REMOVE_ADVICE = "remove it and release again"
PERMISSION_ADVICE = "or give the owner's permission as the source's `permission` in release.toml"


@dataclass(frozen=True, eq=False)
class Secrets:
    """The contents of a private folder, which must not be published.

    Attributes:
        solved: the test problems with their answers.
        old_ids: ids of problems before the build gave them new ids.
        digests: digests of the private files that are not empty.
    """

    solved: Dataset
    withheld: Sequence[Problem] = ()
    old_ids: frozenset[str] = frozenset()
    digests: frozenset[str] = frozenset()


def read_secrets(folder: str | Path) -> Secrets:
    folder = Path(folder)
    has_test = (folder / "test.jsonl").is_file()
    if not has_test and not (folder / COINS).is_file():
        raise InputError(
            f"{folder} has neither test.jsonl nor {COINS}; give the build's private/ folder, or "
            "the release's own folder in private/ next to the release"
        )
    solved = formats.read(folder / "test.jsonl", as_written=True) if has_test else Dataset()
    try:
        path = folder / "withheld.jsonl"
        records = list(read_json_lines(path)) if path.is_file() else []
        secret = {*solved.ids, *(record["id"] for record in records)}
        withheld = [
            parse_dropped(record)
            for record in records
            if record.get("copy_of", record["id"]) in secret  # a copy of dev reveals nothing more
        ]
        return Secrets(
            solved,
            withheld,
            frozenset(read_old_ids(folder).values()),
            frozenset(
                sha256(path) for path in folder.iterdir() if path.is_file() and path.stat().st_size
            ),
        )
    except (KeyError, OSError, UnicodeError) as error:
        raise InputError(f"{folder} is not the private folder of a build: {error!r}") from None


def _iter_problems(content: Content) -> Iterator[tuple[str, str, Problem]]:
    for part, dataset in content.parts.items():
        for row, problem in enumerate(dataset, start=1):
            yield part, f"data/{part}.jsonl:{row}", problem


def find_problem_faults(content: Content) -> Iterator[Fault]:
    first: dict[str, tuple[str, Problem]] = {}
    for part, where, problem in _iter_problems(content):
        place, other = first.setdefault(problem.id, (part, problem))
        if other != problem:
            yield Fault(where, f"{problem.id!r} belongs to another problem in {place}")
        for what, do in _iter_problem_faults(problem, part, content) if place == part else ():
            yield Fault(where, f"{problem.id!r} {what}", do)


def _iter_problem_faults(
    problem: Problem, part: str, content: Content
) -> Iterator[tuple[str, str]]:
    if problem.embargo:
        yield "is under embargo", REMOVE_ADVICE
    if problem.extra.get(CANARY) != content.canary:
        yield "does not contain the canary", REBUILD_ADVICE
    if part == _content.TEST:
        if problem.answer is not None:
            yield "has an answer, although it is in test", "remove the answer and release again"
        if odd := [key for key in problem.extra if key not in (CANARY, *RELEASE_KEYS)]:
            yield f"has {odd[0]!r}, which may reveal its answer", REMOVE_ADVICE
    elif problem.answer is None:
        do = "add its answer, remove it, or rename the file to test if its answer is withheld"
        yield "has no answer, although it is not in test", do
    if problem.origin and "@" in (problem.origin.author or ""):
        yield "has a contributor name that looks like an email address", "use a pseudonym"
    if problem.origin and len(problem.origin.created or "") > 10:
        yield "reveals the time at which it was written", "release again"
    if content.ids == "digest":
        forms = _content.iter_forms(problem, bool(content.keyed))
        stems = (make_id(form, content.about.name) for form in forms)
        if not any(problem.id == stem or problem.id.startswith(f"{stem}-") for stem in stems):
            yield (
                "has an id that is not derived from its text; it may reveal the answer",
                REBUILD_ADVICE,
            )


def find_order_faults(content: Content) -> Iterator[Fault]:
    seen = [_content.digest_text(problem) for problem in content.parts.get(_content.TEST, ())]
    for row, (one, other) in enumerate(pairwise(seen), start=2):
        if other < one:
            what = "test is not sorted by a digest of its texts; the order may reveal answers"
            yield Fault(f"data/{_content.TEST}.jsonl:{row}", what, "release again")
            return


def find_split_faults(content: Content) -> Iterator[Fault]:
    parts = content.parts
    origins = [kind for kind in KEY_FIELDS if kind in content.disjoint]
    for (part, row), (other, there), why in _content.find_split_groups(parts, origins):
        yield Fault(
            f"data/{part}.jsonl:{row + 1}",
            f"{parts[part][row].id!r} and {parts[other][there].id!r} (data/{other}.jsonl:"
            f"{there + 1}) are on two sides of a split: {why}",
            "move both to one side, or let `winosmith release` split one file",
        )
    for small, large in pairwise(part for part in _content.NESTED if part in parts):
        ids, more = parts[small].ids, parts[large].ids
        if more[: len(ids)] != ids:
            row = next((r for r, one in enumerate(ids) if more[r : r + 1] != (one,)), 0)
            yield Fault(f"data/{small}.jsonl:{row + 1}", f"it is not the beginning of {large}")


def find_licence_faults(content: Content) -> Iterator[Fault]:
    about = content.about
    for source in about.source:
        why = explain_conflict(
            source.licence, source.licence_terms, about.licence, about.licence_terms
        )
        if why and not source.permission:
            do = f"release under a compatible licence, remove these problems, {PERMISSION_ADVICE}"
            yield Fault(_content.RECORD, f"the source {source.name!r}: {why}", do)
    named = {source.name: source for source in about.source}
    first: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for _, where, problem in _iter_problems(content):
        name = problem.origin.source if problem.origin else None
        stated = problem.origin.licence if problem.origin else None
        entry = named.get(name or "*") or named.get("*")
        if entry is None:
            what = "the source is not stated"
            if name:
                what = f"no licence is stated for the source {name!r}"
            do = f'add [[source]] with name = "{name or "*"}" and its licence to release.toml'
        elif stated is not None and stated != entry.licence:
            what = (
                f"their licence is {stated}, but release.toml states {entry.licence} for "
                f"{entry.name!r}"
            )
            do = "correct one of them; all problems of a source have the same licence"
        elif problem.lineage and "no-derivatives" in entry.licence_terms and not entry.permission:
            what = (
                f"they are perturbed, but the licence of {entry.name!r}, {entry.licence}, allows "
                "no adaptation"
            )
            do = f"remove them, {PERMISSION_ADVICE}"
        else:
            continue
        first.setdefault((what, do), []).append((where, problem.id))
    for (what, do), found in first.items():
        where, one = found[0]
        count = len({id_ for _, id_ in found})
        problems = f"{count} problems ({one!r}, …)" if count > 1 else f"1 problem ({one!r})"
        yield Fault(where, f"{problems}: {what}", do)


def find_withdrawal_faults(content: Content) -> Iterator[Fault]:
    ids = set(content.dataset.ids)
    withdrawn = dict.fromkeys(content.about.withdrawn, _content.RECORD)
    withdrawn |= {
        s.id: f"{_content.TOMBSTONES}:{at}" for at, s in enumerate(content.tombstones, start=1)
    }
    for one, where in withdrawn.items():
        if one in ids:
            yield Fault(where, f"{one!r} is withdrawn, but still published", REMOVE_ADVICE)


def _map_answers(problems: Iterable[Problem], content: Content) -> dict[str, int | None]:
    forms = (form for p in problems for form in _content.iter_forms(p, bool(content.keyed)))
    return {_content.digest_text(form): form.answer for form in forms}


def find_answered_test(content: Content, secrets: Secrets | None) -> Dataset:
    """Return the test problems whose answers are known, with their answers."""
    solved = _map_answers(secrets.solved, content) if secrets else {}
    test = content.parts.get(_content.TEST, ())
    answered = (replace(p, answer=solved.get(_content.digest_text(p))) for p in test)
    return Dataset(p for p in answered if p.answer is not None)


def find_secrecy_faults(
    content: Content, secrets: Secrets, leaks: Iterable[Leak]
) -> Iterator[Fault]:
    """Yield faults for withheld problems, test answers, and ids from before the build."""
    solved, withheld = (_map_answers(of, content) for of in (secrets.solved, secrets.withheld))
    for _, where, problem in _iter_problems(content):
        seen = _content.digest_text(problem)
        if seen in withheld and seen not in solved:
            what = "must be withheld, because it reveals a test answer or is under embargo"
            yield Fault(where, f"{problem.id!r} {what}", REMOVE_ADVICE)
        if problem.answer is not None and seen in solved:
            yield Fault(where, f"{problem.id!r} is a test problem with its answer", REMOVE_ADVICE)
        lineage = problem.lineage
        relatives = [lineage.root, lineage.parent] if lineage else []
        others = (one for one in problem.extra.values() if not str(one).isdecimal())
        names = [problem.id, problem.twin_id, *relatives, *others]
        if old := next((one for one in names if one in secrets.old_ids), None):
            what = f"{problem.id!r} shows {old!r}, which is an id from before the build"
            yield Fault(where, what, REMOVE_ADVICE)
    for leak in leaks:
        if leak.field not in ("sentence", "options"):  # solvers may see these fields
            do = "remove the field from the file"
            if leak.field in ("id", "twin_id", "lineage.root", "lineage.parent"):
                do = f"release again with `new_ids=True`, or {do}"
            elif leak.field in SPACING:
                do = "remove the unusual spaces and characters from the texts"
            yield Fault(f"data/{_content.TEST}.jsonl", str(leak), do)


def check_content(content: Content, secrets: Secrets | None) -> tuple[list[Fault], str]:
    """Find the faults of content, which `release` refuses if it has any.

    The second item is the reason why test was not searched for fields that reveal its answers; ""
    if it was searched, or if there is no test.
    """
    answered, unchecked = find_answered_test(content, secrets), ""
    leaks = find_leaks(answered)
    if leaks is None and _content.TEST in content.parts:
        blocks = len({*find_clusters(answered).tolist()})
        unchecked = (
            "Not checked whether ids or other fields reveal test answers: test has "
            f"{format_count(blocks, 'block')} with known answers, and {MIN_GROUPS} are needed."
        )
    faults = [
        *find_problem_faults(content),
        *find_order_faults(content),
        *find_split_faults(content),
        *find_licence_faults(content),
        *find_withdrawal_faults(content),
        *(find_secrecy_faults(content, secrets, leaks or ()) if secrets else ()),
    ]
    return faults, unchecked


@dataclass(frozen=True, eq=False)
class VerificationResult(Result):
    """The result of verifying a release, with the faults that were found.

    Attributes:
        folder: folder of the release.
        faults: the faults.
        content: content of the release; None if it can't be read.
        private: whether the release was compared with a private folder.
        unchecked: why test was not searched for fields that reveal its answers; "" if it was, if
            there is no test, or if the problems can't be read.
    """

    folder: Path = field(metadata={"json": str})
    faults: tuple[Fault, ...]
    content: Content | None = field(metadata=HIDDEN)
    private: bool
    unchecked: str = ""

    @property
    @computed(key="sound")
    def is_sound(self) -> bool:
        """Whether no fault was found."""
        return not self.faults

    @property
    @computed(key="problems")
    def problem_count(self) -> int | None:
        """The number of problems; None if they can't be read."""
        return len(self.content.dataset) if self.content else None

    @property
    @computed(json="flat")
    def copies(self) -> Copies | None:
        """The groups of identical problems; None if the problems can't be read."""
        return self.content.copies if self.content else None


def verify(
    folder: str | Path, *, private: str | Path | None = None, step: Step | None = None
) -> VerificationResult:
    """Read a release and return its faults.

    Args:
        folder: folder of the release.
        private: the private/ folder of the build from which the release was made, or private/NAME
            next to the release. The content of this folder must not be in the release.
        step: shows progress.

    Raises:
        InputError: a folder does not exist or can't be read.
        MissingExtraError: pyarrow is not installed.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give the folder of a release")
    show = step or no_progress
    secrets = None if private is None else read_secrets(private)
    with show("checksums", None):
        record = _source.read_record(folder)
        if isinstance(record, Fault):
            return VerificationResult(folder, (record,), None, private is not None)
        sums = _source.compute_checksums(folder)
        faults = list(find_checksum_faults(folder, record, sums))
    with show("reading", None):
        content, bad = _source.read_content(folder, record)
    if bad:
        return VerificationResult(folder, (*faults, *bad), None, private is not None)
    with show("problems", None):
        of_content, unchecked = check_content(content, secrets)
        faults += of_content
    with show("files", None):
        faults += find_statement_faults(record, content)
        faults += find_file_faults(folder, record, sums, content)
        faults += find_digest_faults(folder, sums, secrets) if secrets else ()
        faults += find_coin_faults(folder, content, private)
    return VerificationResult(folder, tuple(faults), content, private is not None, unchecked)


def find_checksum_faults(
    folder: Path, record: Mapping[str, Any], sums: Mapping[str, str]
) -> Iterator[Fault]:
    named, outside = record["files"], {_content.RECORD, _content.CHECKSUMS}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield Fault(name, "it is a link", "replace it with the file itself")
    for name in sorted(named.keys() | (sums.keys() - outside)):
        entry = named.get(name)
        if name not in sums:
            yield Fault(name, "it is missing")
        elif entry is None:
            yield Fault(name, "release.json does not list it", "remove it")
        elif not isinstance(entry, dict) or sums[name] != entry.get("sha256"):
            yield Fault(name, "its SHA-256 differs from the one in release.json")
    listed = _content.format_checksums(
        {name: digits for name, digits in sums.items() if name != _content.CHECKSUMS}
    )
    try:
        same = (folder / _content.CHECKSUMS).read_text("utf-8") == listed
    except (OSError, ValueError):
        same = False
    if not same:
        yield Fault(_content.CHECKSUMS, "its lines are not the SHA-256 digests of the files")
    if _content.compute_digest(record) != record["digest"]:
        yield Fault(_content.RECORD, "its digest does not match its content")
    elif folder.resolve().name != (name := _content.make_folder_name(record)):
        do = "rename the folder, if there are no other errors"
        yield Fault(_content.RECORD, f"the folder's name must be {name}", do)


def find_statement_faults(record: Mapping[str, Any], content: Content) -> Iterator[Fault]:
    right = _content.make_record(content, {})
    for key in ("counts", "digests", "configurations"):
        stated, wanted = record[key], right[key]
        for name in {**wanted, **stated}:
            if stated.get(name) != wanted.get(name):
                yield Fault(_content.RECORD, f"its {key} of {name} do not match the problems")


def find_file_faults(
    folder: Path, record: Mapping[str, Any], sums: Mapping[str, str], content: Content
) -> Iterator[Fault]:
    files = list_files(content, {})
    for path in sorted(files.keys() - sums.keys() - record["files"].keys()):
        yield Fault(path, "it is missing")
    for path in sums:
        if path not in files and path not in (_content.RECORD, _content.CHECKSUMS):
            yield Fault(path, "it is not a file of a release", REMOVE_ADVICE)
    for part, dataset in content.parts.items():
        if (path := f"data/{part}.parquet") in sums:
            try:
                same = read_table(folder / path).equals(make_table(dataset, content.columns))
            except (OSError, ValueError, TypeError, OverflowError) as error:
                what = f"it can't be compared with the problems ({first_line(error)})"
                yield Fault(path, what)
                continue
            if not same:
                yield Fault(path, "it does not match the problems")
    for path, write in files.items():
        if path in sums and re.fullmatch(r".*\.lst|harness/.*\.jsonl", path):
            rows = zip_longest((folder / path).read_bytes().split(b"\n"), write().split(b"\n"))
            line = next((line for line, (read, made) in enumerate(rows, 1) if read != made), None)
            if line is not None:
                yield Fault(f"{path}:{line}", "it does not match the problems")


def find_coin_faults(folder: Path, content: Content, private: str | Path | None) -> Iterator[Fault]:
    """If the folder `private` has no coins, read private/NAME next to the release."""
    if content.keyed is None or private is None:
        return
    own = folder.resolve()
    place = Path(private) if (Path(private) / COINS).is_file() else own.parent / PRIVATE / own.name
    do = "give the private files of this release; coins can't be drawn again"
    try:
        files = read_private_files(place)
    except InputError as error:
        yield Fault(f"{PRIVATE}/{COINS}", str(error).partition("; ")[0], do)
        return
    faults = find_faults(files, content.about.full_name, content.keyed.commitment, content.parts)
    for where, what in faults:
        yield Fault(f"{PRIVATE}/{where}", what, do)
    if len(files.coins) != content.keyed.block_count:
        stated = content.keyed.block_count
        what = f"it states {stated} blocks decided by a coin flip, not {len(files.coins)}"
        yield Fault(_content.RECORD, what)


def find_digest_faults(folder: Path, sums: Iterable[str], secrets: Secrets) -> Iterator[Fault]:
    """Find published digests of private files, which could confirm a guess."""
    for path in sums:
        text = (folder / path).read_bytes().decode("utf-8", "replace")
        if secrets.digests & set(re.findall(r"\b[0-9a-f]{64}\b", text)):
            what = "it contains the SHA-256 of a private file, which can be used to test guesses"
            yield Fault(path, what)
