"""Measure the size and the power of the exposure test.

Simulated differences give the size in nulls and the power; small language models, trained from
scratch on releases that they see once, twice and four times, show the test next to a canary string
and the test of the order of examples (Oren et al. 2023, "Proving Test Set Contamination in Black
Box Language Models", section 3.2). Prints the tables of docs/how-to/exposure.md.

    nice python benchmarks/bench_exposure.py size power
    nice python benchmarks/bench_exposure.py models
"""

from __future__ import annotations

import argparse
import copy
import tempfile
import time
import uuid
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, ttest_1samp

from winosmith import practice
from winosmith.exposure import (
    compute_detectable_shift,
    sign_test,
    signed_ranks,
    subtract_fit,
    tail_probability,
)
from winosmith.testing import tiny_language_model

LEVEL = 0.05


def compute_p_values(d, coins, strata=None):
    """Return the p-values of our test, of raw sums and of their signs, for coin draws."""
    strata = np.zeros(len(d), int) if strata is None else strata
    d, coins, strata = d[d != 0], coins[..., d != 0], strata[d != 0]
    signs = np.where(coins, 1, -1)
    scores = signed_ranks(subtract_fit(d, strata))
    raw = signs @ d / np.sqrt((d**2).sum())
    return (
        tail_probability(scores, signs @ scores),
        norm.sf(raw),
        norm.sf(signs @ np.sign(d) / np.sqrt(len(d))),
    )


def simulate_null_differences(rng, n):
    """Return the differences of models that don't depend on the coins, by kind of model."""
    noise, side = rng.standard_t(3, n), rng.choice([-1, 1], n)
    kinds = rng.integers(0, 2, n)
    answers = rng.random((2, n)) < 0.6
    return {
        "nothing": (noise, None),
        "the original, or another keyed version (shift 1 sd)": (noise + 1.7 * side, None),
        "nothing, and prefers A by 3 sd": (noise + 5.2, None),
        "nothing, and prefers A of one kind, B of the other": (
            noise + 5.2 * (2 * kinds - 1),
            kinds,
        ),
        "nothing; answers without scores": (answers[0].astype(float) - answers[1], None),
    }


DRAWS = 10
"""Number of coin draws for each null."""


def print_size(count, n):
    """Print how often each test accuses models that don't depend on the coins."""
    rng = np.random.default_rng(1)
    found = {}
    for _ in range(count // DRAWS):
        for name, (d, strata) in simulate_null_differences(rng, n).items():
            coins = rng.random((DRAWS, n)) < 0.5
            found.setdefault(name, []).append(compute_p_values(d, coins, strata))
    print(f"{count:,} nulls ({DRAWS} draws of the coins for each of {count // DRAWS:,} models) of "
          f"{n} blocks, at {LEVEL}; an exact test is within .0457–.0543\n")  # fmt: skip
    print("| the model saw | signed ranks | raw sums, normal | signs, normal |\n|---|---|---|---|")
    for name, p in found.items():
        rejected = (np.array(p) <= LEVEL).mean((0, 2))
        print(f"| {name} |", " | ".join(f"{rate:.4f}" for rate in rejected), "|")

    drift = []
    for _ in range(count // 20):
        coins = rng.random(2_000) < 0.5
        drift.append(
            compute_p_values(rng.normal(size=2_000) + np.where(coins, 0.03, -0.03), coins)[0]
        )
    print(f"\nPublished presentations scored in another run, .03 sd higher, 2,000 blocks: "
          f"{np.mean(np.array(drift) <= LEVEL):.1%} of innocent models rejected")  # fmt: skip


SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "Laplace": lambda rng, n: rng.laplace(size=n) / np.sqrt(2),
    "Student's t, 3 degrees": lambda rng, n: rng.standard_t(3, n) / np.sqrt(3),
}


def print_power(count):
    """Print how often a shift is detected, by number of blocks and distribution."""
    rng = np.random.default_rng(2)
    print("\n| blocks | shift (sd) | promised | differences | signed ranks | raw sums | raw sums, "
          "all prefer A by 3 sd |")  # fmt: skip
    print("|---" * 7 + "|")
    for n, shift in ((155, 0.2), (618, 0.1), (2_472, 0.05)):
        promised = norm.cdf(shift / compute_detectable_shift(n) * (norm.isf(LEVEL) + norm.ppf(0.8))
                            - norm.isf(LEVEL))  # fmt: skip
        for name, draw in SHAPES.items():
            p = []
            for _ in range(count):
                coins = rng.random(n) < 0.5
                d = draw(rng, n) + np.where(coins, shift, -shift)
                p.append([*compute_p_values(d, coins)[:2], compute_p_values(d + 3, coins)[1]])
            cells = (f"{rate:.1%}" for rate in (np.array(p) <= LEVEL).mean(0))
            print(f"| {n:,} | {shift} | {promised:.1%} | {name} |", " | ".join(cells), "|")


SIZES, TIMES = (200, 500, 2_000), (1, 2, 4)

PACKED = 8
"""Number of texts in a training sequence, in the order of their file."""

CANARY = "This benchmark must never appear in training corpora; canary GUID {}."


@dataclass
class Release:
    """A release: both presentations of its items, the coins, the canary, and its repetitions."""

    pairs: list[tuple[str, str]]
    coins: np.ndarray
    canary: str
    times: int

    @property
    def published(self):
        """Return the texts of the release's file: the canary, then the published presentations."""
        texts = [pair[int(not coin)] for pair, coin in zip(self.pairs, self.coins, strict=True)]
        return [self.canary, *texts]


def make_presentations(problem):
    """Return a problem's text with the answer, and the text with both options swapped."""
    text = problem.fill(problem.answer)
    one, other = problem.options
    return text, other.join(part.replace(other, one) for part in text.split(one))


def draw_material(others, seed):
    """Return the releases, one of them never seen, and the other texts."""
    rng = np.random.default_rng(seed)
    wanted = [(n, times) for times in TIMES for n in SIZES] + [(2_000, 0)]
    needed = sum(n for n, _ in wanted)
    problems = [*practice.generate_corpus(needed + (others + 1) // 2, seed=seed).dataset]
    halves = iter(problems[: 2 * needed : 2])
    releases = [
        Release(
            [tuple(sorted(make_presentations(next(halves)))) for _ in range(n)],
            rng.random(n) < 0.5,
            CANARY.format(uuid.UUID(bytes=rng.bytes(16))),
            times,
        )
        for n, times in wanted
    ]
    rest = [problem.fill(problem.answer) for problem in problems[2 * needed :]][:others]
    return releases, rest


class Trainer:
    """A small language model with its tokeniser; texts are packed into sequences."""

    def __init__(self, folder, texts):
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        torch.set_num_threads(1)
        torch.manual_seed(0)
        sizes = {"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 3}
        path = tiny_language_model(folder, "llama", texts=texts, vocabulary=2_000,
                                   num_attention_heads=4, max_position_embeddings=512,
                                   **sizes)  # fmt: skip
        self.torch = torch
        self.tokeniser = transformers.AutoTokenizer.from_pretrained(path)
        config = transformers.AutoConfig.from_pretrained(path, initializer_range=0.02)
        self.network = transformers.AutoModelForCausalLM.from_config(config)
        self.begin = self.tokeniser.bos_token_id

    @property
    def weights(self):
        """Number of the network's weights."""
        return sum(weight.numel() for weight in self.network.parameters())

    def ids(self, texts):
        """Return the tokens of the texts as one sequence; each text begins with the start token."""
        return [token for ids in self.tokeniser(list(texts))["input_ids"] for token in ids]

    def train(self, sequences, rate=1e-3, batch=4):
        """Train once on the sequences, in order, with a constant learning rate."""
        torch = self.torch
        optimiser = torch.optim.AdamW(self.network.parameters(), rate)
        rows = [self.ids(texts) for texts in sequences]
        self.network.train()
        for first in range(0, len(rows), batch):
            x, mask = self._padded(rows[first : first + batch])
            loss = self.network(x, attention_mask=mask, labels=x.where(mask == 1, -100)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()

    def _padded(self, rows):
        longest = max(map(len, rows))
        x = self.torch.zeros(len(rows), longest, dtype=self.torch.long)
        mask = self.torch.zeros_like(x)
        for at, row in enumerate(rows):
            x[at, : len(row)] = self.torch.tensor(row)
            mask[at, : len(row)] = 1
        return x, mask

    def score(self, texts, tokens=4_096):
        """Return the log-probability of each text, or of each list of texts as one sequence."""
        rows = [self.ids([text] if isinstance(text, str) else text) for text in texts]
        order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
        found, first = np.empty(len(rows)), 0
        self.network.eval()
        while first < len(order):
            size = max(1, tokens // len(rows[order[min(first + 150, len(order) - 1)]]))
            some = order[first : first + size]
            x, mask = self._padded([rows[at] for at in some])
            with self.torch.inference_mode():
                logits = self.network(x, attention_mask=mask).logits[:, :-1]
                values = -self.torch.nn.functional.cross_entropy(
                    logits.transpose(1, 2), x[:, 1:], reduction="none"
                )
            found[some] = (values * mask[:, 1:]).sum(1).double().numpy()
            first += size
        return found


def pack_texts(texts):
    """Return the texts in consecutive groups of `PACKED`."""
    return [texts[at : at + PACKED] for at in range(0, len(texts), PACKED)]


def make_training_sequences(releases, others, rng, *, shuffled):
    """Return the sequences of one epoch: the files in order, or all texts shuffled."""
    copies = [release.published for release in releases for _ in range(release.times)]
    if shuffled:
        texts = [*others, *(text for copy in copies for text in copy)]
        found = pack_texts([texts[at] for at in rng.permutation(len(texts))])
    else:
        found = [*pack_texts(others), *(group for copy in copies for group in pack_texts(copy))]
    return [found[at] for at in rng.permutation(len(found))]


def compute_order_p_value(trainer, release, rng, draws=4):
    """Return the p-value of the sharded test of example order, with one shard per sequence."""
    shards = [shard for shard in pack_texts(release.published) if len(shard) > 1]
    orders = [
        [[*shard], *([shard[at] for at in rng.permutation(len(shard))] for _ in range(draws))]
        for shard in shards
    ]
    values = trainer.score([texts for own in orders for texts in own]).reshape(-1, draws + 1)
    return ttest_1samp(values[:, 0] - values[:, 1:].mean(1), 0, alternative="greater").pvalue


def compute_canary_p_value(trainer, release, rng, draws=499):
    """Return the p-value of the canary's rank among random ones (Carlini et al. 2019)."""
    rivals = [CANARY.format(uuid.UUID(bytes=rng.bytes(16))) for _ in range(draws)]
    own, *rest = trainer.score([release.canary, *rivals])
    return (1 + sum(rival >= own for rival in rest)) / (1 + draws)


def print_models(folder, runs, seed):
    """Train models on the releases among other texts, and print the result of each test."""
    largest = max(others for others, _ in runs)
    releases, others = draw_material(largest, seed)
    trainer = Trainer(folder, others[:4_000])
    rng = np.random.default_rng(seed)
    for _ in range(3):
        groups = pack_texts([others[at] for at in rng.permutation(4_000)])
        trainer.train(groups)
    base = copy.deepcopy(trainer.network.state_dict())
    seen = sum(len(release.published) * release.times for release in releases)
    print(f"\n{trainer.weights:,} weights; three epochs of 4,000 other texts, then one of {seen:,} "
          f"texts of releases among others (seed {seed})\n")  # fmt: skip
    print("| other texts | release in training | seen | items | shift (sd) | signed ranks, p | "
          "raw sums, z | signs, z | canary, p | order of examples, p |")  # fmt: skip
    print("|---" * 10 + "|")
    for count, shuffled in runs:
        trainer.network.load_state_dict(base)
        trainer.train(make_training_sequences(releases, others[:count], rng, shuffled=shuffled))
        for release in releases:
            a, b = (
                np.array(trainer.score([t for pair in release.pairs for t in pair]))
                .reshape(-1, 2)
                .T
            )
            ours = sign_test(subtract_fit(a - b, np.zeros(len(a), int)), release.coins)
            _, raw, signs = compute_p_values(a - b, release.coins)
            cells = [f"{count:,}", "shuffled" if shuffled else "in order",
                     release.times or "never", f"{len(a):,}", f"{ours.shift:+.2f}",
                     f"{ours.p_value:.1g}",
                     f"{norm.isf(raw):.1f}", f"{norm.isf(signs):.1f}",
                     f"{compute_canary_p_value(trainer, release, rng):.3f}",
                     f"{compute_order_p_value(trainer, release, rng):.1g}"]  # fmt: skip
            print("|", " | ".join(map(str, cells)), "|", flush=True)


def main():
    """Run the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=["size", "power", "models"])
    parser.add_argument("--nulls", type=int, default=10_000)
    parser.add_argument("--blocks", type=int, default=100)
    parser.add_argument("--draws", type=int, default=400, help="draws per row of the power table")
    parser.add_argument("--others", type=int, nargs="+", default=[4_000, 15_000, 40_000])
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    started = time.process_time()
    if "size" in asked.parts:
        print_size(asked.nulls, asked.blocks)
    if "power" in asked.parts:
        print_power(asked.draws)
    if "models" in asked.parts:
        runs = [(asked.others[0], True), *((count, False) for count in asked.others)]
        with tempfile.TemporaryDirectory() as folder:
            print_models(folder, runs, asked.seed)
    print(f"\n{time.process_time() - started:,.0f} seconds of processor time")


if __name__ == "__main__":
    main()
