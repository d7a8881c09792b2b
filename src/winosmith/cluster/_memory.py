"""The memory that a worker frees."""

from __future__ import annotations

import contextlib
import ctypes
import functools

__all__ = ["keep_freed_memory"]

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""The parameters of mallopt, as glibc's malloc.h numbers them."""

KEPT, LARGE = 1 << 26, 1 << 25
"""Bytes that stay with a process; bytes from which on a block is given back by itself (the most
that glibc takes)."""


@functools.cache
def keep_freed_memory() -> None:
    """Let this process keep some memory that it frees, for the next array.

    Dask has its workers give back every 64 kB at once (MALLOC_TRIM_THRESHOLD_). An array of
    100 kB then costs a fault for each of its pages, every time: the solver of AFLite took three
    times as long on small data. Other C libraries than glibc are left as they are.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGE)
        library.mallopt(M_TRIM_THRESHOLD, KEPT)
