"""A multiple-choice model: an encoder with a head that scores a filled-in sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.errors import InputError
from winosmith.extras import require
from winosmith.models._batches import length_batches
from winosmith.models._encoder import Reader, load_reader
from winosmith.models._folder import model_folder
from winosmith.models._network import load_configuration, load_network
from winosmith.models._quiet import quiet
from winosmith.models._texts import SplitPoint, check_split_point, filled_text
from winosmith.problem import Problem

__all__ = ["ChoiceModel", "load_choice_model", "new_choice_model"]

HEAD = "choice_head"
"""The name of our own head, for architectures that transformers has no multiple-choice head for."""


@dataclass(frozen=True)
class ChoiceModel:
    """A network that gives a filled-in sentence one score, higher for the likelier option.

    Attributes:
        network: the torch module, on its device, in float32.
        reader: its tokeniser, device and longest input.
        split_point: where the sentence is cut in two; see `SplitPoint`.
    """

    network: Any
    reader: Reader
    split_point: SplitPoint

    def inputs(self, problems: Sequence[Problem]) -> list[dict[str, list[int]]]:
        """Return the network's unpadded inputs, one a problem and option, in order."""
        return self.reader.tokens(
            [
                filled_text(problem, option, self.split_point)
                for problem in problems
                for option in range(len(problem.options))
            ]
        )

    def forward(self, rows: Sequence[dict[str, list[int]]]) -> Any:
        """Return the scores of unpadded inputs as a tensor (rows,)."""
        inputs = self.reader.batch(rows)
        if hasattr(self.network, HEAD):
            first = self.network(**inputs).last_hidden_state[:, 0]
            return getattr(self.network, HEAD)(first)[:, 0]
        return self.network(**{name: x.unsqueeze(1) for name, x in inputs.items()}).logits[:, 0]

    def scores(
        self,
        problems: Sequence[Problem],
        *,
        tokens_per_batch: int | None = None,
        on_batch: Callable[[int, int], None] | None = None,
    ) -> list[npt.NDArray[np.float32]]:
        """Return one score an option for each problem; only a problem's own scores compare."""
        torch = require("torch", "models")
        rows = self.inputs(problems)
        flat = np.empty(len(rows), np.float32)
        done = 0
        self.network.eval()
        budget = tokens_per_batch or self.reader.budget
        for batch in length_batches([len(row["input_ids"]) for row in rows], budget):
            with torch.inference_mode():
                flat[batch] = self.forward([rows[row] for row in batch]).cpu().numpy()
            done += len(batch)
            if on_batch:
                on_batch(done, len(rows))
        ends = np.cumsum([len(problem.options) for problem in problems])
        return np.split(flat, ends[:-1]) if len(problems) else []

    def save(self, folder: Path) -> None:
        """Save the network as safetensors and its tokeniser; `load_encoder` reads it too."""
        with quiet():
            self.network.save_pretrained(str(folder))
            self.reader.tokeniser.save_pretrained(str(folder))


def new_choice_model(
    model: str | Path,
    *,
    seed: int,
    split_point: SplitPoint = "before_option",
    dropout: float | None = None,
    device: str | None = None,
    max_length: int | None = None,
) -> ChoiceModel:
    """Put a multiple-choice head on any encoder; what is new in it is drawn by `seed`.

    Where transformers has such a head for the architecture it is that one, so that others can
    load the result; elsewhere it is one linear layer on the first token. Every dropout
    of the network is set to `dropout` unless it is None.

    Raises:
        InputError: as for `load_encoder`, or an unknown split point.
    """
    torch = require("torch", "models")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return _choice_model(model_folder(model), split_point, dropout, device, max_length)[0]


def load_choice_model(
    folder: str | Path,
    *,
    split_point: SplitPoint = "before_option",
    device: str | None = None,
    max_length: int | None = None,
) -> ChoiceModel:
    """Load a multiple-choice model that was trained, here or elsewhere.

    Raises:
        InputError: it is not there, or its head was never trained.
    """
    path = model_folder(folder)
    model, trained = _choice_model(path, split_point, None, device, max_length)
    if not trained:
        raise InputError(f"{path}: this encoder was not trained for multiple choice; train it")
    model.network.eval()
    return model


def _choice_model(
    folder: Path,
    split_point: SplitPoint,
    dropout: float | None,
    device: str | None,
    max_length: int | None,
) -> tuple[ChoiceModel, bool]:
    """Return the model, and whether its head was trained."""
    check_split_point(split_point)
    transformers = require("transformers", "models")
    config = load_configuration(folder, dropout)
    if type(config) in transformers.MODEL_FOR_MULTIPLE_CHOICE_MAPPING:
        network, new = load_network(transformers.AutoModelForMultipleChoice, folder, config)
        trained = not new
    else:
        network, _ = load_network(transformers.AutoModel, folder, config)
        trained = _attach_head(network, folder)
    reader = load_reader(folder, config, device=device, max_length=max_length)
    return ChoiceModel(network.to(reader.device), reader, split_point), trained


def _attach_head(network: Any, folder: Path) -> bool:
    """Give the network our own head, the folder's if it holds one; return whether it does.

    As part of the network it is saved with it, and the loader of encoders passes over it.
    """
    torch = require("torch", "models")
    safetensors = require("safetensors", "models")
    head = torch.nn.Linear(network.config.hidden_size, 1)
    network.add_module(HEAD, head)
    held: dict[str, Any] = {}
    for file in sorted(folder.glob("*.safetensors")):
        with safetensors.safe_open(str(file), "pt") as tensors:
            names = [name for name in tensors.keys() if name.startswith(f"{HEAD}.")]  # noqa: SIM118
            held |= {name.removeprefix(f"{HEAD}."): tensors.get_tensor(name) for name in names}
    if held:
        head.load_state_dict(held)
    return bool(held)
