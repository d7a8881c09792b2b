"""One training run: a network, its optimiser, its data, and what an epoch does to them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.errors import InputError
from winosmith.extras import require
from winosmith.models._batches import shuffled_batches
from winosmith.models._choice import HowRead, new_choice_model
from winosmith.models._memory import free, is_out_of_memory
from winosmith.models._outcome import Epoch, TrainingSettings
from winosmith.models._processes import Processes
from winosmith.models._questions import Questions

__all__ = ["Run"]


class Run:
    """A network in training.

    What an epoch does depends on the weights, the optimiser's moments, the seed and the number
    of the epoch alone, so that a run can go on after an interrupt as if nothing had happened.
    """

    def __init__(
        self,
        base: Path,
        train: Questions,
        dev: Questions,
        settings: TrainingSettings,
        device: str | None,
        processes: Processes,
    ):
        self.settings = settings
        self.train, self.dev = train, dev
        self.processes = processes
        self.choice = new_choice_model(
            base,
            seed=settings.seed,
            how=HowRead(
                settings.split_point,
                settings.local,
                claims=train.texts_each == 1,
                sees=settings.sees,
            ),
            dropout=settings.dropout,
            device=device or processes.device,
            max_length=settings.max_length,
        )
        self.network = self.choice.network
        self.inputs = self.choice.inputs(train.problems, train.texts_each)
        self.dev_inputs = self.choice.inputs(dev.problems, dev.texts_each)
        self.optimiser = _adamw(self.network, settings)
        self.best: dict[str, Any] = {}
        self.steps_an_epoch = -(-len(train) // settings.batch_size)
        self.at_once = settings.batch_size

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
        lengths = np.array([len(row["input_ids"]) for row in self.inputs], np.int64)
        longest = lengths.reshape(-1, self.train.texts_each).max(axis=1)
        generator = np.random.default_rng([self.settings.seed, epoch])
        size = self.settings.batch_size
        batches = shuffled_batches(longest.tolist(), self.train.groups, size, generator)
        self.network.train()
        total = 0.0
        with torch.random.fork_rng():
            torch.manual_seed(int(generator.integers(2**62)) + self.processes.rank)
            for at, batch in enumerate(batches, epoch * self.steps_an_epoch):
                loss = self._step(batch, at)
                total += loss * len(batch)
                if on_step:
                    steps = self.settings.epochs * self.steps_an_epoch
                    on_step(at + 1, steps, f"epoch {epoch + 1}, loss {loss:.3f}")
        right, p_value = self.dev.measured(self.choice.text_scores(self.dev_inputs))
        whole = int(right) if right.is_integer() else right
        return Epoch(total / len(self.train), whole, p_value)

    def _step(self, batch: npt.NDArray[np.intp], step: int) -> float:
        torch = require("torch", "models")
        for group in self.optimiser.param_groups:
            group["lr"] = self._rate(step)
        loss = self.processes.add_up(self.network, self._gradient(batch))
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.clip)
        self.optimiser.step()
        return loss

    def _gradient(self, batch: npt.NDArray[np.intp]) -> float:
        """Set the gradient of the batch's mean loss, and return that loss.

        A batch that does not fit into memory is worked through in halves, whose gradients add up
        to the same.
        """
        mine = self.processes.share(batch)
        while True:
            self.optimiser.zero_grad(set_to_none=True)
            starts = range(0, len(mine), self.at_once)
            try:
                return sum(self._part(mine[at : at + self.at_once], len(batch)) for at in starts)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                self._halve(min(self.at_once, len(mine)), error)
            free()

    def _part(self, rows: npt.NDArray[np.intp], of: int) -> float:
        torch = require("torch", "models")
        each = self.train.texts_each
        texts = [self.inputs[each * row + option] for row in rows for option in range(each)]
        scores = self.choice.forward(texts)
        answers = torch.from_numpy(self.train.answers[rows]).to(scores.device)
        loss = self.train.loss(scores, answers) / of
        loss.backward()
        return float(loss.detach())

    def _halve(self, tried: int, error: Exception) -> None:
        if tried == 1:
            raise InputError(
                "the memory is too small to train this model on one problem at a time; take a "
                "smaller model, a shorter max_length, or a larger machine"
            ) from error
        self.at_once = max(1, tried // 2)
        warnings.warn(
            f"out of memory with {tried} problems at once; going on with {self.at_once}, and "
            f"{self.settings.batch_size} a step as before",
            stacklevel=2,
        )

    def _rate(self, step: int) -> float:
        """Return the learning rate of a step: up from 0 over the warmup, down to 0 at the end."""
        total = self.settings.epochs * self.steps_an_epoch
        rising = self.settings.warmup * total
        share = (step + 1) / rising if step < rising else (total - step) / max(1.0, total - rising)
        return self.settings.learning_rate * min(1.0, share)


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
