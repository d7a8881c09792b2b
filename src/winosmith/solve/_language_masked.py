"""`Masked`: a masked language model that fills in each option and tells which is likelier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from winosmith import models
from winosmith.problem import Problem
from winosmith.seen import Sees
from winosmith.solve._language import LanguageScores, check_kind, gathered, referred
from winosmith.solve._solver import Scores

__all__ = ["Masked", "MaskedScore"]

MaskedScore = Literal["sentence", "option", "sentence_per_token", "option_per_token"]
"""The pseudo-log-likelihood of the filled-in sentence (Salazar et al. 2020), or the log-probability
of the option's tokens when all of them are hidden (Kocijan et al. 2019); as a sum, or as the mean
over its tokens. Kocijan et al. take the mean: `option_per_token`."""


@dataclass(frozen=True)
class Masked:
    """Scores each option by a masked language model (BERT, RoBERTa, ALBERT, ModernBERT, …).

    Options are worded for the pronoun that they replace, where it is known (`models.worded`).
    Constructing it loads and downloads nothing; the first `score` does. Where it sees the pronoun,
    the sentence stays as it was written, and the option is scored in "'She' refers to …." after it
    (`models.referring`).

    Attributes:
        model: a folder with a saved model, or a hub id.
        kind: which score; see `MaskedScore`. A sentence is read once for each of its tokens, an
            option once.
        within_word: for the score of the sentence, hide the later pieces of a word with each of
            its pieces (Kauf and Ivanova 2023, PLL-word-l2r).
        sees: the blank, or the pronoun.
        device, dtype, tokens_per_batch, on_progress: as for `Causal`.

    >>> Masked("FacebookAI/roberta-large", "option_per_token").within_word
    False
    """

    model: str | Path
    kind: MaskedScore = "sentence"
    within_word: bool = False
    sees: Sees = "blank"
    device: str | None = None
    dtype: models.Precision = "float32"
    tokens_per_batch: int | None = None
    on_progress: models.OnProgress | None = field(default=None, compare=False)

    @cached_property
    def _loaded(self) -> models.MaskedModel:
        return models.load_masked_model(self.model, device=self.device, dtype=self.dtype)

    @property
    def parameters(self) -> dict[str, Any]:
        """What determines the scores, beside the problems; for signatures and headers."""
        return {
            "solver": "masked",
            "model": models.weights_digest(models.model_folder(self.model))[:12],
            "score": self.kind,
            "within_word": self.within_word,
            "sees": self.sees,
            "dtype": self.dtype,
        }

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the score of each option.

        Raises:
            InputError: a model that can't be loaded, or a score that is none.
            DataError: the model gives values that are not finite; or a pronoun that it is to see
                is not known.
        """
        check_kind(self.kind, get_args(MaskedScore))
        part = self.kind.removesuffix("_per_token")
        return self._scores(problems, [part]).scores[self.kind]

    def all_scores(self, problems: Sequence[Problem]) -> LanguageScores:
        """Return all four scores, from one pass."""
        return self._scores(problems, ["sentence", "option"])

    def _scores(self, problems: Sequence[Problem], wanted: Sequence[str]) -> LanguageScores:
        asked = referred(problems, self.sees, ".")
        texts: list[list[models.Hidden]] = []  # of one option and one kind of score each
        for part in wanted:
            if part == "option":
                for own in models.hidden_options(self._loaded, asked):
                    texts += [[text] for text in own]
            else:
                for rows in models.hidden_one_by_one(
                    self._loaded, asked, within_word=self.within_word
                ):
                    texts += rows
        given = self._loaded.likelihoods(
            [text for row in texts for text in row],
            tokens_per_batch=self.tokens_per_batch,
            on_progress=self.on_progress,
        )
        values = iter(given.values)
        joined = [np.concatenate([next(values) for _ in row]) for row in texts]
        return gathered(problems, wanted, joined, given.tokens_fed, self.model)
