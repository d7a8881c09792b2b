"""A problem never gets more than k votes, two by one person, or one by its contributor.

    python trials/platform_race.py            64 judges in two windows each, on both databases
    python trials/platform_race.py --quick    16 judges

Judges are threads of one process that call the rules. Leases expire meanwhile, a judge's two
windows answer at the same time, and answers arrive again much later. The trial must detect a site
that counts votes before it inserts them.
"""

from __future__ import annotations

import argparse
from typing import Any

from crowd.race import RaceSettings, run_race
from crowd.scenario import list_databases, make_place, run_in_process
from crowd.table import Table, finish

COLUMNS = (
    "database", "how", "injected fault", "votes", "beyond k", "twice by one",
    "by the contributor", "on both halves", "undecided", "refused", "leases expired",
)  # fmt: skip


def print_race(table: Table, database: str, how: str, fault: str, found: dict[str, Any]) -> None:
    """Print the result of a race; a race with an injected fault must fail."""
    wrong = found["faults"] + (found["answers"] != found["votes"]) + (found["votes"] == 0)
    table.row(
        database, how, fault or "none", found["votes"], found["too_many"], found["twice"],
        found["own"], found["both_halves"], found["undecided"], found["refused"], found["expired"],
        met=(wrong > 0) if fault else (wrong == 0 and not found["errors"]),
    )  # fmt: skip


def main() -> None:
    """Run the races and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--database", default="", help="only sqlite or postgresql")
    arguments = parser.parse_args()
    judges, problems, rounds = (16, 30, 1) if arguments.quick else (64, 200, 3)
    table = Table(f"A race of {judges} judges for {problems} problems", COLUMNS)
    for database in list_databases(arguments.database):
        for fault in (*[""] * rounds, "unlocked-votes"):
            with make_place(database) as where:
                how = RaceSettings(judges=judges, problems=problems, fault=fault)
                found = run_in_process(run_race, where.folder, where.database, how)
                print_race(table, database, "rules", fault, found)
    finish(table)


if __name__ == "__main__":
    main()
