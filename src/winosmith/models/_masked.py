"""Masked language models: the log-probabilities of masked tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from winosmith.errors import InputError, require
from winosmith.models import _network
from winosmith.models._causal import Likelihoods, compute_logits_at
from winosmith.models._network import OnProgress, Precision
from winosmith.models._texts import split_sentence
from winosmith.problem import Problem


@dataclass(frozen=True)
class MaskedText:
    """A text with masked tokens.

    Attributes:
        ids: The original token ids.
        masked: The masked positions.
        requested: The masked positions of the tokens whose log-probabilities are requested.
    """

    ids: tuple[int, ...]
    masked: tuple[int, ...]
    requested: tuple[int, ...]


class MaskedModel(_network.LanguageModel):
    """A loaded masked language model."""

    @property
    def budget(self) -> int:
        """The default number of tokens in a batch, with padding."""
        return 1_024 if self.device == "cpu" else 16_384

    def compute_likelihoods(
        self,
        texts: Sequence[MaskedText],
        *,
        tokens_per_batch: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> Likelihoods:
        """Return the log-probability of each requested token, given the unmasked tokens.

        Texts are batched by length, and repeated texts are read once. In float32, batching changes
        values by less than 1e-4.

        Raises:
            InputError: A text is longer than the model's limit, or needs too much memory.
        """
        longest = max((len(text.ids) for text in texts), default=0)
        if longest > self.max_length:
            raise InputError(
                f"a sentence has {longest} tokens; the limit of {self.folder} is {self.max_length}"
            )
        distinct = list(dict.fromkeys(texts))
        given: dict[MaskedText, npt.NDArray[np.float64]] = {}
        fed: list[int] = []

        def read_rows(rows: _network.Rows) -> None:
            batch = [distinct[row] for row in rows]
            given.update(zip(batch, self._read_batch(batch), strict=True))
            fed.append(len(batch) * len(batch[0].ids))

        lengths = [len(text.ids) for text in distinct]
        _network.run_by_length(lengths, tokens_per_batch or self.budget, read_rows, on_progress)
        return Likelihoods([given[text] for text in texts], sum(fed))

    def _read_batch(self, batch: Sequence[MaskedText]) -> list[npt.NDArray[np.float64]]:
        torch = require("torch", "models")
        width = len(batch[0].ids)  # the longest text comes first
        ids = np.full((len(batch), width), self.tokeniser.pad_token_id)
        for row, text in enumerate(batch):
            ids[row, : len(text.ids)] = text.ids
            ids[row, list(text.masked)] = self.tokeniser.mask_token_id
        real = np.arange(width) < np.array([[len(text.ids)] for text in batch])
        asked = [(row, at, text.ids[at]) for row, text in enumerate(batch) for at in text.requested]
        rows, columns, tokens = torch.tensor(asked, device=self.device).T
        inputs = {
            "input_ids": torch.from_numpy(ids).to(self.device),
            "attention_mask": torch.from_numpy(real.astype(np.int64)).to(self.device),
        }
        with torch.inference_mode():
            logits = compute_logits_at(self.network, inputs, rows, columns)
            selected = torch.log_softmax(logits, -1).gather(1, tokens[:, None])[:, 0]
        ends = np.cumsum([len(text.requested) for text in batch])
        return np.split(selected.double().cpu().numpy(), ends[:-1])


def load_masked_model(
    model: str | Path, *, device: str | None = None, dtype: Precision = "float32"
) -> MaskedModel:
    """Load any masked language model of transformers (BERT, RoBERTa, ALBERT, ModernBERT, …).

    For ELECTRA, use the generator, because the discriminator gives no probabilities. For arguments
    and errors, see `load_causal_model`.
    """
    kind = "a masked language model"
    loaded = _network.load_language_model(MaskedModel, model, kind, device=device, dtype=dtype)
    if loaded.tokeniser.mask_token_id is None or loaded.tokeniser.pad_token_id is None:
        raise InputError(f"{loaded.folder}: the tokeniser lacks a mask token or a padding token")
    return loaded


Span = tuple[int, int]


def mask_tokens(
    model: MaskedModel, problems: Sequence[Problem], *, within_word: bool = False
) -> list[list[list[MaskedText]]]:
    """For each option of each problem, mask each token of the filled-in sentence in turn.

    The sum of the log-probabilities is the pseudo-log-likelihood of the sentence (Salazar et al.
    2020, "Masked Language Model Scoring", section 2). The sum overestimates words of several
    tokens, because the tokens predict each other. With `within_word`, later tokens of a word are
    also masked (Kauf and Ivanova 2023, "A Better Way to Do Masked Language Model Scoring",
    PLL-word-l2r).
    """

    def find_masked(words: Sequence[int | None], index: int) -> tuple[int, ...]:
        last = len(words) if within_word else index + 1
        return tuple(at for at in range(index, last) if words[at] == words[index])

    return [
        [
            [
                MaskedText(ids, find_masked(words, at), (at,))
                for at, word in enumerate(words)
                if word is not None
            ]
            for ids, _, words, _ in rows
        ]
        for rows in _tokenise(model, problems)
    ]


def mask_options(model: MaskedModel, problems: Sequence[Problem]) -> list[list[MaskedText]]:
    """For each option of each problem, mask the whole option in the filled-in sentence.

    Each token of the option is replaced by a mask (Kocijan et al. 2019, "A Surprisingly Robust
    Trick for the Winograd Schema Challenge", section 3).
    """
    masked: list[list[MaskedText]] = []
    for rows in _tokenise(model, problems):
        masked.append([])
        for ids, spans, words, (start, end) in rows:
            inside = [at for at, (first, last) in enumerate(spans) if first < end and last > start]
            places = tuple(at for at in inside if words[at] is not None)
            if places:
                masked[-1].append(MaskedText(ids, places, places))
    return masked


TokenisedText = tuple[tuple[int, ...], list[Span], list[int | None], Span]
"""The token ids of a text, their character spans, their word numbers (None for special tokens), and
the option's character span."""


def _tokenise(model: MaskedModel, problems: Sequence[Problem]) -> list[list[TokenisedText]]:
    cuts = [split_sentence(problem) for problem in problems]
    texts = [before + option + after for before, options, after in cuts for option in options]
    if not texts:
        return []
    with _network.silence_transformers():  # a warning about long texts, which are refused later
        read = model.tokeniser(texts, return_offsets_mapping=True)
    rows = (
        (tuple(ids), spans, read.word_ids(at))
        for at, (ids, spans) in enumerate(
            zip(read["input_ids"], read["offset_mapping"], strict=True)
        )
    )
    return [
        [(*next(rows), (len(before), len(before) + len(option))) for option in options]
        for before, options, _ in cuts
    ]
