"""Error depth with its bootstrap, at EvoGrad-L's size: seconds and peak memory beside two rivals.

The problems are 3,691 in 14 families, and 30 % are wrong. Each way draws whole families 10,000
times and gives the interval of the pooled error depth; the last rows are the whole of
`metrics.stability` (three error depths with two nulls each, accuracies, survival; from problems
and predictions) and the depths of as many problems in one chain. Each runs in a process of its own.

    python benchmarks/bench_stability.py
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time

import numpy as np

from winosmith import Dataset, Lineage, Prediction, Problem, lineage
from winosmith.metrics import bootstrap_interval, error_depth, grade, stability

FAMILIES, PROBLEMS, DRAWS = 14, 3_691, 10_000


def arrays():
    """Return depth, whether wrong, and family of each problem; deeper ones are wrong more often."""
    rng = np.random.default_rng(0)
    depth = rng.integers(1, 13, PROBLEMS)
    wrong = rng.random(PROBLEMS) < 0.15 + depth / 43
    return depth, wrong, np.arange(PROBLEMS) % FAMILIES


def winosmith():
    depth, wrong, family = arrays()
    return error_depth(depth, wrong), bootstrap_interval(depth[wrong], family[wrong])


def scipy_bootstrap():
    """scipy.stats.bootstrap over families, with the statistic as scipy's users write it."""
    from scipy.stats import bootstrap

    depth, wrong, family = arrays()
    of = [depth[wrong & (family == number)] for number in range(FAMILIES)]

    def statistic(drawn):
        return np.concatenate([of[number] for number in drawn]).mean()

    found = bootstrap(
        (np.arange(FAMILIES),), statistic, n_resamples=DRAWS, method="percentile",
        vectorized=False, rng=np.random.default_rng(0),
    )  # fmt: skip
    return error_depth(depth, wrong), tuple(found.confidence_interval)


def plain_loop():
    """Do what one writes first: take the rows of each draw's families, with numpy."""
    depth, wrong, family = arrays()
    rng = np.random.default_rng(0)
    rows = [np.flatnonzero(family == number) for number in range(FAMILIES)]
    drawn = []
    for _ in range(DRAWS):
        taken = np.concatenate([rows[number] for number in rng.integers(0, FAMILIES, FAMILIES)])
        drawn.append(depth[taken][wrong[taken]].mean())
    return error_depth(depth, wrong), tuple(np.quantile(drawn, [0.025, 0.975]))


def problems():
    """Return the problems under their roots, as deep as they should be, and the answers."""
    depth, wrong, family = arrays()
    roots = [["_", *(f"r{root}x{place}" for place in range(16))] for root in range(FAMILIES)]
    found = [made(f"r{root}", words, root) for root, words in enumerate(roots)]
    for row, root in enumerate(family):
        changed = [f"w{row}x{place}" for place in range(depth[row])]
        words = ["_", *changed, *roots[root][1 + len(changed) :]]
        found.append(made(str(row), words, root, Lineage(f"r{root}", f"r{root}")))
    errors = [*[False] * FAMILIES, *wrong]
    answers = [Prediction(p.id, int(error)) for p, error in zip(found, errors, strict=True)]
    return Dataset(found), answers


def made(name, words, root, line=None):
    return Problem(name, " ".join(words), (f"a{root}", f"b{root}"), 0, lineage=line)


def whole():
    found = stability(grade(*problems()), draws=DRAWS)
    return found.mean.value, found.mean.interval


def depths():
    texts = [["_", *(f"v{row if place == row % 16 else place}" for place in range(16))]
             for row in range(PROBLEMS)]  # fmt: skip
    lines = [None, *(Lineage("0", str(row - 1)) for row in range(1, PROBLEMS))]
    chain = zip(texts, lines, strict=True)
    data = Dataset(made(str(row), words, 0, line) for row, (words, line) in enumerate(chain))
    return lineage.depths(data)[-1].lineage, None


WAYS = {
    "winosmith, error depth": winosmith,
    "scipy.stats.bootstrap": scipy_bootstrap,
    "a loop with numpy": plain_loop,
    "metrics.stability, all": whole,
    "lineage.depths, a chain": depths,
}


def measured(name):
    """Return what one way gives, its seconds without imports, and the memory it adds, in MiB."""
    import lifelines  # noqa: F401 - not part of the measurement
    import scipy.stats  # noqa: F401 - likewise

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    found = WAYS[name]()
    seconds = time.perf_counter() - start
    return found, seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main():
    """Measure each way and print the table."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    context = multiprocessing.get_context("spawn")
    print(f"{PROBLEMS:,} problems in {FAMILIES} families, {DRAWS:,} draws")
    print(f"{'':26}{'seconds':>9}{'ratio':>8}{'MiB':>7}  value, 95 %")
    first = None
    for name in WAYS:
        with context.Pool(1) as pool:
            (value, interval), seconds, memory = pool.apply(measured, [name])
        first = first or seconds
        shown = "" if interval is None else f", {interval[0]:.2f}–{interval[1]:.2f}"
        print(f"{name:26}{seconds:9.3f}{seconds / first:8.1f}{memory:7.0f}  {value:.2f}{shown}")


if __name__ == "__main__":
    main()
