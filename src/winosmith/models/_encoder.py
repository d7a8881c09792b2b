"""An encoder from a folder or the hub, and the vectors it gives for texts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from winosmith.errors import InputError
from winosmith.extras import require
from winosmith.models._batches import OnProgress, length_batches
from winosmith.models._folder import load_configuration, load_network, model_folder, quiet
from winosmith.models._texts import Text

Pooling = Literal["mean", "cls"]
"""One vector from those of the tokens: their mean, [CLS] and [SEP] included and padding left out,
as sentence-transformers takes it; or the first token's."""


@dataclass(frozen=True)
class Reader:
    """A tokeniser with the device and the longest input of its model.

    Longer texts are cut at their start, with a warning: what follows the blank decides.
    """

    tokeniser: Any
    device: str
    max_length: int

    @property
    def budget(self) -> int:
        """The tokens of a batch, padding counted, where nothing else is asked for.

        On a CPU small batches keep the layers' values in its cache: MiniLM-L6 took 3.7 s with
        1,024 tokens a batch for what took 5.2 s with 8,192. A GPU needs many to be busy.
        """
        return 1_024 if self.device == "cpu" else 16_384

    def tokens(self, texts: Sequence[Text]) -> list[dict[str, list[int]]]:
        """Return the model's inputs for each text, unpadded."""
        if not texts:
            return []
        firsts = [text if isinstance(text, str) else text[0] for text in texts]
        seconds = None if isinstance(texts[0], str) else [text[1] for text in texts]
        with quiet():
            cut = self.tokeniser(firsts, seconds, truncation=True, max_length=self.max_length)
        rows = [dict(zip(cut, values, strict=True)) for values in zip(*cut.values(), strict=True)]
        at_the_limit = sum(len(row["input_ids"]) == self.max_length for row in rows)
        if at_the_limit:
            warnings.warn(
                f"{at_the_limit} of {len(rows)} texts fill all {self.max_length} tokens that the "
                "model reads; what was longer was cut at its start",
                stacklevel=3,
            )
        return rows

    def batch(self, rows: Sequence[dict[str, list[int]]]) -> dict[str, Any]:
        """Return the rows padded to the longest of them, as tensors on the device."""
        with quiet():
            padded = self.tokeniser.pad(list(rows), return_tensors="pt")
        return {name: tensor.to(self.device) for name, tensor in padded.items()}


@dataclass(frozen=True)
class Encoder:
    """An encoder ready to read.

    Attributes:
        folder: where it was loaded from.
        network: the torch module, on its device, in float32, without dropout.
        reader: its tokeniser, device and longest input.
    """

    folder: Path
    network: Any
    reader: Reader

    def vectors(
        self,
        texts: Sequence[Text],
        *,
        pooling: Pooling = "mean",
        tokens_per_batch: int | None = None,
        on_batch: OnProgress | None = None,
    ) -> npt.NDArray[np.float32]:
        """Return one vector a text, (n, width), pooled from the last layer, not normalised.

        Texts are batched by length, so that little of a batch is padding; whatever the batches,
        values agree to about 1e-5 in float32. `tokens_per_batch` is by default what suits the
        device; see `Reader.budget`.

        Raises:
            InputError: an unknown pooling.
        """
        check_pooling(pooling)
        torch = require("torch", "models")
        rows = self.reader.tokens(texts)
        vectors = np.empty((len(rows), int(self.network.config.hidden_size)), np.float32)
        done = 0
        budget = tokens_per_batch or self.reader.budget
        for batch in length_batches([len(row["input_ids"]) for row in rows], budget):
            inputs = self.reader.batch([rows[row] for row in batch])
            with torch.inference_mode():
                hidden = self.network(**inputs).last_hidden_state
                vectors[batch] = _pooled(hidden, inputs["attention_mask"], pooling).cpu().numpy()
            done += len(batch)
            if on_batch:
                on_batch(done, len(rows))
        return vectors


def check_pooling(pooling: str) -> None:
    """Refuse a pooling that is none, with InputError."""
    if pooling not in get_args(Pooling):
        raise InputError(f"the pooling is one of {', '.join(get_args(Pooling))}; not {pooling!r}")


def _pooled(hidden: Any, attended: Any, pooling: Pooling) -> Any:
    if pooling == "cls":
        return hidden[:, 0]
    weights = attended.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(1) / weights.sum(1)


def load_encoder(
    model: str | Path, *, device: str | None = None, max_length: int | None = None
) -> Encoder:
    """Load any Hugging Face encoder (BERT, RoBERTa, ALBERT, ELECTRA, MPNet, ModernBERT, …).

    Args:
        model: a folder with a saved model, or a hub id.
        device: as torch names it ("cpu", "cuda:1"); the GPU when there is one when None.
        max_length: the longest input in tokens; the model's own limit when None.

    Raises:
        InputError: it is not there, its weights are incomplete, or it is not an encoder.
        MissingExtraError: torch or transformers is not installed.
    """
    folder = model_folder(model)
    config = load_configuration(folder)
    network, _ = load_network(require("transformers", "models").AutoModel, folder, config)
    reader = load_reader(folder, config, device=device, max_length=max_length)
    return Encoder(folder, network.to(reader.device).eval(), reader)


def load_reader(folder: Path, config: Any, *, device: str | None, max_length: int | None) -> Reader:
    """Load the tokeniser of a model, and settle its device and longest input."""
    transformers = require("transformers", "models")
    try:
        with quiet():
            tokeniser = transformers.AutoTokenizer.from_pretrained(
                str(folder), trust_remote_code=False
            )
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{folder}: the tokeniser can't be loaded: {error}") from error
    if tokeniser.pad_token is None:
        raise InputError(
            f"{folder}: {config.model_type} has no padding token; an encoder is needed"
        )
    tokeniser.truncation_side = "left"
    positions = getattr(config, "max_position_embeddings", None) or tokeniser.model_max_length
    limit = min(int(tokeniser.model_max_length), int(positions))
    return Reader(tokeniser, device or _best_device(), min(limit, max_length or limit))


def _best_device() -> str:
    torch = require("torch", "models")
    return "cuda" if torch.cuda.is_available() else "cpu"
