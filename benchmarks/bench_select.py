"""How long an exact choice of 60 among 1,000 problems takes, beside taking the best greedily.

    python benchmarks/bench_select.py

The rival is what people write: go through the problems from the highest agreement down, and take
each that breaks no rule. It is faster, and knows no balance.
"""

from __future__ import annotations

import resource
import time

import numpy as np

from winosmith import Dataset, Origin, Problem
from winosmith.answers import Response
from winosmith.humans import Rules, Tally, cross_fit, select, text_of

ITEMS, PEOPLE = 1000, 9


def materials(seed: int) -> tuple[Dataset, Tally]:
    """Return 300 schemas of two halves and 400 questions on 100 texts, with people's counts."""
    rng = np.random.default_rng(seed)

    def made(name: str, text: str, twin: str | None) -> Problem:
        sentence = f"In {text} the cup hit the jug and _ broke."
        domain = Origin(domain=("social", "physical")[int(rng.random() < 0.4)])
        answer = int(rng.random() < 0.65)
        return Problem(name, sentence, ("cup", "jug"), answer, twin, pronoun="it", origin=domain)

    halves = [made(f"h{at}", f"scene {at}", f"t{at // 2}") for at in range(600)]
    questions = [made(f"q{at}", f"text {at // 4}", None) for at in range(400)]
    data = Dataset([*halves, *questions], "simulated")
    return data, Tally(np.full(ITEMS, PEOPLE), rng.binomial(PEOPLE, rng.beta(9, 1, ITEMS)))


def greedy(data: Dataset, counts: Tally, rules: Rules) -> list[int]:
    """Return what going down the list takes, without regard to balance."""
    shares, taken = counts.shares(), []
    texts: dict[str, int] = {}
    twins: set[str] = set()
    partner = {row: other for pair in data.twins for row, other in (pair, pair[::-1])}
    for row in np.argsort(-shares, kind="stable"):
        text, twin = text_of(data[int(row)]), data[int(row)].twin_id
        sound = (
            shares[row] >= rules.floor and shares[partner.get(int(row), int(row))] >= rules.floor
        )
        if sound and texts.get(text, 0) < rules.per_text and twin not in twins:
            taken.append(int(row))
            texts[text] = texts.get(text, 0) + 1
            twins |= {twin} if twin else set()
        if len(taken) == rules.size:
            break
    return taken


def imbalance(data: Dataset, rows: list[int]) -> float:
    """Return how far the share of the first option is from one half."""
    return abs(float(np.mean([data[row].answer == 0 for row in rows])) - 0.5)


def main() -> None:
    """Print both, then the cost of cross-fitting."""
    balance = {"answer": 0.02, "domain": 0.05}
    print(f"{ITEMS} problems, {PEOPLE} people a problem; balance {balance}\n")
    print(f"{'':34}{'seconds':>9}{'problems':>10}{'agreement':>11}{'imbalance':>11}")
    select(*materials(9), Rules(size=60))  # loads scipy
    ratios = []
    for seed in range(3):
        data, counts = materials(seed)
        for size in (60, None):
            rules = Rules(size=size, balance=balance)
            start = time.perf_counter()
            found = select(data, counts, rules, seed)
            exact = time.perf_counter() - start
            start = time.perf_counter()
            rows = greedy(data, counts, rules)
            plain = time.perf_counter() - start
            ratios.append(exact / plain)
            shares = counts.shares()
            for name, seconds, chosen in (
                (f"exact, {size or 'most'}, seed {seed}", exact, list(found.rows)),
                ("  greedy", plain, rows),
            ):
                print(
                    f"{name:34}{seconds:9.3f}{len(chosen):10}{shares[chosen].mean():11.4f}"
                    f"{imbalance(data, chosen):11.3f}"
                )
    print(f"\nexact / greedy: {min(ratios):.0f} to {max(ratios):.0f} times the time")
    data, _ = materials(0)
    rng = np.random.default_rng(0)
    likely = rng.beta(9, 1, ITEMS)
    said = [
        Response(p.id, f"s{who}", "test", (p.answer or 0) ^ int(rng.random() >= likely[row]))
        for who in range(20)
        for row, p in enumerate(data)
    ]
    start = time.perf_counter()
    fit = cross_fit(data, said, Rules(size=60, balance=balance))
    print(f"cross-fitting over {fit.folds} folds: {time.perf_counter() - start:.1f} s")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
