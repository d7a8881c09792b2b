"""Compare mirror and AFLite on real twins, across separately filtered halves.

In real data, the artifacts are unknown. Therefore, each filter runs on halves of the blocks, and
`debias.verify` trains guessers on the kept problems of one half and tests them on the other. AFLite
runs with the paper's fractions to its own end, and to the size that mirror's aim "chance" keeps in
the same half.

    python benchmarks/bench_mirror_real.py --data $WINOSMITH_DATA/winogrande/train_xl.jsonl
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

from winosmith import blocks, debias, embed, formats

MIRROR = {
    "mirror, error 0.1": {"aim": "error", "error": 0.1},
    "mirror, error 0.2": {"aim": "error", "error": 0.2},
    "mirror, chance": {"aim": "chance"},
}


def filter_with_mirror(pool, X, rows, how):
    """Return the given rows that mirror keeps if it sees only these rows."""
    units = debias.make_twin_units(pool.select(rows.tolist()), X[rows])
    found = debias.mirror(units.V, blocks=units.blocks, kinds=units.kinds, ids=units.ids, **how)
    return rows[units.get_rows(found.kept)]


def filter_with_aflite(pool, X, y, rows, size=None):
    """Return the given rows that AFLite keeps with the paper's fractions, down to a size."""
    m, k = debias.suggest_sizes(len(rows))
    ids = [pool.ids[row] for row in rows]
    found = debias.aflite(X[rows], y[rows], train_size=m, cutoff=k, ids=ids, target_size=size)
    return rows[found.kept]


def count_whole_twins(pool, kept):
    """Return the number of whole twins among the kept rows, and of twins with a kept row."""
    there = set(kept.tolist())
    twins = [[row in there for row in twin] for twin in pool.twins]
    return sum(map(all, twins)), sum(map(any, twins))


def parse_arguments(parser):
    """Parse the arguments; exit with a message if the file of twins is missing."""
    folder = os.environ.get("WINOSMITH_DATA")
    published = Path(folder) / "winogrande" / "train_xl.jsonl" if folder else None
    parser.add_argument("--data", default=published, help="file of twins (default: train_xl)")
    asked = parser.parse_args()
    if asked.data is None:
        parser.exit(0, "Neither --data nor WINOSMITH_DATA names twins; nothing was measured\n")
    return asked


def main():
    """Filter and measure twins, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    asked = parse_arguments(parser)
    pool = formats.read(asked.data)
    X, y, sizes = embed.LightEmbedder().embed(pool), debias.get_problem_labels(pool), {}
    independent = embed.HashedEmbedder().embed(pool)

    def chance(rows):
        kept = filter_with_mirror(pool, X, rows, MIRROR["mirror, chance"])
        sizes[rows.tobytes()] = len(kept)
        return kept

    ways = {
        "nothing": lambda rows: rows,
        **{
            name: lambda rows, how=how: filter_with_mirror(pool, X, rows, how)
            for name, how in MIRROR.items()
            if name != "mirror, chance"
        },
        "mirror, chance": chance,
        "AFLite, as many": lambda rows: filter_with_aflite(pool, X, y, rows, sizes[rows.tobytes()]),
        "AFLite, its own end": lambda rows: filter_with_aflite(pool, X, y, rows),
    }
    print(f"{len(pool):,} problems, {len(pool.twins):,} twins, {asked.splits} splits both ways\n")
    print("| filter | kept | whole twins | own vectors | two-piece | independent | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name, way in ways.items():
        spent, twins = [], []

        def timed(rows, way=way, spent=spent, twins=twins):
            started = time.perf_counter()
            kept = way(rows)
            spent.append(time.perf_counter() - started)
            twins.append(count_whole_twins(pool, kept))
            return kept

        found = debias.verify(
            X, y, timed, blocks=blocks.find_blocks(pool), ids=pool.ids,
            others={"independent": independent}, splits=asked.splits,
        )  # fmt: skip
        cells = [
            f"{guess.accuracy:.1%} ({guess.low:.1%}–{guess.high:.1%})"
            for guess in found.after.values()
        ]
        share = np.mean([both / some for both, some in twins])
        print(
            f"| {name} | {found.kept:.1%} | {share:.1%} | {' | '.join(cells)} "
            f"| {np.mean(spent):.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
