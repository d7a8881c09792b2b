"""Time perturbing 100,000 problems from WinoGrande with WordNet, in two processes.

    python benchmarks/bench_wordnet.py --data FOLDER       a folder with winogrande/*.jsonl

First every problem is perturbed, then the children, generation by generation, until there are
enough, or fewer than one in a hundred has a child. The rival is a ten-line swap with nltk: any
word, any synonym of any sense, unchanged; it is timed on 2,000 problems. Without --data, the folder
is WINOSMITH_DATA.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from winosmith import Problem, formats
from winosmith.evolve import WordNetPerturber
from winosmith.language import WordNet
from winosmith.text import FUNCTION_WORDS, split_words

CHUNK, RIVALS = 500, 2000


def make_children(perturber: WordNetPerturber, problems: Sequence[Problem]) -> list[Problem]:
    """Return the children of each problem."""
    return [child for problem in problems for child in perturber.perturb(problem, 0)]


def swap_synonyms(problems: Sequence[Problem], wordnet: WordNet) -> Iterator[str]:
    """Yield sentences with one word replaced by any uninflected synonym."""
    for problem in problems:
        cut = split_words(problem.sentence)
        for _ in range(2):
            at = random.choice(range(len(cut)))  # noqa: S311 - as people write it
            found = [
                synonym.lemma
                for pos in "nvar"
                for sense in wordnet.find_senses(cut[at], pos)
                for synonym in sense.synonyms
            ]
            if found and cut[at] not in FUNCTION_WORDS:
                yield " ".join([*cut[:at], random.choice(found), *cut[at + 1 :]])  # noqa: S311


def main() -> None:
    """Print the time, the rate and the memory of both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", default=os.environ.get("WINOSMITH_DATA"), help="folder of the data sets"
    )
    parser.add_argument("--wanted", type=int, default=100_000, help="number of perturbations")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--count", type=int, default=3, help="maximum children per problem")
    parser.add_argument("--wide", action="store_true", help="also use less certain synonyms")
    chosen = parser.parse_args()
    if not chosen.data:
        parser.error("name the folder of the data with --data")
    folder = Path(chosen.data) / "winogrande"
    roots = [p for name in ("train_xl", "dev") for p in formats.read(folder / f"{name}.jsonl")]
    start = time.perf_counter()
    made: dict[str, Problem] = {}
    generation: list[Problem] = roots
    with ProcessPoolExecutor(chosen.workers) as pool:
        for number in range(1, 20):
            before = len(made)
            chunks = [generation[at : at + CHUNK] for at in range(0, len(generation), CHUNK)]
            generation = []
            perturber = WordNetPerturber(chosen.count, wide=chosen.wide)
            for found in pool.map(partial(make_children, perturber), chunks):
                new = [child for child in found if child.id not in made]
                made.update((child.id, child) for child in new)
                generation += new
                if len(made) >= chosen.wanted:
                    break
            print(
                f"generation {number}: {len(made) - before:,} new, {len(made):,} in all, "
                f"{time.perf_counter() - start:.1f} s"
            )
            if len(made) >= chosen.wanted or len(generation) < len(made) / 100:
                pool.shutdown(cancel_futures=True)
                break
    seconds = time.perf_counter() - start
    rate = len(made) / seconds
    print(f"\nwinosmith: {len(made):,} in {seconds:.1f} s, {rate:,.0f} a second")
    start = time.perf_counter()
    swapped = len(list(swap_synonyms(roots[:RIVALS], WordNet())))
    plain = swapped / (time.perf_counter() - start)
    print(f"as people write it, one process, no tags, no forms, no senses: {plain:,.0f} a second")
    print(f"ratio: {rate / plain:.2f}")
    usage = [
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    print("peak memory:", " + ".join(f"{peak / 1024:.0f} MB" for peak in usage), "(this, a worker)")


if __name__ == "__main__":
    main()
