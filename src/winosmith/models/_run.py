"""One training run: a network, its optimiser, its data, and what an epoch does to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.dataset import Dataset
from winosmith.extras import require
from winosmith.models._batches import shuffled_batches
from winosmith.models._chance import chance_p_value
from winosmith.models._choice import new_choice_model
from winosmith.models._outcome import Epoch, TrainingSettings

__all__ = ["Run"]


class Run:
    """A network in training.

    What an epoch does depends on the weights, the optimiser's moments, the seed and the number
    of the epoch alone, so that a run can go on after an interrupt as if nothing had happened.
    """

    def __init__(
        self,
        base: Path,
        train: Dataset,
        dev: Dataset,
        settings: TrainingSettings,
        device: str | None,
    ):
        self.settings = settings
        self.dev = dev
        self.choice = new_choice_model(
            base,
            seed=settings.seed,
            split_point=settings.split_point,
            dropout=settings.dropout,
            device=device,
            max_length=settings.max_length,
        )
        self.network = self.choice.network
        self.inputs = self.choice.inputs(train)
        self.answers = np.array(train.answers, np.int64)
        self.groups = train.groups
        self.optimiser = _adamw(self.network, settings)
        self.best: dict[str, Any] = {}
        self.steps_an_epoch = -(-len(train) // settings.batch_size)

    def restore(
        self, weights: dict[str, Any], best: dict[str, Any], moments: dict[int, Any]
    ) -> None:
        """Go back to a saved state."""
        self.network.load_state_dict(weights)
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": moments})
        self.best = best

    def keep(self) -> None:
        """Remember the weights as they are now as the best."""
        self.best = {k: v.detach().cpu().clone() for k, v in self.network.state_dict().items()}

    def epoch(self, epoch: int, on_step: Callable[[int, int, str], None] | None = None) -> Epoch:
        """Train through the data once, then measure on dev."""
        torch = require("torch", "models")
        lengths = [len(row["input_ids"]) for row in self.inputs]
        longer = [max(pair) for pair in zip(lengths[::2], lengths[1::2], strict=True)]
        generator = np.random.default_rng([self.settings.seed, epoch])
        batches = shuffled_batches(longer, self.groups, self.settings.batch_size, generator)
        self.network.train()
        total = 0.0
        with torch.random.fork_rng():
            torch.manual_seed(int(generator.integers(2**62)))
            for at, batch in enumerate(batches, epoch * self.steps_an_epoch):
                loss = self._step(batch, at)
                total += loss * len(batch)
                if on_step:
                    steps = self.settings.epochs * self.steps_an_epoch
                    on_step(at + 1, steps, f"epoch {epoch + 1}, loss {loss:.3f}")
        return self._measured(total / len(self.answers))

    def _step(self, batch: npt.NDArray[np.intp], step: int) -> float:
        torch = require("torch", "models")
        for group in self.optimiser.param_groups:
            group["lr"] = self._rate(step)
        scores = self.choice.forward([self.inputs[2 * row + o] for row in batch for o in (0, 1)])
        answers = torch.from_numpy(self.answers[batch]).to(scores.device)
        loss = torch.nn.functional.cross_entropy(scores.view(-1, 2), answers)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.clip)
        self.optimiser.step()
        return float(loss.detach())

    def _rate(self, step: int) -> float:
        """Return the learning rate of a step: up from 0 over the warmup, down to 0 at the end."""
        total = self.settings.epochs * self.steps_an_epoch
        rising = self.settings.warmup * total
        share = (step + 1) / rising if step < rising else (total - step) / max(1.0, total - rising)
        return self.settings.learning_rate * min(1.0, share)

    def _measured(self, loss: float) -> Epoch:
        scores = np.stack(self.choice.scores(self.dev))
        right = np.array(self.dev.answers, np.int64)
        rows = np.arange(len(right))
        correct = scores[rows, right] > scores[rows, 1 - right]
        return Epoch(loss, int(correct.sum()), chance_p_value(correct, self.dev.groups))


def _adamw(network: Any, settings: TrainingSettings) -> Any:
    """Return AdamW with weight decay on matrices only, not on biases and norms."""
    torch = require("torch", "models")
    matrices = [weights for weights in network.parameters() if weights.ndim >= 2]
    rest = [weights for weights in network.parameters() if weights.ndim < 2]
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": settings.weight_decay},
            {"params": rest, "weight_decay": 0.0},
        ],
        lr=settings.learning_rate,
        fused=True,  # a third of a step's time on a CPU otherwise
    )
