"""Twenty minutes at load: memory and connections are flat after the fifth minute.

    python trials/platform_soak.py            20 minutes a database
    python trials/platform_soak.py --quick    90 seconds, flat after 30

Memory is the proportional share (PSS) of the server and its workers. Flat: a line fitted by least
squares through the samples rises by less than 5 % of their mean over the time that is measured.
The site has as many public problems from the start as its association meter learns from, so that
what is held for them does not grow with what the crowd adds.
"""

from __future__ import annotations

import argparse

from crowd.load import Load, measure, slope
from crowd.scenario import databases, place
from crowd.table import Table, end

TOLERANCE = 0.05
"""The rise over the measured time, as a share of the mean, that is still flat."""

RATES = {"sqlite": 30.0, "postgresql": 50.0}
"""Writes a second: half of what the load trial asks for."""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run")
    parser.add_argument("--database", default="", help="sqlite or postgresql alone")
    asked = parser.parse_args()
    seconds, after = (90.0, 30.0) if asked.quick else (1200.0, 300.0)
    columns = ("database", "what", "samples", "at first", "at the end", "mean", "rise", "rise %")
    table = Table(f"{seconds / 60:.1f} minutes at load, measured after {after / 60:.1f}", columns)
    for database in databases(asked.database):
        rate = 8.0 if asked.quick else RATES[database]
        with place(database) as where:
            problems = 2000 if asked.quick else 30_000
            found = measure(where, Load(64, rate, seconds, problems=problems, learnt=True))
        samples = [sample for sample in found.samples if sample.at >= after]
        for what, value in (
            ("memory, MB", lambda sample: sample.megabytes),
            ("connections", lambda sample: float(sample.connections)),
        ):
            values = [value(sample) for sample in samples]
            mean = sum(values) / len(values)
            rise = slope(samples, value) * (seconds - after) / 3600
            figures = (values[0], values[-1], mean, rise)
            table.row(
                database, what, len(values), *(f"{figure:.1f}" for figure in figures),
                f"{100 * rise / mean:.1f}", met=rise <= TOLERANCE * mean and not found.errors,
            )  # fmt: skip
        for error in sorted(set(found.errors))[:5]:
            print(f"  {error}")
    end(table)


if __name__ == "__main__":
    main()
