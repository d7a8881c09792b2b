"""Among a million problems, the next one to judge is found within 50 ms; pages within 500 ms.

    python trials/platform_queue.py            1,000,000 problems on each database
    python trials/platform_queue.py --quick    20,000

A claim is timed from the rule's call to its commit; a page, in the process that serves it.
"""

from __future__ import annotations

import argparse

from crowd.queue import fill_and_time
from crowd.scenario import list_databases, make_place, run_in_process
from crowd.table import Table, finish, percentile

CLAIM, PAGE = 0.05, 0.5
"""Maximum p95 of claims and of pages, in seconds."""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--database", default="", help="only sqlite or postgresql")
    parser.add_argument("--problems", type=int, default=1_000_000)
    arguments = parser.parse_args()
    problems, times = (20_000, 20) if arguments.quick else (arguments.problems, 200)
    columns = ("database", "what", "times", "p50 ms", "p95 ms", "max ms")
    table = Table(f"What {problems:,} problems cost", columns)
    for database in list_databases(arguments.database):
        with make_place(database) as where:
            found = run_in_process(fill_and_time, where.folder, where.database, problems, times)
        filled, size = found.pop("filled"), found.pop("size")
        for what, seconds in found.items():
            p50, p95, worst = (1000 * percentile(seconds, share) for share in (0.5, 0.95, 1.0))
            met = p95 < 1000 * (CLAIM if what.startswith("claim") else PAGE)
            table.row(
                database, what, len(seconds), f"{p50:.1f}", f"{p95:.1f}", f"{worst:.1f}", met=met
            )
        print(f"  {database}: filled in {filled:.0f} s, {size:.2f} GB")
    finish(table)


if __name__ == "__main__":
    main()
