"""How long does a round take, and which step?

A practice corpus with the votes of its crowd goes through `winosmith.rounds.run_round` with the
light embedder and three reference solvers, then again from what was stored. Prints seconds for each
step, and the peak memory of the process.

    python benchmarks/bench_round.py --problems 10000
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from winosmith import formats, practice, rounds, validate

SOLVERS = [
    {"name": "words", "solver": "association", "learn": True},
    {"name": "hunting", "solver": "hunting"},
    {"name": "chance", "solver": "random"},
]


def main():
    """Write a pool, run a round, run it again, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=10_000)
    asked = parser.parse_args()
    seconds = {}

    @contextmanager
    def step(title, total):
        started = time.monotonic()
        yield lambda done, note: None
        seconds[title] = seconds.get(title, 0.0) + time.monotonic() - started

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = practice.corpus(asked.problems // 2, seed=1)
        formats.write(made.dataset.problems, folder / "pool.jsonl")
        validate.write_votes(made.votes, folder / "votes.csv")
        recipe = rounds.round_of(
            {"name": "bench", "data": "pool.jsonl", "votes_file": "votes.csv", "solvers": SOLVERS},
            folder=folder,
        )
        started = time.monotonic()
        found = rounds.run_round(recipe, folder / "round", step=step)
        whole = time.monotonic() - started
        started = time.monotonic()
        again = rounds.run_round(recipe, folder / "again", stored=found.folder)
        stored = time.monotonic() - started
        same = not rounds.differing(found.folder, again.folder)
    print(f"{asked.problems:,} problems collected, {found.record['build']['kept']:,} kept\n")
    print("| step | seconds |\n|---|---|")
    for title, spent in seconds.items():
        print(f"| {title} | {spent:.1f} |")
    print(f"| **the whole round** | **{whole:.1f}** |")
    print(f"| again, from its vectors and predictions | {stored:.1f} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nthe same bytes: {'yes' if same else 'NO'}; peak memory {peak:,.0f} MB")


if __name__ == "__main__":
    main()
