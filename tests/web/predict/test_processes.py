"""Processes of models under a real server: they predict, are restarted, and end with it."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONGEST, until
from tests.web.conftest import LONG_DATABASES
from tests.web.predict.making import ASKED, STANDS
from tests.web.serving import BUILT_IN
from winosmith.testing import chat_server
from winosmith.web.jobs import get_worker_process_id


def stands(site: Any, number: int) -> dict[str, list[Any]]:
    """Return state, error and number of tries of each model's prediction."""
    found: dict[str, list[Any]] = site.do(STANDS.format(number=number))
    return found


def wait_for_predictions(site: Any, number: int) -> dict[str, list[Any]]:
    """Wait until no prediction is waiting; return their states."""

    def done() -> dict[str, list[Any]] | None:
        found = stands(site, number)
        return found if found and all(one[0] != "waiting" for one in found.values()) else None

    found: dict[str, list[Any]] = until(done)
    return found


def list_children(parent: int | None) -> dict[int, list[str]]:
    """Return the command lines of a process's children by process id."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if place.joinpath("stat").read_text().rpartition(")")[2].split()[1] == str(parent):
                found[int(place.name)] = place.joinpath("cmdline").read_text().split("\0")[:-1]
    return found


def processes(folder: Path) -> dict[str, int]:
    """Return the ids of a site's prediction processes by the name of the model."""
    worker = get_worker_process_id(folder)
    found = list_children(worker) if worker else {}
    return {words[-1]: process for process, words in found.items() if "-c" in words}  # has started


def is_alive(process: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.parametrize("database", LONG_DATABASES)
def test_built_in_models_predict_stored_problems(served, database):
    """`trials/platform_predict.py` measures how soon."""
    site = served(models=BUILT_IN, database=database)
    for number in (1, 2):
        site.do(ASKED.format(number=number))
        wait_for_predictions(site, number)
    assert {name: one[0] for name, one in stands(site, 2).items()} == {
        "association": "done",
        "hunting": "done",
    }
    page = site.get("/models/").text
    assert page.count("The model is ready.") == 2


@pytest.mark.long
def test_killed_process_is_restarted(served):
    site = served(models=BUILT_IN)
    site.do(ASKED.format(number=1))
    wait_for_predictions(site, 1)
    before = processes(site.folder)
    for process in before.values():
        os.kill(process, signal.SIGKILL)
    site.do(ASKED.format(number=2))
    assert {one[0] for one in wait_for_predictions(site, 2).values()} == {"done"}
    after = processes(site.folder)
    assert set(after) == set(before)
    assert not set(after.values()) & set(before.values())


@pytest.mark.long
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_model_processes_end_with_the_server(served, sign):
    site = served(models=BUILT_IN)
    found = until(lambda: len(processes(site.folder)) == 2 and processes(site.folder))
    site.stop(sign)
    until(lambda: not any(map(is_alive, found.values())))


@pytest.mark.long
def test_model_processes_end_if_the_server_is_killed(served):
    site = served(models=BUILT_IN)
    found = until(lambda: len(processes(site.folder)) == 2 and processes(site.folder))
    os.kill(site.process.pid, signal.SIGKILL)
    site.process.wait()
    until(lambda: not any(map(is_alive, found.values())))
    time.sleep(1.5)
    assert processes(site.folder) == {}


@pytest.mark.long
def test_model_processes_outlive_request_processes(served):
    """If the worker is killed, they end, and its successor starts new ones."""
    site = served(models=BUILT_IN)
    found = until(lambda: len(processes(site.folder)) == 2 and processes(site.folder))
    worker = get_worker_process_id(site.folder)
    for child in list_children(site.process.pid):
        if child != worker:
            os.kill(child, signal.SIGKILL)
    until(lambda: site.get("/healthz").status == 200)
    time.sleep(1)
    assert processes(site.folder) == found
    assert worker is not None
    os.kill(worker, signal.SIGKILL)
    site.do(ASKED.format(number=1))
    assert {one[0] for one in wait_for_predictions(site, 1).values()} == {"done"}
    assert not any(map(is_alive, found.values()))


@pytest.fixture
def slow_server() -> Iterator[tuple[str, threading.Event]]:
    """Yield the address of a chat server that doesn't answer until the event is set."""
    free = threading.Event()

    def author(messages: Any) -> str:
        free.wait(LONGEST)
        return "1"

    with chat_server(author) as url:
        yield url, free
        free.set()


@pytest.mark.long
def test_slow_and_broken_models_do_not_delay_others(served, slow_server):
    url, free = slow_server
    models = [
        *BUILT_IN,
        {"name": "slow", "solver": "chat", "model": "m", "base_url": url},
        {"name": "broken", "solver": "encoder", "model": "no-such-place"},
        {"name": "away", "solver": "chat", "model": "m", "base_url": "http://127.0.0.1:1/v1"},
    ]
    site = served(models=models, model_seconds=2)
    for number in (1, 2):
        site.do(ASKED.format(number=number))
    until(lambda: {stands(site, 2)[name][0] for name in ("association", "hunting")} == {"done"})
    until(lambda: stands(site, 2)["slow"][0] == "late")
    found = until(lambda: stands(site, 2)["away"][0] != "waiting" and stands(site, 2))
    assert found["association"][0] == found["hunting"][0] == "done"
    assert found["slow"][1] == "The model took too long."
    assert found["away"][0] in ("failed", "late")
    assert found["broken"][0] == "waiting"
    page = site.get("/models/broken/").text
    assert "can&#x27;t be loaded" in page
    assert "no-such-place" not in page
    assert "no-such-place" in site.log()
    free.set()
    site.do(
        "from winosmith.web.predict.asking import retry_failed_predictions\n"
        "from winosmith.web.predict.models import Model\n"
        "result = retry_failed_predictions(Model.objects.get(name='slow'))"
    )
    until(lambda: stands(site, 2)["slow"][0] == "done")


@pytest.mark.long
def test_new_revision_of_a_model_predicts_again(served):
    """The predictions of the old revision stay."""
    site = served(models=[{"name": "one", "solver": "random", "seed": 1}])
    site.do(ASKED.format(number=1))
    wait_for_predictions(site, 1)
    site.stop()
    settings = site.folder / "site.toml"
    settings.write_text(settings.read_text().replace("seed = 1", "seed = 2"))
    site.start()
    wait_for_predictions(site, 1)
    count = "from winosmith.web.predict.models import Prediction, Model\n" + (
        "result = [Model.objects.count(), Prediction.objects.filter(stand='done').count(),"
        " Model.objects.filter(current=True).count()]"
    )
    until(lambda: site.do(count) == [2, 2, 1])
    assert "Earlier revisions" in site.get("/models/one/").text
