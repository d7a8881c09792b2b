"""Measure how often the bounds on wrong keys hold, and how well wrong keys are ranked.

In simulated sets, models answer according to an item response model, and wrong keys are made by
other mechanisms than planted keys. Each condition changes one factor of the base condition.

    python benchmarks/bench_wrong_keys.py --sets 1000
    python benchmarks/bench_wrong_keys.py --only memorised
    python benchmarks/bench_wrong_keys.py --data DATA
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from winosmith import Problem, audit, formats
from winosmith.answers import read as read_answers
from winosmith.audit._planted import KINDS, VISIBILITIES, Choices, compute_features, rank_items
from winosmith.audit._triage import Votes
from winosmith.dataset import Dataset
from winosmith.metrics import wilson_interval


@dataclass(frozen=True)
class Condition:
    """A kind of simulated set.

    Attributes:
        name: the factor that differs from the base condition.
        items: number of items.
        models: number of models.
        options: number of options.
        wrong: fraction of wrong keys.
        made: how wrong keys are made: "anywhere" at random; on "hard" items; on the most
            "attractive" other option; "memorised" by 30 % of the models, which know the given
            keys of 70 % of all items; or "half undetectable": half of them are answered as if they
            were sound.
        alike: fraction of the models that repeat 90 % of another model's answers.
    """

    name: str = "base"
    items: int = 300
    models: int = 12
    options: int = 4
    wrong: float = 0.03
    made: str = "anywhere"
    alike: float = 0.0


BASE = Condition()
CONDITIONS = (
    BASE,
    *(
        replace(BASE, name=name, wrong=of)
        for name, of in (("0 %", 0), ("1 %", 0.01), ("10 %", 0.1))
    ),
    *(
        replace(BASE, name=f"{words}{rate}", made=made, wrong=wrong)
        for made, words in (
            ("hard", "on hard items"),
            ("attractive", "on attractive options"),
            ("memorised", "memorised"),
            ("half undetectable", "half undetectable"),
        )
        for rate, wrong in (("", 0.03), (", 10 %", 0.1))
    ),
    *(replace(BASE, name=f"{of} models", models=of) for of in (4, 8, 40)),
    *(replace(BASE, name=f"{of} options", options=of) for of in (2, 10)),
    replace(BASE, name="look-alike models", alike=0.5),
)


TOP = 0.05
"""Visibility is measured among the most suspect items, this fraction of all."""


def simulate(of: Condition, rng: np.random.Generator) -> tuple[Choices, np.ndarray]:
    """Return models' choices, and whether each item's key is wrong."""
    n, shape = of.items, (of.models, of.items)
    truth, rows = rng.integers(of.options, size=n), np.arange(n)
    hard, ability = rng.normal(0, 1.2, n), rng.normal(1, 0.8, of.models)
    solves = 1 / (1 + np.exp(-1.3 * (ability[:, None] - hard)))
    knows = rng.random(shape) < 1 / of.options + (1 - 1 / of.options) * solves
    likely = rng.normal(0, 1.5, (n, of.options))
    likely[rows, truth] = -np.inf
    guess = (likely[None] + rng.gumbel(size=(of.models, n, of.options))).argmax(axis=2)
    chosen = np.where(knows, truth, guess)
    for model in range(round(of.alike * of.models)):
        same = rng.random(n) < 0.9
        chosen[model, same] = chosen[of.models - 1 - model % 2, same]
    weight = np.exp(1.5 * hard) if of.made == "hard" else np.ones(n)
    is_wrong = np.zeros(n, bool)
    is_wrong[rng.choice(n, round(of.wrong * n), replace=False, p=weight / weight.sum())] = True
    other = (truth + rng.integers(1, of.options, n)) % of.options
    other = likely.argmax(axis=1) if of.made == "attractive" else other
    keys = np.where(is_wrong, other, truth)
    if of.made == "memorised":
        knowing = rng.permutation(of.models) < round(0.3 * of.models)
        chosen = np.where(knowing[:, None] & (rng.random(shape) < 0.7), keys, chosen)
    if of.made == "half undetectable":
        # as if the correct option were the key: the two options are swapped
        hidden = is_wrong & (rng.random(n) < 0.5)
        swapped = np.where(chosen == truth, keys, np.where(chosen == keys, truth, chosen))
        chosen = np.where(hidden, swapped, chosen)
    alone = np.arange(n)
    made = Choices(chosen, np.ones(shape, bool), keys, np.full(n, of.options), alone, alone)
    return made, is_wrong


def compute_auroc(scores: np.ndarray, is_wrong: np.ndarray) -> float:
    """Return the probability that a wrong key has a higher score than a correct key."""
    n, ranks = int(is_wrong.sum()), rankdata(scores)
    if not n:
        return float("nan")
    return float((ranks[is_wrong].mean() - (n + 1) / 2) / (len(scores) - n))


def measure_disagreement(choices: Choices) -> np.ndarray:
    """Return the fraction of models' weight on the most attractive other option."""
    return compute_features(choices, choices.keys)[0][:, 1]


def measure_condition(of: Condition, sets: int) -> None:
    most: dict[tuple[str, float], list[int]] = {
        (kind, v): [] for kind in KINDS for v in VISIBILITIES
    }
    areas, seen, started, wrong = [], [], time.process_time(), 0
    for number in range(sets):
        choices, is_wrong = simulate(of, np.random.default_rng([number, 1]))
        found = rank_items(choices, number)
        wrong = int(is_wrong.sum())
        areas.append(
            (
                compute_auroc(found.scores, is_wrong),
                compute_auroc(measure_disagreement(choices), is_wrong),
            )
        )
        seen.append((np.exp(-found.seen[is_wrong]) <= TOP).mean() if wrong else np.nan)
        seen[-1] /= (found.beyond["random"] <= TOP).mean()
        for bound in found.bounds:
            most[bound.planted, bound.visibility].append(
                of.items if bound.most is None else bound.most
            )
    cells = []
    for own in most.values():
        holds = sum(one >= wrong for one in own)
        low, high = wilson_interval(holds, sets)
        cells.append(
            f"{100 * holds / sets:.1f} ({100 * low:.1f}–{100 * high:.1f}); {np.median(own):.0f}"
        )
    ours, theirs = np.mean(areas, axis=0)
    areas_in_words = "" if np.isnan(ours) else f"{ours:.3f} | {theirs:.3f}"
    print(
        f"| {of.name} | {wrong} | {np.mean(seen):.2f} | {' | '.join(cells)} | "
        f"{areas_in_words or ' | '} | "
        f"{(time.process_time() - started) / sets:.2f} |",
        flush=True,
    )


def print_published_sets(folder: Path) -> None:
    """Print the hits among the first suspects in two published sets with known faults."""
    print("| set | items | models | wrong | by | AUROC | wrong among the first | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, field, sizes in (
        ("mmlu_redux", "error_type", (107, 200, 500)),
        ("mmlu_pro_answers", "corrected", (100, 500, 1000)),
    ):
        contents = formats.scan(folder / name / "items.jsonl")
        data = Dataset((one for one in contents.items if isinstance(one, Problem)), name)
        records = (folder / name / "items.jsonl").read_text("utf-8").split("\n")[:-1]
        marks = {str(record["id"]): record[field] for record in map(json.loads, records)}
        items = audit.Items.from_dataset(data)
        answers = read_answers(folder / name / "answers.csv", data)
        is_wrong = np.array(
            [marks[one.id] not in (None, "ok") for one in items.problems]
            if field == "corrected"
            else [marks[one.id] == "wrong_groundtruth" for one in items.problems]
        )
        started = time.process_time()
        found = audit.triage(items, answers).wrong_keys
        took = time.process_time() - started
        assert found is not None
        votes = Votes.from_answers(items, answers)
        agree = votes.compute_agreement(items)
        agree[np.arange(len(items)), items.keys] = 0.0
        for by, scores in (("planted keys", found.scores), ("agreement", agree.max(axis=1))):
            order = np.argsort(-scores, kind="stable")
            hits = " / ".join(str(int(is_wrong[order[:size]].sum())) for size in sizes)
            print(
                f"| {name} | {len(items):,} | {len(answers)} | {is_wrong.sum()} | {by} | "
                f"{compute_auroc(scores, is_wrong):.3f} | {hits} of {'/'.join(map(str, sizes))} | "
                f"{took:.1f} |"
            )
        for bound in found.bounds:
            print(f"{name}, {bound.planted}: {bound.in_words}")
        for top in (0.02, 0.05, 0.1):
            seen = (np.exp(-found.seen[is_wrong]) <= top).mean()
            print(f"detected among the first {top:.0%}: {seen:.2f}, planted "
                  f"{(found.beyond['random'] <= top).mean():.2f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of published sets, to rank these instead")
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--only", default="", help="run the conditions whose names contain this")
    asked = parser.parse_args()
    if asked.data:
        print_published_sets(asked.data)
        return
    heads = [f"{kind}, v = {v:g}" for kind in KINDS for v in VISIBILITIES]
    print(f"| condition | wrong | detected | {' | '.join(heads)} | AUROC | agreement's | seconds |")
    print(f"|---|{'---|' * (len(heads) + 6)}")
    for condition in CONDITIONS:
        if asked.only in condition.name:
            measure_condition(condition, asked.sets)


if __name__ == "__main__":
    main()
