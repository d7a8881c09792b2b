"""AFLite's kernel as whole matrix products in torch, for GPUs and for matrix units of CPUs.

A product of all rows with all classifiers costs the same whichever rows train: with m of N rows in
a training set, N/m times the arithmetic of `_numba_kernel`, at whatever rate the device multiplies.
The rows of a phase are held on the device once. Sums run over parts of `PART` rows and are added in
float64, so that float32 products lose nothing that matters.

Where the device multiplies rounded numbers faster (TF32 of a GPU, bf16 of a processor), the solver
takes its first passes so and the last ones in float32: the optimum is that of float32.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._solver import CLOSE, Gradient
from winosmith.errors import InputError, require

Floats = NDArray[np.float64]
Places = NDArray[np.int32]
Tensor = Any  # torch is not there for the type checker

_placed: dict[str, tuple[Any, Tensor]] = {}
"""The basis that is on each device, for as long as the array that it was made of exists."""

PART = 8192
"""Rows of a product: sums of more would lose digits in float32."""


@dataclass(frozen=True, slots=True)
class TorchKernel:
    """See `_solver.Kernel`.

    Attributes:
        torch: the module.
        X: (N, D) float32 basis, on the device.
        y: (N,) float32 labels, on the device.
        rough: the precision of torch's that rounds factors and is faster here; None without one.
    """

    torch: Any
    X: Tensor
    y: Tensor
    rough: str | None

    @classmethod
    def on(cls, device: str | None, X: NDArray[np.float32], y: NDArray[np.float32]) -> TorchKernel:
        """Put basis and labels on a device; the GPU, if there is one, when None.

        The same basis is put there once.

        Raises:
            InputError: there is no such device, or no room on it.
            MissingExtraError: torch is not installed.
        """
        torch = require("torch", "models")
        name = device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            there = torch.device(name)
            labels = _shared(torch, y).to(there)
            known = _placed.get(name)
            if known is None or known[0]() is not X:
                there_is = weakref.ref(X, partial(_forgotten, _placed, name))
                known = _placed[name] = there_is, _shared(torch, X).to(there)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(f'kernel "torch:{name}" can\'t be used: {reason}') from None
        return cls(torch, known[1], labels, _rough(torch, there))

    def _rows(self, rows: Places) -> tuple[Tensor, Tensor]:
        """Return the rows left and their labels; no copy where all are left."""
        if len(rows) == len(self.X):
            return self.X, self.y
        index = self.torch.from_numpy(rows.astype(np.int64)).to(self.X.device)
        return self.X[index], self.y[index]

    def _mask(self, size: int, partitions: Sequence[Places]) -> Tensor:
        """Return which rows train each classifier, (size, c) bool."""
        mask = np.zeros((len(partitions), size), np.bool_)
        for trains, part in zip(mask, partitions, strict=True):
            trains[part] = True
        return self.torch.from_numpy(mask).to(self.X.device).T

    def _tensor(self, W: Floats) -> Tensor:
        return self.torch.from_numpy(W.astype(np.float32)).to(self.X.device)

    def training(
        self, rows: Places, partitions: Sequence[Places], *, exact: bool = True
    ) -> Gradient:
        """See `Kernel`."""
        X, y = self._rows(rows)
        mask = self._mask(len(rows), partitions)
        precision = "highest" if exact or self.rough is None else self.rough

        def gradient(W: Floats, columns: NDArray[np.intp]) -> Floats:
            w = self._tensor(W)
            trains = mask[:, self.torch.from_numpy(columns).to(X.device)]
            total = self.torch.zeros(w.shape, dtype=self.torch.float64, device=X.device)
            with _multiplying(self.torch, precision):
                for first in range(0, len(X), PART):
                    part = slice(first, first + PART)
                    p = self.torch.sigmoid(X[part] @ w.T)
                    r = (p - y[part, None]) * trains[part]
                    total += (r.T @ X[part]).double()
            return np.asarray(total.cpu().numpy())

        return gradient

    def votes(
        self, rows: Places, partitions: Sequence[Places], weights: Floats
    ) -> tuple[Places, Places, int]:
        """See `Kernel`."""
        X, y = self._rows(rows)
        w, trains = self._tensor(weights), self._mask(len(rows), partitions)
        correct, close = [], 0
        for first in range(0, len(X), PART):
            part = slice(first, first + PART)
            z, held = X[part] @ w.T, ~trains[part]
            correct.append((((z > 0) == (y[part, None] > 0)) & held).sum(dim=1))
            close += int(((z.abs() < float(CLOSE)) & held).sum())
        right = self.torch.cat(correct).cpu().numpy().astype(np.int32)
        return right, (~trains).sum(dim=1).cpu().numpy().astype(np.int32), close

    def curvature(self, rows: Places, weights: Floats, scale: float) -> tuple[Floats, Floats]:
        """See `Kernel`."""
        X, _ = self._rows(rows)
        z = X @ self._tensor(weights)
        p = self.torch.sigmoid(z)
        v = p * (1.0 - p)
        both = v.double() @ (X * X).double(), (v * z).double() @ X.double()
        return tuple(np.asarray(scale * one.cpu().numpy()) for one in both)  # type: ignore[return-value]

    def leverage(self, rows: Places, diagonal: Floats) -> float:
        """See `Kernel`."""
        X, _ = self._rows(rows)
        factor = self._tensor(1.0 / diagonal)
        return float(((X * X) @ factor).max())


def _forgotten(placed: dict[str, Any], name: str, _: object) -> None:
    """Drop what is on a device; `placed` is held, as globals are gone when Python ends."""
    placed.pop(name, None)


def _shared(torch: Any, values: NDArray[np.float32]) -> Tensor:
    """Return a tensor over the same memory, also where that may only be read."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(values)


def _rough(torch: Any, device: Any) -> str | None:
    """Return the precision in which products are faster than in float32, by rounding factors."""
    if device.type == "cuda":
        return "high" if torch.cuda.get_device_capability(device) >= (8, 0) else None  # TF32
    units = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return "medium" if units.get("amx_bf16") or units.get("avx512_bf16") else None


@contextmanager
def _multiplying(torch: Any, precision: str) -> Iterator[None]:
    """Multiply float32 in this precision while the block runs."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
