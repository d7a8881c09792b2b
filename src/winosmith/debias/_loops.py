"""`Loops`: what a kernel does with the rows, and the kernel that numba compiles.

A kernel is bound to a basis and its labels; the solver, the start and the votes ask it for sums
over rows. `debias._torch_loops` is the other implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._basis import aligned
from winosmith.debias._compile import kernel
from winosmith.debias._solver import Gradient
from winosmith.errors import InputError

Floats = NDArray[np.float64]
Places = NDArray[np.int32]

KERNELS = ("numba", "torch")


class Loops(Protocol):
    """The sums over rows that AFLite is made of."""

    @property
    def rough(self) -> str | None:
        """How products can be had faster by rounding the factors; None where they can't."""
        ...

    def training(
        self, rows: Places, partitions: Sequence[Places], *, exact: bool = True
    ) -> Gradient:
        """Return the function (c, D) weights, their columns → (c, D) summed gradients.

        Args:
            rows: (size,) the rows left, ascending.
            partitions: for each classifier its training rows, ascending places among `rows`.
            exact: False may round as `rough` says.
        """
        ...

    def votes(
        self, rows: Places, partitions: Sequence[Places], weights: Floats
    ) -> tuple[Places, Places, int]:
        """Return each row's right and all held-out predictions, (size,) int32, and the close ones.

        `weights` is (classifiers, D).
        """
        ...

    def curvature(self, rows: Places, weights: Floats, scale: float) -> tuple[Floats, Floats]:
        """Return the diagonal of the Hessian at (D,) weights, and the Hessian times these.

        Each row's loss counts `scale` times; there is no penalty in it.
        """
        ...

    def leverage(self, rows: Places, diagonal: Floats) -> float:
        """Return the largest ``sum of x² / diagonal`` of a row."""
        ...


@dataclass(frozen=True, slots=True)
class NumbaLoops:
    """The loops of `_kernel`, compiled for this machine's processor."""

    X: NDArray[np.float32]
    y: NDArray[np.float32]
    rough: str | None = None

    def training(
        self, rows: Places, partitions: Sequence[Places], *, exact: bool = True
    ) -> Gradient:
        """See `Loops`."""
        begin, end, places = _strung(partitions)
        loops = kernel()

        def gradient(W: Floats, columns: NDArray[np.intp]) -> Floats:
            G = np.empty(W.shape)
            first, last = begin[columns], end[columns]
            loops.add_gradients(self.X, self.y, rows, first, last, places, aligned(W), G)
            return G

        return gradient

    def votes(
        self, rows: Places, partitions: Sequence[Places], weights: Floats
    ) -> tuple[Places, Places, int]:
        """See `Loops`."""
        correct, total = np.zeros((2, len(rows)), np.int32)
        even = aligned(np.concatenate([weights, weights[: len(weights) % 2]]))
        close = kernel().count_votes(
            self.X, self.y, rows, *_strung(partitions), even, correct, total
        )
        return correct, total, close

    def curvature(self, rows: Places, weights: Floats, scale: float) -> tuple[Floats, Floats]:
        """See `Loops`."""
        diagonal, product = np.zeros((2, len(weights)))
        kernel().add_curvature(self.X, rows, aligned(weights[None])[0], scale, diagonal, product)
        return diagonal, product

    def leverage(self, rows: Places, diagonal: Floats) -> float:
        """See `Loops`."""
        return float(kernel().largest(self.X, rows, (1.0 / diagonal).astype(np.float32)))


def _strung(
    partitions: Sequence[Places],
) -> tuple[NDArray[np.int64], NDArray[np.int64], Places]:
    """Return where each partition begins and ends in one string of all, and the string."""
    sizes = np.array([len(part) for part in partitions], np.int64)
    end = np.cumsum(sizes)
    return end - sizes, end, np.concatenate(partitions)


def bound(name: str, X: NDArray[np.float32], y: NDArray[np.float32]) -> Loops:
    """Return the kernel of that name over a basis and its labels; see `check_kernel`."""
    if name == "numba":
        return NumbaLoops(X, y)
    from winosmith.debias._torch_loops import TorchLoops

    return TorchLoops.on(name.partition(":")[2] or None, X, y)


def check_kernel(name: str) -> None:
    """Refuse what is neither "numba" nor "torch", alone or with a device ("torch:cuda:1").

    Raises:
        InputError: it is neither.
    """
    library, colon, device = name.partition(":")
    if library not in KERNELS or (colon and (library != "torch" or not device)):
        raise InputError(
            f'kernel is "numba", "torch" or "torch:" and a device such as cuda:0; not {name!r}'
        )
