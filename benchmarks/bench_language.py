"""Measure the time and the number of tokens of scoring with language models.

One causal model (GPT-2's architecture, 4 layers, 256 wide, 8,000 tokens, random weights) scores the
same options of the same problems in two ways, in one process:

- winosmith: `solve.Causal(...)`, the partial score and all four scores, including tokenization;
- lm-evaluation-harness: `HFLM.loglikelihood` on the same contexts and continuations, the partial
score at the best of several batch sizes, without reading tasks and files.

Both are measured zero-shot and after 30 fixed shots. The partial scores must agree to 1e-4, and
therefore all decisions. Then a multiple-choice encoder (BERT's architecture, 4 layers, 256 wide) is
timed with winosmith's batches by length, and with batches of 32 padded to 80 tokens, as in
allenai/winogrande's scripts (max_seq_length 80). Each way is timed --repeats times; the minimum is
reported.

    python benchmarks/bench_language.py --data dev.jsonl --problems 400 --shot-problems 60
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from winosmith import formats, models, practice, solve
from winosmith.models import split_sentence
from winosmith.testing import tiny_language_model

SIZE = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8}


def time_best(function, repeats):
    """Return the minimum wall-clock and CPU seconds of some calls, and the last result."""
    times = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        given = function()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(t[0] for t in times), min(t[1] for t in times), given


def time_harness(folder, data, prompt, sizes, repeats):
    """Return the harness's minimum seconds, its partial scores, and its number of tokens."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    requests = []
    for problem in data:
        before, options, rest = split_sentence(problem)
        for option in options:
            pair = (prompt + before + option, rest)
            requests.append(Instance("loglikelihood", {}, pair, len(requests)))
    found = []
    for size in sizes:
        model = HFLM(pretrained=str(folder), device="cpu", batch_size=size)
        fed = []
        model.model.register_forward_pre_hook(
            lambda _, values, named, fed=fed: fed.append((*values, *named.values())[0].numel()),
            with_kwargs=True,
        )
        wall, cpu, given = time_best(
            lambda model=model: model.loglikelihood(requests, True), repeats
        )
        values = np.array([value for value, _ in given]).reshape(len(data), -1)
        found.append((wall, cpu, values, sum(fed) // repeats, size))
    return min(found, key=lambda one: one[1])


def compare_causal(folder, data, prompt, sizes, repeats):
    """Time both implementations, compare their scores, and print a row for each."""
    solver = solve.Causal(folder, prompt=prompt)
    solver.score(data[:2])  # loads the model
    every_wall, every_cpu, ours = time_best(lambda: solver.compute_all_scores(data), repeats)
    print(
        f"{'winosmith, all four scores':28}{every_wall:8.2f}{every_cpu:8.2f}{ours.tokens_fed:12,}"
    )
    wall, cpu, partial = time_best(lambda: solver.score(data), repeats)
    print(f"{'winosmith, partial':28}{wall:8.2f}{cpu:8.2f}{ours.tokens_fed:12,}")
    if importlib.util.find_spec("lm_eval") is None:
        print("lm_eval is not installed; nothing to compare with")
        return
    their_wall, their_cpu, theirs, fed, size = time_harness(folder, data, prompt, sizes, repeats)
    name = f"lm_eval, batches of {size}"
    print(f"{name:28}{their_wall:8.2f}{their_cpu:8.2f}{fed:12,}")
    own = np.array(partial)
    np.testing.assert_allclose(own, ours.scores["partial"], atol=1e-4)
    np.testing.assert_allclose(own, theirs, atol=1e-4)
    assert np.array_equal(own.argmax(1), theirs.argmax(1))
    ratios = their_wall / wall, their_cpu / cpu, fed / ours.tokens_fed
    print(f"{'ratio':28}" + "".join(f"{r:{w}.1f}" for r, w in zip(ratios, (8, 8, 12), strict=True)))
    print(f"largest difference of a score: {np.abs(own - theirs).max():.1e}; same decisions\n")


def compare_choice(folder, data, repeats):
    """Time a multiple-choice encoder with batches by length and with fixed padding."""
    import torch

    model = models.create_choice_model(folder, seed=0)
    rows = model.make_inputs(data)

    def fixed():
        scores = []
        for start in range(0, len(rows), 32):
            inputs = model.reader.tokeniser.pad(
                rows[start : start + 32], padding="max_length", max_length=80, return_tensors="pt"
            )
            with torch.inference_mode():
                shaped = {name: value.unsqueeze(1) for name, value in inputs.items()}
                scores.append(model.network(**shaped).logits[:, 0].numpy())
        return np.concatenate(scores).reshape(len(data), -1)

    wall, cpu, own = time_best(lambda: np.stack(model.score_problems(data)), repeats)
    their_wall, their_cpu, theirs = time_best(fixed, repeats)
    np.testing.assert_allclose(own, theirs, atol=1e-4)
    assert np.array_equal(own.argmax(1), theirs.argmax(1))
    lengths = [len(row["input_ids"]) for row in rows]
    batches = models.batch_by_length(lengths, model.reader.budget)
    fed = sum(len(batch) * max(lengths[row] for row in batch) for batch in batches)
    print(f"{'by length':28}{wall:8.2f}{cpu:8.2f}{fed:12,}")
    print(f"{'padded to 80':28}{their_wall:8.2f}{their_cpu:8.2f}{80 * len(rows):12,}")
    print(f"{'ratio':28}{their_wall / wall:8.1f}{their_cpu / cpu:8.1f}{80 * len(rows) / fed:12.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="file of problems (default: the practice corpus)")
    parser.add_argument("--problems", type=int, default=300)
    parser.add_argument("--shot-problems", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    import torch
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    whole = formats.read(options.data) if options.data else practice.generate_corpus(600).dataset
    data, shown = whole[: options.problems], whole[: options.shot_problems]
    prompt = solve.make_prompt(whole[len(data) :], 30)
    texts = [text for problem in whole for text in problem.fill_all()]
    print(f"{len(data):,} problems of {whole.name!r}, {len(data.twins):,} twins among them")
    print(f"on a CPU, {torch.get_num_threads()} threads, best of {options.repeats}\n")
    with tempfile.TemporaryDirectory() as made:
        causal = tiny_language_model(
            Path(made) / "causal",
            "gpt2",
            texts=texts,
            vocabulary=8000,
            **SIZE,
            max_position_embeddings=2048,
        )
        masked = tiny_language_model(
            Path(made) / "masked", "bert", masked=True, texts=texts, vocabulary=8000, **SIZE,
            intermediate_size=1024,
        )  # fmt: skip
        print(f"{'zero-shot':28}{'wall s':>8}{'CPU s':>8}{'tokens fed':>12}")
        compare_causal(causal, data, "", (8, 32, 128), options.repeats)
        print(f"{f'30 shots, {len(shown)} problems':28}{'wall s':>8}{'CPU s':>8}{'tokens fed':>12}")
        compare_causal(causal, shown, prompt, (4, 16), 1)
        print(f"{'multiple choice':28}{'wall s':>8}{'CPU s':>8}{'tokens fed':>12}")
        compare_choice(masked, data, options.repeats)


if __name__ == "__main__":
    main()
