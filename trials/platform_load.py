"""Each database accepts 30 writes a second from 64 simultaneous people.

    python trials/platform_load.py            60 s a database
    python trials/platform_load.py --quick    10 s, 16 people, 10 writes a second

A third of the people write twins with live checks, and the others judge; all use HTTP from this
machine, with sessions and forms. A write is an acknowledged form that is on disk.
"""

from __future__ import annotations

import argparse
import os

from crowd.load import Load, LoadResult, measure
from crowd.scenario import list_databases, make_place
from crowd.table import Table, finish, percentile

PROCESSOR = (
    "database",
    "people",
    "requests a write",
    "server, ms a write",
    "database, ms a write",
    "crowd, ms a write",
    "processor busy %",
    "of that others %",
    "writes a second per core, without the crowd",
)

LOADS = {"sqlite": (64, 30.0), "postgresql": (64, 30.0)}
"""Number of simultaneous people, and required writes per second."""

SLOWEST = {"twin": 0.5, "vote": 0.5, "local": 0.5, "claim": 0.5, "topic": 0.5, "check": 0.1}
"""Seconds within which 95 of 100 forms must be answered."""


def main() -> None:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--database", default="", help="only sqlite or postgresql")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    columns = ("database", "people", "form", "sent", "a second", "p50 ms", "p95 ms", "max ms")
    table = Table("Writes under load", columns)
    rows = []
    for database in list_databases(arguments.database):
        people, rate = (16, 10.0) if arguments.quick else LOADS[database]
        load = Load(
            people,
            rate * 1.05,
            10.0 if arguments.quick else arguments.seconds,
            workers=arguments.workers,
        )
        with make_place(database) as where:
            found = measure(where, load)
        for name, values in sorted({**found.times, "all writes": found.writes()}.items()):
            limit = SLOWEST.get(name, 0.5 if name == "all writes" else 60.0)
            reached = len(values) / found.seconds
            quick = percentile(values, 0.95) < limit
            table.row(
                database, people, name, len(values), f"{reached:.1f}",
                *(f"{1000 * percentile(values, share):.0f}" for share in (0.5, 0.95, 1.0)),
                met=quick and (name != "all writes" or reached >= rate),
            )  # fmt: skip
        for error in sorted(set(found.errors))[:5]:
            print(f"  {error}")
        table.failed += bool(found.errors)
        rows.append((database, people, found))
    shares = Table("Where the processor's time went", PROCESSOR)
    for database, people, found in rows:
        _print_shares(shares, database, people, found)
    finish(table, shares)


def _print_shares(table: Table, database: str, people: int, found: LoadResult) -> None:
    """Print the cost of a write, with its pages and checks, and the resulting capacity."""
    took, writes = found.processor, len(found.writes()) or 1
    others = max(0.0, took.all - took.server - took.database - took.crowd)
    own = (took.server + took.database) / writes
    table.row(
        database,
        people,
        f"{sum(map(len, found.times.values())) / writes:.1f}",
        *(f"{1000 * part / writes:.1f}" for part in (took.server, took.database, took.crowd)),
        f"{100 * took.all / took.wall / (os.cpu_count() or 1):.0f}",
        f"{100 * others / max(took.all, 1e-9):.0f}",
        f"{1 / own:.0f}" if own else "",
        met=True,
    )


if __name__ == "__main__":
    main()
