"""Judges compete for problems, with expired leases and repeated answers; votes stay exact."""

from inspect import signature
from typing import Any

import pytest

from tests.conftest import absent
from trials.crowd.postgres import find_postgres
from winosmith.web.people.gates import process_once

DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.postgres))

pytestmark = pytest.mark.usefixtures("trials")


def run_small_race(database: str, fault: str = "", judges: int = 12) -> dict[str, Any]:
    """Run a small race on a database of its own; return what was found."""
    from crowd.race import RaceSettings, run_race
    from crowd.scenario import make_place, run_in_process

    if database == "postgresql" and find_postgres() is None:
        absent("PostgreSQL is not installed")
    with make_place(database, shared=True) as where:
        how = RaceSettings(judges=judges, problems=10, fault=fault)
        found: dict[str, Any] = run_in_process(run_race, where.folder, where.database, how)
        return found


@pytest.mark.long
@pytest.mark.parametrize("database", DATABASES)
def test_racing_judges_give_each_problem_exactly_k_votes(database: str) -> None:
    """Twelve judges with two windows each give three votes to each of ten problems."""
    found = run_small_race(database)
    assert found["faults"] == 0
    assert found["errors"] == 0
    assert found["votes"] == found["answers"] == 30


@pytest.mark.long
@pytest.mark.parametrize("database", DATABASES)
def test_votes_counted_before_the_insert_exceed_k(database: str) -> None:
    """So the race detects a site without the lock."""
    assert run_small_race(database, "unlocked-votes", judges=6)["too_many"] > 0


def test_deliberate_fault_has_the_signature_that_it_replaces(db: Any) -> None:
    from crowd.careless import once_unlocked

    assert [*signature(once_unlocked).parameters] == [*signature(process_once).parameters]


@pytest.mark.long
@pytest.mark.parametrize("database", DATABASES)
def test_half_of_a_twin_stays_hidden_until_both_are_decided(database: str) -> None:
    """On a site that publishes each half at once, the same onlooker does read some."""
    from crowd.onlooker import observe_site
    from crowd.scenario import make_place, run_in_process

    if database == "postgresql" and find_postgres() is None:
        absent("PostgreSQL is not installed")
    read = []
    for days in (14, 0):
        with make_place(database, shared=True) as where:
            found = run_in_process(observe_site, where.folder, where.database, 8, wait_days=days)
        read.append((found["answers_read"] + found["pages_read"], found["public"] > 0))
    assert read[0] == (0, True)
    assert read[1][0] > 0
