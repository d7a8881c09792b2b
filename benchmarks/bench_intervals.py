"""How often do intervals of shares hold what is true, and how wide are they, with few clusters?

Cases in clusters (twins, families, people) are drawn from beta-binomials of a known share and
intraclass correlation. For each setting: how often a 95 % interval holds the true share, and its
mean width, for

- ours: `winosmith.metrics.proportion`: the design effect with two added clusters of the mean size;
- root: the same with the added clusters as large as the root of the mean size;
- bare: the same without them (but where all or none are right);
- jackknife: the share of all but one cluster at a time (CR3), on the logit, Student's t with G − 1.

What it shows (600 draws): with few large clusters `ours` holds the truth nearly always, at two to
six times the width of the others; `bare` falls to 89 % where right answers are common and clusters
differ, `jackknife` to 91 %, elsewhere both are near 95 %; `root` stays at 94 % or more, at half the
width of `ours`. From some 50 clusters of a few cases on, all four are nearly the same.

    python benchmarks/bench_intervals.py --draws 600
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import t

from winosmith.metrics import proportion

SETTINGS = [(3, 100), (5, 50), (5, 200), (10, 50), (20, 50), (20, 10), (50, 4)]
SHARES, CORRELATIONS = (0.6, 0.9), (0.0, 0.02, 0.2)


def wilson(p, n):
    z = 1.959963984540054
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return middle - half, middle + half


def with_added(y, labels, size):
    """Return the interval with two added clusters of a size, one all right and one all wrong."""
    n, clusters = len(y), labels.max() + 1
    p = (y.sum() + size) / (n + 2 * size)
    errors = y - p
    extra = p**2 + (1 - p) ** 2
    alone = errors @ errors + size * extra
    together = (np.bincount(labels, errors) ** 2).sum() + size * mean_size(labels) * extra
    effect = max(1.0, together / alone)
    few = t.ppf(0.975, n - 1) / t.ppf(0.975, clusters - 1)
    return wilson(y.mean(), n / effect * few**2)


def mean_size(labels):
    sizes = np.bincount(labels).astype(float)
    return float((sizes**2).sum() / len(labels))


def ours(y, labels):
    return proportion(y, labels).interval


def root(y, labels):
    return with_added(y, labels, np.sqrt(mean_size(labels)))


def bare(y, labels):
    return with_added(y, labels, mean_size(labels) if y.mean() in (0, 1) else 0)


def jackknife(y, labels):
    p, clusters = y.mean(), labels.max() + 1
    if p in (0, 1):
        return bare(y, labels)
    sums, sizes = np.bincount(labels, y), np.bincount(labels)
    without = (y.sum() - sums) / (len(y) - sizes)
    error = np.sqrt((clusters - 1) / clusters * ((without - p) ** 2).sum()) / (p * (1 - p))
    middle, half = np.log(p / (1 - p)), t.ppf(0.975, clusters - 1) * error
    return 1 / (1 + np.exp(-(middle - half))), 1 / (1 + np.exp(-(middle + half)))


METHODS = {"ours": ours, "root": root, "bare": bare, "jackknife": jackknife}


def drawn(rng, clusters, size, share, correlation):
    labels = np.repeat(np.arange(clusters), size)
    chances = np.full(clusters, share)
    if correlation:
        scale = (1 - correlation) / correlation
        chances = rng.beta(share * scale, (1 - share) * scale, clusters)
    return (rng.random(len(labels)) < chances[labels]).astype(float), labels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=600)
    draws = parser.parse_args().draws
    print(f"{'clusters':>9}{'size':>6}{'share':>7}{'ICC':>6}", end="")
    print("".join(f"{name:>16}" for name in METHODS))
    for clusters, size in SETTINGS:
        for share in SHARES:
            for correlation in CORRELATIONS:
                rng = np.random.default_rng([clusters, size, int(100 * share)])
                held = dict.fromkeys(METHODS, 0)
                width = dict.fromkeys(METHODS, 0.0)
                for _ in range(draws):
                    y, labels = drawn(rng, clusters, size, share, correlation)
                    for name, interval in METHODS.items():
                        low, high = interval(y, labels)
                        held[name] += low <= share <= high
                        width[name] += high - low
                print(f"{clusters:9}{size:6}{share:7.2f}{correlation:6.2f}", end="")
                print("".join(f"{held[m] / draws:9.3f}{width[m] / draws:7.3f}" for m in METHODS))


if __name__ == "__main__":
    main()
