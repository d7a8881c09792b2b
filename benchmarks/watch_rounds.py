"""Print the effect of filtering over several simulated rounds.

Runs `simulated_rounds.simulate` for several seeds and prints a table of means with minimum and
maximum; with --svg writes the charts of the docs.

    python benchmarks/watch_rounds.py --seeds 20 --svg docs/images
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import simulated_rounds
from curves import draw_curves

LABELS = {"aflite": "AFLite", "random": "random", "none": "no filter"}

FIGURES = {
    "linear": ("Linear model on the newest problems", lambda f: f.accuracy.get("linear")),
    "word pairs": ("Word pairs on the newest problems", lambda f: f.accuracy.get("word pairs")),
    "human": ("New judges agree with the newest problems", lambda f: f.human),
    "mislabelled": ("Released with a wrong answer", lambda f: f.mislabelled),
    "recall": ("Planted problems that were removed", lambda f: f.recall.value),
    "false": ("Sound problems that were removed", lambda f: f.false_removals.value),
}

DRAWN = ("linear", "human", "recall", "false")


def main():
    """Simulate rounds, print the table and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--twins", type=int, default=400, help="twins written per round")
    parser.add_argument("--strength", type=float, default=0.5)
    parser.add_argument("--mislabelled", type=float, default=0.04)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--svg", type=Path, help="folder of the figures")
    asked = parser.parse_args()
    simulated = partial(
        simulated_rounds.simulate,
        rounds=asked.rounds,
        twins=asked.twins,
        strength=asked.strength,
        mislabelled=asked.mislabelled,
    )
    started = time.monotonic()
    with ProcessPoolExecutor(asked.workers) as executor:
        found = [f for run in executor.map(simulated, range(asked.seeds)) for f in run]
    cells = {
        (arm, number): {
            name: summarize_values([read(f) for f in found if (f.arm, f.number) == (arm, number)])
            for name, (_, read) in FIGURES.items()
        }
        for number in range(1, asked.rounds + 1)
        for arm in simulated_rounds.ARMS
    }
    print(
        f"{asked.seeds} seeds, {asked.rounds} rounds of {asked.twins} twins, "
        f"{asked.strength:.0%} planted, {asked.mislabelled:.0%} wrong, in "
        f"{time.monotonic() - started:.0f} s: mean (least to greatest)\n"
    )
    print("| round | release | " + " | ".join(title for title, _ in FIGURES.values()) + " |")
    print("|---" * (len(FIGURES) + 2) + "|")
    for (arm, number), figures in cells.items():
        parts = [
            "—" if s is None else f"{s[0]:.1%} ({s[1]:.1%}–{s[2]:.1%})" for s in figures.values()
        ]
        print(f"| {number} | {LABELS[arm]} | " + " | ".join(parts) + " |")
    if asked.svg:
        draw_figures(cells, asked.rounds, asked.svg)


def summarize_values(values):
    """Return mean, minimum and maximum; None if there are no values."""
    known = [value for value in values if value is not None]
    return (np.mean(known), min(known), max(known)) if known else None


def draw_figures(cells, count, folder):
    """Write the figures that the docs show."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in DRAWN:
        lines = {}
        for arm in simulated_rounds.ARMS:
            lines[LABELS[arm]] = [cells[arm, n][name] or (np.nan,) * 3 for n in range(1, count + 1)]
        title = FIGURES[name][0]
        svg = draw_curves(list(range(1, count + 1)), lines, title=title, x="round", y="share")
        (folder / f"rounds-{name}.svg").write_text(svg.markup, "utf-8")


if __name__ == "__main__":
    main()
