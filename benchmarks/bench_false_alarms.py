"""Count reports with a significant guesser, on data sets without artifacts and with planted ones.

Twins have opposite labels, flipped by whole twins before the filter runs, so that labels are
meaningless. Prints the number of sets with a guesser whose interval excludes chance: with
single intervals of ± 1.96 standard errors, and with the simultaneous ones of `debias.verify`; with
Wilson's 95 % intervals.

    python benchmarks/bench_false_alarms.py --filter mirror --sets 1000
    python benchmarks/bench_false_alarms.py --filter none --sets 80 --shift 0.6   # power
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import t

from winosmith import debias, metrics


def make_vectors(seed, twins, columns, shift):
    """Return vectors, labels, another embedder's vectors and each twin's rows; half are planted."""
    rng = np.random.default_rng([seed, 5])
    X = rng.standard_normal((2 * twins, columns))
    X += 0.5 * rng.standard_normal((twins, columns)).repeat(2, axis=0)
    Z = rng.standard_normal((2 * twins, columns)) + 0.5 * X
    y = np.tile([0, 1], twins) ^ rng.integers(0, 2, twins).repeat(2)
    planted = (rng.random(twins) < 0.5).repeat(2)
    for vectors in (X, Z):
        vectors[:, 0] += shift * planted * (2 * y - 1)
    return X, y, Z, [(row, row + 1) for row in range(0, 2 * twins, 2)]


def get_filter(name, X, y):
    """Return the filter with that name, as `debias.verify` calls it."""

    def aflite(rows):
        found = debias.aflite(
            X[rows],
            y[rows],
            train_size=debias.suggest_sizes(len(rows))[0],
            cutoff=0.2,
            threshold=0.65,
            ensemble_size=16,
            ids=rows.tolist(),
        )
        return rows[found.kept]

    def mirror(rows):
        units = np.unique(rows // 2)
        signed = (1 - 2 * y)[:, None] * X
        V = signed[2 * units] + signed[2 * units + 1]
        found = debias.mirror(V, ids=units.tolist(), aim="chance")
        return rows[np.isin(rows // 2, units[found.kept])]

    return {"aflite": aflite, "mirror": mirror, "none": lambda rows: rows}[name]


def main():
    """Make, filter and measure sets, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", choices=["aflite", "mirror", "none"], default="mirror")
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--twins", type=int, default=200)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument(
        "--shift", type=float, default=0.0, help="shift of the planted half (0: none)"
    )
    asked = parser.parse_args()
    single = simultaneous = 0
    times = t.ppf(1 - debias.LEVEL / 6, asked.draws - 1)
    for seed in range(asked.sets):
        X, y, Z, pairs = make_vectors(seed, asked.twins, asked.columns, asked.shift)
        found = debias.verify(
            X,
            y,
            get_filter(asked.filter, X, y),
            blocks=pairs,
            ids=range(len(y)),
            others={"independent": Z},
            splits=asked.splits,
            draws=asked.draws,
            seed=seed,
        )
        off = [abs(one.accuracy - one.chance) for one in found.after.values()]
        wide = [(one.high - one.low) / 2 for one in found.after.values()]
        simultaneous += any(o > w for o, w in zip(off, wide, strict=True))
        single += any(o > 1.96 * w / times for o, w in zip(off, wide, strict=True))
    for name, count in (("single", single), ("simultaneous", simultaneous)):
        low, high = metrics.wilson_interval(count, asked.sets)
        print(
            f"{name}: {count} of {asked.sets} ({count / asked.sets:.1%}, {low:.1%} to {high:.1%})"
        )


if __name__ == "__main__":
    main()
