"""The compiled kernels, ready for use; a long wait for the compiler is announced."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np

PATIENCE = 0.7
"""Seconds after which the wait is announced; the code of an earlier run loads in 0.3."""


@functools.cache
def kernel() -> ModuleType:
    """Return the module of compiled loops, every function of it compiled.

    The first run on a machine compiles for a few seconds, and says so at level INFO on the logger
    of this module; later runs load the code from numba's cache.
    """
    with _announced():
        from winosmith.debias import _kernel

        _touch(_kernel)
    return _kernel


@contextmanager
def _announced() -> Iterator[None]:
    import numba  # noqa: F401 - its own import is not the compiler's time

    announcement = threading.Timer(
        PATIENCE,
        logging.getLogger(__name__).info,
        ["compiling AFLite for this machine; this takes a few seconds, and once"],
    )
    announcement.daemon = True
    announcement.start()
    try:
        yield
    finally:
        announcement.cancel()


def _touch(module: ModuleType) -> None:
    """Call each function with the types that it is used with."""
    X, y = np.zeros((2, 16), np.float32), np.zeros(2, np.float32)
    rows = places = np.arange(2, dtype=np.int32)
    begin, end = np.array([0], np.int64), np.array([1], np.int64)
    counts, wide = np.zeros(2, np.int32), np.zeros((1, 16))
    module.add_gradients(X, y, rows, begin, end, places, X[:1], wide)
    module.count_votes(X, y, rows, begin, end, places, X, counts, counts.copy())
    module.add_curvature(X, rows, X[0], 1.0, wide[0], wide[0].copy())
    module.largest(X, rows, X[0])
