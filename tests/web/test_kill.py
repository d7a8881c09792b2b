"""A site that is killed under load keeps what it acknowledged; a careless one is found out."""

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


def tormented(database: str, fault: str) -> Any:
    """Return what a site came to whose worker, server and power were cut off, once each."""
    from crowd.killing import Plan, torture_site
    from crowd.scenario import make_place

    if database == "postgresql" and find_postgres() is None:
        absent("PostgreSQL is not installed")
    with make_place(database, cut=True) as where:
        plan = Plan(kills=4, between=5, writers=3, judges=4, moderators=1, fault=fault)
        return torture_site(where, plan)


@pytest.mark.parametrize("database", DATABASES)
def test_what_was_acknowledged_outlives_kills_and_power_cuts(database: str) -> None:
    """Two killed workers, a killed server and a power cut lose no acknowledged write."""
    found = tormented(database, "")
    assert found.kills == {"worker": 2, "server": 1, "power": 1}
    assert found.acknowledged >= 25
    assert found.errors == []
    assert found.destroyed == ""
    assert (found.missing, found.twice, found.otherwise, found.vote_faults) == (0, 0, 0, 0)


def test_a_site_that_syncs_nothing_is_found_out() -> None:
    """The same kills, with SQLite's synchronous=OFF, lose writes or the whole database."""
    found = tormented("sqlite", "unsynced")
    assert found.missing or found.destroyed


def test_a_power_cut_takes_what_was_not_synced_and_nothing_else(tmp_path: Path) -> None:
    """Of two lines, one synced, the synced one is left after a cut; a cut loses nothing later."""
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
