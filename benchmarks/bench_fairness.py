"""Is AFLite fair, and does a vote of several embedders help?

Planted: practice twins of which it is known what is planted and what is published with the wrong
answer, three adversaries that see different things, eight simulated models whose true order is
known, and judges' votes. Real (--data): the first 10,234 problems of WinoGrande's train_xl with
their published training dynamics, the same adversaries, and the set that WinoGrande's authors
released of them.

    python benchmarks/bench_fairness.py --seeds 20
    python benchmarks/bench_fairness.py --data $WINOSMITH_DATA --svg docs/images
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from fairness_sides import adversaries, simulated_models
from scipy.stats import kendalltau

from winosmith import Dataset, debias, formats, practice
from winosmith.blocks import blocks

WRONG = 0.08


def collected(twins, strength, seed):
    """Return a pool, what is known of it, and the votes: nobody has thrown anything out yet."""
    corpus = practice.corpus(twins, seed=seed, strength=strength)
    votes = practice.crowd(corpus.dataset, judges=3, pool=60, seed=seed)
    rng = np.random.default_rng([seed, 3])
    wrong = np.zeros(len(corpus.dataset), bool)
    for rows in corpus.dataset.groups:
        wrong[list(rows)] = rng.random() < WRONG
    pool = Dataset(
        replace(p, answer=1 - p.answer) if bad else p
        for p, bad in zip(corpus.dataset, wrong, strict=True)
    )
    planted = np.array([p.id in corpus.planted for p in pool])
    return pool, planted, wrong, votes


def joined(Xs):
    """Return the vectors of all embedders beside each other, each with rows of mean length 1."""
    parts = [X / np.linalg.norm(X, axis=1).mean() for X in Xs.values()]
    return np.concatenate(parts, axis=1)


def filtered(Xs, pool, seed):
    """Return {way: kept rows} for every way of filtering."""
    y = debias.problem_labels(pool)
    m, k = debias.suggested_sizes(len(pool))
    how = {"train_size": m, "cutoff": k, "ids": pool.ids, "seed": seed}
    kept = {"none": np.arange(len(pool))}
    kept |= {name: debias.aflite(X, y, **how).kept for name, X in Xs.items()}
    found = np.sum([~np.isin(kept["none"], kept[name]) for name in Xs], axis=0)
    kept |= {f"{n} of {len(Xs)}": np.flatnonzero(found < n) for n in range(1, len(Xs) + 1)}
    size = len(kept[f"{len(Xs) // 2 + 1} of {len(Xs)}"])
    kept["random, as many as 2 of 3"] = debias.subsample(len(pool), size, seed=seed)
    kept["light, as many as 2 of 3"] = debias.aflite(Xs["light"], y, target_size=size, **how).kept
    kept["joined"] = debias.aflite(joined(Xs), y, **how).kept
    kept["joined, as many as 2 of 3"] = debias.aflite(joined(Xs), y, target_size=size, **how).kept
    return kept


def guessed(Xs, pool, rows, seed):
    """Return how much a linear model of each embedder guesses of a set, at the most."""
    part = pool.select(rows.tolist())
    y = debias.problem_labels(part)
    return max(debias.probe(X[rows], y, blocks(part), seed=seed).accuracy for X in Xs.values())


def planted_run(seed, twins, strength):
    """Return {way: figures} for one seed."""
    warnings.simplefilter("ignore")
    pool, planted, wrong, votes = collected(twins, strength, seed)
    agreement = debias.human_agreement(pool, votes)
    Xs = adversaries(pool, seed)
    kept = filtered(Xs, pool, seed)
    right = simulated_models(planted, wrong, seed)
    R = np.array(list(right.values()), float)
    sound = ~planted & ~wrong
    orders = {name: R[:, rows].mean(axis=1) for name, rows in kept.items()}
    found = {}
    for name, rows in kept.items():
        gone = np.ones(len(pool), bool)
        gone[rows] = False
        found[name] = {
            "kept": len(rows) / len(pool),
            "planted removed": gone[planted].mean(),
            "sound removed": gone[sound].mean(),
            "planted among removed": planted[gone].mean() if gone.any() else np.nan,
            "wrong answers kept": wrong[rows].mean(),
            "all judges agree": (agreement[rows] == 1).mean(),
            "guessed": guessed(Xs, pool, rows, seed),
            "true order": kendalltau(np.arange(len(R)), orders[name]).statistic,
        }
    names = list(Xs)
    alone = [kendalltau(orders[a], orders[b]).statistic
             for n, a in enumerate(names) for b in names[n + 1 :]]  # fmt: skip
    found["none"]["among adversaries"] = float(np.mean(alone))
    return found


FORMS = {"true order": ".2f", "among adversaries": ".2f"}


def table(runs):
    """Print the mean and the central range of each figure, way by way."""
    names = list(runs[0]["random, as many as 2 of 3"])
    print("| way | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for way in runs[0]:
        cells = []
        for name in names:
            values = np.array([run[way].get(name, np.nan) for run in runs], float)
            form = FORMS.get(name, ".1%")
            if np.isnan(values).all():
                cells.append("—")
                continue
            low, high = np.nanmin(values), np.nanmax(values)
            cells.append(f"{np.nanmean(values):{form}} ({low:{form}}–{high:{form}})")
        print(f"| {way} | " + " | ".join(cells) + " |")
    values = [run["none"]["among adversaries"] for run in runs]
    print(f"\nKendall's tau between two adversaries' sets: {np.mean(values):.2f} "
          f"({min(values):.2f}–{max(values):.2f})")  # fmt: skip


def cross_validated(Xs, pool, seed):
    """Return {solver: right} of solvers that learn from four fifths of the pool, twins apart."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    y = debias.problem_labels(pool)
    fold = np.empty(len(pool), int)
    for number, rows in enumerate(pool.groups):
        fold[list(rows)] = number
    fold = np.random.default_rng([seed, 5]).permutation(fold.max() + 1)[fold] % 5
    makers = {
        "linear": lambda: LogisticRegression(max_iter=1000),
        "nearest": lambda: KNeighborsClassifier(25),
        "bayes": GaussianNB,
    }
    found = {}
    for (name, X), (kind, made) in ((x, m) for x in Xs.items() for m in makers.items()):
        guess = np.empty(len(pool), int)
        for part in range(5):
            test = fold == part
            guess[test] = made().fit(X[~test], y[~test]).predict(X[test])
        found[f"{kind} on {name}"] = guess == y
    return found


def real_run(folder, seed, draws, svg):
    """Filter real problems in every way, and print what `fairness` says of it."""
    started = time.monotonic()
    xl = formats.read(folder / "winogrande/train_xl.jsonl")
    path = folder / "winogrande_cartography/winogrande_roberta_0_6_data_map_coordinates.jsonl"
    dynamics = debias.read_dynamics(path, xl, first=10_000)
    released = {
        (p.sentence, p.options) for p in formats.read(folder / "winogrande/train_debiased.jsonl")
    }
    mine = [row for row, p in enumerate(xl) if (p.sentence, p.options) in released]
    whole = debias.fairness(xl, {"released": mine}, dynamics=dynamics, draws=draws, seed=seed)
    print(f"\nWinoGrande's own filter: {len(mine):,} of {len(xl):,}, in "
          f"{time.monotonic() - started:.0f} s")  # fmt: skip
    figures(whole, svg)

    started = time.monotonic()
    pool = xl.select(range(10_234), "train_l")
    part = replace(
        dynamics,
        **{
            n: getattr(dynamics, n)[: len(pool)]
            for n in ("confidence", "variability", "correctness")
        },
    )
    Xs = adversaries(pool, seed)
    kept = filtered(Xs, pool, seed)
    del kept["none"]
    right = cross_validated(Xs, pool, seed)
    found = debias.fairness(pool, kept, dynamics=part, right=right, draws=draws, seed=seed)
    print(f"\ntrain_l: {len(pool):,} problems, in {time.monotonic() - started:.0f} s\n")
    told = ("label thought less likely than not", "hard to learn", "topics moved from those of all")
    print("| way | kept | guessed | " + " | ".join(told) + " | tau with all (random) |")
    print("|---" * (len(told) + 4) + "|")
    order = {c.second: c for c in found.ranking.correlations if c.first == "all"}
    for name, of in found.sets.items():
        by = {f.name: f for f in of.figures}
        cells = [f"{by[n].kept:.1%} ({by[n].low:.1%}–{by[n].high:.1%})" for n in told]
        c = order[name]
        cells.append(f"{c.tau:.2f} ({c.null[0]:.2f}, {c.null[1]:.2f}–{c.null[2]:.2f})")
        share = guessed(Xs, pool, kept[name], seed)
        print(f"| {name} | {of.size:,} | {share:.1%} | " + " | ".join(cells) + " |")
    print("\n| set | set | tau | interval | reversed |\n|---|---|---|---|---|")
    for c in found.ranking.correlations:
        if {c.first, c.second} <= {*Xs}:
            low, high = c.interval
            print(f"| {c.first} | {c.second} | {c.tau:.2f} | {low:.2f} to {high:.2f} | "
                  f"{c.reversed} of {c.pairs} |")  # fmt: skip
    print(f"\n{found.signature}")


def figures(found, svg):
    """Print every figure of each set, and draw them."""
    for name, of in found.sets.items():
        print(f"\n| {name} | all | kept | random, 95 % | shift |\n|---|---|---|---|---|")
        for f in of.figures:
            print(f"| {f.name} | {f.pool:{f.form}} | {f.kept:{f.form}} | "
                  f"{f.low:{f.form}}–{f.high:{f.form}} | {f.shift or 0:+.1f} |")  # fmt: skip
    print(f"\n{found.signature}")
    if svg:
        from winosmith import report

        rows = [report.Shift(f.name, (f.shift,)) for f in found.sets["released"].figures]
        drawing = report.shifts(
            rows, ["released"], title="WinoGrande's released set, beside random subsets"
        )
        svg.mkdir(parents=True, exist_ok=True)
        (svg / "fairness-released.svg").write_text(drawing.markup, "utf-8")


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--twins", type=int, default=1_000)
    parser.add_argument("--strength", type=float, default=0.5)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--data", type=Path, help="real problems instead, from this folder")
    parser.add_argument("--draws", type=int, default=199, help="random subsets of real problems")
    parser.add_argument("--svg", type=Path, help="the folder for the figure of the real problems")
    asked = parser.parse_args()
    if asked.data:
        real_run(asked.data, 0, asked.draws, asked.svg)
        return
    started = time.monotonic()
    one = partial(planted_run, twins=asked.twins, strength=asked.strength)
    with ProcessPoolExecutor(asked.workers) as executor:
        runs = list(executor.map(one, range(asked.seeds)))
    print(f"{asked.seeds} seeds of {asked.twins} twins, {asked.strength:.0%} planted, {WRONG:.0%} "
          f"wrong, in {time.monotonic() - started:.0f} s: mean (least–greatest)\n")  # fmt: skip
    table(runs)


if __name__ == "__main__":
    main()
