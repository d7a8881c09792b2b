"""Sides that share nothing: no twin, family or copy, and on request no contributor or source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from winosmith.blocks import HOLDERS, Former, Side, blocks, placed, shuffled_blocks
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import Lineage, Problem
from winosmith.release._parts import DEV, TEST, TRAIN, side

KINDS = ("twin", *HOLDERS)
"""What sides can be kept apart by; "twin" stands for twins, families, copies and lookalikes."""


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
        groups = _together(places) if kind == "twin" else _sharing(places, HOLDERS[kind])
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
        unknown = [p.id for p in dataset if getattr(p.origin, HOLDERS[kind], None) is None]
        if unknown:
            raise DataError(
                f"{len(unknown)} of {len(dataset)} problems do not say their {kind} "
                f"({unknown[0]!r}, …), so sides can't be kept apart by it; leave out --disjoint "
                f"{kind}, or give each problem its origin.{HOLDERS[kind]}"
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

    Test is filled first, then dev, by the rules of `blocks.placed`; what was on a side before stays
    there.

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
    wanted: dict[Side, int] = {
        "test": round(test * len(dataset)),
        "dev": round(dev * len(dataset)),
    }
    found = placed(
        dataset,
        shuffled_blocks(dataset, seed),
        wanted,
        keys=[HOLDERS[kind] for kind in kinds if kind != "twin"],
        former=former,
    )
    rows: dict[str, list[int]] = {TRAIN: [], DEV: [], TEST: []}
    for of in found:
        rows[of.side] += of.rows
    for part, size in ((TEST, wanted["test"]), (DEV, wanted["dev"]), (TRAIN, 1)):
        if size and not rows[part]:
            largest = max(len(of.rows) for of in found)
            raise DataError(
                f"nothing is left for {part}: the {len(found)} groups that must stay together "
                f"are too large (the largest holds {largest} of {len(dataset)} "
                "problems); change the shares, or ask for less"
            )
    return {part: dataset.select(held, part) for part, held in rows.items() if held}
