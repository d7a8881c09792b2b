"""Linear algebra on one thread, where the last bit matters."""

from __future__ import annotations

from contextlib import AbstractContextManager

__all__ = ["one_thread"]


def one_thread() -> AbstractContextManager[object]:
    """Keep linear algebra to one thread for a block, so that sums are added in one order.

    With several threads the last bits depend on how many there are, and where directions are
    nearly equal (an SVD's, say) the last bits choose between them.
    """
    import scipy.linalg  # noqa: F401 - its own BLAS must be there already to be limited
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits
