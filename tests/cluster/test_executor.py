"""The executor over a cluster is the standard library's, and hands values over once."""

import operator
import os
import threading
import time
from concurrent.futures import CancelledError

import numpy as np
import pytest

from tests.cluster.conftest import STARTING, awaited
from tests.waiting import LONGEST, until
from winosmith import cluster
from winosmith.errors import InputError
from winosmith.parallel import Broadcaster, get_worker_count, ordered_map


def test_work_is_spread_in_order(executor):
    """Results come in the order of the items, from processes other than this one."""
    assert list(ordered_map(abs, range(-20, 0), executor)) == list(range(20, 0, -1))
    assert executor.submit(os.getpid).result() != os.getpid()
    assert executor.submit(int, "11", base=2).result() == 3


def test_it_says_how_many_work_at_a_time(executor):
    """The threads of all workers are counted, and it holds values."""
    assert get_worker_count(executor) == executor.workers == 2
    assert isinstance(executor, Broadcaster)


def test_an_error_of_the_work_reaches_the_caller(executor):
    """It is raised here with its type, and does not harm what comes after."""
    with pytest.raises(ZeroDivisionError):
        executor.submit(operator.truediv, 1, 0).result()
    assert executor.submit(operator.truediv, 1, 2).result() == 0.5


def test_a_held_value_stands_for_itself(executor):
    """Alone or in a tuple, work gets the value that is held."""
    value = np.arange(200_000.0)
    with executor.broadcast(value) as token:
        assert executor.submit(np.sum, token).result() == value.sum()
        assert executor.submit(np.concatenate, (token, (1.0,))).result()[-1] == 1.0
    with executor.broadcast((1, 2)) as pair:
        assert executor.submit(sum, pair).result() == 3


def test_a_held_value_goes_to_each_worker_once(executor):
    """Work that is sent a hundred times moves the value once a worker, and then it is let go."""
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


@pytest.mark.long
def test_work_of_a_killed_worker_is_done_by_another(executor, kill):
    """What ran on a worker that was killed is done again, without the caller's help."""
    futures = [executor.submit(_slowly, number) for number in range(4)]
    timer = threading.Timer(0.4, kill, [1])
    timer.start()
    assert [future.result(LONGEST) for future in futures] == [0, 1, 2, 3]
    timer.join()


def _slowly(number: int) -> int:
    time.sleep(0.5)
    return number


def test_after_shutdown_nothing_is_taken(local_cluster):
    """Work given to an executor that was closed is refused, with what to do."""
    with cluster.connect(local_cluster.scheduler_address) as closed:
        pass
    with pytest.raises(InputError, match=r"was shut down.*repeat the call"):
        list(ordered_map(abs, [1], closed))


def test_another_version_at_a_worker_is_refused(executor):
    """A worker with another winosmith names itself and both versions."""
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
def test_an_address_that_leads_nowhere_is_told(dask, address, reason):
    """The error has the address, what is wrong with it, and an example of one."""
    with pytest.raises(InputError, match=reason), cluster.connect(address, timeout=3):
        pass


def test_a_scheduler_file_that_is_none_is_told(dask, tmp_path):
    """The error names the file."""
    path = tmp_path / "scheduler.json"
    path.write_text("{")
    with pytest.raises(InputError, match=r"scheduler\.json: this is not a complete file of"):
        cluster.connect(path).__enter__()


@pytest.mark.long
def test_a_cluster_that_is_not_there_is_reported(start, tmp_path):
    """A cluster without workers is refused; work ends with an error when the scheduler is gone."""
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
def test_a_cluster_behind_certificates_takes_who_has_them(start, certificates, tmp_path):
    """With TLS, work is done for who shows the certificate; others are told that it is missing."""
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
