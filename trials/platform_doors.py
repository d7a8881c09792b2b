"""No stored or displayed data give access to an account, and revoked access stays revoked.

    python trials/platform_doors.py            100 people: two log-ins and a link each
    python trials/platform_doors.py --quick    6 people

Every word in every table and in Django's admin is sent as a session cookie and as a link. People
sign up with look-alikes of existing names, and with passwords like their names.
Earlier access is tried after the password was changed or reset, or the owner logged out everywhere.
The trial must detect a site that stores sessions unprotected.
"""

from __future__ import annotations

import argparse

from crowd.doors import DoorSettings, try_doors
from crowd.scenario import list_databases, make_place, run_in_process
from crowd.table import Table, finish

OWNERS, READER = "their owners (each must get in)", "a reader of the whole database"


def main() -> None:
    """Try the doors and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--database", default="", help="only sqlite or postgresql")
    arguments = parser.parse_args()
    table = Table("Doors", ("database", "injected fault", "who tries", "attempts", "logged in"))
    for database in list_databases(arguments.database):
        for fault in ("", "clear-sessions"):
            with make_place(database) as where:
                how = DoorSettings(people=6 if arguments.quick or fault else 100, fault=fault)
                found = run_in_process(try_doors, where.folder, where.database, how)
            for who, (tries, got_in) in found.items():
                if fault and who != READER:
                    continue
                met = got_in == tries if who == OWNERS else (got_in > 0) == bool(fault)
                table.row(database, fault or "none", who, tries, got_in, met=met and tries > 0)
    finish(table)


if __name__ == "__main__":
    main()
