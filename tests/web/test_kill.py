"""A site killed under load keeps all acknowledged writes; a site without syncs loses some."""

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import absent
from trials.crowd.postgres import find_postgres

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.postgres))


@pytest.fixture(autouse=True)
def _can_cut(trials: None) -> None:
    from crowd.powercut import can_simulate

    if not can_simulate():
        absent("power cuts need Linux and gcc")


def kill_under_load(database: str, fault: str) -> Any:
    """Kill the workers and the server of a site and cut its power; return what was found."""
    from crowd.killing import Plan, torture_site
    from crowd.scenario import make_place

    if database == "postgresql" and find_postgres() is None:
        absent("PostgreSQL is not installed")
    with make_place(database, cut=True) as where:
        plan = Plan(kills=4, between=5, writers=3, judges=4, moderators=1, fault=fault)
        return torture_site(where, plan)


@pytest.mark.parametrize("database", DATABASES)
def test_acknowledged_writes_survive_kills_and_power_cuts(database: str) -> None:
    found = kill_under_load(database, "")
    assert found.kills == {"worker": 2, "server": 1, "power": 1}
    assert found.acknowledged >= 25
    assert found.errors == []
    assert found.destroyed == ""
    assert (found.missing, found.twice, found.otherwise, found.vote_faults) == (0, 0, 0, 0)


def test_site_without_syncs_loses_writes() -> None:
    """SQLite runs with synchronous=OFF, so the kills above do test the syncs."""
    found = kill_under_load("sqlite", "unsynced")
    assert found.missing or found.destroyed


def test_power_cut_loses_only_unsynced_writes(tmp_path: Path) -> None:
    import subprocess

    from crowd.powercut import watch_folder

    code = (
        "import os, sys; f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY);"
        "os.write(f, b'synced\\n'); os.fsync(f); os.write(f, b'lost\\n'); os.pwrite(f, b'S', 0)"
    )
    with watch_folder(tmp_path) as cuts:
        file = tmp_path / "file"
        subprocess.run([sys.executable, "-c", code, str(file)], env=cuts.environment(), check=True)
        assert file.read_bytes() == b"Synced\nlost\n"
        dice = random.Random(0)  # noqa: S311
        lost = cuts.cut(dice, keep=0.0)
        assert (lost.files, lost.unsynced, lost.writes) == (1, 2, 2)
        assert file.read_bytes() == b"synced\n"
        assert cuts.cut(dice, keep=0.0).writes == 0
