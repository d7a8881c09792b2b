"""`winosmith embed`: turn problems into vectors."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from winosmith import embed
from winosmith.cli import _options
from winosmith.cli._printing import echo, print_json_if_requested, progress, say
from winosmith.embed import Embedder
from winosmith.errors import OutputError
from winosmith.models import TrainingSettings
from winosmith.options import EmbedRecipe
from winosmith.report import signature_of


@click.command()
@_options.data_argument()
@click.option("--out", required=True, metavar="FILE.npz", help="Output file.")
@_options.add_declared_options(EmbedRecipe, only=("encoder", "combine", "pooling", "dimensions"))
@click.option("--split-point", type=click.Choice(["before_option", "after_option"]),
              help="Where to split an encoder's sentences in two, as in its training; by default, "
              "they are not split.")  # fmt: skip
@_options.add_declared_options(TrainingSettings, only=["max_length"])
@_options.device_option
@click.option("--no-cache", is_flag=True, help="Do not use the cache of computed vectors.")
@_options.cluster_option
@click.option("--force", is_flag=True, help="Replace FILE.npz.")
@_options.format_option
@_options.json_option
def command(**options: Any) -> None:
    """Turn the problems in DATA into vectors, one row each.

    FILE.npz contains the vectors as X, the ids, and the signature as JSON; `winosmith debias
    --embeddings` and `numpy.load` read it. You can stop the command at any time; run it again to
    resume.

    \b
    Example:
        winosmith embed train.jsonl --out light.npz
        winosmith embed train.jsonl --out minilm.npz --encoder minilm
    """  # noqa: D301
    out = Path(options["out"])
    if out.suffix != ".npz":
        raise OutputError(f"{out}: vectors are written as .npz; use a name that ends in .npz")
    if out.exists() and not options["force"]:
        raise OutputError(f"{out} exists; add --force to replace it")
    out.parent.mkdir(parents=True, exist_ok=True)  # before the work, which may be long

    dataset = _options.read_data(options["data"])
    with ExitStack() as stack:
        embedder: Embedder
        if options["encoder"] == "light":
            embedder = embed.LightEmbedder(options["dimensions"], options["combine"])
        else:
            executor = stack.enter_context(_options.connect_cluster(options["cluster"]))
            advance = stack.enter_context(progress("Embedding", len(dataset)))
            embedder = embed.EncoderEmbedder(
                options["encoder"],
                pooling=options["pooling"] or "mean",
                cache=not options["no_cache"],
                executor=executor,
                on_progress=lambda done, _: advance(done, ""),
                **{
                    name: options[name]
                    for name in ("combine", "split_point", "device", "max_length")
                },
            )
        vectors = embedder.embed(dataset)
    signature = signature_of(dataset, **{"seed": None, **embedder.parameters})
    embed.save_array(out, vectors, dataset.ids, signature=json.dumps(asdict(signature)))
    report = {
        "file": str(out),
        "problems": len(dataset),
        "width": vectors.shape[1],
        "signature": str(signature),
    }
    if print_json_if_requested(report):
        return
    echo(f"{len(dataset):,} problems × {vectors.shape[1]:,} numbers")
    echo(f"Written to {out}", bold=True)
    say(f"signature {signature}")
