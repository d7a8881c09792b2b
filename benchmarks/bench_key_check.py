"""Measure the coverage of the interval for the number of wrong keys.

In simulated sets of 2,000 items, wrong keys are ranked above sound ones with an AUROC of .90.
Perfect judges check some items (`audit.draw_check`); in some rows, 5 % of the items stay undecided.
Each row summarises 1,000 sets. Next to the exact limits is the normal interval of the
Horvitz-Thompson estimate: Σ N x/n with the variance Σ N² (1 − n/N) p (1 − p)/(n − 1), with
undecided items counted as sound.

With --data, the items are those of MMLU-Redux in the order of the audit's suspects, and the judges
decide as its experts did.

    python benchmarks/bench_key_check.py --sets 1000
    python benchmarks/bench_key_check.py --sets 300 --data $WINOSMITH_DATA/mmlu_redux
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from winosmith import Dataset, Problem, Response, answers, audit, formats, metrics

ITEMS, ABOVE = 2000, 1.8124
"""Number of items, and shift of wrong keys' ranking scores in standard deviations."""

RATES = 0.0, 0.01, 0.03, 0.10

CHECKS = (60, 0.0), (100, 0.0), (100, 0.05), (300, 0.0)
"""The number of checks, and the fraction of undecided items."""

Draw = Callable[[np.random.Generator], tuple[Sequence[audit.Suspect], set[str]]]
"""Returns the suspects, most doubtful first, and the ids of items with a wrong key."""


def simulate_judges(check: audit.KeyCheck, wrong: set[str], undecided: set[str]) -> list[Response]:
    """Return the answers of three judges who are always correct, or all disagree."""
    return [
        Response(
            item.asked, judge, "test", None if item.id in undecided else
            (item.key + (item.id in wrong)) % len(item.options),
            ambiguous=item.id in undecided,
        )
        for item in {item.asked: item for item in check.items}.values()
        for judge in "xyz"
    ]  # fmt: skip


def compute_normal_interval(found: audit.WrongKeys) -> tuple[float, float]:
    """Return the normal interval of the Horvitz-Thompson estimate."""
    total = variance = 0.0
    for one in found.strata:
        share = one.wrong / one.checked
        total += one.items * share
        if one.checked < one.items:
            unseen = 1 - one.checked / one.items
            variance += one.items**2 * unseen * share * (1 - share) / (one.checked - 1)
    return total - 1.96 * variance**0.5, total + 1.96 * variance**0.5


def measure(data: Dataset, draw: Draw, n: int, undecided: float, sets: int, name: str) -> None:
    """Print the coverage of both intervals, and the mean limits of the exact one."""
    inside, of_normal, limits = 0, 0, []
    for seed in range(sets):
        rng = np.random.default_rng([seed, n])
        suspects, wrong = draw(rng)
        check = audit.draw_check(data, suspects, n, seed=seed)
        unsure = {item.id for item in check.items if rng.random() < undecided}
        found = audit.estimate_wrong_keys(check, simulate_judges(check, wrong, unsure))
        low, high = compute_normal_interval(found)
        inside += found.limits[0] <= len(wrong) <= found.limits[1]
        of_normal += low <= len(wrong) <= high
        limits.append(found.limits)
    low, high = (100 * end for end in metrics.wilson_interval(inside, sets))
    least, most = np.mean(limits, axis=0)
    print(
        f"| {name} | {n} | {100 * undecided:.0f} % | "
        f"{100 * inside / sets:.1f} % ({low:.1f}–{high:.1f}) | "
        f"{least:,.0f} to {most:,.0f} | {100 * of_normal / sets:.1f} % |",
        flush=True,
    )


def make_items() -> Dataset:
    """Return items with two options."""
    return Dataset(
        Problem(f"q{at}", f"What is number {at}? _", (f"a{at}", f"b{at}"), 0) for at in range(ITEMS)
    )


def make_draw(data: Dataset, rate: float) -> Draw:
    """Return a function that draws wrong keys and their ranks."""

    def draw(rng: np.random.Generator) -> tuple[Sequence[audit.Suspect], set[str]]:
        wrong = rng.permutation(ITEMS) < round(rate * ITEMS)
        order = np.argsort(-(rng.standard_normal(ITEMS) + ABOVE * wrong))
        suspects = [audit.Suspect(data[at].id, 1, 1.0, 3) for at in order[:200].tolist()]
        return suspects, {data[at].id for at in np.flatnonzero(wrong).tolist()}

    return draw


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--data", type=Path)
    asked = parser.parse_args()
    print("| wrong keys | checks | undecided | coverage | mean limits | normal |\n"
          "|:--|--:|--:|--:|--:|--:|")  # fmt: skip
    if asked.data is not None:
        items = formats.scan(asked.data / "items.jsonl").items
        data = Dataset(item for item in items if isinstance(item, Problem))
        records = (asked.data / "items.jsonl").read_text("utf-8").split("\n")[:-1]
        marks = {one["id"]: one["error_type"] for one in map(json.loads, records)}
        wrong = {name for name in data.ids if marks[name] == "wrong_groundtruth"}
        given = answers.read([asked.data / "answers.csv"], data)
        suspects = audit.triage(audit.Items.from_dataset(data), given).suspects
        for n, undecided in CHECKS:
            name = f"{len(wrong)} of {len(data):,}"
            measure(data, lambda _: (suspects, wrong), n, undecided, asked.sets, name)
        return
    data = make_items()
    for rate in RATES:
        for n, undecided in CHECKS:
            of = f"{round(rate * ITEMS)} of {ITEMS:,}"
            measure(data, make_draw(data, rate), n, undecided, asked.sets, of)


if __name__ == "__main__":
    main()
