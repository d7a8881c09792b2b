"""The audit: how often it names a cue where none is, whether it finds a planted one, its time.

- *null*: sets whose keys are drawn at random, of several sizes and numbers of options, and mixed;
  in how many of them a cue is named, which should be one in twenty. With --uneven, keys stand at
  the first position more often than elsewhere, over options that are sorted by length: how many of
  these sets have a cue of content named. With --copies, each item is there five times.
- *planted*: the longest option is the key 5 points more often than by chance; how often it is
  named, and how often any cue is.

  Both give 95 % intervals (Wilson). With --draws 199, one in twenty is still what is meant.
- *time*: seconds and memory for 10,000 items with 4 options (or --items), cues and probes and
  all. Seconds are those of the processor, which a machine that is shared tells as one that is not.
- *shared*: the table of the shared sets, with the time of each.
- *repair*: what a repair does to the shared sets, and what is shown of it.
- *proof*: sets with a planted rule are repaired beside many items that no repair saw; in how many
  of them the bounds hold, all at once, what the halves' rules leave there. 95 of 100 are meant.

Options are words drawn by Zipf's law, 1 to 12 an option; the shared sets need their files.

    python benchmarks/bench_audit.py null --sets 400
    python benchmarks/bench_audit.py planted --sets 100
    python benchmarks/bench_audit.py time
    python benchmarks/bench_audit.py shared "$WINOSMITH_DATA"
    python benchmarks/bench_audit.py repair "$WINOSMITH_DATA"
    python benchmarks/bench_audit.py proof --sets 40
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from winosmith import Dataset, Problem, audit, formats, metrics
from winosmith.audit._cues import picks
from winosmith.audit._repair import Thinning

SHARED = (
    "openbookqa/train",
    "openbookqa/test",
    "mmlu_redux/items",
    "arc/challenge-test",
    "piqa/dev",
    "social_iqa/dev",
)

CELLS = "2x200 2x2000 3x200 4x200 4x1000 10x200 0x400"
PROVED = "2x600 4x600 4x1500"
PLANTED = "2x2300 3x2000 4x2000 10x2000"
"""Numbers of options and of items; 0 options are 2 to 5, mixed."""


def parted(cells: str) -> list[tuple[int, int]]:
    return [(int(options), int(n)) for options, n in (cell.split("x") for cell in cells.split())]


def told(named: int, sets: int) -> str:
    low, high = metrics.wilson_interval(named, sets)
    return f"{100 * named / sets:.1f} % ({100 * low:.1f}–{100 * high:.1f})"


def made(options: int, n: int, seed: int, copies: int = 1, by_length: bool = False) -> Dataset:
    """Make items of words that mean nothing; all keys are the first option."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 3001)
    share /= share.sum()
    problems = []
    for item in range(n):
        count = options or int(rng.integers(2, 6))
        texts: list[str] = []
        while len(texts) < count:
            words = rng.choice(3000, int(rng.integers(1, 13)), p=share)
            text = " ".join(f"w{word:x}" for word in words)
            if text not in texts:
                texts.append(text)
        if by_length:
            texts.sort(key=len)
        asked = " ".join(f"w{word:x}" for word in rng.choice(3000, 8, p=share))
        problems += [
            Problem(f"{item}-{copy}", f"{asked} {item}?", tuple(texts), 0, blank=None)
            for copy in range(copies)
        ]
    return Dataset(problems)


def keyed(items: audit.Items, keys: np.ndarray) -> audit.Items:
    """Return the items with other keys, a unit at once; what cues see of them stays."""
    again = replace(items, keys=keys[items.unit])
    for known in ("views", "counts", "starts", "leads"):
        vars(again)[known] = getattr(items, known)
    return again


def null(cells: str, sets: int, draws: int, copies: int, uneven: bool) -> None:
    print("| options | items | sets | a cue named | seconds |\n|---|---|---|---|---|")
    for options, n in parted(cells):
        began = time.process_time()
        items = audit.Items.of(made(options, n, 1, copies, by_length=uneven))
        rng = np.random.default_rng([options, n])
        named = 0
        for at in range(sets):
            keys = (rng.random(len(items.leads)) * items.unit_counts).astype(int)
            if uneven:
                keys[rng.random(len(keys)) < 0.2] = 0
            found = audit.battery(keyed(items, keys), draws=draws, seed=at).named
            named += any(one.about == "content" or not uneven for one in found)
        took = time.process_time() - began
        print(f"| {options or '2–5'} | {n} | {sets} | {told(named, sets)} | {took:.0f} |",
              flush=True)  # fmt: skip


def planted(cells: str, sets: int, draws: int, copies: int) -> None:
    print("| options | items | sets | it is named | a cue is named |\n|---|---|---|---|---|")
    for options, n in parted(cells):
        items = audit.Items.of(made(options, n, 2, copies))
        longest = np.array([int(np.argmax([len(o) for o in p.options])) for p in items.problems])
        rng = np.random.default_rng(options)
        it, some = 0, 0
        for at in range(sets):
            keys = (rng.random(len(items.leads)) * items.unit_counts).astype(int)
            given = rng.random(len(keys)) < 0.05 / (1 - 1 / options)
            keys = np.where(given, longest[items.leads], keys)
            found = audit.battery(keyed(items, keys), draws=draws, seed=at).named
            some += bool(found)
            it += any(one.cue == "the longest, in characters" for one in found)
        print(f"| {options} | {n} | {sets} | {told(it, sets)} | {told(some, sets)} |", flush=True)


def seconds(n: int) -> None:
    data = made(4, n, 3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    audit.audit(data)
    took = time.process_time() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{n:,} items with 4 options: {took:.0f} s; {most / 2**20:.1f} GiB of memory at most, "
          f"{before / 2**20:.1f} GiB of it before the audit")  # fmt: skip


def read(folder: Path, name: str) -> Dataset:
    contents = formats.scan(folder / f"{name}.jsonl")
    return Dataset((item for item in contents.items if isinstance(item, Problem)), name)


def repair(folder: Path, draws: int) -> None:
    print("| set | items | kept | best cue before, after | words, unseen | bounds of 3 points | "
          "seconds |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for name in SHARED:
        data = read(folder, name)
        began = time.process_time()
        found = audit.repair(data, draws=draws, probe_draws=draws // 4)
        took = time.process_time() - began
        best, proof = found.changed[0], found.proof
        words = next((b for b in proof.bounds if b.rule == audit.WORDS), None)
        told = f"{100 * words.excess:+.1f} ({100 * words.low:+.1f} to {100 * words.high:+.1f})"
        print(
            f"| {name} | {len(data):,} | {len(found.dataset):,} | {best.rule} "
            f"{100 * best.before:.1f} %, {100 * best.after:.1f} % | {told if words else ''} | "
            f"{len(proof.bounds) - len(proof.wide)} of {len(proof.bounds)} | {took:.0f} |",
            flush=True,
        )


def proof(cells: str, sets: int, draws: int) -> None:
    """Tell in how many sets all bounds hold, and where they don't, which rule is how far off."""
    print("| options | items | sets | all bounds hold | each bound holds | seconds |\n"
          "|---|---|---|---|---|---|")  # fmt: skip
    off: Counter[str] = Counter()
    for options, n in parted(cells):
        began = time.process_time()
        every, each, tried = 0, 0, 0
        items = audit.Items.of(made(options, n + UNSEEN, 4))
        longest = np.array([int(np.argmax([len(o) for o in p.options])) for p in items.problems])
        for at in range(sets):
            rng = np.random.default_rng([options, n, at])
            seen = np.isin(items.unit, rng.permutation(len(items.leads))[:n])
            keys = (rng.random(len(items.leads)) * items.unit_counts).astype(int)
            keys = np.where(rng.random(len(keys)) < PLANTED_SHARE, longest[items.leads], keys)
            held = holds(keyed(items, keys), seen, longest, draws, at)
            every, each, tried = (
                every + all(held.values()),
                each + sum(held.values()),
                tried + len(held),
            )
            off.update(f"{options}x{n} {rule}" for rule, is_in in held.items() if not is_in)
        took = time.process_time() - began
        print(f"| {options} | {n} | {sets} | {told(every, sets)} | "
              f"{100 * each / tried:.2f} % | {took:.0f} |", flush=True)  # fmt: skip
    for rule, times in off.most_common(12):
        print(f"missed {times}: {rule}", flush=True)


UNSEEN = 2000
PLANTED_SHARE = 0.2


def holds(
    items: audit.Items, seen: np.ndarray, longest: np.ndarray, draws: int, seed: int
) -> dict[str, bool]:
    """Tell of each cue whether its bound holds what the halves' rules leave of unseen items.

    What they leave is the mean over all places at which an unseen item's key may stand, each by
    its probability, so that the lots by which keys were planted add no noise.
    """
    fixed = np.zeros(len(items), np.bool_)
    thinning = Thinning(items, audit.CUES, fixed, draws, 50, seed)
    shares = items.gathered(np.column_stack([picks(cue, items.views) for cue in audit.CUES]))
    new = ~seen[items.leads]
    chance = np.arange(shares.shape[1]) < items.unit_counts[:, None]
    chance = chance / items.unit_counts[:, None]
    key = (1 - PLANTED_SHARE) * chance
    key[np.arange(len(key)), longest[items.leads]] += PLANTED_SHARE
    left = []

    def thin(learnt: np.ndarray) -> np.ndarray:
        half = np.zeros(len(items), np.bool_)
        half[np.flatnonzero(seen)[learnt]] = True
        found = thinning.learn(half)
        weight = (key * found.stays_at)[new]
        excess = shares[new] - chance[new].max(axis=1)[:, None, None]
        left.append(np.einsum("uk,ukc->c", weight, excess) / weight.sum())
        part = items.part(seen)
        return found.stays[items.unit][seen][part.leads]

    bounds = {b.rule: b for b in audit.prove(items.part(seen), thin, seed=seed).bounds}
    truth = dict(zip([cue.name for cue in audit.CUES], np.mean(left, axis=0), strict=True))
    return {
        name: bounds[name].low <= is_ <= bounds[name].high
        for name, is_ in truth.items()
        if name in bounds
    }


def shared(folder: Path) -> None:
    print("| set | n | chance | best cue | options alone | seconds |\n|---|---|---|---|---|---|")
    for name in SHARED:
        data = read(folder, name)
        began = time.process_time()
        part = audit.audit(data).parts[0]
        took = time.process_time() - began
        best, blind = part.best, part.probes[0]
        cue = f"{best.cue} {100 * best.right:.1f} % (p {best.p:.3f})" if best else "none"
        probed = f"{100 * blind.right:.1f} % ({100 * blind.low:.1f}–{100 * blind.high:.1f})"
        print(
            f"| {name} | {len(part.items):,} | {100 * part.items.chance:.0f} % | {cue} | "
            f"{probed} | {took:.0f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["null", "planted", "time", "shared", "repair", "proof"])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--uneven", action="store_true")
    parser.add_argument("--cells", help="such as '10x200 0x400'")
    asked = parser.parse_args()
    if asked.what == "null":
        null(asked.cells or CELLS, asked.sets, asked.draws, asked.copies, asked.uneven)
    elif asked.what == "planted":
        planted(asked.cells or PLANTED, asked.sets, asked.draws, asked.copies)
    elif asked.what == "time":
        seconds(asked.items)
    elif asked.what == "proof":
        proof(asked.cells or PROVED, asked.sets, asked.draws)
    elif asked.what == "repair":
        repair(asked.folder, asked.draws)
    else:
        shared(asked.folder)


if __name__ == "__main__":
    main()
