"""Data sets put together to train on, and parts drawn from them, in whole blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from winosmith.blocks import draw, shuffled_blocks
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import Claim

__all__ = ["Trainable", "apart", "joined", "nested"]

Trainable = Dataset | tuple[Claim, ...]
"""What an encoder is trained on: problems, or claims."""

SMALLEST, TIMES = 160, 4
"""WinoGrande's nested sizes are 160, 640, 2,558, 10,234 and all (table 4): 160 · 4^k, bar the few
that whole twins ask for."""


def joined(parts: Sequence[Trainable], name: str = "") -> Trainable:
    """Return several data sets as one; where their ids meet, the part's number leads each id.

    Raises:
        DataError: some hold problems, and some claims.

    >>> from winosmith import Problem
    >>> one = Dataset([Problem("1", "A _ b.", ("x", "y"), 0)])
    >>> joined([one, one]).ids
    ('1/1', '2/1')
    """
    problems = [part for part in parts if isinstance(part, Dataset)]
    claims = [part for part in parts if not isinstance(part, Dataset)]
    if problems and claims:
        raise DataError("problems and claims can't be trained on together; recast one of them")
    if claims:
        return tuple(
            replace(claim, problem_id=f"{number}/{claim.problem_id}")
            for number, part in enumerate(claims, start=1)
            for claim in part
        )
    ids = [problem.id for part in problems for problem in part]
    if len(set(ids)) == len(ids):
        return Dataset((problem for part in problems for problem in part), name)
    return Dataset(
        (
            replace(
                problem,
                id=f"{number}/{problem.id}",
                twin_id=problem.twin_id and f"{number}/{problem.twin_id}",
            )
            for number, part in enumerate(problems, start=1)
            for problem in part
        ),
        name,
    )


def apart(data: Trainable, size: int, seed: int = 0) -> tuple[Trainable, Trainable]:
    """Draw a part of about `size` problems, in whole blocks; return the rest and the part.

    Blocks are twins, families and lookalikes (`winosmith.blocks`), or the claims on one text.

    Raises:
        DataError: nothing would be left.
    """
    if not isinstance(data, Dataset):
        return _claims_apart(data, size, seed)
    drawn = sorted(draw(shuffled_blocks(data, seed), range(len(data)), [size])[0])
    taken = set(drawn)
    return data.select(row for row in range(len(data)) if row not in taken), data.select(drawn)


def _claims_apart(claims: tuple[Claim, ...], size: int, seed: int) -> tuple[Trainable, Trainable]:
    """Draw claims with all others on their text, in the order of their texts' digests."""
    from hashlib import sha256

    texts: dict[str, list[int]] = {}
    for row, claim in enumerate(claims):
        text = claim.sentence.replace("_", claim.pronoun or "_")
        texts.setdefault(text, []).append(row)
    order = sorted(texts, key=lambda text: sha256(f"{seed}\0{text}".encode()).digest())
    drawn: set[int] = set()
    for text in order:
        if len(drawn) >= size:
            break
        drawn.update(texts[text])
    if len(drawn) == len(claims):
        raise DataError(f"{size} claims are to be drawn from {len(claims)}; nothing would be left")
    return (
        tuple(claim for row, claim in enumerate(claims) if row not in drawn),
        tuple(claims[row] for row in sorted(drawn)),
    )


def nested(data: Dataset, seed: int = 0) -> tuple[Dataset, ...]:
    """Return nested parts of 160, 640, 2,560 … problems in whole blocks, and then all of it.

    Each holds the one before it. A part that would hold nearly all (80 %) is left out.

    >>> from winosmith.testing import made_twins
    >>> [len(part) for part in nested(made_twins(1000))]
    [160, 640, 2000]
    """
    rows: list[int] = []
    parts: list[Dataset] = []
    size = SMALLEST
    for block in shuffled_blocks(data, seed):
        if len(rows) >= size and size <= 0.8 * len(data):
            parts.append(data.select(sorted(rows)))
            size *= TIMES
        rows += block
    return (*parts, data)
