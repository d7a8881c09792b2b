"""The checks of the problems of a release: `release` refuses what `verify` reports.

Each problem may be published, is on the side that the release states, and under its source's
licence. Nothing withheld is published, and nothing reveals an answer of test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from winosmith import formats
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.finished import read_old_ids
from winosmith.humans import CANARY
from winosmith.metrics import leaks
from winosmith.outputs import sha256
from winosmith.problem import Problem
from winosmith.records import dropped_problem, json_file
from winosmith.release._about import About
from winosmith.release._content import RECORD, TOMBSTONES, Content
from winosmith.release._ids import id_of
from winosmith.release._licences import conflict
from winosmith.release._parts import KINDS, NESTED, TEST, sight, straddles
from winosmith.release._read import AGAIN, Fault
from winosmith.release._tables import OWN_KEYS

REMOVE = "remove it and release again"
PERMISSION = "or give the owner's permission as the source's `permission` in release.toml"


@dataclass(frozen=True, eq=False)
class Secrets:
    """The contents of a private folder, which must not be published.

    Attributes:
        solved: the test problems with their answers.
        withheld: the withheld problems, by `sight`.
        old_ids: the ids that problems had before those of the build.
        digests: of the private files.
    """

    solved: Dataset
    withheld: Mapping[str, Problem]
    old_ids: frozenset[str] = frozenset()
    digests: frozenset[str] = frozenset()


def read_secrets(folder: str | Path) -> Secrets:
    """Read the folder private/ of a build, or the one next to a release.

    Raises:
        InputError: it has no test.jsonl, or a file can't be read.
    """
    folder = Path(folder)
    if not (folder / "test.jsonl").is_file():
        raise InputError(
            f"{folder} has no test.jsonl; name the folder private/ of the build, or the release's "
            "own folder in private/ next to it"
        )
    solved = formats.read(folder / "test.jsonl", as_written=True)
    try:
        path = folder / "withheld.jsonl"
        records = list(json_file(path)) if path.is_file() else []
        secret = {*solved.ids, *(record["id"] for record in records)}
        withheld = [
            dropped_problem(record)
            for record in records
            if record.get("copy_of", record["id"]) in secret  # a copy of dev reveals nothing more
        ]
        return Secrets(
            solved,
            {sight(problem): problem for problem in withheld},
            frozenset(read_old_ids(folder).values()),
            frozenset(sha256(path) for path in folder.iterdir() if path.is_file()),
        )
    except (KeyError, OSError, UnicodeError) as error:
        raise InputError(f"{folder} is not the private folder of a build: {error!r}") from None


def _places(content: Content) -> Iterator[tuple[str, str, Problem]]:
    """Yield each problem of each part, after the part and its place."""
    for part, dataset in content.parts.items():
        for row, problem in enumerate(dataset, start=1):
            yield part, f"data/{part}.jsonl:{row}", problem


def check_problems(content: Content, secrets: Secrets | None) -> Iterator[Fault]:
    """Find problems that must not be published as they are."""
    first: dict[str, tuple[str, Problem]] = {}
    for part, where, problem in _places(content):
        place, other = first.setdefault(problem.id, (part, problem))
        if other != problem:
            yield Fault(where, f"{problem.id!r} is another problem in {place}")
        for what, do in _faults_of(problem, part, content) if place == part else ():
            yield Fault(where, f"{problem.id!r} {what}", do)


def _faults_of(problem: Problem, part: str, content: Content) -> Iterator[tuple[str, str]]:
    if problem.embargo:
        yield "is under embargo", REMOVE
    if problem.extra.get(CANARY) != content.canary:
        yield "does not contain the canary", AGAIN
    if part == TEST:
        if problem.answer is not None:
            yield "has its answer, although it is of test", "remove the answer and release again"
        odd = [key for key in problem.extra if key not in (CANARY, *OWN_KEYS)]
        if odd:
            yield f"has {odd[0]!r}, which may reveal its answer", REMOVE
    elif problem.answer is None:
        do = "give its answer, remove it, or name the file test if it is to be solved"
        yield "has no answer, although it is not of test", do
    author = problem.origin.author if problem.origin else None
    if author and "@" in author:
        yield "has what looks like an address as its contributor", "use a pseudonym"
    created = problem.origin.created if problem.origin else None
    if created and len(created) > 10:
        yield "reveals the hour at which it was written", "release again"
    if content.ids == "digest":
        stem = id_of(problem, content.about.name)
        if problem.id != stem and not problem.id.startswith(f"{stem}-"):
            yield "has an id that is not made from its text; it may reveal the answer", AGAIN


def check_order(content: Content, secrets: Secrets | None) -> Iterator[Fault]:
    """Find a test set in another order than that of a digest of its texts."""
    seen = [sight(problem) for problem in content.parts.get(TEST, ())]
    for row, (one, other) in enumerate(pairwise(seen), start=2):
        if other < one:
            what = "the order is not that of a digest of the texts; it may reveal the answers"
            yield Fault(f"data/{TEST}.jsonl:{row}", what, "release again")
            return


def check_splits(content: Content, secrets: Secrets | None) -> Iterator[Fault]:
    """Find problems on two sides that belong together, and sizes that are not nested."""
    parts = content.parts
    kinds = [kind for kind in KINDS if kind == "twin" or kind in content.disjoint]
    for (part, row), (other, there), why in straddles(parts, kinds):
        yield Fault(
            f"data/{part}.jsonl:{row + 1}",
            f"{parts[part][row].id!r} and {parts[other][there].id!r} (data/{other}.jsonl:"
            f"{there + 1}) are on two sides of a split: {why}",
            "move both to one side, or let `winosmith release` split one file",
        )
    for small, large in pairwise(part for part in NESTED if part in parts):
        ids, more = parts[small].ids, parts[large].ids
        if more[: len(ids)] != ids:
            row = next((r for r, one in enumerate(ids) if more[r : r + 1] != (one,)), 0)
            yield Fault(f"data/{small}.jsonl:{row + 1}", f"it is not the beginning of {large}")


def check_licences(content: Content, secrets: Secrets | None) -> Iterator[Fault]:
    """Find licences that are missing or conflict."""
    about = content.about
    for source in about.source:
        why = conflict(source.licence, source.asks, about.licence, about.asks)
        if why and not source.permission:
            do = f"release under a licence that fits, remove these problems, {PERMISSION}"
            yield Fault(RECORD, f"the source {source.name!r}: {why}", do)
    first: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for _, where, problem in _places(content):
        for fault in _licence_faults(about, problem):
            first.setdefault(fault, []).append((where, problem.id))
    for (what, do), found in first.items():
        where, one = found[0]
        count = len({id_ for _, id_ in found})
        named = f"{count} problems ({one!r}, …)" if count > 1 else f"1 problem ({one!r})"
        yield Fault(where, f"{named}: {what}", do)


def _licence_faults(about: About, problem: Problem) -> Iterator[tuple[str, str]]:
    name = problem.origin.source if problem.origin else None
    stated = problem.origin.licence if problem.origin else None
    named = {source.name: source for source in about.source}
    source = named.get(name or "*") or named.get("*")
    if source is None:
        yield (
            f"no licence is stated for the source {name!r}" if name else "the source is not stated",
            f'add [[source]] with name = "{name or "*"}" and its licence to release.toml',
        )
    elif stated is not None and stated != source.licence:
        yield (
            f"their licence is {stated}, but release.toml states {source.licence} for "
            f"{source.name!r}",
            "correct one of the two; problems of one source have one licence",
        )
    elif problem.lineage and "no-derivatives" in source.asks and not source.permission:
        yield (
            f"they are perturbed, and {source.licence} of {source.name!r} allows no adaptation",
            f"remove them, {PERMISSION}",
        )


def check_withdrawn(content: Content, secrets: Secrets | None) -> Iterator[Fault]:
    """Find withdrawn problems that are still published."""
    ids = set(content.dataset.ids)
    withdrawn = dict.fromkeys(content.about.withdrawn, RECORD)
    withdrawn |= {s.id: f"{TOMBSTONES}:{at}" for at, s in enumerate(content.tombstones, start=1)}
    for one, where in withdrawn.items():
        if one in ids:
            yield Fault(where, f"{one!r} is withdrawn, and still published", REMOVE)


def check_secrets(content: Content, secrets: Secrets | None) -> Iterator[Fault]:
    """Find withheld problems, answers of test, and old ids, if the private folder is known."""
    if secrets is None:
        return
    solved = {sight(p): p.answer for p in secrets.solved}
    for _, where, problem in _places(content):
        seen = sight(problem)
        if seen in secrets.withheld and seen not in solved:
            what = "is withheld: it reveals a test answer, or is under embargo"
            yield Fault(where, f"{problem.id!r} {what}", REMOVE)
        if problem.answer is not None and seen in solved:
            yield Fault(where, f"{problem.id!r} is a test problem, with its answer", REMOVE)
        old = next((one for one in _names(problem) if one in secrets.old_ids), None)
        if old is not None:
            what = f"{problem.id!r} shows {old!r}, an id from before the build"
            yield Fault(where, what, REMOVE)
    test = content.parts.get(TEST, ())
    known = Dataset(replace(p, answer=solved[sight(p)]) for p in test if sight(p) in solved)
    for leak in leaks(known) or ():
        if leak.field not in ("sentence", "options"):  # what a solver sees is no leak
            do = "release again with `new_ids=True`, or remove the field from the file"
            yield Fault(f"data/{TEST}.jsonl", str(leak), do)


def _names(problem: Problem) -> Iterator[str]:
    yield problem.id
    if problem.twin_id:
        yield problem.twin_id
    if problem.lineage:
        yield from (problem.lineage.root, problem.lineage.parent)
    yield from (value for value in problem.extra.values() if isinstance(value, str))


CHECKS: tuple[Callable[[Content, Secrets | None], Iterable[Fault]], ...] = (
    check_problems,
    check_order,
    check_splits,
    check_licences,
    check_withdrawn,
    check_secrets,
)
"""The checks of the problems, in the order of their faults."""


def faults_of(content: Content, secrets: Secrets | None) -> list[Fault]:
    """Return the faults of the problems of a release."""
    return [fault for check in CHECKS for fault in check(content, secrets)]
