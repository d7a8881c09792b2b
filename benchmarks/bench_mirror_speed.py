"""Compare the speed of mirror and AFLite on the same twins in one run.

    python benchmarks/bench_mirror_speed.py             4,000 twins of 256 numbers
    python benchmarks/bench_mirror_speed.py --paper     23,500 x 1,024, with AFLite as in the paper

It prints wall-clock seconds, and the processor seconds, which other work on the machine hardly
changes.

The rows are those of `bench_aflite.py`; two rows of different classes form a twin, whose vector is
their difference. AFLite reads the rows (n=64, the paper's m and k or their fractions); mirror
reads the twins, with ten fits for the aim "chance" and, for the aim "error", ten fits and those of
19 runs with permuted keys. Each is first run on few rows to compile or load its code. Then mirror
runs on an eighth, a quarter, a half and all of the twins.
"""

from __future__ import annotations

import argparse
import os
import time

from bench_aflite import PROCESSORS, compile_kernel, make_rows  # first, because it sets the threads

# isort: split
import numpy as np

from winosmith import debias


def make_twin_rows(rows, columns, seed):
    """Return rows, classes and the twins' differences; rows 2n and 2n + 1 form a twin."""
    X, y = make_rows(rows + rows // 10, columns, seed)
    ones, zeros = (np.flatnonzero(y == label)[: rows // 2] for label in (1, 0))
    if min(len(ones), len(zeros)) < rows // 2:
        raise SystemExit(f"of one class there are too few for {rows // 2} twins; another seed?")
    order = np.column_stack([ones, zeros]).ravel()
    X, y = X[order], y[order]
    return X, y, X[::2] - X[1::2]


def time_best(function, *args, times=1, **how):
    """Return the minimum wall-clock and processor seconds of some calls, and the last result."""
    seconds, spent = [], []
    for _ in range(times):
        began, worked = time.perf_counter(), time.process_time()
        found = function(*args, **how)
        seconds.append(time.perf_counter() - began)
        spent.append(time.process_time() - worked)
    return min(seconds), min(spent), found


def main():
    """Time both filters, and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--units", type=int, default=4_000)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--paper", action="store_true", help="use 23,500 twins of 1,024 numbers")
    parser.add_argument("--repeats", type=int, default=3, help="runs of mirror; the fastest counts")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.paper:
        asked.units, asked.columns = 23_500, 1_024
    print(f"{PROCESSORS} processors, load {os.getloadavg()[0]:.1f}")
    compile_kernel("numba")
    debias.mirror(np.eye(64))
    X, y, V = make_twin_rows(2 * asked.units, asked.columns, asked.seed)
    sizes = dict(zip(("train_size", "cutoff"), debias.suggest_sizes(len(X)), strict=True))
    theirs, work, found = time_best(
        debias.aflite, X, y, ids=range(len(X)), seed=asked.seed, **sizes
    )
    print(f"{asked.units:,} twins of {asked.columns:,} numbers; AFLite: {theirs:.1f} s "
          f"({work:.1f} s of processor time), {len(found.phases)} phases, "
          f"{len(X) - len(found.kept):,} rows removed\n")  # fmt: skip
    print(
        "| units | aim | wall-clock s | processor s | processor µs per unit | removed | AFLite's |"
    )
    print("|---:|---|---:|---:|---:|---:|---:|")
    for part in (8, 4, 2, 1):
        units = asked.units // part
        for aim in ("chance", "error"):
            seconds, spent, result = time_best(
                debias.mirror, V[:units], aim=aim, seed=asked.seed, times=asked.repeats
            )
            ratio = f"{work / spent:.0f}" if part == 1 else ""
            print(f"| {units:,} | {aim} | {seconds:.2f} | {spent:.2f} | {1e6 * spent / units:.0f} "
                  f"| {len(result.removed):,} | {ratio} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
