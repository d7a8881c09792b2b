"""An encoder that is fine-tuned on a part of the problems, to embed the rest (section 3)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from winosmith.blocks import draw, shuffled_blocks
from winosmith.dataset import Dataset
from winosmith.embed._embedder import Combine
from winosmith.embed._encoder import EncoderEmbedder
from winosmith.errors import DataError
from winosmith.models import FineTuned, Pooling, TrainingSettings, train_multiple_choice

N_TRAIN, N_DEV = 5_000, 1_000
"""What WinoGrande trained and validated its encoder on, and then discarded (section 3)."""


def finetune_split(
    dataset: Dataset, n_train: int = N_TRAIN, n_dev: int = N_DEV, *, seed: int = 0
) -> tuple[Dataset, Dataset, Dataset]:
    """Draw what an encoder is fine-tuned on, in whole blocks, as `winosmith build` does.

    Returns train, dev, and the rest, each in the order of the data set. A block is a twin with
    all that looks like it (`winosmith.blocks`); the last one drawn may exceed a size. What is
    drawn depends on the sentences, the options and the seed, not on ids, order or answers.

    Raises:
        DataError: there are not enough problems, or nothing would be left to embed.

    >>> from winosmith.testing import made_twins
    >>> [len(part) for part in finetune_split(made_twins(20), 9, 6, seed=1)]
    [10, 6, 24]
    """
    sizes = [n_train, n_dev]
    parts: list[set[int]] = [set(), set()]
    if min(sizes) > 0 and sum(sizes) < len(dataset):
        parts = list(map(set, draw(shuffled_blocks(dataset, seed), range(len(dataset)), sizes)))
    taken = set.union(*parts)
    if not all(parts) or len(taken) == len(dataset):
        raise DataError(
            f"{n_train:,} problems to train on and {n_dev:,} to choose by can't be drawn from "
            f"{len(dataset):,} in whole blocks so that each part and the rest hold some"
        )
    train, dev = (dataset.select(sorted(rows)) for rows in parts)
    return train, dev, dataset.select(row for row in range(len(dataset)) if row not in taken)


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
