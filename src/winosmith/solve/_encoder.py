"""`EncoderSolver`: an encoder that was trained to choose, as a solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from winosmith import models
from winosmith.errors import InputError
from winosmith.problem import Claim, Problem
from winosmith.seen import Sees
from winosmith.solve._solver import Scores


@dataclass(frozen=True)
class EncoderSolver:
    """Scores each option by an encoder that was trained for multiple choice.

    Each option is filled in and gets a score of its own, so a model that was trained on two
    options solves problems of more: the option with the best score (as the two-option models
    of WinoGrande's table 6 are read on the Pronoun Disambiguation Problems). It reads problems as
    it was trained to: with the blank or the pronoun, cut at the same place, whole or from two
    words before the blank on. Texts are sorted by length and padded to the longest of a batch
    alone. Constructing it loads and downloads nothing; the first `score` does.

    Attributes:
        model: a folder that `winosmith train` or `models.train_multiple_choice` wrote, or the
            `model/` in it; or a hub id or folder of a model with a multiple-choice head.
        how: how it reads; as it was trained here, or cut before the option, when None.
        sees: the blank or the pronoun, for a model of somebody else's that does not say what it
            was trained to see; one that says otherwise is refused. As `how` says when None.
        device: as torch names it ("cpu", "cuda:0"); the GPU when there is one when None.
        tokens_per_batch: at once; what suits the device when None. A batch that does not fit into
            memory is halved.
        on_progress: is told the texts done and those in all.

    >>> EncoderSolver("tuned").tokens_per_batch is None
    True
    """

    model: str | Path
    how: models.HowRead | None = None
    sees: Sees | None = None
    device: str | None = None
    tokens_per_batch: int | None = None
    on_progress: models.OnProgress | None = field(default=None, compare=False)

    @cached_property
    def _loaded(self) -> models.ChoiceModel:
        return models.load_choice_model(self.model, how=self._how, device=self.device)

    @cached_property
    def _how(self) -> models.HowRead:
        how = self.how or models.how_read(self.model)
        if how is None:
            return models.HowRead(sees=self.sees or "blank")
        if self.sees not in (None, how.sees):
            raise InputError(
                f"{self.model}: this model was trained to see the {how.sees}, so what it makes of "
                f"the {self.sees} means nothing; train one with --sees {self.sees} on problems "
                "whose pronouns are known, or leave --sees out"
            )
        return how

    @property
    def parameters(self) -> dict[str, Any]:
        """What determines the scores, beside the problems; for signatures and headers."""
        model = models.weights_digest(models.model_folder(self.model))[:12]
        how = self._how
        parameters = {} if self.how is None else asdict(how)
        if how.local is not None:
            parameters["local"] = how.local
        return {"solver": "encoder", "model": model, **parameters, "sees": how.sees}

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the score of each option.

        Raises:
            InputError: a model that can't be loaded, was not trained for multiple choice, or was
                trained to see something else; or a memory too small for one text.
            DataError: it sees the pronoun, and a problem's is not known.
        """
        given = self._loaded.scores(
            problems, tokens_per_batch=self.tokens_per_batch, on_batch=self.on_progress
        )
        return [tuple(map(float, own)) for own in given]

    @property
    def judges_claims(self) -> bool:
        """Whether the model was trained on claims, so that a score says by itself what holds."""
        return self._loaded.how.claims

    def judge(self, claims: Sequence[Claim]) -> list[float]:
        """Return the log-odds that each claim holds, by a model that was trained on claims.

        Raises:
            InputError: as for `score`, or the model was trained to choose between options.
        """
        if not self.judges_claims:
            raise InputError(
                f"{self.model}: this model was not trained on claims; train it on some"
            )
        rows = self._loaded.inputs([models.claimed(claim) for claim in claims], options=1)
        given = self._loaded.text_scores(
            rows, tokens_per_batch=self.tokens_per_batch, on_batch=self.on_progress
        )
        return [float(score) for score in given]
