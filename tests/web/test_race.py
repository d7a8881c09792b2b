"""Judges race for problems: leases run out, answers come twice and again; votes stay exact."""

from inspect import signature
from typing import Any

import pytest

from tests.conftest import absent
from trials.crowd.postgres import find_postgres
from winosmith.web.people.gates import process_once

DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.postgres))

pytestmark = pytest.mark.usefixtures("trials")


def raced(database: str, fault: str = "", judges: int = 12) -> dict[str, Any]:
    """Return what a small race came to, on a database of its own."""
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
def test_a_race_of_judges_gives_each_problem_exactly_k_votes(database: str) -> None:
    """Twelve judges in two windows each give ten problems thirty votes, and nobody votes twice."""
    found = raced(database)
    assert found["faults"] == 0
    assert found["errors"] == 0
    assert found["votes"] == found["answers"] == 30


@pytest.mark.long
@pytest.mark.parametrize("database", DATABASES)
def test_a_site_that_counts_before_it_inserts_is_found_out(database: str) -> None:
    """A race of half as many, where votes are counted first and inserted then, goes beyond k."""
    assert raced(database, "unlocked-votes", judges=6)["too_many"] > 0


def test_a_fault_takes_what_it_replaces(db: Any) -> None:
    """Forms with a fault on purpose are asked as the site asks its own."""
    from crowd.careless import once_unlocked

    assert [*signature(once_unlocked).parameters] == [*signature(process_once).parameters]


@pytest.mark.long
@pytest.mark.parametrize("database", DATABASES)
def test_nobody_reads_an_answer_while_judges_hold_the_other_half(database: str) -> None:
    """Of twins that are judged an onlooker reads no half before the other is decided, too.

    On a site that publishes each half at once, the same onlooker reads some.
    """
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
