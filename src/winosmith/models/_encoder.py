"""Encoders from a folder or the hub, for text vectors and for multiple choice.

A multiple-choice model is an encoder with a head that scores filled-in sentences.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from winosmith.errors import InputError, check_choice, require
from winosmith.models import _network
from winosmith.models._network import OnProgress
from winosmith.models._texts import SplitPoint, Text, fill_option
from winosmith.problem import Problem
from winosmith.records import parse_json
from winosmith.seen import Sees, check_pronouns, check_sees_value

Pooling = Literal["mean", "cls"]
"""Method of pooling token vectors. "mean" is the mean of all token vectors, including [CLS] and
[SEP], as in sentence-transformers. "cls" is the vector of the first token."""


@dataclass(frozen=True)
class Reader:
    """Tokenises texts for a model, and makes batches on the model's device.

    Texts longer than `max_length` tokens are truncated at the start, with a warning, because the
    text after the blank matters more.
    """

    tokeniser: Any
    device: str
    max_length: int

    @property
    def budget(self) -> int:
        """The default number of tokens in a batch, with padding.

        With small batches, a layer's values fit into a CPU's cache: MiniLM-L6 took 3.7 s with 1,024
        tokens in a batch, and 5.2 s with 8,192. A GPU needs large batches.
        """
        return 1_024 if self.device == "cpu" else 16_384

    def tokenise(self, texts: Sequence[Text]) -> list[dict[str, list[int]]]:
        """Return the model's unpadded inputs for each text."""
        if not texts:
            return []
        firsts = [text if isinstance(text, str) else text[0] for text in texts]
        seconds = None if isinstance(texts[0], str) else [text[1] for text in texts]
        with _network.silence_transformers():
            cut = self.tokeniser(firsts, seconds, truncation=True, max_length=self.max_length)
        rows = [dict(zip(cut, values, strict=True)) for values in zip(*cut.values(), strict=True)]
        at_the_limit = sum(len(row["input_ids"]) == self.max_length for row in rows)
        if at_the_limit:
            warnings.warn(
                f"{at_the_limit} of {len(rows)} texts fill all {self.max_length} tokens that the "
                "model reads; the beginnings of longer texts were cut off",
                stacklevel=3,
            )
        return rows

    def make_batch(self, rows: Sequence[dict[str, list[int]]]) -> dict[str, Any]:
        with _network.silence_transformers():
            padded = self.tokeniser.pad(list(rows), return_tensors="pt")
        return {name: tensor.to(self.device) for name, tensor in padded.items()}


@dataclass(frozen=True)
class Encoder:
    """A loaded Hugging Face encoder.

    Attributes:
        folder: The folder of the model.
        network: The torch module, on its device, in float32, without dropout.
        reader: The tokeniser, the device and the maximum input length.
    """

    folder: Path
    network: Any
    reader: Reader

    def encode(
        self,
        texts: Sequence[Text],
        *,
        pooling: Pooling = "mean",
        tokens_per_batch: int | None = None,
        on_batch: OnProgress | None = None,
    ) -> npt.NDArray[np.float32]:
        """Return text vectors, (n, width), pooled from the last layer and not normalised.

        Texts are batched by length to reduce padding. Batching changes values by about 1e-5 in
        float32. The default of `tokens_per_batch` is `Reader.budget`.

        Raises:
            InputError: The pooling is unknown.
        """
        check_choice("pooling", pooling, Pooling)
        torch = require("torch", "models")
        rows = self.reader.tokenise(texts)
        vectors = np.empty((len(rows), int(self.network.config.hidden_size)), np.float32)

        def encode(batch: _network.Rows) -> None:
            inputs = self.reader.make_batch([rows[row] for row in batch])
            with torch.inference_mode():
                hidden = self.network(**inputs).last_hidden_state
                weights = inputs["attention_mask"].unsqueeze(-1).to(hidden.dtype)
                mean = (hidden * weights).sum(1) / weights.sum(1)
                vectors[batch] = (hidden[:, 0] if pooling == "cls" else mean).cpu().numpy()

        budget = tokens_per_batch or self.reader.budget
        _network.run_by_length([len(row["input_ids"]) for row in rows], budget, encode, on_batch)
        return vectors


def load_encoder(
    model: str | Path, *, device: str | None = None, max_length: int | None = None
) -> Encoder:
    """Load a Hugging Face encoder (BERT, RoBERTa, ALBERT, ELECTRA, MPNet, ModernBERT, …).

    Args:
        model: A folder with a saved model, or a hub id.
        device: A torch device ("cpu", "cuda:1"); by default the GPU if there is one.
        max_length: The maximum input length in tokens; by default the model's own limit.

    Raises:
        InputError: The model is missing or not an encoder, or its weights are incomplete.
        MissingExtraError: torch or transformers is not installed.
    """
    folder = _network.find_model_folder(model)
    config = _network.load_configuration(folder)
    network, _ = _network.load_network(require("transformers", "models").AutoModel, folder, config)
    reader = load_reader(folder, config, device=device, max_length=max_length)
    return Encoder(folder, network.to(reader.device).eval(), reader)


def load_reader(folder: Path, config: Any, *, device: str | None, max_length: int | None) -> Reader:
    tokeniser = _network.load_tokeniser(folder)
    if tokeniser.pad_token is None:
        raise InputError(f"{folder}: {config.model_type} has no padding token; use an encoder")
    tokeniser.truncation_side = "left"
    limit = _network.find_max_length(config, tokeniser)
    return Reader(tokeniser, device or _network.choose_device(), min(limit, max_length or limit))


HEAD_NAME = "choice_head"
"""Name of winosmith's head, for architectures without a head in transformers."""

INPUT_FORMAT_FILE = "winosmith_choice.json"
"""Name of the file in a model's folder that stores the input format."""


@dataclass(frozen=True)
class InputFormat:
    """The input format of a multiple-choice model, which is saved with the model's weights.

    Attributes:
        split_point: The point at which the sentence is split into two segments (see `SplitPoint`).
        local: The number of words to keep before the blank, or None for all words.
        claims: Whether the model judges claims. If it does, a score above 0 means "true".
        sees: "blank" if each option is filled into the blank. "pronoun" if the original sentence is
            followed by each option, so that no split point is needed.

    Raises:
        InputError: The split point or `sees` is unknown, or a split point is set with "pronoun".
    """

    split_point: SplitPoint = "before_option"
    local: int | None = None
    claims: bool = False
    sees: Sees = "blank"

    def __post_init__(self) -> None:
        check_choice("split point", self.split_point, SplitPoint)
        check_sees_value(self.sees)
        if self.sees == "pronoun" and self.split_point != "before_option":
            raise InputError(
                "the split point applies only to filled-in sentences; omit it for a model that "
                "sees the pronoun"
            )


@dataclass(frozen=True)
class ChoiceModel:
    """A network that scores filled-in sentences. The better option has the higher score.

    Attributes:
        network: The torch module, on its device, in float32.
        reader: The tokeniser, the device and the maximum input length.
        input_format: The input format.
    """

    network: Any
    reader: Reader
    input_format: InputFormat

    def make_inputs(
        self, problems: Sequence[Problem], options: int | None = None
    ) -> list[dict[str, list[int]]]:
        """Return the network's unpadded inputs, one per option of each problem, in order.

        Args:
            problems: The problems to read.
            options: The number of options to read per problem; by default all.

        Raises:
            DataError: A required pronoun is unknown.
        """
        form = self.input_format
        if form.sees == "pronoun":
            check_pronouns(problems)
        return self.reader.tokenise(
            [
                fill_option(problem, option, form.split_point, form.local, form.sees)
                for problem in problems
                for option in range(options or len(problem.options))
            ]
        )

    def forward(self, rows: Sequence[dict[str, list[int]]]) -> Any:
        """Return a tensor of the scores of unpadded inputs, shape (rows,)."""
        inputs = self.reader.make_batch(rows)
        if hasattr(self.network, HEAD_NAME):
            first = self.network(**inputs).last_hidden_state[:, 0]
            return getattr(self.network, HEAD_NAME)(first)[:, 0]
        return self.network(**{name: x.unsqueeze(1) for name, x in inputs.items()}).logits[:, 0]

    def score_problems(
        self,
        problems: Sequence[Problem],
        *,
        tokens_per_batch: int | None = None,
        on_batch: Callable[[int, int], None] | None = None,
    ) -> list[npt.NDArray[np.float32]]:
        """Return scores for each problem's options.

        Scores are comparable only within a problem. Texts are batched by length. A batch that does
        not fit into memory is halved.

        Raises:
            InputError: A single text does not fit into memory.
        """
        flat = self.score_inputs(
            self.make_inputs(problems), tokens_per_batch=tokens_per_batch, on_batch=on_batch
        )
        ends = np.cumsum([len(problem.options) for problem in problems])
        return np.split(flat, ends[:-1]) if len(problems) else []

    def score_inputs(
        self,
        rows: Sequence[dict[str, list[int]]],
        *,
        tokens_per_batch: int | None = None,
        on_batch: Callable[[int, int], None] | None = None,
    ) -> npt.NDArray[np.float32]:
        """Return the scores of unpadded inputs, shape (rows,), computed in evaluation mode."""
        torch = require("torch", "models")
        scores = np.empty(len(rows), np.float32)
        self.network.eval()

        def score(batch: _network.Rows) -> None:
            with torch.inference_mode():
                scores[batch] = self.forward([rows[row] for row in batch]).cpu().numpy()

        budget = tokens_per_batch or self.reader.budget
        _network.run_by_length([len(row["input_ids"]) for row in rows], budget, score, on_batch)
        return scores

    def save(self, folder: Path) -> None:
        """Save the network as safetensors, with its tokeniser and input format.

        `load_encoder` can also read the folder. It ignores the head.
        """
        with _network.silence_transformers():
            self.network.save_pretrained(str(folder))
            self.reader.tokeniser.save_pretrained(str(folder))
        (folder / INPUT_FORMAT_FILE).write_text(
            json.dumps(asdict(self.input_format), indent=2) + "\n", "utf-8"
        )


def create_choice_model(
    model: str | Path,
    *,
    seed: int,
    input_format: InputFormat | None = None,
    dropout: float | None = None,
    device: str | None = None,
    max_length: int | None = None,
) -> ChoiceModel:
    """Add a multiple-choice head to any encoder.

    The random seed for new weights is `seed`. If transformers has a head for the architecture, it
    is used, so that other programs can load the result. Otherwise, the head is a linear layer on
    the first token. An existing trained head is kept. All dropout rates of the network are set to
    `dropout` unless it is None.

    Raises:
        InputError: The model can't be loaded (see `load_encoder`), or the split point is unknown.
    """
    torch = require("torch", "models")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        path = _network.find_model_folder(model)
        return _load_model(path, input_format or InputFormat(), dropout, device, max_length)[0]


def load_choice_model(
    folder: str | Path,
    *,
    input_format: InputFormat | None = None,
    device: str | None = None,
    max_length: int | None = None,
) -> ChoiceModel:
    """Load a multiple-choice model that was trained by winosmith or another program.

    `folder` is the folder of the model or of its training run, or a hub id. By default, the input
    format is the one used in training, if known. For `device` and `max_length`, see `load_encoder`.

    Raises:
        InputError: The model is missing or damaged, or its head is untrained.
    """
    path = _network.find_model_folder(folder)
    model, trained = _load_model(
        path, input_format or load_input_format(path) or InputFormat(), None, device, max_length
    )
    if not trained:
        raise InputError(
            f"{path}: this encoder was not trained for multiple choice; train it with "
            "`winosmith train`"
        )
    model.network.eval()
    return model


def load_input_format(model: str | Path) -> InputFormat | None:
    """Load the input format from a model's folder, or return None if the folder has none.

    Raises:
        InputError: The model does not exist, or its input format can't be read.
    """
    file = _network.find_model_folder(model) / INPUT_FORMAT_FILE
    if not file.is_file():
        return None
    try:
        return InputFormat(**parse_json(file.read_text("utf-8")))
    except (ValueError, TypeError, InputError) as error:
        raise InputError(f"{file} can't be read ({error}); train the model again") from None


def _load_model(
    folder: Path,
    input_format: InputFormat,
    dropout: float | None,
    device: str | None,
    max_length: int | None,
) -> tuple[ChoiceModel, bool]:
    """Return the model, and whether its head has been trained.

    If transformers has no head for the architecture, winosmith's is added. It is saved with the
    network, and `load_encoder` ignores it.
    """
    transformers = require("transformers", "models")
    config = _network.load_configuration(folder, dropout)
    if type(config) in transformers.MODEL_FOR_MULTIPLE_CHOICE_MAPPING:
        network, new = _network.load_network(
            transformers.AutoModelForMultipleChoice, folder, config
        )
        trained = not new
    else:
        network, _ = _network.load_network(transformers.AutoModel, folder, config)
        head = require("torch", "models").nn.Linear(config.hidden_size, 1)
        network.add_module(HEAD_NAME, head)
        safetensors = require("safetensors", "models")
        weights: dict[str, Any] = {}
        for file in sorted(folder.glob("*.safetensors")):
            with safetensors.safe_open(str(file), "pt") as tensors:
                names = [n for n in tensors.keys() if n.startswith(f"{HEAD_NAME}.")]  # noqa: SIM118
                weights |= {n.removeprefix(f"{HEAD_NAME}."): tensors.get_tensor(n) for n in names}
        trained = bool(weights)
        if trained:
            head.load_state_dict(weights)
    reader = load_reader(folder, config, device=device, max_length=max_length)
    return ChoiceModel(network.to(reader.device), reader, input_format), trained
