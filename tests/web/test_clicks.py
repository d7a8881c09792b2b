"""Votes clicked without reading decide nothing without a moderator; careful judges do."""

from typing import Any

import pytest

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("trials")]

PAIR = "2 accounts of one address and a third"


@pytest.mark.parametrize(
    "who",
    ["3 judges who click", "19 accounts of one address", "a paid job", "a human test"],
)
def test_clicked_votes_decide_nothing(who: str) -> None:
    """The site has its default settings."""
    from crowd.clicks import ATTACKS, attack
    from crowd.scenario import make_place, run_in_process

    assert who in ATTACKS
    with make_place("sqlite") as where:
        found: dict[str, Any] = run_in_process(attack, where.folder, where.database, who, 10)
    assert found["answers"] >= 10
    assert (found["decided"], found["waiting"]) == (0, found["answers"])


def test_two_accounts_of_one_address_decide_nothing_with_a_third() -> None:
    """The site has its default settings."""
    from crowd.clicks import attack
    from crowd.scenario import make_place, run_in_process

    with make_place("sqlite") as where:
        found: dict[str, Any] = run_in_process(attack, where.folder, where.database, PAIR, 10)
    assert found == {"answers": 15, "decided": 0, "waiting": 5}


@pytest.mark.parametrize("who", ["3 judges who click", PAIR, "a human test"])
def test_clicked_votes_decide_without_the_checks(who: str) -> None:
    """So the checks stop the same answers in the tests above."""
    from crowd.clicks import attack
    from crowd.scenario import make_place, run_in_process

    with make_place("sqlite") as where:
        found: dict[str, Any] = run_in_process(
            attack, where.folder, where.database, who, 10, watched=False
        )
    assert found["decided"] > 0 == found["waiting"]


def test_careful_judges_decide_and_are_not_on_hold() -> None:
    from crowd.clicks import judge_honestly
    from crowd.scenario import make_place, run_in_process

    with make_place("sqlite") as where:
        found: dict[str, Any] = run_in_process(judge_honestly, where.folder, where.database, 6, 18)
    assert found["held"] == 0, found["causes"]
    assert found["decided"] > 0
