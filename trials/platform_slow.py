"""With 500 clients that send or read a byte per second, other clients' p95 stays under a second.

    python trials/platform_slow.py            500 slow clients, 20 s each
    python trials/platform_slow.py --quick    60 slow clients, 5 s each

They send headers or bodies, or read a file, a byte per second, and reconnect when disconnected.
Twelve other clients open pages, write twins and judge. The trial runs directly, and behind Caddy
and nginx (if installed) as configured in docs/how-to/serve.md.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from crowd.scenario import make_place
from crowd.slow import DOORS, KINDS, Slowness, available, open_door, serve_site, time_others
from crowd.table import Table, finish, percentile

COLUMNS = (
    "database", "door", "slow", "clients", "connected at the end", "requests of others",
    "unanswered",
    "p50 ms", "p95 ms", "max ms",
)  # fmt: skip

SLOWEST = 1.0
"""Seconds within which 95 of 100 requests of others must be answered."""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--database", default="sqlite", help="sqlite or postgresql")
    parser.add_argument("--door", default="", help=f"only one of {', '.join(DOORS)}")
    parser.add_argument("--kind", default="", help=f"only one of {', '.join(KINDS)}")
    arguments = parser.parse_args()
    how = Slowness(clients=60, people=6, seconds=5, warm=3) if arguments.quick else Slowness()
    doors = (arguments.door,) if arguments.door else tuple(filter(available, DOORS))
    table = Table(f"{how.clients} slow clients", COLUMNS)
    for name in doors:
        with (
            make_place(arguments.database) as where,
            serve_site(where, how) as site,
            open_door(name, site) as url,
        ):
            for kind in (arguments.kind,) if arguments.kind else KINDS:
                found = time_others(url, site.people, replace(how, kind=kind))
                times = found.times
                table.row(
                    arguments.database, name, kind, how.clients, found.held, len(times),
                    found.unanswered,
                    *(f"{1000 * percentile(times, share):.0f}" for share in (0.5, 0.95, 1.0)),
                    met=percentile(times, 0.95) < SLOWEST and found.unanswered == 0 < len(times),
                )  # fmt: skip
                for error in sorted(set(found.errors))[:5]:
                    print(f"  {error}")
    finish(table)


if __name__ == "__main__":
    main()
