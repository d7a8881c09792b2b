"""Which counts can a printed percentage or mean stand for? The GRIM test of published figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Literal

from winosmith.errors import DataError

Rounding = Literal["nearest", "down", "up", "any"]


def possible_counts(
    printed: str | float,
    n: int,
    decimals: int | None = None,
    *,
    rounding: Rounding = "nearest",
    scale: int = 100,
) -> tuple[int, ...]:
    """Return the counts of n that a printed percentage can stand for; none if it is impossible.

    The test of granularity is Brown & Heathers' GRIM (2017), for shares in place of means. The
    arithmetic is exact.

    Args:
        printed: as it is printed: "86.3". As text it keeps its last zero ("90.0").
        n: how many cases there are.
        decimals: places after the point; those of `printed` when left out.
        rounding: "nearest" takes a half either way; "down" and "up" cut and raise the last place;
            "any" is what any of them can print.
        scale: 100 for percentages, 1 for shares.

    Raises:
        DataError: `printed` is no number, or n is below 1.

    >>> possible_counts("86.3", 80)  # PDP in WinoGrande's table 6: 69 of 80 is 86.25
    (69,)
    >>> possible_counts("86.3", 60), possible_counts("96.5", 273)
    ((), ())
    >>> possible_counts("13.5", 273), possible_counts("13.5", 273, rounding="down")
    ((), (37,))
    """
    found = _wholes(printed, n, decimals, rounding, scale)
    return tuple(count for count in found if count <= n)


def possible_sums(
    printed: str | float, n: int, decimals: int | None = None, *, rounding: Rounding = "nearest"
) -> tuple[int, ...]:
    """Return the sums of n whole numbers whose mean can be printed so; none if it is impossible.

    Depths are whole numbers, so a printed error depth with the number of its errors allows one
    sum, a few, or none (Brown & Heathers 2017).

    Args:
        printed: the mean as it is printed: "6.913". As text it keeps its last zero.
        n: of how many numbers, 0 or more each, it is the mean.
        decimals: as in `possible_counts`.
        rounding: as in `possible_counts`.

    Raises:
        DataError: `printed` is no number, or n is below 1.

    >>> possible_sums("6.913", 80)  # BERT on EvoGrad-M, table 4: 60.4 % of 202 leaves 80 errors
    (553,)
    >>> possible_sums("6.867", 237, rounding="any")  # on EvoGrad-L: 54.9 % of 526 leaves 237
    ()
    """
    return tuple(_wholes(printed, n, decimals, rounding, 1))


def _wholes(
    printed: str | float, n: int, decimals: int | None, rounding: Rounding, scale: int
) -> Iterator[int]:
    """Yield the whole numbers that are printed so when they are divided by n / scale."""
    try:
        value = Decimal(str(printed).strip().removesuffix("%").strip())
    except InvalidOperation:
        raise DataError(f"{printed!r} is not a printed number, such as 86.3") from None
    if not value.is_finite() or n < 1:
        raise DataError("a printed share needs a finite number and a count of 1 or more")
    exponent = value.as_tuple().exponent
    places = decimals if decimals is not None else max(0, -int(exponent))
    unit, target = Fraction(1, 10**places), Fraction(value)
    below = {"nearest": unit / 2, "down": Fraction(0), "up": unit, "any": unit}[rounding]
    above = {"nearest": unit / 2, "down": unit, "up": Fraction(0), "any": unit}[rounding]
    first = max(0, math.ceil((target - below) * n / scale))
    last = math.floor((target + above) * n / scale)
    open_ends = rounding != "nearest"  # what is a whole unit away is printed otherwise
    for whole in range(first, last + 1):
        if not open_ends or abs(Fraction(scale * whole, n) - target) < unit:
            yield whole
