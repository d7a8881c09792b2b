"""During twenty minutes of load, memory and connections stay flat after the fifth minute.

    python trials/platform_soak.py            20 minutes a database
    python trials/platform_soak.py --quick    90 seconds, flat after 30

Memory is the proportional set size (PSS) of the server and its workers. It is flat if a
least-squares line through the samples rises by less than 5 % of their mean over the measured time.
The site starts with as many public problems as its association meter learns from, so that the
meter's memory does not grow with the crowd's problems.
"""

from __future__ import annotations

import argparse

from crowd.load import Load, fit_slope, measure
from crowd.scenario import list_databases, make_place
from crowd.table import Table, finish

TOLERANCE = 0.05
"""Maximum rise over the measured time, as a fraction of the mean."""

RATES = {"sqlite": 30.0, "postgresql": 50.0}
"""Writes per second on each database."""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run")
    parser.add_argument("--database", default="", help="only sqlite or postgresql")
    arguments = parser.parse_args()
    seconds, after = (90.0, 30.0) if arguments.quick else (1200.0, 300.0)
    columns = ("database", "what", "samples", "at first", "at the end", "mean", "rise", "rise %")
    table = Table(f"{seconds / 60:.1f} minutes at load, measured after {after / 60:.1f}", columns)
    for database in list_databases(arguments.database):
        rate = 8.0 if arguments.quick else RATES[database]
        with make_place(database) as where:
            problems = 2000 if arguments.quick else 30_000
            found = measure(where, Load(64, rate, seconds, problems=problems))
        samples = [sample for sample in found.samples if sample.at >= after]
        for what, value in (
            ("memory, MB", lambda sample: sample.megabytes),
            ("connections", lambda sample: float(sample.connections)),
        ):
            values = [value(sample) for sample in samples]
            mean = sum(values) / len(values)
            rise = fit_slope(samples, value) * (seconds - after) / 3600
            figures = (values[0], values[-1], mean, rise)
            table.row(
                database, what, len(values), *(f"{figure:.1f}" for figure in figures),
                f"{100 * rise / mean:.1f}", met=rise <= TOLERANCE * mean and not found.errors,
            )  # fmt: skip
        for error in sorted(set(found.errors))[:5]:
            print(f"  {error}")
    finish(table)


if __name__ == "__main__":
    main()
