"""Random clicks decide nothing before a moderator's review, and honest judges are not suspended.

    python trials/platform_clicks.py            the counts of the report, on both databases
    python trials/platform_clicks.py --quick    small counts

On a site with default settings, these people use the pages: judges who click immediately, 19
accounts at one address at a human pace, and 2 accounts at one address with a third elsewhere; a
paid job done in three seconds and approved by the market; a human test done in four; and an honest
crowd
(log-normal seconds with a median of 9, 93 % correct, trained and checked with gold questions). Time
passes by changing rows of the database, not by sleeping. The trial must detect a site without
bounds.
"""

from __future__ import annotations

import argparse
from itertools import product

from crowd.clicks import ATTACKS, HELD_AT_MOST, attack, judge_honestly
from crowd.scenario import list_databases, make_place, run_in_process
from crowd.table import Table, finish

ATTACKED = (
    "database", "injected fault", "who", "answers", "decided by them", "waiting or not counted",
)  # fmt: skip
CROWD = (
    "database", "judges", "votes", "problems decided", "judges held", "held at most",
    "votes waiting",
)  # fmt: skip


def main() -> None:
    """Run the attacks and the honest crowd, and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--database", default="", help="only sqlite or postgresql")
    arguments = parser.parse_args()
    problems, judges, votes = (12, 10, 30) if arguments.quick else (60, 40, 100)
    attacks = Table("Nothing is decided by clicks", ATTACKED)
    for database in list_databases(arguments.database):
        for who, watched in product(ATTACKS, (True, False)):
            with make_place(database) as where:
                found = run_in_process(
                    attack, where.folder, where.database, who, problems, watched=watched
                )
            attacks.row(
                database, "none" if watched else "no bounds", who,
                found["answers"], found["decided"], found["waiting"],
                met=found["answers"] > 0 and (found["decided"] == 0) == watched,
            )  # fmt: skip
    crowd = Table("An honest crowd goes on", CROWD)
    for database in list_databases(arguments.database):
        with make_place(database) as where:
            found = run_in_process(judge_honestly, where.folder, where.database, judges, votes)
        crowd.row(
            database, judges, found["votes"], found["decided"], found["held"],
            f"{HELD_AT_MOST:.0%}", found["waiting"],
            met=found["held"] <= HELD_AT_MOST * judges and found["decided"] > 0,
        )  # fmt: skip
    finish(attacks, crowd)


if __name__ == "__main__":
    main()
