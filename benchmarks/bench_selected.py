"""Compare cross-validation within the kept problems with accuracy across filtered halves.

Cross-validation within the problems that AFLite kept tests problems that were selected by their
answers. Prints its accuracy, the median accuracy if the answers of whole blocks are flipped before
the filter runs (so that there are no artifacts), and the result of `debias.verify`. A second table
shows, for each split, the accuracy within the halves next to the accuracy across them.

    python benchmarks/bench_selected.py --data $WINOSMITH_DATA/winogrande/train_xl.jsonl --flips 3
    python benchmarks/bench_selected.py          # practice twins, half of them planted
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from winosmith import blocks, debias, embed, formats, practice


def filter_rows(X, y, ids, rows):
    """Return the given rows that AFLite keeps with the paper's fractions."""
    train_size, cutoff = debias.suggest_sizes(len(rows))
    named = [ids[row] for row in rows]
    found = debias.aflite(X[rows], y[rows], train_size=train_size, cutoff=cutoff, ids=named)
    return rows[found.kept]


def cross_validate(X, y, kept, groups):
    """Return the cross-validated accuracy within the kept problems."""
    inside = {row: place for place, row in enumerate(kept.tolist())}
    held = [[inside[row] for row in group if row in inside] for group in groups]
    return debias.probe(X[kept], y[kept], [group for group in held if group]).accuracy


def print_accuracies(X, y, pool, groups, filtered, splits):
    """Print the accuracy within each half, and across the separately filtered halves.

    The numbers are the mean (minimum to maximum) over the splits; each split's value is the mean
    over both halves.
    """
    own, other, shares = [], [], []
    for split in range(splits):
        kept = []

        def keep(rows, kept=kept):
            kept.append(filtered(rows))
            return kept[-1]

        found = debias.verify(
            X, y, keep, blocks=groups, ids=pool.ids, splits=1, seed=split, draws=20
        )
        own.append(np.mean([cross_validate(X, y, rows, groups) for rows in kept]))
        other.append(found.after[debias.LINEAR].accuracy)
        shares.append(found.kept)
    cells = [f"{np.mean(x):.1%} ({min(x):.1%} to {max(x):.1%})" for x in (own, other)]
    print(f"| keeps {np.mean(shares):.1%} | {' | '.join(cells)} |", flush=True)


def main():
    """Filter and measure problems, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="file of problems (default: practice twins)")
    parser.add_argument("--twins", type=int, default=1400, help="number of practice twins")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--flips", type=int, default=9, help="number of draws of random labels")
    asked = parser.parse_args()
    started = time.monotonic()
    pool = formats.read(asked.data) if asked.data else practice.generate_corpus(asked.twins).dataset
    X, y = embed.LightEmbedder().embed(pool), debias.get_problem_labels(pool)
    groups, rows = blocks.find_blocks(pool), np.arange(len(pool))
    old = cross_validate(X, y, filter_rows(X, y, pool.ids, rows), groups)
    nothing = []
    for flip in range(asked.flips):
        turned = y.copy()
        coin = np.random.default_rng(flip).integers(0, 2, len(groups))
        for group, up in zip(groups, coin, strict=True):
            turned[list(group)] ^= up
        nothing.append(cross_validate(X, turned, filter_rows(X, turned, pool.ids, rows), groups))
    found = debias.verify(
        X,
        y,
        lambda half: filter_rows(X, y, pool.ids, half),
        blocks=groups,
        ids=pool.ids,
        others={"independent": embed.HashedEmbedder().embed(pool)},
        splits=asked.splits,
    )
    print(f"{len(pool):,} problems, {asked.splits} splits, AFLite keeps {found.kept:.1%} of a half")
    print(f"cross-validated: {old:.1%}; {np.median(nothing):.1%} with flipped answers")
    print("| across halves | before | after |\n|---|---|---|")
    for name, before in found.before.items():
        cells = (
            f"{g.accuracy:.1%} ({g.low:.1%} to {g.high:.1%})" for g in (before, found.after[name])
        )
        print(f"| {name} | {' | '.join(cells)} |")
    print("\n| half | within the half | across the separately filtered halves |\n|---|---|---|")
    print_accuracies(X, y, pool, groups, lambda half: half, asked.splits)
    print_accuracies(
        X, y, pool, groups, lambda half: filter_rows(X, y, pool.ids, half), asked.splits
    )
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
