"""The state of a training run on disk: one safetensors file, complete or not there at all.

No pickle, so nothing runs when it is read. Random numbers and the learning rate are functions of
seed, epoch and step; so the weights, those of the best epoch, the optimiser's moments and the
record of the epochs are the whole state.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from winosmith.extras import require
from winosmith.models._outcome import Epoch
from winosmith.outputs import write_aside

__all__ = ["load_state", "save_state"]

Weights = dict[str, Any]


def save_state(
    path: Path, weights: Weights, best: Weights, optimiser: Any, epochs: list[Epoch]
) -> None:
    """Write the state aside, then rename it into place."""
    moments = optimiser.state_dict()["state"]
    tensors = {f"weight/{name}": tensor for name, tensor in weights.items()}
    tensors |= {f"best/{name}": tensor for name, tensor in best.items()}
    for at, kept in moments.items():
        tensors |= {f"moment/{at}/{name}": tensor for name, tensor in kept.items()}
    apart = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
    record = {"epochs": json.dumps([asdict(epoch) for epoch in epochs])}
    with write_aside(path, "wb") as file:
        file.write(require("safetensors.torch", "models").save(apart, record))


def load_state(path: Path) -> tuple[Weights, Weights, dict[int, Weights], list[Epoch]] | None:
    """Return weights, best weights, moments and epochs; None when there is no readable state."""
    safetensors = require("safetensors", "models")
    if not path.is_file():
        return None
    try:
        with safetensors.safe_open(str(path), "pt") as held:
            epochs = [Epoch(**record) for record in json.loads(held.metadata()["epochs"])]
            tensors = {name: held.get_tensor(name) for name in held.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError):
        return None
    weights: Weights = {}
    best: Weights = {}
    moments: dict[int, Weights] = {}
    for key, tensor in tensors.items():
        kind, name = key.split("/", 1)
        if kind == "moment":
            at, name = name.split("/")
            moments.setdefault(int(at), {})[name] = tensor
        else:
            (weights if kind == "weight" else best)[name] = tensor
    return weights, best, moments, epochs
