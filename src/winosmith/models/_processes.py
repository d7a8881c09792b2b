"""The processes that train one model together, one a GPU, as `accelerate launch` starts them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.extras import require

__all__ = ["Processes"]


class Processes:
    """The processes that train the same model; as a rule, one alone.

    Each works through its share of a batch, and the gradients are added up, so that all take the
    same step. The first one writes. Tested with two processes on a CPU (gloo); on several GPUs
    (nccl) this was never run.
    """

    def __init__(self) -> None:
        self.state: Any = None
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            on_cpu = not require("torch", "models").cuda.is_available()
            self.state = require("accelerate", "models").PartialState(cpu=on_cpu)

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""
        return int(self.state.process_index) if self.state else 0

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.state.num_processes) if self.state else 1

    @property
    def device(self) -> str | None:
        """Where this process computes; None when it is alone."""
        return str(self.state.device) if self.state else None

    def share(self, batch: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Return the rows of a batch that are this process's."""
        return batch[self.rank :: self.count]

    def add_up(self, network: Any, loss: float) -> float:
        """Put the sum of all processes' gradients into each; return the sum of their losses."""
        if not self.state:
            return loss
        torch = require("torch", "models")
        reduce = require("accelerate", "models").utils.reduce
        for weights in network.parameters():
            if weights.grad is None:  # this one's share was empty
                weights.grad = torch.zeros_like(weights)
            weights.grad = reduce(weights.grad, "sum")
        return float(reduce(torch.tensor(loss, device=self.state.device), "sum"))

    def first(self, do: Callable[..., object], *arguments: object, **named: object) -> None:
        """Call what writes in the first process alone; the others wait until it is done."""
        try:
            if self.rank == 0:
                do(*arguments, **named)
        finally:
            if self.state:
                self.state.wait_for_everyone()
