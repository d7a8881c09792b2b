"""Hugging Face encoders as cached embedders, optionally fine-tuned on part of the data.

An encoder should not embed the problems on which it was fine-tuned (WinoGrande, section 3).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from winosmith import models
from winosmith.blocks import draw_blocks, shuffle_blocks
from winosmith.dataset import Dataset
from winosmith.embed import _embedder
from winosmith.embed._embedder import Combine, Vectors
from winosmith.errors import DataError, Interrupted
from winosmith.models import Encoder, FinishedRun, Pooling, SplitPoint, Text, TrainingSettings
from winosmith.options import checked_class
from winosmith.outputs import atomic_write
from winosmith.parallel import ordered_map
from winosmith.problem import Problem

CHUNK = 2048
"""Number of problems to embed and cache at a time: large enough for batches of similar length, and
small enough that an interruption loses little work."""


@checked_class
@dataclass(frozen=True)
class EncoderEmbedder:
    """Turns problems into vectors with any Hugging Face encoder, fine-tuned or not.

    Each option is filled in; the vector v of a filled-in sentence is its pooled last layer, and
    `combine` combines the vectors of both options. Texts are batched by length. The first call of
    `embed` loads the model, and downloads it if necessary.

    Attributes:
        model: a folder with a saved model, or a model id of the Hugging Face Hub.
        pooling: "mean" averages all tokens of the text, including [CLS] and [SEP]; "cls" uses the
            first token. Vectors are not normalised.
        combine: "difference" or "concat"; see `Combine`.
        reads: "sentence" fills in the options; "options" reads only the options.
        split_point: None reads the filled-in sentence as one segment; other values split it in two.
            For a fine-tuned encoder, use the value from training.
        device: a torch device ("cpu", "cuda:0"); by default the GPU if there is one.
        max_length: maximum length of a text in tokens; longer texts are truncated at their start,
            with a warning. By default the model's own limit.
        tokens_per_batch: number of tokens in a batch, including padding; the default depends on the
            device.
        cache: True for the user's cache folder (`get_cache_folder`), False for no cache, or a
            folder. The cache key consists of the texts, the digest of the weights, and the relevant
            parameters. Interrupted work is resumed.
        executor: an executor that encodes chunks of 2,048 problems; None uses this process. The
            workers need access to the model's folder, and each loads the model once. Machines
            of the same kind give the same vectors.
        on_progress: called with the number of embedded problems and the total.

    >>> EncoderEmbedder("sentence-transformers/all-MiniLM-L6-v2").pooling
    'mean'
    """

    model: str | Path
    pooling: Pooling = "mean"
    combine: Combine = "difference"
    reads: Literal["sentence", "options"] = "sentence"
    split_point: SplitPoint | None = None
    device: str | None = None
    max_length: int | None = None
    tokens_per_batch: int | None = None
    cache: bool | str | Path = True
    executor: Executor | None = field(default=None, compare=False)
    on_progress: Callable[[int, int], None] | None = field(default=None, compare=False)

    @cached_property
    def folder(self) -> Path:
        """The model's folder; the model is downloaded if necessary."""
        return models.find_model_folder(self.model)

    @cached_property
    def _digest(self) -> str:
        return models.digest_weights(self.folder)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the vectors, for signatures and recipes."""
        parameters = {
            "embedder": "encoder",
            "model": self._digest[:12],
            "pooling": self.pooling,
            "combine": self.combine,
            "reads": None if self.reads == "sentence" else self.reads,
            "split_point": self.split_point,
            "max_length": self.max_length,
        }
        return {name: value for name, value in parameters.items() if value is not None}

    def embed(self, problems: Sequence[Problem]) -> Vectors:
        """Return (n, d) float32 vectors; d is the encoder's width, or twice that for "concat".

        Raises:
            DataError: there are no problems, one has more than two options, or vectors are not
                finite.
            InputError: the model can't be loaded.
            Interrupted: the user pressed Ctrl-C, and there is a cache; the message gives the
                number of cached vectors.
        """
        _embedder.check_two_options(problems)
        found = [
            _embedder.combine_options(vectors.reshape(len(vectors) // 2, 2, -1), self.combine)
            for vectors in self._embed_problems(problems)
        ]
        return np.concatenate(found)

    def embed_options(self, problems: Sequence[Problem]) -> Vectors:
        """Return the vectors of all options, as (problems, K, dimensions) float32.

        K is the maximum number of options; missing options are padded with zeros. The errors are
        those of `embed`.
        """
        rows = np.concatenate(list(self._embed_problems(problems)))
        return _embedder.pad_options(rows, [len(problem.options) for problem in problems])

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Return each text's vector, as (n, d) float32. The errors are those of `embed`."""
        return np.concatenate(
            list(self._embed_in_chunks([[text] for text in texts], texts, "texts"))
        )

    def _embed_problems(self, problems: Sequence[Problem]) -> Iterator[Vectors]:
        texts: list[list[Text]] = []
        for problem in problems:
            if self.reads == "options":
                texts.append([option.strip() for option in problem.options])
            else:
                places = range(len(problem.options))
                texts.append([models.fill_option(problem, at, self.split_point) for at in places])
        return self._embed_in_chunks(texts, [problem.id for problem in problems], "problems")

    def _embed_in_chunks(
        self, items: Sequence[Sequence[Text]], names: Sequence[str], noun: str
    ) -> Iterator[Vectors]:
        """Yield the vectors of the items' texts, in chunks of whole items.

        `names` of the items and `noun` ("problems" or "texts") are for messages.
        """
        if not items:
            raise DataError(f"there are no {noun} to embed")
        chunks = {at: items[at : at + CHUNK] for at in range(0, len(items), CHUNK)}
        texts = {at: list(itertools.chain.from_iterable(chunk)) for at, chunk in chunks.items()}
        encoded = self._start_encoding(texts)
        for start, chunk in chunks.items():
            try:
                vectors = self._get_vectors(
                    texts[start], start, len(chunk), len(items), encoded.get(start)
                )
            except KeyboardInterrupt:
                if self.cache is False:
                    raise
                raise Interrupted(
                    f"the vectors of {start:,} of {len(items):,} {noun} are cached; repeat the "
                    "call to resume"
                ) from None
            finite = np.isfinite(vectors).all(axis=1)
            if not finite.all():
                item = np.repeat(np.arange(len(chunk)), list(map(len, chunk)))[np.argmin(finite)]
                raise DataError(
                    f"the encoder {self.model} produces non-finite values, first for "
                    f"{names[start + item]!r}; its weights are damaged"
                )
            yield vectors

    def _get_cache_path(self, texts: list[Text]) -> Path | None:
        """Return the texts' cache file, which does not depend on `combine`, answers or ids."""
        if self.cache is False:
            return None
        folder = get_cache_folder() if self.cache is True else Path(self.cache)
        key_parts = {**self.parameters, "combine": None, "model": self._digest, "texts": texts}
        key = hashlib.sha256(json.dumps(key_parts, sort_keys=True).encode()).hexdigest()
        return folder / "embeddings" / f"{key}.npz"

    def _start_encoding(self, chunks: Mapping[int, list[Text]]) -> dict[int, Iterator[Vectors]]:
        if self.executor is None:
            return {}
        missing = {
            at: texts for at, texts in chunks.items() if self._load_from_cache(texts) is None
        }
        load_settings = {"device": self.device, "max_length": self.max_length}
        encode_settings = {"pooling": self.pooling, "tokens_per_batch": self.tokens_per_batch}
        work = partial(_encode_texts, str(self.folder), load_settings, encode_settings)
        return dict.fromkeys(missing, ordered_map(work, missing.values(), self.executor))

    def _load_from_cache(self, texts: list[Text]) -> Vectors | None:
        path = self._get_cache_path(texts)
        return load_cached_vectors(path, len(texts)) if path else None

    def _get_vectors(
        self,
        texts: list[Text],
        start: int,
        size: int,
        total: int,
        encoded: Iterator[Vectors] | None,
    ) -> Vectors:
        def notify(completed: int, count: int) -> None:
            if self.on_progress:
                self.on_progress(start + size * completed // count, total)

        vectors = None if encoded else self._load_from_cache(texts)
        if vectors is None:
            vectors = next(encoded) if encoded else self._encoder.encode(
                texts, pooling=self.pooling, tokens_per_batch=self.tokens_per_batch, on_batch=notify
            )  # fmt: skip
            if path := self._get_cache_path(texts):
                save_vectors(path, vectors)
        notify(1, 1)
        return vectors

    @cached_property
    def _encoder(self) -> Encoder:
        return models.load_encoder(self.folder, device=self.device, max_length=self.max_length)


_load_once = lru_cache(maxsize=1)(models.load_encoder)
"""The encoder that a worker used last, kept in memory for the next call."""


def _encode_texts(
    folder: str,
    load_settings: Mapping[str, Any],
    encode_settings: Mapping[str, Any],
    texts: list[Text],
) -> Vectors:
    return _load_once(folder, **load_settings).encode(texts, **encode_settings)


def get_cache_folder() -> Path:
    """Return the user's cache folder: `$XDG_CACHE_HOME/winosmith` or `~/.cache/winosmith`.

    The folder can be deleted at any time; missing files are recomputed.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "winosmith"


def load_cached_vectors(path: Path, row_count: int) -> Vectors | None:
    """Return the vectors in a cache file, or None if it is missing, damaged or of another shape.

    The file is a zip with checksums, so damage is detected.
    """
    try:
        with path.open("rb") as file:
            array = np.load(file, allow_pickle=False)["vectors"]
    except (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile):
        return None
    fits = array.ndim == 2 and len(array) == row_count
    return array if fits and array.dtype == np.float32 and np.isfinite(array).all() else None


def save_vectors(path: Path, vectors: Vectors) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as file:
        np.savez(file, vectors=vectors)


N_TRAIN, N_DEV = 5_000, 1_000
"""Numbers of problems on which WinoGrande trained and validated its encoder (section 3)."""


def split_for_finetuning(
    dataset: Dataset, n_train: int = N_TRAIN, n_dev: int = N_DEV, *, seed: int = 0
) -> tuple[Dataset, Dataset, Dataset]:
    """Split a data set by whole blocks for training, dev and embedding, like `winosmith build`.

    Returns train, dev and the rest, each in the order of the data set. A block is a twin with its
    look-alikes (`winosmith.blocks`); the last block may exceed the requested size. The random split
    depends on sentences, options and seed, but not on ids, order or answers.

    Raises:
        DataError: there are too few problems for three non-empty parts.

    >>> from winosmith.testing import make_twins
    >>> [len(part) for part in split_for_finetuning(make_twins(20), 9, 6, seed=1)]
    [10, 6, 24]
    """
    sizes = [n_train, n_dev]
    parts: list[set[int]] = [set(), set()]
    if min(sizes) > 0 and sum(sizes) < len(dataset):
        parts = list(
            map(set, draw_blocks(shuffle_blocks(dataset, seed), range(len(dataset)), sizes))
        )
    drawn = set.union(*parts)
    if not all(parts) or len(drawn) == len(dataset):
        raise DataError(
            f"without splitting a block, {len(dataset):,} problems can't be divided into "
            f"{n_train:,} for training, {n_dev:,} for dev, and a rest to embed; use smaller sizes"
        )
    train, dev = (dataset.select(sorted(rows)) for rows in parts)
    return train, dev, dataset.select(row for row in range(len(dataset)) if row not in drawn)


def finetune_embedder(
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
) -> tuple[EncoderEmbedder, FinishedRun]:
    """Fine-tune an encoder as a multiple-choice model; return an embedder and the training run.

    The embedder uses the training's split point and, by default, the vector of the first token,
    like the model's head. Check the run: if `at_chance` is true, there is no evidence that the
    model has learned anything.

    Don't embed the problems of `train` and `dev`; `split_for_finetuning` keeps them apart.

    Args:
        train: training problems.
        dev: problems for selecting the best epoch.
        model: a folder with a saved model, or a model id of the Hugging Face Hub.
        out: folder of the run; see `train_multiple_choice`, which also lists the errors.
        settings: the training settings; by default those of `TrainingSettings`.
        pooling: "cls" or "mean".
        combine: "difference" or "concat".
        device: a torch device; by default the GPU if there is one.
        cache: see `EncoderEmbedder`.
        on_step: called with the number of completed steps, the total, and a note.
    """
    tuned = models.train_multiple_choice(
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
