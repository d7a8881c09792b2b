"""Many machines: an executor over a Dask cluster. The only door to `dask.distributed`.

    from winosmith import cluster, debias

    with cluster.connect("tcp://head:8786") as executor:
        debias.aflite(X, y, executor=executor)

Results are those of one machine, to the byte where the machines are of one kind. A Dask scheduler
runs what anyone who reaches it sends: keep it in a network that you trust, or use TLS.
"""

from __future__ import annotations

from winosmith.cluster._connect import connect
from winosmith.cluster._executor import ClusterExecutor

__all__ = ["ClusterExecutor", "connect"]
