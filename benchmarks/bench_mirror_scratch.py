"""Train a network from scratch on the real twins that mirror and AFLite keep, across halves.

`bench_mirror_real.py` uses linear guessers. Here, a small network with random initial weights is
trained on the kept problems of one half of the blocks and tested on those of the other, in both
directions; each half is filtered separately.

For an option, its features are whether it is mentioned first, the words before and after the blank,
and pairs of these. They are hashed (Joulin et al. 2017, "Bag of tricks for efficient text
classification"). A wide part gives each feature a weight; a deep part gives it a vector, whose mean
passes through a hidden layer (Cheng et al. 2016, "Wide & deep learning"). The loss uses the
difference of two options, so their order has no effect. A tenth of the training half's blocks
selects the epoch, and the differences of several networks are summed. Intervals resample the
blocks, with their scores in all splits; the networks are not retrained.

    python benchmarks/bench_mirror_scratch.py --data $WINOSMITH_DATA/winogrande/train_xl.jsonl
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import zlib
from itertools import pairwise

import numpy as np
from bench_mirror_real import MIRROR, filter_with_aflite, filter_with_mirror, parse_arguments

from winosmith import blocks, debias, embed, formats, metrics

DEV = 0.1
"""Fraction of a half's kept problems that selects the epoch."""

WIDE, DEEP = 1 << 20, 1 << 15
"""Numbers of weights in the wide part and vectors in the deep part; features are hashed to them."""

COMMON = frozenset("the a an was is were be to of and in his her it that he she they had for with "
                   "on at as".split())  # fmt: skip
"""Words that are not paired with others."""

FEWER = "AFLite, as many"

READ = re.compile(r"\w+|[.,;]")


def extract_features(problem, option):
    """Return the features of an option: marks, words, and word pairs."""
    at = [problem.sentence.lower().find(one.lower()) for one in problem.options]
    role = "?" if at[0] == at[1] else "12"[at[option] > at[1 - option]]
    left, right = (READ.findall(side.lower()) for side in problem.sentence.split("_", 1))
    name = READ.findall(problem.options[option].lower())
    alone = [role, *(f"{role} l {word}" for word in left), *(f"{role} r {word}" for word in right)]
    alone += [f"{role} n {word}" for word in name]
    pairs = [f"{role} {a} {b}" for a, b in pairwise(right)]
    pairs += [f"{a} n {b}" for a in name for b in (*left[-4:], *right[:6])]
    far = [word for word in left if word not in COMMON]
    near = [word for word in right if word not in COMMON][:8]
    return alone, pairs + [f"{role} {a} | {b}" for a in far for b in near]


class Features:
    """The features of all options, (2 n) rows; problem i has the rows 2 i and 2 i + 1."""

    def __init__(self, pool):
        read = [extract_features(problem, option) for problem in pool for option in (0, 1)]
        self.deep = _concatenate([alone for alone, _ in read], DEEP)
        self.wide = _concatenate([alone + pairs for alone, pairs in read], WIDE)

    def bags(self, rows, drop=0.0, rng=None):
        """Return the torch input of some rows for both parts, with a fraction dropped."""
        return [_make_bag(*of, rows, drop, rng) for of in (self.wide, self.deep)]


def _concatenate(read, size):
    lists = [sorted({zlib.crc32(one.encode()) % size for one in some}) for some in read]
    starts = np.concatenate([[0], np.cumsum([len(some) for some in lists])])
    return np.fromiter((one for some in lists for one in some), np.int64), starts


def _make_bag(numbers, starts, rows, drop, rng):
    import torch

    begin, sizes = starts[rows], starts[rows + 1] - starts[rows]
    offsets = np.cumsum(sizes) - sizes
    chosen = numbers[np.repeat(begin - offsets, sizes) + np.arange(sizes.sum())]
    if drop:
        stays = rng.random(len(chosen)) >= drop
        sizes = np.add.reduceat(stays, offsets).astype(np.int64)
        chosen, offsets = chosen[stays], np.cumsum(sizes) - sizes
    return torch.from_numpy(chosen), torch.from_numpy(offsets)


def make_network(width):
    """Return a network with random weights; those of the wide part are zero."""
    import torch
    from torch import nn

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.wide = nn.EmbeddingBag(WIDE, 1, mode="sum", sparse=True)
            nn.init.zeros_(self.wide.weight)
            self.deep = nn.EmbeddingBag(DEEP, width, mode="mean", sparse=True)
            nn.init.normal_(self.deep.weight, std=0.3)
            self.hidden = nn.Sequential(
                nn.Dropout(0.3), nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.3),
                nn.Linear(width, 1, bias=False),
            )  # fmt: skip

        def forward(self, wide, deep):
            many = torch.diff(wide[1], append=torch.tensor([len(wide[0])])).clamp(min=1)
            return self.wide(*wide)[:, 0] / many.sqrt() + self.hidden(self.deep(*deep))[:, 0]

    return Network()


def train_network(read, keys, train, dev, asked, seed, *, epochs, width, rate, drop):
    """Train one network; return option 1's leads, (asked,), and the accuracy on dev."""
    import torch

    torch.set_num_threads(1)
    torch.sparse.check_sparse_tensor_invariants.disable()  # if unset, torch warns
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    net = make_network(width)
    sparse = [net.wide.weight, net.deep.weight]
    steps = [
        torch.optim.Adagrad(sparse, lr=rate),
        torch.optim.Adam(net.hidden.parameters(), lr=1e-3),
    ]

    def differences(rows, share=0.0):
        both = np.stack([2 * rows, 2 * rows + 1], 1).ravel()
        scores = net(*read.bags(both, share, rng)).reshape(-1, 2)
        return scores[:, 0] - scores[:, 1]

    def predict(rows):
        net.eval()
        with torch.no_grad():
            return np.concatenate(
                [differences(part).numpy() for part in np.array_split(rows, 1 + len(rows) // 1024)]
            )

    signs, best = 1 - 2 * keys, (np.inf, None, 0.0)
    for epoch in range(epochs):
        net.train()
        shuffled = rng.permutation(train)
        for part in np.array_split(shuffled, 1 + len(shuffled) // 128):
            loss = torch.nn.functional.softplus(
                -torch.from_numpy(signs[part]) * differences(part, drop)
            )
            for step in steps:
                step.zero_grad()
            loss.mean().backward()
            for step in steps:
                step.step()
        margins = signs[dev] * predict(dev)
        now = np.logaddexp(0, -margins).mean()
        if now < best[0]:
            best = now, predict(asked), _score_margins(margins).mean(), epoch
        elif epoch - best[3] >= 2:
            break
    return best[1], best[2]


def _score_margins(margins):
    return (np.sign(margins) + 1) / 2


def score_problems(pool, read, keys, kept, asked, seeds, how):
    """Return the score of each tested problem, and the mean accuracy on the dev sets."""
    kept = np.asarray(kept)
    dev, rest = [], []
    for block in blocks.shuffle_blocks(pool.select(kept.tolist()), seed=0):
        (dev if len(dev) < DEV * len(kept) else rest).extend(block)
    results = [
        train_network(read, keys, kept[rest], kept[dev], asked, seed, **how)
        for seed in range(seeds)
    ]
    margins = (1 - 2 * keys[asked]) * np.mean([differences for differences, _ in results], axis=0)
    return _score_margins(margins), float(np.mean([own for _, own in results]))


def split_into_halves(pool, seed):
    """Return the rows of two halves of whole blocks."""
    halves = [[], []]
    for block in blocks.shuffle_blocks(pool, seed):
        halves[len(halves[0]) > len(halves[1])].extend(block)
    return [np.array(sorted(half)) for half in halves]


def resample_credit(rows, credit, clusters, draws=1000):
    """Return the mean credit of resampled blocks, (draws,), with the same draws for all filters."""
    sums, counts = (
        np.bincount(clusters[rows], weights, clusters.max() + 1) for weights in (credit, None)
    )
    drawn = np.random.default_rng(0).multinomial(
        len(sums), np.full(len(sums), 1 / len(sums)), draws
    )
    return drawn @ sums / (drawn @ counts)


def iter_filtered(pool, X, keys, half):
    """Yield each filter's name and kept problems of a half; AFLite continues to mirror's size."""
    yield "nothing", half
    yield "mirror, error 0.2", filter_with_mirror(pool, X, half, MIRROR["mirror, error 0.2"])
    chance = filter_with_mirror(pool, X, half, MIRROR["mirror, chance"])
    yield "mirror, chance", chance
    yield FEWER, filter_with_aflite(pool, X, keys, half, len(chance))


def print_table(results, splits, seeds, clusters):
    """Print the results of some splits."""
    print(f"\n{len(clusters):,} problems, splits both ways: {splits}, networks each: {seeds}\n\n"
          "| filter | kept | network from scratch | its dev sets | beyond AFLite, points | s |\n"
          "|---|---|---|---|---|---|")  # fmt: skip
    drawn, means = {}, {}
    for name, cells in results.items():
        rows, credit = (np.concatenate([cell[part] for cell in cells]) for part in (0, 1))
        drawn[name], means[name] = resample_credit(rows, credit, clusters), credit.mean()
    for name, cells in results.items():
        low, high = np.quantile(drawn[name], (0.025, 0.975))
        kept = sum(len(cell[0]) for cell in cells) / len(clusters) / splits
        beyond = "—"
        if FEWER in results and name != FEWER:
            least, most = 100 * np.quantile(drawn[name] - drawn[FEWER], (0.025, 0.975))
            beyond = f"{100 * (means[name] - means[FEWER]):+.1f} ({least:+.1f} to {most:+.1f})"
        own, spent = (np.mean([cell[part] for cell in cells]) for part in (2, 3))
        print(f"| {name} | {kept:.1%} | {means[name]:.1%} ({low:.1%}–{high:.1%}) | {own:.1%} "
              f"| {beyond} | {spent:.0f} |", flush=True)  # fmt: skip


def main():
    """Filter each half, train on one, test on the other; print the table after each split."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2, help="networks per cell")
    parser.add_argument("--epochs", type=int, default=6, help="maximum number of epochs")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--drop", type=float, default=0.3, help="dropped fraction of features")
    parser.add_argument("--only", nargs="+", help="filters to run")
    asked = parse_arguments(parser)
    how = {name: getattr(asked, name) for name in ("epochs", "width", "rate", "drop")}
    pool = formats.read(asked.data)
    X, keys = embed.LightEmbedder().embed(pool), debias.get_problem_labels(pool).astype(np.int64)
    clusters, read, results = metrics.find_clusters(pool), Features(pool), {}
    for split in range(asked.splits):
        one, other = (iter_filtered(pool, X, keys, half) for half in split_into_halves(pool, split))
        for (name, first), (_, second) in zip(one, other, strict=True):
            if asked.only and name not in asked.only:
                continue
            for kept, left in ((first, second), (second, first)):
                started = time.process_time()
                credit, own = score_problems(pool, read, keys, kept, left, asked.seeds, how)
                spent = time.process_time() - started
                results.setdefault(name, []).append((left, credit, own, spent))
                print(f"split {split}, {name}: {credit.mean():.1%} of {len(left):,}, {spent:.0f} s",
                      file=sys.stderr, flush=True)  # fmt: skip
        print_table(results, split + 1, asked.seeds, clusters)


if __name__ == "__main__":
    main()
