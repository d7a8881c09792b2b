"""Clicks in place of reading decide nothing before a moderator looked; careful judges go on."""

from typing import Any

import pytest

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("trials")]

PAIR = "2 accounts of one address and a third"


@pytest.mark.parametrize(
    "who",
    ["3 judges who click", "19 accounts of one address", "a paid job", "a human test"],
)
def test_nothing_is_decided_by_clicks(who: str) -> None:
    """By the settings that ship: of the answers none counts, and no figure rests on them."""
    from crowd.clicks import ATTACKS, attack
    from crowd.scenario import make_place, run_in_process

    assert who in ATTACKS
    with make_place("sqlite") as where:
        found: dict[str, Any] = run_in_process(attack, where.folder, where.database, who, 10)
    assert found["answers"] >= 10
    assert (found["decided"], found["waiting"]) == (0, found["answers"])


def test_two_accounts_of_one_address_decide_nothing_with_a_third() -> None:
    """By the settings that ship: beside one vote from elsewhere, two of one address decide none."""
    from crowd.clicks import attack
    from crowd.scenario import make_place, run_in_process

    with make_place("sqlite") as where:
        found: dict[str, Any] = run_in_process(attack, where.folder, where.database, PAIR, 10)
    assert found == {"answers": 15, "decided": 0, "waiting": 5}


@pytest.mark.parametrize("who", ["3 judges who click", PAIR, "a human test"])
def test_clicks_decide_where_nothing_is_watched(who: str) -> None:
    """Without the bounds the same answers decide: it is the bounds that hold them back."""
    from crowd.clicks import attack
    from crowd.scenario import make_place, run_in_process

    with make_place("sqlite") as where:
        found: dict[str, Any] = run_in_process(
            attack, where.folder, where.database, who, 10, watched=False
        )
    assert found["decided"] > 0 == found["waiting"]


def test_an_honest_crowd_is_not_held() -> None:
    """Six careful judges, trained first, decide problems, and none of them is held at the end."""
    from crowd.clicks import judge_honestly
    from crowd.scenario import make_place, run_in_process

    with make_place("sqlite") as where:
        found: dict[str, Any] = run_in_process(judge_honestly, where.folder, where.database, 6, 18)
    assert found["held"] == 0, found["causes"]
    assert found["decided"] > 0
