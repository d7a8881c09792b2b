"""The compiled kernel, ready for use; a long wait for the compiler is announced."""

from __future__ import annotations

import functools
import logging
import threading
from types import ModuleType

import numpy as np

__all__ = ["kernel"]

PATIENCE = 0.7
"""Seconds after which the wait is announced; the code of an earlier run loads in 0.3."""


@functools.cache
def kernel() -> ModuleType:
    """Return the module of compiled loops, every function of it compiled.

    The first run on a machine compiles for a few seconds, and says so at level INFO on the logger
    of this module; later runs load the code from numba's cache.
    """
    import numba  # noqa: F401 - its own import is not the compiler's time

    announcement = threading.Timer(
        PATIENCE,
        logging.getLogger(__name__).info,
        ["compiling AFLite for this machine; this takes a few seconds, and once"],
    )
    announcement.daemon = True
    announcement.start()
    try:
        from winosmith.debias import _kernel

        _touch(_kernel)
    finally:
        announcement.cancel()
    return _kernel


def _touch(module: ModuleType) -> None:
    """Call each function with the types that it is used with."""
    X, y = np.zeros((2, 16), np.float32), np.zeros(2, np.float32)
    rows = places = np.arange(2, dtype=np.int32)
    begin, end = np.array([0], np.int64), np.array([1], np.int64)
    counts = np.zeros(2, np.int32)
    module.add_gradients(X, y, rows, begin, end, places, X[:1], np.zeros((1, 16)))
    module.count_votes(X, y, rows, begin, end, places, X, counts, counts.copy())
    module.add_curvature(X, rows, X[0], 1.0, np.zeros(16))
    module.largest(X, rows, X[0])
