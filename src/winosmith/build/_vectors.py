"""From the table `[embed]` of a recipe to the vectors of a pool."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith import embed, models
from winosmith.build._recipe import EmbedRecipe, FilterRecipe
from winosmith.dataset import Dataset
from winosmith.errors import DataError, RecipeError


@dataclass(frozen=True, eq=False)
class Embedded:
    """Vectors, and what making them has to say.

    Attributes:
        X: (n, d), in the order of the problems; (n, K, d), a vector an option, where a problem has
            more than two.
        notes: the embedder's parameters, and how fine-tuning went.
    """

    X: NDArray[Any]
    notes: dict[str, Any] = field(default_factory=dict)


def embedded(
    chosen: EmbedRecipe,
    pool: Dataset,
    *,
    collected_ids: Sequence[str],
    tuning: tuple[Dataset, Dataset] | None,
    work: Path,
    seed: int,
    on_progress: Callable[[int, str], None],
) -> Embedded:
    """Return the vectors of the pool.

    Args:
        chosen: the recipe's table.
        pool: the problems.
        collected_ids: the ids of everything that was collected: what the rows of an array without
            ids are.
        tuning: the problems that fine-tune the encoder, for training and for development.
        work: a folder for what fine-tuning keeps.
        seed: of fine-tuning.
        on_progress: is told how much is done, and a note.
    """
    if chosen.array is not None:
        array = embed.load_array(chosen.array, ids=collected_ids)
        return Embedded(array.embed(pool), {"embedder": "array"})
    alone = reading(chosen, pool) == "options"
    if chosen.encoder == "light" and not alone:
        light = embed.LightEmbedder(chosen.dimensions, combine=chosen.combine)
        return Embedded(light.embed(pool), light.parameters)
    if tuning is None:
        embedder = (
            embed.OptionsEmbedder(chosen.dimensions, combine=chosen.combine)
            if chosen.encoder == "light"
            else embed.EncoderEmbedder(
                chosen.encoder,
                pooling=chosen.pooling or "mean",
                combine=chosen.combine,
                reads="options" if alone else "sentence",
                on_progress=lambda done, _: on_progress(done, ""),
            )
        )
        X = embedder.embed_options(pool) if many_options(pool) else embedder.embed(pool)
        return Embedded(X, embedder.parameters)
    tuner, tuned = embed.finetuned_embedder(
        *tuning,
        model=chosen.encoder,
        out=work,
        settings=models.TrainingSettings(seed=seed),
        pooling=chosen.pooling or "cls",
        combine=chosen.combine,
        on_step=lambda done, of, note: on_progress(0, f"fine-tuning: step {done} of {of} {note}"),
    )
    tuning_notes = {"finetuned": tuned.message, "at_chance": tuned.at_chance}
    return Embedded(tuner.embed(pool), {**tuner.parameters, **tuning_notes})


def turning(chosen: EmbedRecipe) -> bool:
    """Tell whether swapping the options of a problem turns its vector around: by difference."""
    return combining(chosen) == "difference"


def many_options(dataset: Dataset) -> bool:
    """Tell whether a problem has more than two options: then each option has a vector."""
    return any(len(problem.options) > 2 for problem in dataset)


def reading(chosen: EmbedRecipe, dataset: Dataset) -> str:
    """Return what an embedder reads, "sentence" or "options"; see `EmbedRecipe.reads`."""
    if chosen.reads is not None or chosen.array is not None:
        return chosen.reads or "sentence"
    asks = any(problem.blank is None for problem in dataset)
    return "options" if asks or many_options(dataset) else "sentence"


def refuse_many_options(dataset: Dataset, embedding: EmbedRecipe, chosen: FilterRecipe) -> None:
    """Refuse to filter problems with more than two options by what knows two alone.

    Raises:
        DataError: and what to do instead.
    """
    many = [problem for problem in dataset if len(problem.options) > 2]
    if not many:
        return
    told = (
        f"{len(many)} of {len(dataset)} problems have more than two options (first: "
        f"{many[0].id!r}); "
    )
    drawn = chosen.method == "random" and chosen.keep is not None
    if chosen.method not in ("mirror", "none") and not drawn:
        raise DataError(
            told + f"{chosen.method} takes those with two, mirror all (and random, if it is told "
            "how many to keep)"
        )
    if embedding.array is not None:
        raise DataError(
            told + "a file of vectors has one for each problem; name an encoder, or give the "
            "options' vectors to `winosmith.debias.mirror`"
        )
    if embedding.encoder == "light" and embedding.reads == "sentence":
        raise DataError(
            told + "the light embedder reads sentences of two; name an encoder, or let the options "
            "be read alone"
        )
    if embedding.finetune_train:
        raise DataError(told + "an encoder is fine-tuned on problems with two")


def refuse_unturned(embedding: EmbedRecipe, chosen: FilterRecipe) -> None:
    """Refuse the mirror filter on vectors that stay as they are when options are swapped.

    Raises:
        RecipeError: and what to do instead.
    """
    if chosen.method == "mirror" and not turning(embedding):
        raise RecipeError(
            "the mirror filter needs vectors that turn round when options are swapped: "
            '"difference" as combine, or a file that `winosmith embed` wrote so; of other vectors '
            "nobody knows, and `winosmith.debias.mirror` takes arrays"
        )


def combining(chosen: EmbedRecipe) -> str:
    """Return how options are combined, "difference" or "concat"; "" where nobody knows.

    Of a file of vectors it is known where `winosmith embed` wrote it.
    """
    if chosen.array is None:
        return chosen.combine
    if not zipfile.is_zipfile(chosen.array):
        return ""
    with np.load(chosen.array, allow_pickle=False) as held:
        written = str(held["signature"]) if "signature" in held.files else "{}"
    try:
        told = json.loads(written)["parameters"]["combine"]
    except (ValueError, KeyError, TypeError):
        return ""
    return str(told)
