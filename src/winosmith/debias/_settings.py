"""The parameters of AFLite, checked."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from winosmith.debias._loops import check_kernel
from winosmith.errors import InputError

Remove = Literal["rows", "groups"]
"""What goes or stays as one: each row, or each group of rows whole."""

NullMode = Literal["off", "report"]
"""What becomes of the null of every phase: none is drawn, or it is reported."""

DRAWS = 20
"""The fewest draws of a null: below that, the central 95 % of them says nothing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of `debias.aflite` that its result depends on, beside the arrays.

    Raises:
        InputError: one is out of its range.
    """

    ensemble_size: int
    train_size: int
    cutoff: int | float
    threshold: float
    C: float
    seed: int
    kernel: str
    target_size: int | None = None
    remove: Remove = "rows"
    null: NullMode = "off"
    null_draws: int = DRAWS

    def __post_init__(self) -> None:
        for name, least in (("ensemble_size", 1), ("train_size", 2), ("seed", 0)):
            object.__setattr__(self, name, _whole(name, getattr(self, name), least))
        object.__setattr__(self, "cutoff", _cutoff(self.cutoff))
        for name in ("threshold", "C"):
            object.__setattr__(self, name, _real(name, getattr(self, name)))
        if self.target_size is not None:
            object.__setattr__(self, "target_size", _whole("target_size", self.target_size, 1))
        if not 0 <= self.threshold <= 1:
            raise InputError(f"threshold is a share from 0 to 1, not {self.threshold}")
        if not 0 < self.C < math.inf:
            raise InputError(f"C is a number above 0, not {self.C}")
        check_kernel(self.kernel)
        if self.remove not in get_args(Remove):
            raise InputError(f"remove is one of rows, groups; not {self.remove!r}")
        if self.null not in get_args(NullMode):
            instead = ". To take no more than can be told from chance, use debias.mirror"
            stop = instead if str(self.null) == "stop" else ""
            raise InputError(f"null is one of off, report; not {self.null!r}{stop}")
        check_draws(self.null_draws)

    def cutoff_of(self, left: int) -> int:
        """Return the most rows that a phase removes of so many that are left.

        >>> Settings(64, 100, 0.01, 0.75, 1.0, 0, "numba").cutoff_of(2_345)
        23
        """
        if isinstance(self.cutoff, int):
            return self.cutoff
        return max(1, round(self.cutoff * left))


def check_draws(draws: int) -> None:
    """Refuse a null of too few draws.

    Raises:
        InputError: fewer than 20.
    """
    if draws < DRAWS:
        raise InputError(f"a null needs {DRAWS} draws or more, not {draws}")


def _cutoff(value: Any) -> int | float:
    """Return a cutoff as a number of rows, or as a share of those left."""
    if isinstance(value, float) and 0 < value < 1:
        return float(value)
    try:
        return _whole("cutoff", value, 1)
    except InputError as error:
        raise InputError(
            f"{error}; or it is a share of the rows left, above 0 and below 1"
        ) from None


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} is a whole number, not {value!r}") from None
    if number < least:
        raise InputError(f"{name} is {least} or more, not {number}")
    return number


def _real(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is a number, not {value!r}") from None
