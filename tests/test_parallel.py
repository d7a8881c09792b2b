"""Work spread over an executor gives the same results in the same order."""

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st

from tests import forking
from winosmith.errors import InputError
from winosmith.parallel import get_worker_count, ordered_map


@given(st.lists(st.integers(), max_size=30), st.integers(1, 5), st.integers(1, 9))
def test_results_equal_map_with_any_number_of_workers(items, workers, ahead):
    with ThreadPoolExecutor(workers) as executor:
        assert list(ordered_map(str, items, executor, max_pending=ahead)) == list(map(str, items))
    assert list(ordered_map(str, items)) == list(map(str, items))


def test_results_of_threads_and_processes_keep_their_order():
    with ThreadPoolExecutor(4) as executor:
        waits = [0.05, 0.0, 0.02, 0.0]
        assert list(ordered_map(lambda s: (time.sleep(s), s)[1], waits, executor)) == waits
    with ProcessPoolExecutor(2) as executor:
        assert list(ordered_map(abs, range(-20, 0), executor)) == list(range(20, 0, -1))


def test_items_are_taken_lazily():
    """At most `max_pending` more items are taken than results were requested."""
    taken: list[int] = []

    def endless() -> Iterator[int]:
        number = 0
        while True:
            taken.append(number)
            yield number
            number += 1

    with ThreadPoolExecutor(2) as executor:
        results = ordered_map(str, endless(), executor, max_pending=3)
        assert [next(results) for _ in range(5)] == ["0", "1", "2", "3", "4"]
        results.close()
    assert len(taken) <= 5 + 3


def test_failure_is_raised_in_order_and_cancels_the_rest():
    started: list[int] = []
    gate = threading.Event()

    def work(item: int) -> int:
        started.append(item)
        if item == 0:
            raise ZeroDivisionError
        gate.wait(60)
        return item

    with ThreadPoolExecutor(1) as executor:
        results = ordered_map(work, range(100), executor, max_pending=8)
        with pytest.raises(ZeroDivisionError):
            next(results)
        gate.set()
    assert len(started) <= 2


def _dies(item: int) -> int:
    os._exit(item)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_dead_worker_is_reported_with_the_callers_advice():
    with (
        ProcessPoolExecutor(2) as executor,
        pytest.raises(
            InputError, match=r"workers died; they were killed or ran out of memory.*; go on so"
        ),
    ):
        list(ordered_map(_dies, [1, 1, 1], executor, advice="go on so"))
    with pytest.raises(InputError, match="workers died"):
        list(ordered_map(abs, [1], make_broken_executor()))


def make_broken_executor() -> ProcessPoolExecutor:
    """Return an executor whose workers have died."""
    executor = ProcessPoolExecutor(1)
    with pytest.raises(BrokenExecutor):
        executor.submit(_dies, 1).result()
    return executor


def test_closed_executor_is_reported():
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(InputError, match="shut down before the work was done; pass a new executor"):
        list(ordered_map(abs, [1], closed))
    gate = threading.Event()
    with ThreadPoolExecutor(1) as executor:
        results = ordered_map(gate.wait, [5, 0, 0], executor, max_pending=3)
        threading.Timer(
            0.2, lambda: (executor.shutdown(wait=False, cancel_futures=True), gate.set())
        ).start()
        with pytest.raises(InputError, match="shut down"):
            list(results)


def test_runtime_errors_of_the_work_are_raised_unchanged():
    """Only the executor's own RuntimeError means that it was shut down."""
    with ThreadPoolExecutor(1) as executor, pytest.raises(RuntimeError, match="mine"):
        list(ordered_map(_fails, [1], executor))


def _fails(item: int) -> int:
    raise RuntimeError("mine")


def test_worker_count_of_an_unknown_executor_is_none():
    assert get_worker_count(ThreadPoolExecutor(3)) == 3
    assert get_worker_count(ProcessPoolExecutor(2)) == 2
    assert get_worker_count(Executor()) is None


BLAS = """
import ctypes, sys, types
from pathlib import Path
import scipy.linalg
from threadpoolctl import ThreadpoolController
from winosmith.parallel import use_one_thread

def found():
    return ThreadpoolController().select(user_api="blas")

def threads():
    return {library["filepath"]: library["num_threads"] for library in found().info()}

with found().limit(limits=2):
    with use_one_thread():
        print(*set(threads().values()))
    print(*set(threads().values()))
    known = Path(sorted(threads())[0])
    late = Path(sys.argv[1]) / known.name
    late.write_bytes(known.read_bytes())
    ctypes.CDLL(str(late))
    sys.modules["late"] = types.ModuleType("late")
    assert str(late) in threads()
    with found().limit(limits=2), use_one_thread():
        print(*set(threads().values()))
"""


def test_blas_has_one_thread_in_the_block_whenever_it_was_loaded(tmp_path):
    """The second block also limits a library that was loaded after the first one."""
    done = forking.script(BLAS, str(tmp_path))
    assert (done.stdout, done.stderr) == ("1\n2\n1\n", "")
