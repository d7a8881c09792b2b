"""Which counts can a printed percentage stand for? The GRIM test of a published figure."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Literal

from winosmith.errors import DataError

__all__ = ["possible_counts"]

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
    last = min(n, math.floor((target + above) * n / scale))
    open_ends = rounding != "nearest"  # what is a whole unit away is printed otherwise
    return tuple(
        count
        for count in range(first, last + 1)
        if not open_ends or abs(Fraction(scale * count, n) - target) < unit
    )
