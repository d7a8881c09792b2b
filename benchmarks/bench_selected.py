"""What is guessed of what AFLite kept: told of itself, and from a half that was filtered apart.

The blocks of a data set are dealt to two halves. AFLite runs on each alone; a linear model without
an intercept is then cross-validated on what it kept of a half, and one that is trained on what it
kept of one half is asked what it kept of the other. The first figure is of problems selected by
their own answers. Prints both, and the same of the halves as they were, over several splits.

    python benchmarks/bench_selected.py --data $WINOSMITH_DATA/winogrande/train_xl.jsonl --splits 2
    python benchmarks/bench_selected.py --splits 4          # practice twins, half of them planted
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from winosmith import blocks, build, debias, embed, formats, practice


def kept_of(pool, X, rows, seed):
    """Return those of the rows that AFLite keeps when it sees no others."""
    half = pool.select(rows)
    return rows[build.run_filter(half, X[rows], build.FilterRecipe(), seed=seed).kept]


def itself(X, y, rows, groups, seed):
    """Return what is guessed of the rows by cross-validation among them."""
    inside = {row: place for place, row in enumerate(rows.tolist())}
    held = [[inside[row] for row in group if row in inside] for group in groups]
    return debias.probe(X[rows], y[rows], [group for group in held if group], seed=seed).accuracy


def main():
    """Filter halves, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="a file of problems; practice twins without it")
    parser.add_argument("--twins", type=int, default=3000, help="practice twins")
    parser.add_argument("--splits", type=int, default=4)
    asked = parser.parse_args()
    started = time.monotonic()
    pool = formats.read(asked.data) if asked.data else practice.corpus(asked.twins).dataset
    X = embed.LightEmbedder().embed(pool)
    y = debias.problem_labels(pool)
    groups = blocks.blocks(pool)
    figures = {"nothing removed": [], "AFLite": []}
    sizes = []
    for split in range(asked.splits):
        side = np.random.default_rng(split).permutation(len(groups)) % 2
        halves = [
            np.array(sorted(row for group, at in zip(groups, side, strict=True) if at == half
                            for row in group))
            for half in (0, 1)
        ]  # fmt: skip
        kept = [kept_of(pool, X, rows, split) for rows in halves]
        sizes.append(sum(map(len, kept)) / len(pool))
        for name, (one, other) in (("nothing removed", halves), ("AFLite", kept)):
            for train, test in ((one, other), (other, one)):
                apart = debias.probe_across(X, y, train, test, groups).accuracy
                figures[name].append((itself(X, y, test, groups, split), apart))
    print(f"{len(pool):,} problems, {asked.splits} splits, AFLite keeps {np.mean(sizes):.1%}")
    print("| | told of itself | from the half filtered apart |\n|---|---|---|")
    for name, found in figures.items():
        means, low, high = (of(found, axis=0) for of in (np.mean, np.min, np.max))
        cells = (f"{m:.1%} ({a:.1%} to {b:.1%})" for m, a, b in zip(means, low, high, strict=True))
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
