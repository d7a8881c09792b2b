"""Units, which a filter of whole twins counts, and the one vector by which each is guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.blocks import blocks, copies, whole_twins
from winosmith.dataset import Dataset
from winosmith.debias._rows import problem_labels
from winosmith.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class TwinUnits:
    """Twins and singles, each one vector, as `mirror` takes them.

    Attributes:
        V: (U, d) float32: the sum over the halves of ±x, + where the first option is right; of
            identical halves the mean is taken first.
        rows: for each unit the rows of the data set that go or stay with it, ascending.
        blocks: (U,) equal for units of one family and for those with identical sentences.
        kinds: (U,) "twin" or "single".
        ids: (U,) the id of each unit's first problem by id.
    """

    V: NDArray[np.float32]
    rows: tuple[tuple[int, ...], ...]
    blocks: tuple[int, ...]
    kinds: tuple[str, ...]
    ids: tuple[str, ...]

    def rows_of(self, units: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the ascending rows of some units."""
        return np.array(sorted(row for unit in units for row in self.rows[unit]), np.intp)


def twin_units(pool: Dataset, X: NDArray[Any]) -> TwinUnits:
    """Return the units of problems and their vectors.

    A unit is a twin with all copies of its halves, or a single with its copies. Swapping the
    options of a problem, and its answer with them, changes nothing: x turns round, and so does its
    sign. What merely looks alike is not one block here: where people repeat themselves, that is
    what a filter is to find. (Splits keep it together: see `winosmith.blocks`.)

    Args:
        pool: problems with two options each and known answers.
        X: (n, d) vectors that turn round when the options are swapped, such as those of
            `difference`.

    Raises:
        DataError: see `problem_labels`; or another number of vectors.

    >>> from winosmith import Problem
    >>> a = Problem("a", "It is in the _ as it is old.", ("box", "bin"), 0, "t")
    >>> b = Problem("b", "It is in the _ as it is new.", ("box", "bin"), 1, "t")
    >>> twin_units(Dataset([a, b]), np.array([[3.0, 1.0], [3.0, 0.0]])).V.tolist()
    [[0.0, 1.0]]
    """
    signs = 1 - 2 * problem_labels(pool).astype(np.float32)
    if len(X) != len(pool):
        raise DataError(f"there are {len(X)} vectors for {len(pool)} problems")
    identical = copies(pool)
    copy_of = {row: rows[0] for rows in identical for row in rows}
    first = [copy_of.get(row, row) for row in range(len(pool))]
    share = (1 / np.bincount(first, minlength=len(pool))[first]).astype(np.float32)
    rows = whole_twins(pool, identical)
    ids, weights = pool.ids, (signs * share)[:, None]
    # summed by id, or another order of the rows would change the last bit
    summed = [sorted(group, key=ids.__getitem__) for group in rows]
    V = np.stack([(X[group].astype(np.float32) * weights[group]).sum(axis=0) for group in summed])
    block_of = {row: at for at, block in enumerate(blocks(pool, lookalikes=False)) for row in block}
    return TwinUnits(
        V=V,
        rows=tuple(map(tuple, rows)),
        blocks=tuple(block_of[group[0]] for group in rows),
        kinds=tuple("twin" if len({first[row] for row in g}) > 1 else "single" for g in rows),
        ids=tuple(ids[group[0]] for group in summed),
    )
