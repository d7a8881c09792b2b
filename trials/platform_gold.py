"""Nothing reveals a gold question before it is answered.

    python trials/platform_gold.py            2,000 gold and 2,000 others
    python trials/platform_gold.py --quick    150 of each, without milliseconds

A judge's client records references, bytes, headers, milliseconds and the order of problems, up to
each answer. A classifier is trained on each feature, and on all. The upper limit of its AUC
on held-out problems must be under 0.55 (0.65 with small counts).
"""

from __future__ import annotations

import argparse

from crowd.gold import EVERY, Observation, classify_gold, fill, judge_and_record
from crowd.scenario import list_databases, make_place, run_in_process
from crowd.server import Server
from crowd.table import Table, finish

COLUMNS = ("database", "gold", "others", "by", "numbers", "AUC", "interval")


def drop_times(found: list[Observation]) -> list[Observation]:
    """Return the observations without milliseconds, which are meaningless in small samples."""
    for one in found:
        one.seen = {name: it for name, it in one.seen.items() if not name.startswith("ms")}
    return found


def main() -> None:
    """Judge, train the classifiers, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--database", default="sqlite", help="sqlite or postgresql")
    parser.add_argument("--count", type=int, default=0, help="number of each kind")
    arguments = parser.parse_args()
    count = arguments.count or (150 if arguments.quick else 2000)
    limit = 0.65 if arguments.quick else 0.55
    table = Table(f"Gold compared with other problems, {count} of each", COLUMNS)
    for database in list_databases(arguments.database):
        with make_place(database) as where:
            judges = run_in_process(fill, where.folder, where.database, count * 3 // 4 + 50)
            rules = {"gold_every": EVERY}
            server = Server(where.folder, postgres=where.postgres, rules=rules).start()
            try:
                found = judge_and_record(server.url, judges, count)
            finally:
                server.kill()
            found = drop_times(found) if arguments.quick else found
            golds = sum(one.gold for one in found)
            for result in classify_gold(found):
                table.row(
                    database, golds, len(found) - golds, result.name, result.features,
                    f"{result.auc:.3f}", f"{result.low:.3f} to {result.high:.3f}",
                    met=result.high < limit,
                )  # fmt: skip
    finish(table)


if __name__ == "__main__":
    main()
