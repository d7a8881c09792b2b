"""`--cluster`: the option, and the executor that it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

import click

from winosmith.cli._common import say

__all__ = ["cluster_option", "on_cluster"]


def cluster_option(function: Any) -> Any:
    """Add `--cluster ADDRESS`."""
    return click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Spread the work over the workers of a Dask scheduler, such as tcp://head:8786; only "
        "in a network that you trust.",
    )(function)


@contextmanager
def on_cluster(address: str | None) -> Iterator[Executor | None]:
    """Open the executor over a cluster while the block runs; None without an address."""
    if address is None:
        yield None
        return
    from winosmith import cluster

    with cluster.connect(address) as executor:
        say(f"{executor.workers} threads of workers at {address}")
        yield executor
