"""A network trained from scratch on what mirror and AFLite keep of real twins, halves apart.

`bench_mirror_real.py` asks linear guessers. Here a small transformer, whose words and weights are
those of its training problems alone, learns from what is kept of one half of the blocks and is
asked what is kept of the other, both ways; each half is filtered by itself, as there. Intervals
are of resampled blocks, the networks staying as they are.

    python benchmarks/bench_mirror_scratch.py --data $WINOSMITH_DATA/winogrande/train_xl.jsonl
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from bench_mirror_real import MIRROR, by_aflite, mirrored, with_twins

from winosmith import blocks, debias, embed, formats, metrics, models, solve
from winosmith.text import tokens

DEV = 0.1
"""Of what is kept of a half: chooses the epoch."""


def new_model(folder, problems, hidden):
    """Make a BERT of two layers with drawn weights, which knows the words of the problems."""
    import tokenizers
    import torch
    import transformers

    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
    words = {word.lower() for p in problems for text in p.filled() for word in tokens(text)}
    numbered = {word: at for at, word in enumerate([*special.values(), *sorted(words)])}
    word_level = tokenizers.models.WordLevel(numbered, unk_token=special["unk_token"])
    tokeniser = tokenizers.Tokenizer(word_level)
    tokeniser.normalizer = tokenizers.normalizers.Lowercase()
    tokeniser.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokeniser.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokeniser, **special, model_max_length=64
    ).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(numbered), hidden_size=hidden, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=2 * hidden, max_position_embeddings=80, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.AutoModel.from_config(config).save_pretrained(folder)


def rights(pool, learnt, asked, epochs, hidden):
    """Train on some rows and return what share of each of the asked ones' answers is right."""
    import torch
    from transformers.utils import logging

    torch.set_num_threads(1)
    logging.disable_progress_bar()
    train = pool.select(learnt)
    order = blocks.shuffled_blocks(train, seed=0)
    dev, rest = [], []
    for block in order:
        (dev if len(dev) < DEV * len(train) else rest).extend(block)
    settings = models.TrainingSettings(learning_rate=5e-4, epochs=epochs, batch_size=32)
    with tempfile.TemporaryDirectory() as folder:
        new_model(Path(folder) / "new", train.select(rest), hidden)
        run = models.train_multiple_choice(
            train.select(rest), train.select(dev), model=Path(folder) / "new",
            out=Path(folder) / "run", settings=settings, device="cpu",
        )  # fmt: skip
        problems = pool.select(asked)
        told = solve.predict(solve.EncoderSolver(run.folder, device="cpu"), problems)
    return metrics.grade(problems, told).credit, run.dev_accuracy


def main():
    """Filter each half, train on one, ask the other, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0, help="deals the halves")
    parser.add_argument("--problems", type=int, help="only the first so many")
    asked = with_twins(parser)
    pool = formats.read(asked.data)
    pool = pool.select(range(min(asked.problems or len(pool), len(pool))))
    X, y = embed.LightEmbedder().embed(pool), debias.problem_labels(pool)
    clusters, halves = metrics.clusters(pool), [[], []]
    for block in blocks.shuffled_blocks(pool, asked.seed):
        halves[len(halves[0]) > len(halves[1])].extend(block)
    halves = [np.array(sorted(half)) for half in halves]
    chance = [mirrored(pool, X, half, MIRROR["mirror, chance"]) for half in halves]
    kept = {
        "nothing": halves,
        "mirror, chance": chance,
        "AFLite, as many": [
            by_aflite(pool, X, y, half, len(own)) for half, own in zip(halves, chance, strict=True)
        ],
    }
    print(f"{len(pool):,} problems, {asked.epochs} epochs, hidden {asked.hidden}, one split both "
          "ways\n\n| filter | kept | network from scratch | its dev sets | seconds |\n"
          "|---|---|---|---|---|", flush=True)  # fmt: skip
    with ProcessPoolExecutor(2) as workers:
        for name, (one, other) in kept.items():
            started = time.perf_counter()
            ways = [
                workers.submit(
                    rights, pool, learnt.tolist(), told.tolist(), asked.epochs, asked.hidden
                )
                for learnt, told in ((one, other), (other, one))
            ]
            (first, dev_one), (second, dev_other) = (way.result() for way in ways)
            won = np.concatenate([first, second])
            rows = np.concatenate([other, one])
            low, high = metrics.bootstrap_interval(won, clusters[rows])
            print(f"| {name} | {len(won) / len(pool):.1%} | {won.mean():.1%} ({low:.1%}–{high:.1%})"
                  f" | {dev_one:.1%}, {dev_other:.1%} | {time.perf_counter() - started:.0f} |",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
