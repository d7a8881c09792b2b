"""The cluster's executor: the standard library's interface, and values sent once."""

import operator
import os
import time
from concurrent.futures import CancelledError

import numpy as np
import pytest

from tests.cluster.conftest import STARTING, awaited
from tests.waiting import until
from winosmith import cluster
from winosmith.errors import InputError
from winosmith.parallel import Broadcaster, get_worker_count, ordered_map


def test_results_are_in_order_and_from_other_processes(executor):
    assert list(ordered_map(abs, range(-20, 0), executor)) == list(range(20, 0, -1))
    assert executor.submit(os.getpid).result() != os.getpid()
    assert executor.submit(int, "11", base=2).result() == 3


def test_workers_counts_the_threads_of_all_workers(executor):
    assert get_worker_count(executor) == executor.workers == 2
    assert isinstance(executor, Broadcaster)


def test_errors_of_workers_are_raised_here(executor):
    """Later work is not affected."""
    with pytest.raises(ZeroDivisionError):
        executor.submit(operator.truediv, 1, 0).result()
    assert executor.submit(operator.truediv, 1, 2).result() == 0.5


def test_tokens_are_replaced_by_their_values(executor):
    value = np.arange(200_000.0)
    with executor.broadcast(value) as token:
        assert executor.submit(np.sum, token).result() == value.sum()
        assert executor.submit(np.concatenate, (token, (1.0,))).result()[-1] == 1.0
    with executor.broadcast((1, 2)) as pair:
        assert executor.submit(sum, pair).result() == 3


def test_broadcast_value_is_sent_once_per_worker(executor):
    """It is released afterwards."""
    value = np.ones(1 << 20)

    before = sum(executor._client.run(_bytes_sent).values())
    with executor.broadcast(value) as token:
        futures = [executor.submit(np.dot, token, token) for _ in range(100)]
        assert {future.result() for future in futures} == {float(len(value))}
        moved = sum(executor._client.run(_bytes_sent).values()) - before
    assert moved < 2.5 * value.nbytes
    del futures
    until(lambda: not executor._client.who_has())


def _bytes_sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


def test_closed_executor_refuses_work(local_cluster):
    with cluster.connect(local_cluster.scheduler_address) as closed:
        pass
    with pytest.raises(InputError, match=r"was shut down.*repeat the call"):
        list(ordered_map(abs, [1], closed))


def test_worker_with_another_version_is_refused(executor):
    from winosmith.cluster import _run_on_worker

    asked = executor._client.submit(_run_on_worker, "0.0", abs, (1,), {}, pure=False)
    with pytest.raises(
        InputError, match=r"the worker tcp://.* has winosmith .*, but the client has 0\.0"
    ):
        asked.result()


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tcp://127.0.0.1:1", "no Dask scheduler answers at tcp://127.0.0.1:1 "),
        ("nonsense", "no Dask scheduler answers at nonsense .*such as tcp://head:8786"),
        ("tls://127.0.0.1:1", "tls://127.0.0.1:1 .*needs certificates"),
    ],
)
def test_wrong_addresses_are_reported(dask, address, reason):
    with pytest.raises(InputError, match=reason), cluster.connect(address, timeout=3):
        pass


def test_invalid_scheduler_file_is_reported(dask, tmp_path):
    path = tmp_path / "scheduler.json"
    path.write_text("{")
    with pytest.raises(InputError, match=r"scheduler\.json: this is not a complete file of"):
        cluster.connect(path).__enter__()


@pytest.mark.long
def test_missing_workers_and_a_lost_scheduler_are_reported(start, tmp_path):
    file = tmp_path / "scheduler.json"
    scheduler = start(
        "scheduler", "--scheduler-file", str(file), "--port", "0", "--host", "127.0.0.1"
    )
    awaited(file)
    with pytest.raises(InputError, match=r"has no workers; start one.*dask worker tcp"):
        cluster.connect(file, timeout=0.5).__enter__()
    options = ["--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path)]
    start("worker", "--scheduler-file", str(file), *options)
    with cluster.connect(file, timeout=STARTING) as executor:
        assert executor.submit(abs, -1).result(STARTING) == 1
        waiting = executor.submit(time.sleep, 2 * STARTING)
        scheduler.kill()
        with pytest.raises(CancelledError):
            waiting.result(STARTING)


@pytest.mark.long
def test_tls_cluster_requires_certificates(start, certificates, tmp_path):
    from distributed import Security

    file, ca, key = tmp_path / "scheduler.json", certificates["ca"], certificates["key"]
    tls = ["--tls-ca-file", ca, "--tls-cert", ca, "--tls-key", key]
    start("scheduler", "--scheduler-file", str(file), "--protocol", "tls", "--port", "0", *tls)
    awaited(file)
    options = ["--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path)]
    start("worker", "--scheduler-file", str(file), *options, *tls)
    security = Security(
        tls_ca_file=ca, tls_client_cert=ca, tls_client_key=key, require_encryption=True
    )
    with cluster.connect(file, security=security, timeout=STARTING) as executor:
        assert executor.submit(abs, -1).result(STARTING) == 1
    with pytest.raises(InputError, match=r"tls://.* needs certificates"):
        cluster.connect(file, timeout=10).__enter__()
