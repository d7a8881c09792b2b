"""A causal language model, and what it gives each token of many texts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.models._causal_reading import Reading
from winosmith.models._language import Precision, load_language_model, longest_input
from winosmith.models._memory import OnProgress
from winosmith.models._prefix import Ids

__all__ = ["CausalModel", "Likelihoods", "load_causal_model"]


@dataclass(frozen=True)
class Likelihoods:
    """What a language model gave some texts.

    Attributes:
        values: for each text, the log-probability (natural logarithm) of each token asked for.
        tokens_fed: the tokens that the model read, padding counted.
    """

    values: list[npt.NDArray[np.float64]]
    tokens_fed: int


@dataclass
class CausalModel:
    """A causal language model ready to read.

    Attributes:
        folder: where it was loaded from.
        network: the torch module, on its device, without dropout.
        tokeniser: its tokeniser.
        device: as torch names it.
        max_length: the tokens that it reads at most.
        heeds_trees: False once it was found to give a token other values in a tree than in its
            text (Mamba's state, ALiBi's distances); from then on texts are read whole.
    """

    folder: Path
    network: Any
    tokeniser: Any
    device: str
    max_length: int
    heeds_trees: bool = True

    @property
    def budget(self) -> int:
        """The tokens at once, where nothing else is asked for.

        In a tree attention grows with the square of the tokens, and small rows are enough to keep
        a CPU busy. A GPU needs more.
        """
        return 256 if self.device == "cpu" else 2_048

    @property
    def leading(self) -> list[int]:
        """The tokens that the tokeniser puts before a text: one (OPT, Llama) or none (GPT-2)."""
        plain = self.tokeniser("a", add_special_tokens=False)["input_ids"]
        whole = list(self.tokeniser("a")["input_ids"])
        starts = (at for at in range(len(whole)) if whole[at : at + len(plain)] == plain)
        return whole[: next(starts, 0)]

    def likelihoods(
        self,
        texts: Sequence[Ids],
        starts: Sequence[int],
        *,
        tokens_per_batch: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> Likelihoods:
        """Return the log-probability of each text's tokens from its start on.

        What texts share at their beginning is read once: what all of them share is kept in the
        model's cache, the rest makes a tree (see `winosmith.models._prefix`). In float32 the
        values agree to 1e-4 with those of each text alone. The first tree is held to that: where
        the model gives other values in it, or refuses it, all texts are read whole, with a warning.

        Args:
            texts: token ids, at least one a text.
            starts: the first token of each that is asked for, 1 or more.
            tokens_per_batch: the tokens at once; what suits the device when None.
            on_progress: is told the texts done and those in all.

        Raises:
            InputError: the memory does not hold one text.
        """
        wanted = self._cut(texts, starts)
        order = sorted(set(wanted))
        if not order:
            return Likelihoods([], 0)
        sorted_texts, sorted_starts = zip(*order, strict=True)
        reading = Reading(self.network, self.device, sorted_texts, sorted_starts, self.heeds_trees)
        reading.run(tokens_per_batch or self.budget, on_progress)
        self.heeds_trees = reading.heeds_trees
        given = dict(zip(order, reading.values, strict=True))
        return Likelihoods([given[key] for key in wanted], reading.fed)

    def _cut(
        self, texts: Sequence[Ids], starts: Sequence[int]
    ) -> list[tuple[tuple[int, ...], int]]:
        """Cut the start off what is longer than the model reads, as lm-evaluation-harness does."""
        longest = self.max_length + 1  # the last token is asked for, not read
        over = [max(0, len(ids) - longest) for ids in texts]
        if any(over):
            warnings.warn(
                f"{sum(map(bool, over))} of {len(texts)} texts are longer than the "
                f"{self.max_length} tokens that the model reads; their starts were cut",
                stacklevel=3,
            )
        return [
            (tuple(ids[extra:]), max(1, start - extra))
            for ids, start, extra in zip(texts, starts, over, strict=True)
        ]


def load_causal_model(
    model: str | Path, *, device: str | None = None, dtype: Precision = "float32"
) -> CausalModel:
    """Load any causal language model of transformers (GPT-2, OPT, Pythia, Llama, Qwen, Mamba, …).

    Args:
        model: a folder with a saved model, or a hub id.
        device: as torch names it ("cpu", "cuda:1"); the GPU when there is one when None.
        dtype: what the network computes in; see `Precision`.

    Raises:
        InputError: it is not there, its weights are incomplete, or it is no causal model.
        MissingExtraError: torch or transformers is not installed.
    """
    folder, network, tokeniser, device = load_language_model(
        model, "a causal language model", device=device, dtype=dtype
    )
    return CausalModel(folder, network, tokeniser, device, longest_input(network, tokeniser))
