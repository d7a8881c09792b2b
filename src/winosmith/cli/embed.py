"""`winosmith embed`: turn problems into vectors."""

from __future__ import annotations

import hashlib
import json
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from winosmith import embed, models
from winosmith.cli import _options
from winosmith.cli._printing import echo, print_json_if_requested, progress, say
from winosmith.dataset import Dataset
from winosmith.errors import InputError, OutputError
from winosmith.models import TrainingSettings
from winosmith.options import EmbedRecipe
from winosmith.report import signature_of

FINE_TUNING_SETTINGS = ("learning_rate", "epochs", "batch_size", "weight_decay", "dropout")
"""Fine-tuning settings whose options are generated."""

Options = dict[str, Any]


@click.command()
@_options.data_argument()
@click.option("--out", required=True, metavar="FILE.npz", help="Output file.")
@_options.add_declared_options(EmbedRecipe, only=("encoder", "combine", "pooling", "dimensions"))
@click.option("--finetune", metavar="TRAIN:DEV", help="Fine-tune the encoder first on these "
              "numbers of training and development problems (whole twins), which then get no "
              "vectors; 5000:1000 in the paper.")  # fmt: skip
@_options.add_declared_options(
    TrainingSettings, only=FINE_TUNING_SETTINGS, prefix="For fine-tuning: "
)
@click.option("--split-point", type=click.Choice(["before_option", "after_option"]),
              help="Where to split an encoder's sentences in two; by default "
              f"{TrainingSettings().split_point} in fine-tuning, no split otherwise.")  # fmt: skip
@click.option("--keep-model", metavar="DIR", help="Folder for the fine-tuning run, with the "
              "encoder in DIR/model; by default in the cache.")  # fmt: skip
@_options.add_declared_options(TrainingSettings, only=["max_length"])
@_options.device_option
@click.option("--no-cache", is_flag=True, help="Do not use the cache of computed vectors.")
@_options.cluster_option
@_options.seed_option()
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
        winosmith embed train.jsonl --out minilm.npz --encoder minilm --finetune 5000:1000
    """  # noqa: D301
    out = Path(options["out"])
    if out.suffix != ".npz":
        raise OutputError(f"{out}: vectors are written as .npz; use a name that ends in .npz")
    if out.exists() and not options["force"]:
        raise OutputError(f"{out} exists; add --force to replace it")
    out.parent.mkdir(parents=True, exist_ok=True)  # before the work, which may be long

    dataset = _options.read_data(options["data"])
    with ExitStack() as stack:
        embedder, rest, used, tuning = _prepare_embedding(dataset, options, stack)
        if isinstance(embedder, embed.EncoderEmbedder):
            executor = stack.enter_context(_options.connect_cluster(options["cluster"]))
            advance = stack.enter_context(progress("Embedding", len(rest)))
            embedder = replace(
                embedder, executor=executor, on_progress=lambda done, _: advance(done, "")
            )
        vectors = embedder.embed(rest)
        signature = signature_of(rest, **{"seed": None, **embedder.parameters})
        embed.save_array(out, vectors, rest.ids, signature=json.dumps(asdict(signature)), **used)
    report = {
        "file": str(out),
        "problems": len(rest),
        "width": vectors.shape[1],
        **tuning,
        **{name: list(ids) for name, ids in used.items()},
        "signature": str(signature),
    }
    if print_json_if_requested(report):
        return
    echo(f"{len(rest):,} problems × {vectors.shape[1]:,} numbers")
    if used:
        echo(
            f"{len(used['train_ids']):,} training and {len(used['dev_ids']):,} development "
            "problems have no vectors; their ids are stored with the vectors"
        )
    echo(f"Written to {out}", bold=True)
    say(f"signature {signature}")


def _prepare_embedding(dataset: Dataset, options: Options, stack: ExitStack) -> Any:
    """Return the embedder, the problems to embed, the ids of all other problems, and a report."""
    if options["encoder"] == "light":
        if options["finetune"]:
            raise InputError("the light embedder can't be fine-tuned; name an --encoder")
        return embed.LightEmbedder(options["dimensions"], options["combine"]), dataset, {}, {}
    if options["finetune"]:
        return _finetune(dataset, options, stack)
    embedder = embed.EncoderEmbedder(
        options["encoder"],
        pooling=options["pooling"] or "mean",
        combine=options["combine"],
        split_point=options["split_point"],
        device=options["device"],
        max_length=options["max_length"],
        cache=not options["no_cache"],
    )
    return embedder, dataset, {}, {}


def _finetune(dataset: Dataset, options: Options, stack: ExitStack) -> Any:
    try:
        n_train, n_dev = map(int, options["finetune"].split(":"))
    except ValueError:
        raise InputError(
            f"--finetune is {options['finetune']!r}; two numbers are needed, such as 5000:1000"
        ) from None
    train, dev, rest = embed.split_for_finetuning(dataset, n_train, n_dev, seed=options["seed"])
    settings = TrainingSettings(
        seed=options["seed"],
        **{name: options[name] for name in FINE_TUNING_SETTINGS},
        split_point=options["split_point"] or TrainingSettings().split_point,
        max_length=options["max_length"],
    )
    model = models.find_model_folder(options["encoder"])
    if options["keep_model"]:
        out = Path(options["keep_model"])
    elif options["no_cache"]:
        out = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "finetuned"
    else:
        recipe = [models.digest_weights(model), train.digest, dev.digest, asdict(settings)]
        name = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]
        out = embed.get_cache_folder() / "finetuned" / name
    with progress("Fine-tuning, step") as advance:
        embedder, tuned = embed.finetune_embedder(
            train,
            dev,
            model=model,
            out=out,
            settings=settings,
            pooling=options["pooling"] or "cls",
            combine=options["combine"],
            device=options["device"],
            cache=not options["no_cache"],
            on_step=lambda done, of, note: advance(done, f"of {of}, {note}"),
        )
    say(f"Fine-tuning: {tuned.message}")
    report = {
        "finetuning": {
            "model": str(tuned.folder),
            "dev_accuracy": tuned.dev_accuracy,
            "p_value": tuned.p_value,
            "at_chance": tuned.at_chance,
            "message": tuned.message,
            "epochs": [asdict(epoch) for epoch in tuned.epochs],
        }
    }
    return embedder, rest, {"train_ids": train.ids, "dev_ids": dev.ids}, report
