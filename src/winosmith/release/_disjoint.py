"""Sides that share nothing: no twin, family or copy, and on request no contributor or source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from winosmith.blocks import (
    Former,
    blocks,
    former_sides,
    joined,
    shuffled_blocks,
    side_kept,
)
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import Lineage, Problem
from winosmith.release._parts import DEV, TEST, TRAIN, side

KINDS = ("twin", "contributor", "source")
"""What sides can be kept apart by; "twin" stands for twins, families, copies and lookalikes."""

_NAMED: Mapping[str, Literal["author", "source"]] = {
    "contributor": "author",
    "source": "source",
}


@dataclass(frozen=True, slots=True)
class Straddle:
    """Two problems on different sides that belong together.

    Attributes:
        part, row: where the first is.
        other_part, other_row: where the second is.
        why: what they share, in words.
    """

    part: str
    row: int
    other_part: str
    other_row: int
    why: str


def straddles(parts: Mapping[str, Dataset], kinds: Iterable[str]) -> Iterator[Straddle]:
    """Yield what belongs together and lies on different sides, once for each such group.

    Args:
        parts: of a release; all training sets are one side.
        kinds: of `KINDS`.
    """
    places: list[tuple[str, int, Problem]] = []
    seen: set[tuple[str, str]] = set()
    for part, dataset in parts.items():
        for row, problem in enumerate(dataset):
            if (side(part), problem.id) not in seen:
                seen.add((side(part), problem.id))
                places.append((part, row, problem))
    for kind in kinds:
        groups = _together(places) if kind == "twin" else _sharing(places, _NAMED[kind])
        for group, why in groups:
            first, *rest = group
            other = next((o for o in rest if side(places[o][0]) != side(places[first][0])), None)
            if other is not None:
                one, two = places[first], places[other]
                reason = why or _why(one[2], two[2])
                yield Straddle(one[0], one[1], two[0], two[1], reason)


_Place = tuple[str, int, Problem]


def _together(places: Sequence[_Place]) -> Iterator[tuple[list[int], str]]:
    """Yield the rows of each block; ids are told apart by their side, so that copies are found."""
    data = Dataset(
        replace(problem, id=f"{at}", lineage=_rooted(problem))
        for at, (_, _, problem) in enumerate(places)
    )
    for block in blocks(data):
        if len(block) > 1:
            yield sorted(block), ""


def _rooted(problem: Problem) -> Lineage:
    """Return a lineage that names the root by its own id, also for the root itself."""
    return problem.lineage or Lineage(problem.id, problem.id)


def _sharing(places: Sequence[_Place], field: str) -> Iterator[tuple[list[int], str]]:
    by: dict[str, list[int]] = {}
    for at, (_, _, problem) in enumerate(places):
        value = getattr(problem.origin, field, None)
        if value is not None:
            by.setdefault(value, []).append(at)
    what = "contributor" if field == "author" else field
    for value, group in by.items():
        yield group, f"both are from the {what} {value!r}"


def _why(one: Problem, other: Problem) -> str:
    """Say what two problems share; blocks join neighbours, so it may be a third."""
    if one.id == other.id:
        return "they have the same id"
    if one.twin_id is not None and one.twin_id == other.twin_id:
        return f"they are halves of the twin {one.twin_id!r}"
    if one.root == other.root:
        return f"they are of the family of {one.root!r}"
    if one.sentence.lower() == other.sentence.lower():
        return "their sentences are the same"
    return "one is nearly a copy of the other, or both are of a third"


def check_known(dataset: Dataset, kinds: Iterable[str]) -> None:
    """Refuse to promise what can't be seen: each problem must say its contributor or source.

    Raises:
        DataError: some problems don't.
    """
    for kind in kinds:
        if kind == "twin":
            continue
        unknown = [p.id for p in dataset if getattr(p.origin, _NAMED[kind], None) is None]
        if unknown:
            raise DataError(
                f"{len(unknown)} of {len(dataset)} problems do not say their {kind} "
                f"({unknown[0]!r}, …), so sides can't be kept apart by it; leave out --disjoint "
                f"{kind}, or give each problem its origin.{_NAMED[kind]}"
            )


def share(
    dataset: Dataset,
    kinds: Iterable[str],
    *,
    dev: float,
    test: float,
    seed: int,
    former: Sequence[Former] = (),
) -> dict[str, Dataset]:
    """Split a data set into train, dev and test that share nothing of these kinds.

    Groups are taken in the shuffled order; one that would make test or dev more than half as large
    again as it should be goes to train. What was on a side before stays there; where groups join
    two sides, train comes before dev, and dev before test.

    Args:
        dataset: not split yet.
        kinds: of `KINDS`; twins are always kept together.
        dev: the share of dev, 0–1.
        test: the share of test.
        seed: of the order.
        former: what the release before had, with the ids of this data set.

    Raises:
        DataError: the groups are too large for the shares.
    """
    check_known(dataset, kinds)
    named = [_NAMED[kind] for kind in kinds if kind != "twin"]
    keys = [[(name, getattr(problem.origin, name)) for name in named] for problem in dataset]
    groups = joined(shuffled_blocks(dataset, seed), keys)
    before = [side_kept(sides) for sides in former_sides(dataset, groups, former, named)]
    wanted = {TEST: round(test * len(dataset)), DEV: round(dev * len(dataset))}
    rows: dict[str, list[int]] = {TRAIN: [], DEV: [], TEST: []}
    sizes = {
        part: sum(len(group) for group, old in zip(groups, before, strict=True) if old == part)
        for part in rows
    }
    for group, old in zip(groups, before, strict=True):
        if old is not None:
            rows[old] += group
            continue
        fits = (
            part
            for part, size in wanted.items()
            if sizes[part] < size and sizes[part] + len(group) <= max(1.5 * size, 2)
        )
        chosen = next(fits, TRAIN)
        rows[chosen] += group
        sizes[chosen] += len(group)
    for part, size in {**wanted, TRAIN: 1}.items():
        if size and not rows[part]:
            raise DataError(
                f"nothing is left for {part}: the {len(groups)} groups that must stay together "
                f"are too large (the largest holds {max(map(len, groups))} of {len(dataset)} "
                "problems); change the shares, or ask for less"
            )
    return {part: dataset.select(found, part) for part, found in rows.items() if found}
