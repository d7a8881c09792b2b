"""Each commit is on disk before its response is sent.

    python trials/platform_sync.py            50 twins and 50 votes on each database
    python trials/platform_sync.py --quick    5 of each

strace watches a real server and its database (`crowd/syncs.py`). The trial must detect sites that
sync too late or never: SQLite with synchronous=OFF or NORMAL, PostgreSQL with
synchronous_commit=off.
"""

from __future__ import annotations

import argparse

from crowd.scenario import list_databases, make_place
from crowd.syncs import Answer, can_watch, observe_answers
from crowd.table import Table, finish

FAULTS = {
    "sqlite": (("unsynced", {}), ("normal-sync", {})),
    "postgresql": (("", {"synchronous_commit": "off", "wal_writer_delay": "10s"}),),
}
"""Injected faults: one of `crowd.careless.FAULTS`, and settings of PostgreSQL."""

COLUMNS = ("database", "injected fault", "kind", "answers", "writes before", "syncs before",
           "answered too early")  # fmt: skip


def print_answers(table: Table, database: str, fault: str, answers: list[Answer]) -> None:
    """Print the results for twins and for votes."""
    for kind in ("twin", "vote"):
        found = [answer for answer in answers if answer.kind == kind and answer.done]
        early = sum(not answer.safe for answer in found)
        written, synced = (
            sum(getattr(one, what) for one in found) for what in ("written", "synced")
        )
        table.row(
            database, fault or "none", kind, len(found), written, synced, early,
            met=len(found) > 0 and (early > 0 if fault else early == 0),
        )  # fmt: skip


def main() -> None:
    """Watch sites and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--database", default="", help="only sqlite or postgresql")
    arguments = parser.parse_args()
    if not can_watch():
        parser.error("this needs strace, and the right to look at other processes")
    count = 5 if arguments.quick else 50
    table = Table(f"{count} twins and {count} votes under strace", COLUMNS)
    for database in list_databases(arguments.database):
        for fault, settings in (("", {}), *FAULTS[database]):
            with make_place(database, **settings) as where:
                wrong = fault or ", ".join(f"{name}={value}" for name, value in settings.items())
                print_answers(
                    table, database, wrong, observe_answers(where, count=count, fault=fault)
                )
    finish(table)


if __name__ == "__main__":
    main()
