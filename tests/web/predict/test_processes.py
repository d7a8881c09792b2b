"""The processes of models under a real server: quick, kept going, in nobody's way."""

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
from tests.web.predict.making import ASKED, STANDS
from tests.web.serving import BUILT_IN
from winosmith.testing import chat_server
from winosmith.web.jobs import get_worker_process_id


def stands(site: Any, number: int) -> dict[str, list[Any]]:
    """Return how each model's prediction stands, why, and how often it was tried."""
    found: dict[str, list[Any]] = site.do(STANDS.format(number=number))
    return found


def settled(site: Any, number: int) -> dict[str, list[Any]]:
    """Return the same, as soon as no model is waited for."""

    def done() -> dict[str, list[Any]] | None:
        found = stands(site, number)
        return found if found and all(one[0] != "waiting" for one in found.values()) else None

    found: dict[str, list[Any]] = until(done)
    return found


def children(parent: int | None) -> dict[int, list[str]]:
    """Return the words of the commands of a process's children, by their ids."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if place.joinpath("stat").read_text().rpartition(")")[2].split()[1] == str(parent):
                found[int(place.name)] = place.joinpath("cmdline").read_text().split("\0")[:-1]
    return found


def processes(folder: Path) -> dict[str, int]:
    """Return the ids of the processes that predict for a site, by the name of the model."""
    worker = get_worker_process_id(folder)
    found = children(worker) if worker else {}
    return {words[-1]: process for process, words in found.items() if "-c" in words}  # has begun


def lives(process: int) -> bool:
    """Tell whether a process is there that is no corpse."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.parametrize(
    "database",
    ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.long])],
)
def test_a_prediction_comes_by_itself(served: Any, database: str) -> None:
    """What is committed both built-in models predict, one sentence after another.

    How soon, `trials/platform_predict.py` tells.
    """
    site = served(models=BUILT_IN, database=database)
    for number in (1, 2):
        site.do(ASKED.format(number=number))
        settled(site, number)
    assert {name: one[0] for name, one in stands(site, 2).items()} == {
        "association": "done",
        "hunting": "done",
    }
    page = site.get("/models/").text
    assert page.count("The model is ready.") == 2


@pytest.mark.long
def test_a_process_that_is_killed_is_started_again(served: Any) -> None:
    """After kill -9 another process has its place, and predicts what was sent meanwhile."""
    site = served(models=BUILT_IN)
    site.do(ASKED.format(number=1))
    settled(site, 1)
    before = processes(site.folder)
    for process in before.values():
        os.kill(process, signal.SIGKILL)
    site.do(ASKED.format(number=2))
    assert {one[0] for one in settled(site, 2).values()} == {"done"}
    after = processes(site.folder)
    assert set(after) == set(before)
    assert not set(after.values()) & set(before.values())


@pytest.mark.long
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_models_end_with_the_server(served: Any, sign: signal.Signals) -> None:
    """After TERM or Ctrl-C no process of a model is left."""
    site = served(models=BUILT_IN)
    found = until(lambda: len(processes(site.folder)) == 2 and processes(site.folder))
    site.stop(sign)
    until(lambda: not any(map(lives, found.values())))


@pytest.mark.long
def test_no_orphan_survives_the_death_of_the_server(served: Any) -> None:
    """When the server's first process alone is killed -9, those of models end, and stay ended."""
    site = served(models=BUILT_IN)
    found = until(lambda: len(processes(site.folder)) == 2 and processes(site.folder))
    os.kill(site.process.pid, signal.SIGKILL)
    site.process.wait()
    until(lambda: not any(map(lives, found.values())))
    time.sleep(1.5)
    assert processes(site.folder) == {}


@pytest.mark.long
def test_server_processes_come_and_go_and_models_stay(served: Any) -> None:
    """A model's process outlives those that answer; after a kill of the worker there is another."""
    site = served(models=BUILT_IN)
    found = until(lambda: len(processes(site.folder)) == 2 and processes(site.folder))
    worker = get_worker_process_id(site.folder)
    for child in children(site.process.pid):
        if child != worker:
            os.kill(child, signal.SIGKILL)
    until(lambda: site.get("/healthz").status == 200)
    time.sleep(1)
    assert processes(site.folder) == found
    assert worker is not None
    os.kill(worker, signal.SIGKILL)
    site.do(ASKED.format(number=1))
    assert {one[0] for one in settled(site, 1).values()} == {"done"}
    assert not any(map(lives, found.values()))


@pytest.fixture
def slow_server() -> Iterator[tuple[str, threading.Event]]:
    """Give the address of a chat server that answers nothing until the event is set."""
    free = threading.Event()

    def author(messages: Any) -> str:
        free.wait(LONGEST)
        return "1"

    with chat_server(author) as url:
        yield url, free
        free.set()


@pytest.mark.long
def test_slow_and_broken_models_are_in_nobodys_way(
    served: Any, slow_server: tuple[str, threading.Event]
) -> None:
    """A slow model is late, a broken one says so, the others predict; a moderator tries again."""
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
    told = site.admin("models", str(site.folder)).stdout
    assert "no-such-place" in told
    free.set()
    assert "will be retried" in site.admin("models", str(site.folder), "--retry", "slow").stdout
    until(lambda: stands(site, 2)["slow"][0] == "done")


@pytest.mark.long
def test_another_revision_is_scored_anew(served: Any) -> None:
    """Started with other options a model predicts the past again; its old answers stay."""
    site = served(models=[{"name": "one", "solver": "random", "seed": 1}])
    site.do(ASKED.format(number=1))
    settled(site, 1)
    site.stop()
    settings = site.folder / "site.toml"
    settings.write_text(settings.read_text().replace("seed = 1", "seed = 2"))
    site.start()
    settled(site, 1)
    count = "from winosmith.web.predict.models import Prediction, Model\n" + (
        "result = [Model.objects.count(), Prediction.objects.filter(stand='done').count(),"
        " Model.objects.filter(current=True).count()]"
    )
    until(lambda: site.do(count) == [2, 2, 1])
    assert "Earlier revisions" in site.get("/models/one/").text
