"""Jobs: pages and live predictions stay fast while the worker runs an import and a round.

    python trials/platform_jobs.py            an import of 40,000 problems, a round of 2,000
    python trials/platform_jobs.py --quick    an import of 2,000 problems, a round of 200

Four admins open pages and four people perturb sentences until both jobs have ended.
"""

from __future__ import annotations

import argparse

from crowd.jobs import measure
from crowd.scenario import list_databases, make_place
from crowd.table import Table, finish, percentile

SLOWEST_PAGE, SLOWEST_PREDICTION = 0.5, 2.0
"""Seconds within which 95 of 100 pages are answered, and 95 of 100 predictions are shown."""


def main() -> None:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--database", default="", help="sqlite or postgresql; both by default")
    parser.add_argument("--workers", type=int, default=2, help="number of server processes")
    args = parser.parse_args()
    imported, public = (2_000, 200) if args.quick else (40_000, 2_000)
    rows: list[tuple[object, ...]] = []
    jobs = Table("Jobs", ("database", "job", "problems", "seconds"))
    for database in list_databases(args.database):
        with make_place(database) as where:
            found = measure(where, imported=imported, public=public, workers=args.workers)
        for name, size in (("import", imported), ("round", public)):
            seconds = found.jobs.get(name)
            jobs.row(database, name, size, seconds and round(seconds), met=seconds is not None)
        pages = [value for values in found.pages.values() for value in values]
        timed = {**found.pages, "all pages": pages, "predictions": found.predictions}
        rows += [(database, name, values, not found.errors) for name, values in timed.items()]
        for error in sorted(set(found.errors))[:5]:
            print(f"  {error}")
    columns = ("database", "what", "requests", "p50 ms", "p95 ms", "max ms")
    times = Table("Pages and predictions while both jobs run", columns)
    for database, name, values, is_sound in rows:
        limit = SLOWEST_PREDICTION if name == "predictions" else SLOWEST_PAGE
        figures = [percentile(values, fraction) for fraction in (0.5, 0.95, 1.0)]
        met = is_sound and bool(values) and figures[1] <= limit
        times.row(
            database, name, len(values), *(f"{1000 * seconds:.0f}" for seconds in figures), met=met
        )
    finish(jobs, times)


if __name__ == "__main__":
    main()
