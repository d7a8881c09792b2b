"""An encoder that is fine-tuned on a part of the problems, to embed the rest (section 3)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from winosmith.dataset import Dataset
from winosmith.embed._embedder import Combine
from winosmith.embed._encoder import EncoderEmbedder
from winosmith.errors import DataError
from winosmith.models import FineTuned, Pooling, TrainingSettings, train_multiple_choice

__all__ = ["N_DEV", "N_TRAIN", "finetune_split", "finetuned_embedder"]

N_TRAIN, N_DEV = 5_000, 1_000
"""What WinoGrande trained and validated its encoder on, and then discarded (section 3)."""


def finetune_split(
    dataset: Dataset, n_train: int = N_TRAIN, n_dev: int = N_DEV, *, seed: int = 0
) -> tuple[Dataset, Dataset, Dataset]:
    """Draw what an encoder is fine-tuned on, in whole twins.

    Returns train, dev, and the rest in its order. Which twins are drawn depends on their ids
    and the seed, not on their order or answers. Where only twins are left for an odd last place,
    it stays empty.

    Raises:
        DataError: there are not enough problems, or nothing would be left to embed.

    >>> from winosmith import Problem
    >>> halves = [Problem(f"{n}{h}", "A _ b.", ("x", "y"), 0, n) for n in "abcd" for h in "12"]
    >>> [part.ids for part in finetune_split(Dataset(halves), 4, 2, seed=1)]
    [('a1', 'a2', 'd1', 'd2'), ('b1', 'b2'), ('c1', 'c2')]
    """
    if min(n_train, n_dev) < 1 or n_train + n_dev >= len(dataset):
        raise DataError(
            f"{n_train:,} problems to train on and {n_dev:,} to choose by can't be drawn from "
            f"{len(dataset):,} so that each part and the rest hold some"
        )
    groups = sorted(dataset.groups, key=lambda rows: min(dataset.ids[row] for row in rows))
    order = np.random.default_rng([seed, len(groups)]).permutation(len(groups))
    room = [n_train, n_dev]
    drawn: list[list[int]] = [[], []]
    for rows in (groups[at] for at in order):
        part = next((part for part in (0, 1) if len(rows) <= room[part]), None)
        if part is not None:
            drawn[part].extend(rows)
            room[part] -= len(rows)
    taken = {row for rows in drawn for row in rows}
    rest = [row for row in range(len(dataset)) if row not in taken]
    train, dev = (dataset.select(sorted(rows)) for rows in drawn)
    return train, dev, dataset.select(rest)


def finetuned_embedder(
    train: Dataset,
    dev: Dataset,
    *,
    model: str | Path,
    out: str | Path,
    settings: TrainingSettings | None = None,
    pooling: Pooling = "cls",
    combine: Combine = "difference",
    device: str | None = None,
    cache: bool | str | Path = True,
    on_step: Callable[[int, int, str], None] | None = None,
) -> tuple[EncoderEmbedder, FineTuned]:
    """Fine-tune an encoder as a multiple-choice model, and embed with what it became.

    The embedder reads problems as the model was trained: cut at the same split point, and by
    default pooled from the first token, which the model's head reads. Look at the second result:
    `at_chance` says that the run learned nothing that dev can show.

    The problems of `train` and `dev` should not be embedded: leave them out, as `finetune_split`
    does.

    Args:
        train: what to train on.
        dev: what to choose the best epoch by.
        model: a folder or hub id.
        out: the folder of the run; see `train_multiple_choice`, also for what is raised.
        settings: the defaults of `TrainingSettings` when None.
        pooling: "cls" or "mean".
        combine: "difference" or "concat".
        device: as torch names it; the GPU when there is one when None.
        cache: as for `EncoderEmbedder`.
        on_step: is told the steps done, the steps in all, and a note.
    """
    tuned = train_multiple_choice(
        train, dev, model=model, out=out, settings=settings, device=device, on_step=on_step
    )
    embedder = EncoderEmbedder(
        tuned.folder,
        pooling=pooling,
        combine=combine,
        split_point=tuned.settings.split_point,
        device=device,
        max_length=tuned.settings.max_length,
        cache=cache,
    )
    return embedder, tuned
