"""Which problems go to train, dev and test, and which were there in the build before.

A block never straddles a split. What a filter removed follows its block: beside a dev or test
problem it may not be trained on, because the removed half of a twin tells the answer of the half
that is left.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.blocks import HOLDERS, SIDES, Former, Side, placed
from winosmith.build._recipe import Disjoint
from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError, InputError, ProblemError
from winosmith.outputs import PRIVATE, OutputFolder
from winosmith.problem import Extra, Lineage, Problem
from winosmith.records import canonical, dropped_problem, problem_of, problem_record

SIZES = (("xs", 160), ("s", 640), ("m", 2560), ("l", 10240))
"""160·4^k problems; WinoGrande's table 4 has 160, 640, 2,558 and 10,234, and then all (xl)."""


@dataclass(frozen=True, slots=True)
class Joint:
    """A block that joins what was on several sides before.

    Attributes:
        rows: all of it.
        former: the sides.
        side: the one on which it is now.
    """

    rows: tuple[int, ...]
    former: tuple[Side, ...]
    side: Side


@dataclass(frozen=True)
class Split:
    """Rows of the data set, in the order in which they are published.

    Attributes:
        debiased: kept by the filter, for training.
        dev, test: kept by the filter.
        train: whole twins for training: kept or removed by the filter, neither half in dev or test.
        withheld: what shares a block with a dev or test problem but was not kept; never published.
        sides: of every row, that of its block.
        old: the rows of blocks that were on a side before.
        joints: the blocks that were on several.
    """

    debiased: tuple[int, ...]
    dev: tuple[int, ...]
    test: tuple[int, ...]
    train: tuple[int, ...]
    withheld: tuple[int, ...]
    sides: Mapping[int, Side]
    old: frozenset[int] = frozenset()
    joints: tuple[Joint, ...] = ()


def split(
    dataset: Dataset,
    order: Sequence[Sequence[int]],
    *,
    pool: Iterable[int],
    kept: Iterable[int],
    dev: float,
    test: float,
    disjoint: Disjoint = "twin",
    former: Sequence[Former] | None = None,
) -> Split:
    """Share the kept rows between train, dev and test, and say what may be trained on.

    With `former`, a block stays on the side that it was on, even where nothing of it is kept any
    more; one that was on several goes to the first of train, dev and test among them. New blocks
    go where most is missing.

    Args:
        dataset: everything that was collected; with `former`, with the ids of the pool.
        order: its shuffled blocks.
        pool: the rows that went into the filter.
        kept: those that the filter kept.
        dev: the share of the kept rows for dev, 0–1; reached in whole blocks, see `blocks.placed`.
        test: the same for test.
        disjoint: what no two of train, dev and test share beside blocks. Whoever is too large
            for dev and test, by more than a tenth of what is wanted, goes to training.
        former: what was split before; None where nothing was.

    Raises:
        DataError: dev or test is wanted, and no contributor or source is small enough for it, or
            no block is new.
    """
    pooled, is_kept = set(pool), set(kept)
    wanted: dict[Side, int] = {
        "dev": round(dev * len(is_kept)),
        "test": round(test * len(is_kept)),
    }
    found = placed(
        dataset,
        order,
        wanted,
        keys=() if disjoint == "twin" else (HOLDERS[disjoint],),
        former=former or (),
        counted=is_kept,
    )
    parts: dict[Side, list[int]] = {"train": [], "dev": [], "test": []}
    withheld: list[int] = []
    for of in found:
        if of.side == "train":
            parts["train"] += of.rows
        else:
            parts[of.side] += [row for row in of.rows if row in is_kept]
            withheld += [row for row in of.rows if row not in is_kept]
    _refuse_empty(wanted, parts, disjoint, continued=bool(former))
    place = {row: at for at, row in enumerate(parts["train"]) if row in pooled}
    twins = (
        sorted(twin, key=place.__getitem__) for twin in dataset.twins if place.keys() >= {*twin}
    )
    return Split(
        debiased=tuple(row for row in parts["train"] if row in is_kept),
        dev=tuple(parts["dev"]),
        test=tuple(parts["test"]),
        train=tuple(row for twin in sorted(twins, key=lambda t: place[t[0]]) for row in twin),
        withheld=tuple(withheld),
        sides={row: of.side for of in found for row in of.rows},
        old=frozenset(row for of in found if of.former for row in of.rows),
        joints=tuple(
            Joint(of.rows, tuple(side for side in SIDES if side in of.former), of.side)
            for of in found
            if len(of.former) > 1
        ),
    )


def _refuse_empty(
    wanted: Mapping[Side, int],
    parts: Mapping[Side, Sequence[int]],
    disjoint: Disjoint,
    continued: bool,
) -> None:
    empty = next((part for part in wanted if wanted[part] and not parts[part]), None)
    if empty is None:
        return
    if continued:
        raise DataError(
            f"nothing is left for {empty}: too little is new, and the rest stays on the sides that "
            "it had; collect more, or draw all sides anew: a build without --last, a round with "
            "--redraw"
        )
    if disjoint == "twin":
        raise DataError(
            f"nothing is left for {empty}: there are too few twins and families; collect more, or "
            "ask for less"
        )
    raise DataError(
        f"every {disjoint} has more problems than the {wanted[empty]:,} that {empty} is "
        f"to have; collect from more of them, or leave split.disjoint at twin"
    )


def nested_sizes(train: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return the nested training sets, each the beginning of the next, in whole twins; xl is all.

    Sizes that the training set does not exceed are left out.

    >>> {name: len(rows) for name, rows in nested_sizes(range(1000)).items()}
    {'xs': 160, 's': 640, 'xl': 1000}
    """
    sizes = {name: tuple(train[:size]) for name, size in SIZES if size < len(train)}
    return {**sizes, "xl": tuple(train)}


CHECKSUMS = "checksums.sha256"


IDS = f"{PRIVATE}/ids.jsonl"


SIDES_FILE = f"{PRIVATE}/sides.jsonl"
"""What a build writes that follows another: the sides of its pool, and of all that was before."""


_PUBLISHED: tuple[tuple[str, Side], ...] = (
    ("train_xl", "train"),
    ("train_debiased", "train"),
    ("dev", "dev"),
    ("test", "test"),
)


@dataclass(frozen=True, eq=False)
class LastBuild:
    """The build before.

    Attributes:
        digest: by which it is known: that of its checksums.
        former: every problem that it and those before it had, with its side.
    """

    digest: str
    former: tuple[Former, ...]


def digest_of(folder: str | Path) -> str:
    """Return what a build's public files are known by: the digest of their checksums."""
    return hashlib.sha256((Path(folder) / CHECKSUMS).read_bytes()).hexdigest()


def read_last(folder: str | Path) -> LastBuild:
    """Read which problem of a finished build was on which side.

    What was dropped was published with its answer, and so belongs to training.

    Raises:
        InputError: the folder holds no finished build, or not what is private in it.
    """
    folder = Path(folder)
    for name in (CHECKSUMS, IDS):
        if not (folder / name).is_file():
            raise InputError(
                f"{folder} holds no finished build whose sides could be kept: {name} is missing; "
                "name the folder of one, or draw the sides anew"
            )
    try:
        stored = (folder / SIDES_FILE).is_file()
        former = _stored(folder) if stored else _published(folder)
        return LastBuild(digest_of(folder), tuple(former))
    except (OSError, ValueError, KeyError, TypeError, ProblemError, FormatError) as error:
        raise InputError(f"{folder}: the sides of this build can't be read: {error}") from error


def _stored(folder: Path) -> Iterator[Former]:
    for record in _records(folder / SIDES_FILE):
        side = record.pop("side")
        if side is not None and side not in SIDES:
            raise ValueError(f"{side!r} is no side")
        yield Former(problem_of(record), side)


def _published(folder: Path) -> Iterator[Former]:
    """Yield what the files of a build tell, with the ids that its problems had in the pool."""
    old = {record["id"]: record["old_id"] for record in _records(folder / IDS)}
    table = tomllib.loads((folder / "recipe.toml").read_text("utf-8"))
    known = formats.format_named(table["files"]["format"])
    seen = set[str]()
    for name, side in _PUBLISHED:
        path = folder / f"{name}{known.suffix}"
        for problem in (
            formats.read(path, known.name, as_written=True) if path.stat().st_size else ()
        ):
            if problem.id not in seen:
                seen.add(problem.id)
                yield Former(_in_pool(problem, old), side)
    for record in _records(folder / "dropped.jsonl"):
        if record["id"] not in seen:
            yield Former(_in_pool(dropped_problem(record), old), "train")
    for record in _records(folder / PRIVATE / "withheld.jsonl"):
        yield Former(_in_pool(dropped_problem(record), old), None)


def _in_pool(problem: Problem, old: Mapping[str, str]) -> Problem:
    lineage = problem.lineage
    if lineage is not None:
        root, parent = (old.get(id_, id_) for id_ in (lineage.root, lineage.parent))
        lineage = Lineage(root, parent)
    return replace(problem, id=old[problem.id], lineage=lineage, answer=None, extra=Extra())


def write_sides(
    folder: OutputFolder, collected: Dataset, parts: Split, last: LastBuild | None
) -> None:
    """Write the sides of everything that was ever split, for the next build; private.

    Nothing is written by the first build: its files tell.

    Args:
        folder: where to.
        collected: the problems with the ids of the pool.
        parts: how they were split.
        last: the build before.
    """
    if last is None:
        return
    now = [Former(problem, _side_of(problem, row, parts)) for row, problem in enumerate(collected)]
    told = {_text(former.problem) for former in now}
    gone = [former for former in last.former if _text(former.problem) not in told]
    with folder.write(SIDES_FILE) as file:
        for former in (*_sorted(now), *gone):
            bare = replace(former.problem, answer=None, extra=Extra())
            file.write(canonical({**problem_record(bare), "side": former.side}) + "\n")


def _side_of(problem: Problem, row: int, parts: Split) -> Side | None:
    """Return a row's side; what is under embargo was not published, and is on none for that."""
    side = parts.sides[row]
    hidden = problem.embargo and side == "train" and row not in parts.old
    return None if hidden else side


def _text(problem: Problem) -> tuple[str, str, tuple[str, ...]]:
    return problem.id, problem.sentence, problem.options


def _sorted(former: Iterable[Former]) -> list[Former]:
    return sorted(former, key=lambda one: one.problem.id)


def sides_record(parts: Split, ids: Sequence[str], last: LastBuild) -> dict[str, Any]:
    """Return what a build says of the sides: how many problems stayed, are new, or were joined.

    Args:
        parts: how the problems were split.
        ids: those that they are published with.
        last: the build before.
    """
    sets: dict[Side, tuple[int, ...]] = {
        "train": parts.debiased,
        "dev": parts.dev,
        "test": parts.test,
    }
    published = {row for rows in sets.values() for row in rows}
    stayed = parts.old.difference(*(joint.rows for joint in parts.joints))
    return {
        "last": last.digest,
        "stayed": {side: sum(row in stayed for row in rows) for side, rows in sets.items()},
        "new": {side: sum(row not in parts.old for row in rows) for side, rows in sets.items()},
        "joined": [
            {
                "former": list(joint.former),
                "side": joint.side,
                "problems": [ids[row] for row in joint.rows if row in published],
            }
            for joint in parts.joints
        ],
    }


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)
