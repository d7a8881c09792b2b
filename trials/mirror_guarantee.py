"""The fraction of sound units among those that mirror removes is at most its stated error.

    python trials/mirror_guarantee.py            200 draws for each row, 1,000 of simulated units
                                                 and of symmetric twins
    python trials/mirror_guarantee.py --quick    10 and 50

With --work, each draw is saved as a line of draws.jsonl in that folder. Existing draws are not
repeated, so a stopped run resumes, and you can request more draws later. A folder belongs to one
version of the code.

A draw is a set of units with known planted units; the key of every sound unit is drawn uniformly
from its options. The units are filtered at errors of 0.1 and 0.2:

- the *false fraction* (removed sound units / all removed units; 0 without removals) is on average
  at most one point above the error, with any planted fraction;
- if nothing is planted, something is removed in at most a fraction `error` of the draws.

The units are Gaussian vectors, of which the planted ones are shifted along one of three directions;
symmetric practice twins, embedded by the light embedder; families of five with nearly the same
vector and the same key; five copies of a unit; or items with several options. For each corpus of
practice twins, the keys of sound twins are drawn ten times; the vectors stay the same, nobody
votes, and the interval is computed from the means of the corpora.

With an injected fault, the trial must fail. The faults are families that are not blocked, copies
that stay together but are counted individually, and items with different numbers of options that
are counted with the largest or the mean number.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from crowd.table import Table, finish
from numpy.typing import NDArray
from scipy import stats

from winosmith import debias, embed, metrics, practice

STRENGTHS = (0.0, 0.1, 0.25, 0.5, 0.75)
ERRORS = (0.1, 0.2)
WITHIN, MANY = 0.01, 200
"""Tolerance of the mean false fraction; with fewer draws, of its interval's lower end."""

UNITS, WIDTH, DIRECTIONS = 1_000, 30, 3
PUSH, OPTION_PUSH = 2.5, 3.5
"""Shift of a planted unit, or of the correct option of a planted item, in standard deviations."""

FAMILY = 5
TWINS, TOSSES = 600, 10
"""Number of symmetric twins in a corpus, and of draws of their keys."""

COLUMNS = ("units", "injected fault", "planted", "error", "draws", "false fraction", "95 %",
           "found", "something removed in")  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """Units with known planted units.

    Attributes:
        V: argument of `debias.mirror`.
        planted: (U,) whether each unit is planted.
        blocks: (U,) the block of each unit; None if each unit is a block.
        items: (n,) the item of each row of `V`; None if each row is a unit.
        key: (U,) position of the correct option in the item.
    """

    V: NDArray[np.float32]
    planted: NDArray[np.bool_]
    blocks: NDArray[np.intp] | None = None
    items: NDArray[np.intp] | None = None
    key: NDArray[np.intp] | None = None


def make_gaussian(rng: np.random.Generator, units: int, strength: float) -> Drawn:
    """Return units; the planted ones are shifted along one of a few directions.

    Coin tosses reverse the others, although Gaussian vectors don't need this.
    """
    planted = np.arange(units) < round(units * strength)
    ways = np.linalg.qr(rng.normal(size=(WIDTH, DIRECTIONS)))[0].T
    V = rng.normal(size=(units, WIDTH))
    V[planted] += PUSH * ways[rng.integers(DIRECTIONS, size=planted.sum())]
    V[~planted] *= rng.choice([-1, 1], (~planted).sum())[:, None]
    return Drawn(V.astype(np.float32), planted)


def make_independent(seed: int, strength: float) -> Drawn:
    """Return independent units."""
    return make_gaussian(np.random.default_rng([seed, 0]), UNITS, strength)


@lru_cache(1)
def embed_twins(corpus: int, strength: float) -> Drawn:
    """Return the symmetric practice twins of a corpus in the light embedder's vectors."""
    made = practice.generate_corpus(TWINS, seed=corpus, strength=strength, symmetric=True)
    pool = made.dataset
    X, turns = embed.LightEmbedder().embed(pool), 2 * debias.get_problem_labels(pool) - 1
    V = [turns[one] * X[one] + turns[other] * X[other] for one, other in pool.twins]
    planted = [pool.ids[one] in made.planted for one, _ in pool.twins]
    return Drawn(np.asarray(V, np.float32), np.array(planted))


def make_symmetric(seed: int, strength: float) -> Drawn:
    """Return symmetric practice twins with random keys; the keys of planted twins are unchanged."""
    twins = embed_twins(seed // TOSSES, strength)
    coins = np.random.default_rng([seed, 3]).choice([-1, 1], len(twins.planted))
    coins[twins.planted] = 1
    return replace(twins, V=twins.V * coins[:, None].astype(np.float32))


def make_families(seed: int, strength: float, noise: float = 0.3) -> Drawn:
    """Return families of five with nearly the same vector and the same key."""
    rng = np.random.default_rng([seed, 1])
    roots = make_gaussian(rng, UNITS // FAMILY, strength)
    V = np.repeat(roots.V, FAMILY, axis=0)
    V += noise * rng.normal(size=V.shape).astype(np.float32)
    return Drawn(V, np.repeat(roots.planted, FAMILY), np.arange(UNITS) // FAMILY)


def make_copies(seed: int, strength: float) -> Drawn:
    """Return units with five copies each."""
    return make_families(seed, strength, noise=0.0)


def make_choices(seed: int, strength: float, sizes: tuple[int, ...]) -> Drawn:
    """Return items with one of the given numbers of options; the correct option is shifted."""
    rng = np.random.default_rng([seed, 2])
    planted = np.arange(UNITS) < round(UNITS * strength)
    ways = np.linalg.qr(rng.normal(size=(WIDTH, DIRECTIONS)))[0].T
    counts = rng.choice(sizes, UNITS)
    key = rng.integers(counts)
    V = rng.normal(size=(counts.sum(), WIDTH))
    right = np.cumsum(counts) - counts + key
    V[right[planted]] += OPTION_PUSH * ways[rng.integers(DIRECTIONS, size=planted.sum())]
    return Drawn(V.astype(np.float32), planted, None, np.repeat(np.arange(UNITS), counts), key)


Removed = NDArray[np.intp]
Filter = Callable[[Drawn, float, int], Removed]


def filter_units(
    drawn: Drawn, error: float, seed: int, *, blocked: bool = True
) -> debias.MirrorResult:
    """Filter the units, with their blocks or as if each unit were a block."""
    return debias.mirror(
        drawn.V,
        items=drawn.items,
        key=drawn.key,
        blocks=drawn.blocks if blocked else None,
        error=error,
        seed=seed,
    )


def filter_with_blocks(drawn: Drawn, error: float, seed: int) -> Removed:
    """Return the units that mirror removes."""
    return filter_units(drawn, error, seed).removed


def filter_without_blocks(drawn: Drawn, error: float, seed: int) -> Removed:
    """Return the units that mirror removes without knowing the blocks."""
    return filter_units(drawn, error, seed, blocked=False).removed


def filter_miscounted(
    drawn: Drawn, error: float, seed: int, options: Callable[[NDArray[np.intp]], float]
) -> Removed:
    """Return the removed units if all units are treated as having equally many options.

    Args:
        drawn: the units.
        error: the error.
        seed: random seed of the folds.
        options: function of all items' numbers of options; returns the number used for every item.
    """
    margins = filter_units(drawn, error, seed).margins
    sizes = np.full(len(margins), 2) if drawn.items is None else np.bincount(drawn.items)
    others = options(sizes) - 1
    for least in np.unique(np.abs(margins[margins != 0])):
        agree = (margins >= least).sum()
        if agree and (1 + (margins <= -least).sum()) / others <= error * agree:
            return np.flatnonzero(margins >= least)
    return np.empty(0, np.intp)


@dataclass(frozen=True)
class Case:
    """Units, a way of filtering them, and whether it has an injected fault.

    Attributes:
        units: their name in the table.
        make: function that draws the units from a seed and a strength.
        strengths: the planted fractions.
        fault: its name in the table; empty without a fault.
        filter: the way of filtering.
        many: whether the case is drawn five times as often.
        alike: number of successive draws with the same vectors.
    """

    units: str
    make: Callable[[int, float], Drawn]
    strengths: tuple[float, ...] = STRENGTHS
    fault: str = ""
    filter: Filter = filter_with_blocks
    many: bool = False
    alike: int = 1


SOME, NONE = (0.25,), (0.0,)
MIXED = partial(make_choices, sizes=(2, 5))
CASES = (
    Case("simulated", make_independent, many=True),
    Case(f"{TWINS} symmetric practice twins", make_symmetric, many=True, alike=TOSSES),
    Case("families of five", make_families, NONE + SOME),
    Case("families of five", make_families, NONE + SOME, "not blocked", filter_without_blocks),
    Case("five copies", make_copies, NONE + SOME),
    Case(
        "five copies",
        make_copies,
        NONE,
        "counted as rows",
        partial(filter_miscounted, options=np.max),
    ),
    Case("3 options", partial(make_choices, sizes=(3,)), NONE + SOME),
    Case("4 options", partial(make_choices, sizes=(4,)), NONE + SOME),
    Case("5 options", partial(make_choices, sizes=(5,)), NONE + SOME),
    Case("2 or 5 options", MIXED, NONE + SOME),
    Case("2 or 5 options", MIXED, SOME, "the largest", partial(filter_miscounted, options=np.max)),
    Case("2 or 5 options", MIXED, SOME, "the mean", partial(filter_miscounted, options=np.mean)),
)


def measure_outcome(seed: int, case: Case, strength: float) -> list[tuple[float, float]]:
    """Return the false fraction and the found fraction of one draw, at each error."""
    drawn = case.make(seed, strength)
    found = []
    for error in ERRORS:
        removed = case.filter(drawn, error, seed)
        planted = int(drawn.planted[removed].sum())
        share = 1 - planted / len(removed) if len(removed) else 0.0
        found.append((share, planted / max(1, int(drawn.planted.sum()))))
    return found


def compute_interval(shares: NDArray[np.float64], alike: int = 1) -> tuple[float, float]:
    """Return the 95 % interval of the mean of some fractions, 0–1.

    It is Student's t interval of the means, or Wilson's interval if all fractions are 0 or 1 (as
    if nothing is planted), because Wilson's is wide enough even if all of them are equal.

    Args:
        shares: fractions of the draws.
        alike: number of successive draws that count as one.
    """
    means = np.array([part.mean() for part in np.split(shares, range(alike, len(shares), alike))])
    if np.isin(shares, (0, 1)).all():
        return metrics.wilson_interval(float(means.sum()), len(means))
    if len(means) < 2:
        return 0.0, 1.0
    half = stats.t.ppf(0.975, len(means) - 1) * means.std(ddof=1) / np.sqrt(len(means))
    return max(0.0, float(means.mean() - half)), min(1.0, float(means.mean() + half))


def is_within_error(false: NDArray[np.float64], error: float, alike: int = 1) -> bool:
    """Return whether the mean false fraction is at most one point above the error.

    If nothing is planted, a draw's false fraction is 1 if something was removed.
    """
    lowest = compute_interval(false, alike)[0] if len(false) < MANY else float(false.mean())
    return lowest <= error + WITHIN


def print_rows(table: Table, case: Case, strength: float, drawn: NDArray[np.float64]) -> None:
    """Print a row for each error.

    Args:
        table: the table.
        case: the case.
        strength: the planted fraction.
        drawn: (draws, errors, 2) false and found fractions.
    """
    for error, (false, found) in zip(ERRORS, drawn.transpose(1, 2, 0), strict=True):
        low, high = compute_interval(false, case.alike)
        table.row(
            case.units, case.fault or "none", f"{strength:.0%}", error, len(false),
            f"{false.mean():.3f}", f"{low:.3f}–{high:.3f}", f"{found.mean():.0%}",
            f"{np.mean((false > 0) | (found > 0)):.1%}",
            met=is_within_error(false, error, case.alike) != bool(case.fault),
        )  # fmt: skip


def iter_rows(draws: int) -> Iterator[tuple[Case, float, int]]:
    """Yield each case with each strength and its number of draws."""
    for case in CASES:
        for strength in case.strengths:
            yield case, strength, 5 * draws if case.many else draws


def gather_outcomes(
    case: Case, strength: float, count: int, executor: Executor, kept: Path | None
) -> NDArray[np.float64]:
    """Return the false and found fractions, (draws, errors, 2); draw those not saved.

    Args:
        case: the case.
        strength: the planted fraction.
        count: number of draws.
        executor: runs the draws.
        kept: file of saved draws, to which new ones are appended; None to save nothing.
    """
    lines = kept.read_text("utf-8").splitlines() if kept and kept.exists() else []
    name = [case.units, case.fault, strength]
    there = {line["seed"]: line["found"] for line in map(json.loads, lines) if line["of"] == name}
    missing = [seed for seed in range(count) if seed not in there]
    one = partial(measure_outcome, case=case, strength=strength)
    outcomes = executor.map(one, missing, chunksize=max(5, case.alike))
    for seed, found in zip(missing, outcomes, strict=True):
        there[seed] = found
        if kept:
            with kept.open("a", encoding="utf-8") as file:
                print(json.dumps({"of": name, "seed": seed, "found": found}), file=file)
    return np.array([there[seed] for seed in range(count)])


def main() -> None:
    """Draw, filter, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument(
        "--draws", type=int, default=200, help="draws per row; 5 times for the first two units"
    )
    parser.add_argument("--units", nargs="+", help="only units whose names contain these words")
    parser.add_argument("--work", type=Path, help="folder of saved draws")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    draws = 10 if arguments.quick else arguments.draws
    kept = arguments.work / "draws.jsonl" if arguments.work else None
    if arguments.work:
        arguments.work.mkdir(parents=True, exist_ok=True)
    table = Table("Sound units among the removed", COLUMNS)
    with ProcessPoolExecutor(arguments.workers) as executor:
        for case, strength, count in iter_rows(draws):
            if arguments.units and not any(word in case.units for word in arguments.units):
                continue
            print_rows(
                table, case, strength, gather_outcomes(case, strength, count, executor, kept)
            )
            print(f"{case.units}, {strength:.0%}: done", file=sys.stderr)
    finish(table)


if __name__ == "__main__":
    main()
