"""A multiple-choice model: an encoder with a head that scores a filled-in sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.errors import InputError
from winosmith.extras import require
from winosmith.models._batches import in_memory, next_batch
from winosmith.models._encoder import Reader, load_reader
from winosmith.models._folder import load_configuration, load_network, model_folder, quiet
from winosmith.models._texts import SplitPoint, check_split_point, filled_text
from winosmith.problem import Problem
from winosmith.seen import Sees, check_pronouns, check_sees

HEAD = "choice_head"
"""The name of our own head, for architectures that transformers has no multiple-choice head for."""


HOW = "winosmith_choice.json"
"""The file of a model's folder that says how the model reads a problem."""


@dataclass(frozen=True)
class HowRead:
    """How a model reads a problem; kept with its weights, as it should read as it was trained.

    Attributes:
        split_point: where the sentence is cut in two; see `SplitPoint`.
        local: the words ahead of the blank that it sees; None for all.
        claims: whether it was trained to judge claims: a score above 0 says that one holds.
        sees: the blank, filled with each option; or the sentence with its pronoun, each option
            after it, where there is no filled-in sentence to cut.

    Raises:
        InputError: a split point or `sees` that is none, or a split point beside the pronoun.
    """

    split_point: SplitPoint = "before_option"
    local: int | None = None
    claims: bool = False
    sees: Sees = "blank"

    def __post_init__(self) -> None:
        check_split_point(self.split_point)
        check_sees(self.sees)
        if self.sees == "pronoun" and self.split_point != "before_option":
            raise InputError(
                "the split point says where a filled-in sentence is cut; a model that sees the "
                "pronoun fills nothing in, so leave it out"
            )


@dataclass(frozen=True)
class ChoiceModel:
    """A network that gives a filled-in sentence one score, higher for the likelier option.

    Attributes:
        network: the torch module, on its device, in float32.
        reader: its tokeniser, device and longest input.
        how: how it reads a problem.
    """

    network: Any
    reader: Reader
    how: HowRead

    def inputs(
        self, problems: Sequence[Problem], options: int | None = None
    ) -> list[dict[str, list[int]]]:
        """Return the network's unpadded inputs, one a problem and option, in order.

        Args:
            problems: what to read.
            options: how many of each problem's, from the first; all when None.

        Raises:
            DataError: the model sees the pronoun, and a problem's is not known.
        """
        if self.how.sees == "pronoun":
            check_pronouns(problems)
        return self.reader.tokens(
            [
                filled_text(problem, option, self.how.split_point, self.how.local, self.how.sees)
                for problem in problems
                for option in range(options or len(problem.options))
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
        """Return one score an option for each problem; only a problem's own scores compare.

        Texts are batched by length; a batch that does not fit into memory is halved, and that is
        said.

        Raises:
            InputError: not even one text fits into memory.
        """
        flat = self.text_scores(
            self.inputs(problems), tokens_per_batch=tokens_per_batch, on_batch=on_batch
        )
        ends = np.cumsum([len(problem.options) for problem in problems])
        return np.split(flat, ends[:-1]) if len(problems) else []

    def text_scores(
        self,
        rows: Sequence[dict[str, list[int]]],
        *,
        tokens_per_batch: int | None = None,
        on_batch: Callable[[int, int], None] | None = None,
    ) -> npt.NDArray[np.float32]:
        """Return the scores of unpadded inputs, (rows,), without training."""
        torch = require("torch", "models")
        lengths = np.array([len(row["input_ids"]) for row in rows], np.int64)
        order = np.argsort(-lengths, kind="stable")  # what needs most memory comes first
        scores = np.empty(len(rows), np.float32)
        self.network.eval()

        def take(start: int, budget: int) -> tuple[npt.NDArray[np.intp], int, int]:
            batch = next_batch(order, lengths, start, budget)
            return batch, len(batch), int(len(batch) * lengths[batch[0]])

        def run(batch: npt.NDArray[np.intp]) -> None:
            with torch.inference_mode():
                scores[batch] = self.forward([rows[row] for row in batch]).cpu().numpy()

        in_memory(len(rows), tokens_per_batch or self.reader.budget, take, run, on_batch)
        return scores

    def save(self, folder: Path) -> None:
        """Save the network as safetensors, its tokeniser and how it reads.

        `load_encoder` reads it too.
        """
        with quiet():
            self.network.save_pretrained(str(folder))
            self.reader.tokeniser.save_pretrained(str(folder))
        (folder / HOW).write_text(json.dumps(asdict(self.how), indent=2) + "\n", "utf-8")


def new_choice_model(
    model: str | Path,
    *,
    seed: int,
    how: HowRead | None = None,
    dropout: float | None = None,
    device: str | None = None,
    max_length: int | None = None,
) -> ChoiceModel:
    """Put a multiple-choice head on any encoder; what is new in it is drawn by `seed`.

    Where transformers has such a head for the architecture it is that one, so that others can
    load the result; elsewhere it is one linear layer on the first token. A head that was trained
    before stays. Every dropout of the network is set to `dropout` unless it is None.

    Raises:
        InputError: as for `load_encoder`, or an unknown split point.
    """
    torch = require("torch", "models")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        path = model_folder(model)
        return _choice_model(path, how or HowRead(), dropout, device, max_length)[0]


def load_choice_model(
    folder: str | Path,
    *,
    how: HowRead | None = None,
    device: str | None = None,
    max_length: int | None = None,
) -> ChoiceModel:
    """Load a multiple-choice model that was trained, here or elsewhere.

    Args:
        folder: of the model or of its run, or a hub id.
        how: how it reads; as it was trained here, or cut before the option, when None.
        device: as torch names it; the GPU when there is one when None.
        max_length: the longest input in tokens; the model's own limit when None.

    Raises:
        InputError: it is not there, its files are damaged, or its head was never trained.
    """
    path = model_folder(folder)
    model, trained = _choice_model(
        path, how or how_read(path) or HowRead(), None, device, max_length
    )
    if not trained:
        raise InputError(f"{path}: this encoder was not trained for multiple choice; train it")
    model.network.eval()
    return model


def how_read(model: str | Path) -> HowRead | None:
    """Return how a model was trained to read, from its folder; None where that does not say.

    Raises:
        InputError: there is no such model, or what it says can't be read.
    """
    folder = model_folder(model)
    if not (folder / HOW).is_file():
        return None
    try:
        return HowRead(**json.loads((folder / HOW).read_text("utf-8")))
    except (ValueError, TypeError, InputError) as error:
        raise InputError(
            f"{folder / HOW}: it can't be read ({error}); train the model again"
        ) from None


def _choice_model(
    folder: Path,
    how: HowRead,
    dropout: float | None,
    device: str | None,
    max_length: int | None,
) -> tuple[ChoiceModel, bool]:
    """Return the model, and whether its head was trained."""
    transformers = require("transformers", "models")
    config = load_configuration(folder, dropout)
    if type(config) in transformers.MODEL_FOR_MULTIPLE_CHOICE_MAPPING:
        network, new = load_network(transformers.AutoModelForMultipleChoice, folder, config)
        trained = not new
    else:
        network, _ = load_network(transformers.AutoModel, folder, config)
        trained = _attach_head(network, folder)
    reader = load_reader(folder, config, device=device, max_length=max_length)
    return ChoiceModel(network.to(reader.device), reader, how), trained


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
