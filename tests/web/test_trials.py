"""Small runs of the trials: races, clicked votes, gold, stolen credentials and slow clients.

Each also runs with the check that it tests switched off, and must then fail. `test_durability`
has the trials of kills and syncs.
"""

import re
from importlib import import_module
from inspect import signature
from typing import Any

import pytest

from tests.conftest import absent
from tests.web.conftest import DATABASES
from trials.crowd.postgres import find_postgres
from winosmith.web.people.gates import process_once

pytestmark = pytest.mark.usefixtures("trials")


def _run(name: str, *arguments: Any, database: str = "sqlite", **named: Any) -> Any:
    """Run a function of `trials/crowd` on a new site, in a process of its own."""
    from crowd.scenario import make_place, run_in_process

    if database == "postgresql" and find_postgres() is None:
        absent("PostgreSQL is not installed")
    module, _dot, function = name.partition(".")
    with make_place(database, shared=True) as where:
        run = getattr(import_module(f"crowd.{module}"), function)
        return run_in_process(run, where.folder, where.database, *arguments, **named)


def _race(database: str, fault: str = "", judges: int = 12) -> dict[str, Any]:
    from crowd.race import RaceSettings

    how = RaceSettings(judges=judges, problems=10, fault=fault)
    found: dict[str, Any] = _run("race.run_race", how, database=database)
    return found


@pytest.mark.long
@pytest.mark.parametrize("database", DATABASES)
def test_racing_judges_give_each_problem_exactly_k_votes(database):
    """Twelve judges with two windows each give three votes to each of ten problems."""
    found = _race(database)
    assert found["faults"] == 0
    assert found["errors"] == 0
    assert found["votes"] == found["answers"] == 30


@pytest.mark.long
@pytest.mark.parametrize("database", DATABASES)
def test_votes_counted_before_the_insert_exceed_k(database):
    """So the race detects a site without the lock."""
    assert _race(database, "unlocked-votes", judges=6)["too_many"] > 0


def test_deliberate_fault_has_the_signature_that_it_replaces(db):
    from crowd.careless import once_unlocked

    assert [*signature(once_unlocked).parameters] == [*signature(process_once).parameters]


@pytest.mark.long
@pytest.mark.parametrize("database", DATABASES)
def test_half_of_a_twin_stays_hidden_until_both_are_decided(database):
    """On a site that publishes each half at once, the same onlooker does read some."""
    hidden, read = (
        _run("onlooker.observe_site", 8, database=database, wait_days=days) for days in (14, 0)
    )
    assert (hidden["answers_read"] + hidden["pages_read"], hidden["public"] > 0) == (0, True)
    assert read["answers_read"] + read["pages_read"] > 0


PAIR = "2 accounts of one address and a third"


@pytest.mark.long
@pytest.mark.parametrize(
    "who",
    ["3 judges who click", "19 accounts of one address", PAIR, "a paid job", "a human test"],
)
def test_clicked_votes_decide_nothing(who):
    """The site has its default settings."""
    from crowd.clicks import ATTACKS

    assert who in ATTACKS
    found = _run("clicks.attack", who, 10)
    if who == PAIR:
        assert found == {"answers": 15, "decided": 0, "waiting": 5}
    else:
        assert found["answers"] >= 10
        assert (found["decided"], found["waiting"]) == (0, found["answers"])


@pytest.mark.long
@pytest.mark.parametrize("who", ["3 judges who click", PAIR, "a human test"])
def test_clicked_votes_decide_without_the_checks(who):
    """So the checks stop the same answers in the test above."""
    found = _run("clicks.attack", who, 10, watched=False)
    assert found["decided"] > 0 == found["waiting"]


@pytest.mark.long
def test_careful_judges_decide_and_are_not_on_hold():
    found = _run("clicks.judge_honestly", 6, 18)
    assert found["held"] == 0, found["causes"]
    assert found["decided"] > 0


@pytest.mark.long
def test_gold_looks_like_other_problems_to_a_judges_browser():
    """Among 40 gold questions and 40 others, references, bytes, headers and steps are the same."""
    from crowd.gold import EVERY, fill, judge_and_record
    from crowd.scenario import make_place, run_in_process
    from crowd.server import Server

    with make_place("sqlite") as where:
        judges = run_in_process(fill, where.folder, where.database, 60)
        server = Server(where.folder, rules={"gold_every": EVERY}).start()
        try:
            noted = judge_and_record(server.url, judges, 40)
        finally:
            server.kill()
    refs = [one.seen["reference"] for one in noted]
    assert [ref for ref in refs if not re.fullmatch("[0-9a-f]{16}", ref)] == []
    assert len(set(refs)) == len(refs)
    found: dict[bool, set[Any]] = {True: set(), False: set()}
    for one in noted:
        first = one.seen["problems since the last gold"] == 0
        exact = [name for name in one.seen if name[:5] in ("steps", "bytes", "heade")]
        exact.remove("bytes, what I judged")  # a row more for each problem, gold or not
        found[one.gold].add((first, *((name, one.seen[name]) for name in exact)))
    assert found[True] == found[False]


def _try_doors(**how: Any) -> dict[str, tuple[int, int]]:
    from crowd.doors import DoorSettings

    found: dict[str, tuple[int, int]] = _run("doors.try_doors", DoorSettings(**how))
    return found


@pytest.mark.long
def test_thieves_and_impostors_do_not_get_in():
    """They try what the database and Django's admin contain, and credentials that have ended.

    The owners of live credentials do get in.
    """
    found = _try_doors(people=3, names=("paul", "olivia"))
    tries, got_in = found.pop("their owners (each must get in)")
    assert got_in == tries == 9
    assert all(tries for tries, _ in found.values())
    assert {who: got_in for who, (_, got_in) in found.items()} == dict.fromkeys(found, 0)


@pytest.mark.long
def test_thief_gets_in_if_session_keys_are_stored_unhashed():
    thief = "a reader of the whole database"
    assert _try_doors(people=1, only=thief, fault="clear-sessions")[thief][1] > 0


@pytest.mark.long
def test_slow_clients_do_not_stop_other_users():
    """60 clients send or read a byte per second."""
    from crowd.scenario import make_place
    from crowd.slow import Slowness, open_door, serve_site, time_others

    how = Slowness(clients=60, people=3, seconds=3, warm=2, public=600, workers=2)
    with (
        make_place("sqlite") as where,
        serve_site(where, how) as site,
        open_door("direct", site) as url,
    ):
        found = time_others(url, site.people, how)
    assert (found.unanswered, found.errors) == (0, [])
    assert len(found.times) > 10
