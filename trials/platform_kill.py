"""No acknowledged write is lost or applied twice if a site is killed.

    python trials/platform_kill.py            200 kills on each database, also with injected faults
    python trials/platform_kill.py --quick    8 kills

People write, judge and moderate over HTTP; forms are sent twice at the same time, and again after
each failure, with their keys. Meanwhile, workers, the whole server and the database are killed
(kill -9). With the database, the power is cut: unsynced writes are lost, partly or completely.
Afterwards, every acknowledged write is looked up. The trial fails if no process was killed.

The trial must detect sites with an injected fault: SQLite without syncs (synchronous=OFF) or with
syncs only at checkpoints (NORMAL), PostgreSQL with synchronous_commit=off, forms whose keys are
checked first and stored last.
"""

from __future__ import annotations

import argparse

from crowd.killing import Outcome, Plan, torture_site
from crowd.powercut import can_simulate
from crowd.scenario import list_databases, make_place
from crowd.table import Table, finish

FAULTS = {
    "sqlite": (("unsynced", {}), ("normal-sync", {}), ("forgetful-forms", {})),
    "postgresql": (("", {"synchronous_commit": "off"}), ("forgetful-forms", {})),
}
"""Injected faults: one of `crowd.careless.FAULTS`, and settings of PostgreSQL."""

COLUMNS = (
    "database", "injected fault", "workers", "servers", "power cuts", "processes killed",
    "writes not synced", "of them lost", "acknowledged", "sent again", "missing", "twice",
    "other votes", "votes against the rules",
)  # fmt: skip


def print_outcome(table: Table, database: str, fault: str, found: Outcome) -> None:
    """Print the result for a site."""
    table.row(
        database, fault or "none", found.kills["worker"], found.kills["server"],
        found.kills["power"], found.killed, found.unsynced, found.lost_writes,
        found.acknowledged, found.unanswered,
        found.missing if not found.destroyed else "unreadable", found.twice, found.otherwise,
        found.vote_faults,
        met=bool(found.data_faults) if fault else not found.faults and found.acknowledged > 0,
    )  # fmt: skip
    for error in [*found.errors, *filter(None, [found.destroyed])] if not fault else ():
        print(f"  {' '.join(error.split())[:300]}")


def main() -> None:
    """Kill sites under load, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--database", default="", help="only sqlite or postgresql")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if not can_simulate():
        parser.error("power cuts need Linux and gcc")
    kills = 8 if arguments.quick else 200
    table = Table(f"{kills} kills under load", COLUMNS)
    for database in list_databases(arguments.database):
        for fault, settings in (("", {}), *FAULTS[database]):
            with make_place(database, cut=True, **settings) as where:
                count = min(kills, 40) if fault or settings else kills
                plan = Plan(kills=count, fault=fault, seed=arguments.seed)
                wrong = fault or ", ".join(f"{name}={value}" for name, value in settings.items())
                print_outcome(table, database, wrong, torture_site(where, plan))
    finish(table)


if __name__ == "__main__":
    main()
