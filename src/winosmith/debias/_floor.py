"""A floor under what people agree on: so much of it is kept, whatever machines can guess.

AFLite keeps what machines get wrong, and that is also what is wrong: Phang et al. (2021,
"Adversarially Constructed Evaluation Sets Are More Challenging, but May Not Be Fair") find that it
keeps more of what annotators disagree on than there was before.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.errors import DataError, InputError


def check_floor(floor: float, agreed: float, known: bool) -> None:
    """Refuse a floor that is no share, or one with nothing to stand on.

    Raises:
        InputError: a share out of its range, or a floor without any agreement.
    """
    if not 0 <= floor <= 1:
        raise InputError(f"floor is a share from 0 to 1, not {floor}")
    if not 0 < agreed <= 1:
        raise InputError(f"agreed is a share above 0, at most 1; not {agreed}")
    if floor and not known:
        raise InputError(
            f"floor is {floor}, but nothing is known of what people agree on; give the agreement "
            "(of the votes), or no floor"
        )


def agreed_units(
    agreement: ArrayLike | None, agreed: float, units: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return which units people agree on: those of which every row reaches the share.

    Args:
        agreement: (N,) the share of people who chose a row's answer, NaN where nobody was asked;
            None for nothing known.
        agreed: the share from which on they agree.
        units: (N,) the unit of each row, from 0: its group, or the row alone.

    Raises:
        DataError: another number of rows, or a share out of its range.

    >>> agreed_units([1.0, 0.5, np.nan, 1.0], 1.0, np.array([0, 1, 2, 3])).tolist()
    [True, False, False, True]
    """
    count = int(units.max()) + 1
    if agreement is None:
        return np.zeros(count, np.bool_)
    shares = np.asarray(agreement, np.float64)
    if shares.shape != units.shape:
        raise DataError(f"agreement has {shares.size} entries for {len(units)} rows")
    known = shares[~np.isnan(shares)]
    if known.size and not (known.min() >= 0 and known.max() <= 1):
        raise DataError("agreement is a share of people from 0 to 1, or NaN where none was asked")
    together = np.ones(count, np.bool_)
    together[units[~(shares >= agreed)]] = False
    return together


def given_back(
    gone: NDArray[np.bool_], agreed: NDArray[np.bool_], place: NDArray[np.intp], floor: float
) -> NDArray[np.bool_]:
    """Return which of the units that are to go must stay, so that the floor holds.

    At least the share `floor` of the agreed units is kept, rounded up. What may go of them goes in
    the order of the case against it.

    Args:
        gone: (U,) which are to go.
        agreed: (U,) which of all people agree on.
        place: (U,) of each unit in the order of the case against it, the strongest first.
        floor: 0–1.

    >>> gone, agreed = np.array([True, True, True, False]), np.array([True, True, False, True])
    >>> given_back(gone, agreed, np.arange(4), 0.5).tolist()  # two of three agreed ones stay
    [False, True, False, False]
    """
    both = np.flatnonzero(gone & agreed)
    at_least = math.ceil(Fraction(str(float(floor))) * int(agreed.sum()))
    may_go = int(agreed.sum()) - at_least
    stay = np.zeros(len(gone), np.bool_)
    stay[both[np.argsort(place[both])][may_go:]] = True
    return stay
