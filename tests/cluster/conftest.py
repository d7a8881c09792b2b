"""A local cluster: a scheduler and workers, each in its own process."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import absent
from tests.waiting import until
from winosmith import cluster

STARTING = 300.0
"""Seconds in which even a slow machine starts a scheduler or worker."""


def awaited(path: Path) -> None:
    """Wait until a scheduler has written its file completely."""
    until(lambda: path.exists() and path.read_text("utf-8").rstrip().endswith("}"), STARTING)


@pytest.fixture(scope="session")
def dask() -> None:
    """Skip without dask.distributed."""
    if importlib.util.find_spec("distributed") is None:
        absent("distributed is not installed (the extra `cluster`)")


@pytest.fixture(scope="module")
def local_cluster(dask: None) -> Iterator[Any]:
    """Return a cluster of two workers with one thread each; a killed one is restarted.

    It ends with the module, since an idle one still takes a tenth of a processor. As the page on
    many machines advises, its scheduler lets idle workers keep the values sent to them.
    """
    import dask as library
    from distributed import LocalCluster

    kept = {"distributed.scheduler.active-memory-manager.start": False}
    with (
        library.config.set(kept),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs="CRITICAL",
            memory_limit=None,
        ) as running,
    ):
        yield running


@pytest.fixture
def executor(
    local_cluster: Any, request: pytest.FixtureRequest
) -> Iterator[cluster.ClusterExecutor]:
    """Return an executor over the two workers; the test module's functions are pickled by value."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(request.module)
    with cluster.connect(local_cluster.scheduler_address) as opened:
        yield opened


@pytest.fixture
def kill(local_cluster: Any) -> Callable[[int], None]:
    """Return a function that kills a number of workers with kill -9, once both have started.

    A nanny that loses a worker while it starts gives up.
    """

    def kill(count: int) -> None:
        until(lambda: len(local_cluster.scheduler.workers) >= 2)
        for nanny in list(local_cluster.workers.values())[:count]:
            os.kill(nanny.pid, signal.SIGKILL)

    return kill


@pytest.fixture
def start(dask: None) -> Iterator[Callable[..., Any]]:
    """Return a function that starts `dask scheduler` or `dask worker`; all end with the test."""
    running = []

    def start(what: str, *arguments: str) -> Any:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running.append(subprocess.Popen([*command, "--dashboard-address", ":0"], **quiet))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a self-signed certificate, under the names of Dask's configuration."""
    if shutil.which("openssl") is None:
        absent("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(["openssl", "req", *made, *files], check=True, capture_output=True)
    return {"ca": str(folder / "cert.pem"), "key": str(folder / "key.pem")}
