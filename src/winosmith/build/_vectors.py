"""From the recipe's table `[embed]` to the vectors of a pool."""

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
from winosmith.errors import RecipeError


@dataclass(frozen=True, eq=False)
class Embedded:
    """Vectors, and what making them has to say.

    Attributes:
        X: (n, d), in the order of the problems.
        told: the embedder's parameters, and how fine-tuning went.
    """

    X: NDArray[Any]
    told: dict[str, Any] = field(default_factory=dict)


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
    if chosen.encoder == "light":
        light = embed.LightEmbedder(chosen.dimensions, combine=chosen.combine)
        return Embedded(light.embed(pool), light.parameters)
    if tuning is None:
        encoder = embed.EncoderEmbedder(
            chosen.encoder,
            pooling=chosen.pooling or "mean",
            combine=chosen.combine,
            on_progress=lambda done, _: on_progress(done, ""),
        )
        return Embedded(encoder.embed(pool), encoder.parameters)
    tuner, tuned = embed.finetuned_embedder(
        *tuning,
        model=chosen.encoder,
        out=work,
        settings=models.TrainingSettings(seed=seed),
        pooling=chosen.pooling or "cls",
        combine=chosen.combine,
        on_step=lambda done, of, note: on_progress(0, f"fine-tuning: step {done} of {of} {note}"),
    )
    told = {"finetuned": tuned.message, "at_chance": tuned.at_chance}
    return Embedded(tuner.embed(pool), {**tuner.parameters, **told})


def turning(chosen: EmbedRecipe) -> bool:
    """Tell whether swapping the options of a problem turns its vector around: by difference."""
    return combining(chosen) == "difference"


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
