"""Whether the inputs of two groups differ, so that a solver can be compared with itself on them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from winosmith.metrics._graded import Graded
from winosmith.problem import Scalar
from winosmith.seen import Input, Sees, inputs

__all__ = ["Carried", "carried", "seen_by"]

CLOSE = 1e-4
"""Scores that differ by less are the same: so far apart may batches put those of one input."""

MENTIONED = 0.5
"""The share of two groups from which it is said how many of their inputs are the same."""


@dataclass(frozen=True, slots=True)
class Carried:
    """Whether a comparison of groups is about the solver.

    Attributes:
        refused: why there is none to be told: two groups are the same input, so that what differs
            between them is no property of the solver; None where there is.
        note: what a reader must know of it; None for nothing.
    """

    refused: str | None = None
    note: str | None = None


def carried(graded: Graded, field: str, column: Sequence[Scalar]) -> Carried:
    """Tell whether the values of a field can be compared for a solver.

    Two groups are the same input when the solver was given the same sentences and options in both:
    so it is with the female and male sentences of Winogender for a solver that sees the blank in
    the pronoun's place. Where a file does not say what its solver saw, equal predictions for all
    versions that differ in nothing but the pronoun say that it did not see that; with others it is
    said that this is not known.

    Args:
        graded: from `grade`; its parameters may tell what the solver `sees`.
        field: the name of the field, for messages.
        column: its value for each problem; None for a problem of no group.
    """
    sees, local = seen_by(graded)
    written = inputs(graded.dataset, "pronoun", local)
    notes: list[str] = []
    for one, other, shared, size in _overlaps(written, column):
        if shared == size:
            return Carried(
                _refusal(
                    field,
                    one,
                    other,
                    size,
                    "they are the same problems",
                    "; compare groups whose problems differ",
                )
            )
    if sees == "pronoun":
        return Carried()
    blank = inputs(graded.dataset, "blank", local)
    for one, other, shared, size in _overlaps(blank, column):
        if shared < MENTIONED * size:
            continue
        pair = f"{one!r} and {other!r}"
        if sees == "blank":
            if shared == size:
                return Carried(_refusal(field, one, other, size, _UNSEEN, _INSTEAD))
            notes.append(f"{shared:,} of {size:,} inputs of {pair} are the same, as the solver "
                         "saw the blank in the pronoun's place")  # fmt: skip
            continue
        equal, of = _equal_answers(graded, blank, [value in (one, other) for value in column])
        if shared == size and equal == of:
            return Carried(_refusal(field, one, other, size, _UNMOVED, _INSTEAD))
        notes.append(
            f"{pair} differ in nothing but the pronoun for {shared:,} of {size:,}, and the file "
            f"does not say whether the solver saw it ({equal:,} of {of:,} got the same answer)"
        )
    return Carried(note="; ".join(notes) or None)


def seen_by(graded: Graded) -> tuple[Sees | None, int | None]:
    """Return what a solver saw, None where that is not told, and the words ahead of the blank."""
    told = graded.parameters
    sees, local = told.get("sees"), told.get("local_context", told.get("local"))
    return sees if sees in ("blank", "pronoun") else None, local if type(local) is int else None


_UNSEEN = "the solver saw the blank in the pronoun's place"
_UNMOVED = (
    "they differ in nothing but the pronoun, and each version got the answer of the other, so the "
    "solver did not see it"
)
_INSTEAD = (
    "; let the solver see the pronoun (winosmith solve … --sees pronoun; an encoder is trained to "
    "see it by winosmith train … --sees pronoun)"
)


def _refusal(field: str, one: str, other: str, size: int, why: str, instead: str) -> str:
    return (
        f"{field} can't be compared: the {size:,} inputs of {one!r} and {other!r} are the same, as "
        f"{why}; what differs between their figures is the answers that count as right, and "
        f"nothing of the solver{instead}"
    )


def _overlaps(
    seen: Sequence[Input], column: Sequence[Scalar]
) -> Iterator[tuple[str, str, int, int]]:
    """Yield the pairs of groups with inputs in common: how many, and of how many in the larger."""
    sizes = Counter(value for value in column if value is not None)
    groups: dict[Input, Counter[Scalar]] = defaultdict(Counter)
    for own, value in zip(seen, column, strict=True):
        if value is not None:
            groups[own][value] += 1
    shared: Counter[tuple[Scalar, Scalar]] = Counter()
    for of in groups.values():
        for one, other in combinations(sorted(of, key=str), 2):
            shared[one, other] += min(of[one], of[other])
    for (one, other), count in sorted(shared.items(), key=str):
        yield str(one), str(other), count, max(sizes[one], sizes[other])


def _equal_answers(
    graded: Graded, seen: Sequence[Input], inside: Sequence[bool]
) -> tuple[int, int]:
    """Return how many inputs that occur more than once got the same answers each time, of all."""
    rows: dict[Hashable, list[int]] = defaultdict(list)
    for row, own in enumerate(seen):
        if inside[row]:
            rows[own].append(row)
    several = [own for own in rows.values() if len(own) > 1]
    return sum(_same(graded, own) for own in several), len(several)


def _same(graded: Graded, rows: Sequence[int]) -> bool:
    """Tell whether problems with the same options got the same choice and the same scores."""
    first, *others = (graded.dataset[row].options for row in rows)
    given = [graded.predictions[row] for row in rows]
    for options, prediction in zip(others, given[1:], strict=True):
        place = [options.index(option) if option in options else -1 for option in first]
        if -1 in place or place[given[0].choice] != prediction.choice:
            return False
        pairs = zip(given[0].scores, (prediction.scores[at] for at in place if prediction.scores),
                    strict=False)  # fmt: skip
        if any(abs(a - b) > CLOSE for a, b in pairs):
            return False
    return True
