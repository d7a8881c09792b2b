"""What a fine-tuning run is told, and what it gave."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from winosmith.errors import InputError
from winosmith.models._choice import HowRead
from winosmith.models._texts import SplitPoint
from winosmith.seen import Sees

__all__ = ["Epoch", "FineTuned", "TrainingRun", "TrainingSettings"]

ALPHA = 0.05
"""A run whose dev accuracy guessing reaches with more than this probability is "at chance"."""


@dataclass(frozen=True)
class TrainingSettings:
    """What determines a run, beside its data and its base model.

    The defaults lie in WinoGrande's grid (section 4.1): learning rate {1e-5, 3e-5, 5e-5},
    epochs {3, 4, 5, 8}, batch size {8, 16}. Warmup and clip are those of its released code
    (github.com/allenai/winogrande: `--warmup_pct 0.1` in the README, `--max_grad_norm` 1.0 in
    run_experiment.py). That code has no weight decay and leaves dropout to the model, where BERT
    and RoBERTa have 0.1; both are ours here.

    Attributes:
        seed: draws the head, the order of the problems and the dropout.
        learning_rate: at its peak. Of 5,000 problems of train_xl, MiniLM learns at 3e-5 (60.4 %
            of 1,000 others right) and falls to one score for all texts at 1e-4 (50 %).
        epochs: passes over the training problems.
        batch_size: problems a step; each is two texts.
        weight_decay: of AdamW, on matrices only.
        warmup: the share of the steps over which the learning rate rises from 0, linearly; it
            then falls linearly to 0.
        dropout: the rate everywhere in the network; the model's own when None. The two texts of
            a problem get different noise, and what they differ in is small: after four epochs on
            640 problems at 1e-4, MiniLM's loss is 0.69 with its own rate of 0.1 and 0.27 with 0.
        clip: the largest norm of a step's gradient.
        split_point: where the sentence is cut in two; see `SplitPoint`.
        max_length: the longest input in tokens; the model's own limit when None.
        local: the words ahead of the blank that are seen, 2 in WinoGrande's local-context
            baseline; None for all.
        patience: stop after as many epochs without a better one on dev; None never does.
        last: train this many of the epochs and keep the last, whatever dev says: for a run on all
            the data, once the epochs were chosen. None keeps the best on dev.
        sees: the blank or the pronoun; see `HowRead`.

    Raises:
        InputError: a value out of range.
    """

    seed: int = 0
    learning_rate: float = 3e-5
    epochs: int = 3
    batch_size: int = 16
    weight_decay: float = 0.01
    warmup: float = 0.1
    dropout: float | None = 0.0
    clip: float = 1.0
    split_point: SplitPoint = "before_option"
    max_length: int | None = None
    local: int | None = None
    patience: int | None = None
    last: int | None = None
    sees: Sees = "blank"

    def __post_init__(self) -> None:
        HowRead(self.split_point, sees=self.sees)
        if min(self.epochs, self.batch_size) < 1 or not (self.learning_rate > 0 and self.clip > 0):
            raise InputError(
                "epochs and batch size must be 1 or more, learning rate and clip above 0"
            )
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise InputError("dropout must be 0 or more and less than 1")
        if self.seed < 0 or not 0 <= self.warmup <= 1 or self.weight_decay < 0:
            raise InputError("seed and weight decay must be 0 or more, the warmup a share of 0–1")
        if self.local is not None and self.local < 0:
            raise InputError("the words ahead of the blank must be 0 or more")
        if (self.patience or 1) < 1 or not 1 <= (self.last or 1) <= self.epochs:
            raise InputError("patience must be 1 or more, and the last epoch one of the epochs")

    @property
    def name(self) -> str:
        """What tells a run of a grid from its neighbours: "lr3e-05-ep3-bs16-s0"."""
        return f"lr{self.learning_rate:g}-ep{self.epochs}-bs{self.batch_size}-s{self.seed}"


@dataclass(frozen=True)
class Epoch:
    """What one epoch gave.

    Attributes:
        loss: the mean cross-entropy over the epoch in nats; guessing gives ln 2 = 0.693.
        dev_correct: the dev problems answered rightly; a tie is half of one.
        p_value: the probability that guessing does as well on dev; see `chance_p_value`.
    """

    loss: float
    dev_correct: float
    p_value: float


@dataclass(frozen=True)
class TrainingRun:
    """What a run was told, and what its epochs gave.

    Attributes:
        settings: what it was told.
        epochs: every epoch in order.
        n_train, n_dev: the problems trained on and measured on.
    """

    settings: TrainingSettings
    epochs: tuple[Epoch, ...]
    n_train: int
    n_dev: int

    @property
    def best(self) -> int:
        """The 0-based epoch that was kept.

        It has the most dev problems right, and is the first of equals; or it is the last, where
        the settings say so.
        """
        if self.settings.last is not None:
            return len(self.epochs) - 1
        return max(range(len(self.epochs)), key=lambda at: self.epochs[at].dev_correct)

    @property
    def dev_accuracy(self) -> float:
        """The dev accuracy of the epoch kept, 0–1; optimistic where it was chosen on dev."""
        return self.epochs[self.best].dev_correct / self.n_dev

    @property
    def p_value(self) -> float:
        """The smallest of the epochs', times the epochs it is chosen from (Bonferroni), ≤ 1."""
        if self.settings.last is not None:
            return self.epochs[-1].p_value
        return min(1.0, min(epoch.p_value for epoch in self.epochs) * len(self.epochs))

    @property
    def at_chance(self) -> bool:
        """Whether the run can't be told from guessing at the 5 % level."""
        return self.p_value > ALPHA

    @property
    def message(self) -> str:
        """One sentence on what the run gave."""
        right = self.epochs[self.best].dev_correct
        verdict = (
            "AT CHANCE, it can't be told from guessing; try another learning rate, more epochs, "
            "more problems or a stronger encoder"
            if self.at_chance
            else "above chance"
        )
        return (
            f"dev accuracy {self.dev_accuracy:.1%} ({right:,} of {self.n_dev:,}) after epoch "
            f"{self.best + 1} of {len(self.epochs)}, p = {self.p_value:.2g}: {verdict}"
        )


@dataclass(frozen=True, kw_only=True)
class FineTuned(TrainingRun):
    """A finished run, and its model.

    Attributes:
        folder: the model of the epoch kept, as `load_choice_model` and `load_encoder` read it.
    """

    folder: Path
