"""`Causal`: a causal language model that fills in each option and tells which is likelier."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from winosmith import models
from winosmith.problem import Problem
from winosmith.seen import Sees
from winosmith.solve._language import LanguageScores, check_kind, gathered, referred
from winosmith.solve._solver import Scores

__all__ = ["Causal", "CausalScore"]

CausalScore = Literal["partial", "full", "partial_per_token", "full_per_token"]
"""What of a filled-in sentence counts (Trinh and Le 2018, "A Simple Method for Commonsense
Reasoning", section 3): the log-probability of all of it, or of what follows the blank given all
up to the end of the option; as a sum, or as the mean over its tokens."""


@dataclass(frozen=True)
class Causal:
    """Scores each option by a causal language model (GPT-2, OPT, Pythia, Llama, Qwen, …).

    What the options of a problem, the halves of a twin and the sentences after one prompt share at
    their beginning is read once. Partial scores are those of lm-evaluation-harness, to 1e-4.
    Where nothing follows the blank (COPA), the partial score is that of the option given what
    precedes it. Options are worded for the pronoun that they replace, where it is known
    (`models.worded`). Constructing it loads and downloads nothing; the first `score` does.

    Where it sees the pronoun, the sentence stays as it was written, "'She' refers to" follows, and
    the partial score is that of the option's tokens given all of this (`models.referring`).

    Attributes:
        model: a folder with a saved model, or a hub id.
        kind: which score; see `CausalScore`.
        prompt: a text before each sentence, such as solved problems (`solve.shots`), with the
            white space that parts them.
        bos: whether a token that begins texts comes first; None does as the tokeniser does. See
            `models.passages`.
        sees: the blank, or the pronoun.
        device: as torch names it ("cpu", "cuda:0"); the GPU when there is one when None.
        dtype: what the network computes in; see `models.Precision`.
        tokens_per_batch: at once; what suits the device when None.
        on_progress: is told the texts done and those in all.

    >>> Causal("openai-community/gpt2").kind
    'partial'
    """

    model: str | Path
    kind: CausalScore = "partial"
    prompt: str = ""
    bos: bool | None = None
    sees: Sees = "blank"
    device: str | None = None
    dtype: models.Precision = "float32"
    tokens_per_batch: int | None = None
    on_progress: models.OnProgress | None = field(default=None, compare=False)

    @cached_property
    def _loaded(self) -> models.CausalModel:
        return models.load_causal_model(self.model, device=self.device, dtype=self.dtype)

    @property
    def parameters(self) -> dict[str, Any]:
        """What determines the scores, beside the problems; for signatures and headers."""
        told = {
            "solver": "causal",
            "model": models.weights_digest(models.model_folder(self.model))[:12],
            "score": self.kind,
            "prompt": hashlib.sha256(self.prompt.encode()).hexdigest()[:12]
            if self.prompt
            else None,
            "bos": self.bos,
            "sees": self.sees,
            "dtype": self.dtype,
        }
        return {name: value for name, value in told.items() if value is not None}

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the score of each option.

        Raises:
            InputError: a model that can't be loaded, or a score that is none.
            DataError: the model gives values that are not finite; or a pronoun that it is to see
                is not known.
        """
        check_kind(self.kind, get_args(CausalScore))
        part = self.kind.removesuffix("_per_token")
        return self._scores(problems, [part]).scores[self.kind]

    def all_scores(self, problems: Sequence[Problem]) -> LanguageScores:
        """Return all four scores, from one pass."""
        return self._scores(problems, ["full", "partial"])

    def _scores(self, problems: Sequence[Problem], wanted: Sequence[str]) -> LanguageScores:
        asked = referred(problems, self.sees)
        found = models.passages(self._loaded, asked, prompt=self.prompt, bos=self.bos)
        flat = [
            passage if part == "full" else other
            for part in wanted
            for own in found
            for passage, other in own
        ]
        given = self._loaded.likelihoods(
            [passage.ids for passage in flat],
            [passage.start for passage in flat],
            tokens_per_batch=self.tokens_per_batch,
            on_progress=self.on_progress,
        )
        return gathered(problems, wanted, given.values, given.tokens_fed, self.model)
