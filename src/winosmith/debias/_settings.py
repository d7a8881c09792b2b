"""The parameters of AFLite, checked."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

from winosmith.errors import InputError

__all__ = ["KERNELS", "Settings"]

KERNELS = ("numba",)


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of `debias.aflite` that its result depends on, beside the arrays.

    Raises:
        InputError: one is out of its range.
    """

    ensemble_size: int
    train_size: int
    cutoff: int
    threshold: float
    C: float
    seed: int
    kernel: str

    def __post_init__(self) -> None:
        for name, least in (("ensemble_size", 1), ("train_size", 2), ("cutoff", 1), ("seed", 0)):
            object.__setattr__(self, name, _whole(name, getattr(self, name), least))
        for name in ("threshold", "C"):
            object.__setattr__(self, name, _real(name, getattr(self, name)))
        if not 0 <= self.threshold <= 1:
            raise InputError(f"threshold is a share from 0 to 1, not {self.threshold}")
        if not 0 < self.C < math.inf:
            raise InputError(f"C is a number above 0, not {self.C}")
        if self.kernel not in KERNELS:
            raise InputError(f"kernel is one of {', '.join(KERNELS)}; not {self.kernel!r}")


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
