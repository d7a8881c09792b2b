"""Nobody can read a twin's answer while one half is being judged.

    python trials/platform_answers.py            100 twins, on both databases
    python trials/platform_answers.py --quick    10 twins

After each vote, an observer without an account opens the page of the other half, and searches the
download for it. The trial must detect a site that publishes each half as soon as it is valid.
"""

from __future__ import annotations

import argparse

from crowd.onlooker import observe_site
from crowd.scenario import list_databases, make_place, run_in_process
from crowd.table import Table, finish

COLUMNS = (
    "database", "days of waiting", "votes", "public in the end",
    "answers in the download before", "pages before",
)  # fmt: skip


def main() -> None:
    """Observe the sites, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--database", default="", help="only sqlite or postgresql")
    arguments = parser.parse_args()
    twins = 10 if arguments.quick else 100
    table = Table(f"{twins} twins are judged while somebody looks on", COLUMNS)
    for database in list_databases(arguments.database):
        for days in (14, 0):
            with make_place(database) as where:
                found = run_in_process(
                    observe_site, where.folder, where.database, 2 * twins, wait_days=days
                )
            read = found["answers_read"] + found["pages_read"]
            table.row(
                database, days, found["votes"], found["public"], found["answers_read"],
                found["pages_read"],
                met=bool(found["public"]) and (read == 0 if days else read > 0),
            )  # fmt: skip
    finish(table)


if __name__ == "__main__":
    main()
