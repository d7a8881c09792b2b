"""Fine-tune any encoder to choose between two options, or to judge claims."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from winosmith.errors import InputError, Interrupted, require
from winosmith.models import _network
from winosmith.models._encoder import InputFormat, create_choice_model
from winosmith.models._texts import Questions, SplitPoint, read_questions
from winosmith.options import OrFalse, declaration
from winosmith.outputs import OutputFolder, atomic_write
from winosmith.problem import Claim, Problem
from winosmith.published import read_digests, write_digests
from winosmith.records import parse_json
from winosmith.report import percent
from winosmith.seen import Sees

ALPHA = 0.05
"""A run is "at chance" if guessing reaches its dev accuracy with a higher probability than this."""


@declaration
class TrainingSettings:
    """The parameters of a training run, except for its data and its base model.

    The defaults are in WinoGrande's grid (section 4.1): learning rate {1e-5, 3e-5, 5e-5},
    epochs {3, 4, 5, 8}, batch size {8, 16}. The warmup and the clipping threshold are those of the
    released code (github.com/allenai/winogrande: `--warmup_pct 0.1` in the README,
    `--max_grad_norm` 1.0 in run_experiment.py). The defaults for weight decay and dropout are our
    own choice. That code, and `GRIDS["winogrande"]`, use no weight decay and the model's own
    dropout (0.1 for BERT, RoBERTa).

    Raises:
        InputError: A value is out of range.
    """

    seed: Annotated[int, Field(ge=0)] = 0
    """Random seed of the head, the order of the problems, and the dropout."""
    learning_rate: Annotated[float, Field(gt=0)] = 3e-5
    """Peak learning rate. Trained on 5,000 problems of train_xl, MiniLM answers 60.4 % of
    1,000 others correctly at 3e-5, and 50 % at 1e-4 (the same score for all texts)."""
    epochs: Annotated[int, Field(ge=1)] = 3
    """Number of passes over the training problems."""
    batch_size: Annotated[int, Field(ge=1)] = 16
    """Number of problems per step; each problem has two texts."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    """Weight decay of AdamW, on matrices only."""
    warmup: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Fraction of steps in which the learning rate rises linearly from 0, before it falls to 0."""
    dropout: Annotated[
        OrFalse[Annotated[float, Field(ge=0, lt=1)]], Field(json_schema_extra={"off": "own"})
    ] = 0.0
    """Dropout rate of the whole network, or the model's own rate. The two texts of a problem get
    different noise, and their difference is small: after four epochs on 640 problems at
    1e-4, MiniLM's loss is 0.69 with its own rate of 0.1 and 0.27 with 0."""
    clip: Annotated[float, Field(gt=0)] = 1.0
    """Maximum norm of a step's gradient; larger gradients are scaled down."""
    split_point: SplitPoint = "before_option"
    """Point at which the sentence is split in two (see `SplitPoint`)."""
    max_length: OrFalse[Annotated[int, Field(ge=8)]] = None
    """Maximum input length in tokens, by default the model's; longer texts are cut at the start."""
    local: OrFalse[Annotated[int, Field(ge=0)]] = None
    """Number of words to keep before the blank (2 in WinoGrande's baseline); by default all."""
    last: OrFalse[Annotated[int, Field(ge=1)]] = None
    """Number of epochs to train, if the last one is kept, regardless of dev. Use it to train on all
    data for a previously selected number of epochs. By default, the best epoch is kept."""
    sees: Sees = "blank"
    """Input of the encoder: "blank" fills in each option; "pronoun" uses the original sentence,
    followed by each option."""

    def __post_init__(self) -> None:
        InputFormat(self.split_point, sees=self.sees)
        if (self.last or 1) > self.epochs:
            raise ValueError(
                f"last is {self.last}; it must be at most {self.epochs}, the number of epochs"
            )

    @property
    def name(self) -> str:
        """The name of a run in a grid, such as "lr3e-05-ep3-bs16-s0"."""
        return f"lr{self.learning_rate:g}-ep{self.epochs}-bs{self.batch_size}-s{self.seed}"


@dataclass(frozen=True)
class Epoch:
    """The results of one epoch.

    Attributes:
        loss: The mean cross-entropy over the epoch in nats. Guessing gives ln 2 = 0.693.
        dev_correct: The number of correctly answered dev problems. A tie counts as one half.
        p_value: The probability that guessing is at least as accurate on dev (see
            `Questions.evaluate`).
    """

    loss: float
    dev_correct: float
    p_value: float


@dataclass(frozen=True)
class TrainingRun:
    """The settings of a run, and the results of its epochs.

    Attributes:
        settings: The settings of the run.
        epochs: The results of all epochs, in order.
        n_train, n_dev: The numbers of training and dev problems.
    """

    settings: TrainingSettings
    epochs: tuple[Epoch, ...]
    n_train: int
    n_dev: int

    @property
    def kept_epoch(self) -> int:
        """The index of the kept epoch, which is the first epoch with the most correct dev problems.

        With `settings.last`, the last epoch is kept.
        """
        if self.settings.last is not None:
            return len(self.epochs) - 1
        return _find_best_epoch(self.epochs)

    @property
    def dev_accuracy(self) -> float:
        """The dev accuracy of the kept epoch, 0–1.

        It is optimistic if the epoch was selected on dev.
        """
        return self.epochs[self.kept_epoch].dev_correct / self.n_dev

    @property
    def p_value(self) -> float:
        """The smallest p-value of an epoch, times the number of epochs (Bonferroni), ≤ 1."""
        if self.settings.last is not None:
            return self.epochs[-1].p_value
        return min(1.0, min(epoch.p_value for epoch in self.epochs) * len(self.epochs))

    @property
    def at_chance(self) -> bool:
        """Whether the run is not significantly better than guessing at the 5 % level."""
        return self.p_value > ALPHA

    @property
    def message(self) -> str:
        """A one-sentence summary of the result."""
        right = self.epochs[self.kept_epoch].dev_correct
        verdict = (
            "AT CHANCE, not distinguishable from guessing; try another learning rate, more epochs, "
            "more problems or a stronger encoder"
            if self.at_chance
            else "above chance"
        )
        return (
            f"dev accuracy {percent(self.dev_accuracy)} ({right:,} of {self.n_dev:,}) after epoch "
            f"{self.kept_epoch + 1} of {len(self.epochs)}, p = {self.p_value:.2g}: {verdict}"
        )


@dataclass(frozen=True, kw_only=True)
class FinishedRun(TrainingRun):
    """A finished training run with its model.

    Attributes:
        folder: The folder of the kept model, for `load_choice_model` and `load_encoder`.
    """

    folder: Path


MODEL, RECORD, STATE = "model", "training.json", "state.safetensors"

OnStep = Callable[[int, int, str], None]
"""A callback that receives the number of finished steps, the total number, and a message."""


def train_multiple_choice(
    train: Sequence[Problem] | Sequence[Claim],
    dev: Sequence[Problem] | Sequence[Claim],
    *,
    model: str | Path,
    out: str | Path,
    settings: TrainingSettings | None = None,
    device: str | None = None,
    on_step: OnStep | None = None,
) -> FinishedRun:
    """Fine-tune an encoder on two-option problems, and keep the epoch that is best on dev.

    Each option is filled in and scored, and the softmax of both scores is trained to predict the
    answer. For a claim, which is one text, the logistic function of its score is trained to predict
    whether the claim is true. The same arguments give the same weights on the same kind of machine.
    The state is saved after each epoch, so that repeating the call resumes an interrupted run, or
    returns a finished one. A batch that does not fit into memory is halved, with a warning.

    Args:
        train: Training problems with answers, or claims with labels.
        dev: Problems or claims for selecting the epoch. Don't split twins between train and dev.
        model: A folder or hub id of an encoder or of an already fine-tuned model.
        out: The output folder. The best model is saved in `model/`, with digests of the training
            data, and the epochs in `training.json`.
        settings: The settings, by default those of `TrainingSettings`.
        device: A torch device; by default the GPU if there is one.
        on_step: Called after every step.

    Raises:
        DataError: There are no problems, a problem lacks an answer or does not have two options, or
            a required pronoun is unknown. The message contains the problem's id.
        InputError: The model can't be loaded, or does not fit into memory.
        OutputError: `out` contains other files.
        Interrupted: Ctrl-C was pressed. The message names the folder with the saved epochs.
    """
    settings = settings or TrainingSettings()
    questions = read_questions(train, "train on", settings.sees)
    dev_questions = read_questions(dev, "measure on", settings.sees)
    base = _network.find_model_folder(model)
    recipe = {
        "multiple_choice": asdict(settings),
        "train": questions.digest,
        "dev": dev_questions.digest,
        "model": _network.digest_weights(base),
    }
    folder = OutputFolder.open(out, recipe)
    if folder.is_complete(RECORD):
        epochs = parse_epochs((folder.path / RECORD).read_text("utf-8"))
    else:
        run = Run(base, questions, dev_questions, settings, device)
        epochs = tuple(_train_epochs(run, folder.path / STATE, on_step))
        run.network.load_state_dict(run.best_weights)
        run.choice.save(folder.path / MODEL)
        write_digests(folder.path / MODEL, train, *read_digests(base))
        for saved in sorted((folder.path / MODEL).iterdir()):
            folder.add(f"{MODEL}/{saved.name}")
        write_epochs(folder, RECORD, epochs, indent=2)
        (folder.path / STATE).unlink(missing_ok=True)
    return FinishedRun(settings, epochs, len(train), len(dev), folder=folder.path / MODEL)


def parse_epochs(text: str) -> tuple[Epoch, ...]:
    return tuple(Epoch(**record) for record in parse_json(text))


def write_epochs(
    folder: OutputFolder, name: str, epochs: Sequence[Epoch], indent: int | None = None
) -> None:
    with folder.write(name) as file:
        json.dump([asdict(epoch) for epoch in epochs], file, indent=indent)
        file.write("\n")


def _train_epochs(run: Run, file: Path, on_step: OnStep | None) -> list[Epoch]:
    epochs: list[Epoch] = []
    if saved := load_state(file):
        weights, run.best_weights, moments, epochs = saved
        run.network.load_state_dict(weights)
        run.optimiser.load_state_dict({**run.optimiser.state_dict(), "state": moments})
    try:
        while len(epochs) < (run.settings.last or run.settings.epochs):
            epochs.append(run.train_epoch(len(epochs), on_step))
            weights = run.network.state_dict()
            if run.settings.last is not None or _find_best_epoch(epochs) == len(epochs) - 1:
                run.best_weights = {k: v.detach().cpu().clone() for k, v in weights.items()}
            save_state(file, weights, run.best_weights, run.optimiser, epochs)
    except KeyboardInterrupt:
        raise Interrupted(
            f"{len(epochs)} of {run.settings.epochs} epochs are saved in {file.parent}; run "
            "the same command again to resume"
        ) from None
    return epochs


def _find_best_epoch(epochs: Sequence[Epoch]) -> int:
    return max(range(len(epochs)), key=lambda at: epochs[at].dev_correct)


class Run:
    """A training run in progress, with its network, data and optimiser.

    An epoch depends only on the weights, the optimiser's moments, the seed and the number of the
    epoch. A resumed run therefore gives the same result.
    """

    def __init__(
        self,
        base: Path,
        train: Questions,
        dev: Questions,
        settings: TrainingSettings,
        device: str | None,
    ):
        self.settings = settings
        self.train, self.dev = train, dev
        self.choice = create_choice_model(
            base,
            seed=settings.seed,
            input_format=InputFormat(
                settings.split_point,
                settings.local,
                claims=train.texts_per_problem == 1,
                sees=settings.sees,
            ),
            dropout=settings.dropout,
            device=device,
            max_length=settings.max_length,
        )
        self.network = self.choice.network
        self.inputs = self.choice.make_inputs(train.problems, train.texts_per_problem)
        self.dev_inputs = self.choice.make_inputs(dev.problems, dev.texts_per_problem)
        weights = list(self.network.parameters())
        matrices = [w for w in weights if w.ndim >= 2]
        rest = [w for w in weights if w.ndim < 2]
        self.optimiser = require("torch", "models").optim.AdamW(
            [
                {"params": matrices, "weight_decay": settings.weight_decay},
                {"params": rest, "weight_decay": 0.0},
            ],
            lr=settings.learning_rate,
            fused=True,  # without it, the optimiser takes a third of a step's time on a CPU
        )
        self.best_weights: dict[str, Any] = {}
        self.steps_per_epoch = -(-len(train) // settings.batch_size)
        self.chunk_size = settings.batch_size

    def train_epoch(self, epoch: int, on_step: OnStep | None = None) -> Epoch:
        torch = require("torch", "models")
        lengths = np.array([len(row["input_ids"]) for row in self.inputs], np.int64)
        longest = lengths.reshape(-1, self.train.texts_per_problem).max(axis=1)
        generator = np.random.default_rng([self.settings.seed, epoch])
        size = self.settings.batch_size
        batches = _network.shuffle_batches(longest.tolist(), self.train.groups, size, generator)
        self.network.train()
        steps = self.settings.epochs * self.steps_per_epoch
        rising = self.settings.warmup * steps  # afterwards the rate falls to 0
        total = 0.0
        with torch.random.fork_rng():
            torch.manual_seed(int(generator.integers(2**62)))
            for at, batch in enumerate(batches, epoch * self.steps_per_epoch):
                rate = (at + 1) / rising if at < rising else (steps - at) / max(1.0, steps - rising)
                for group in self.optimiser.param_groups:
                    group["lr"] = self.settings.learning_rate * min(1.0, rate)
                loss = self._compute_gradient(batch)
                torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.clip)
                self.optimiser.step()
                total += loss * len(batch)
                if on_step:
                    on_step(at + 1, steps, f"epoch {epoch + 1}, loss {loss:.3f}")
        right, p_value = self.dev.evaluate(self.choice.score_inputs(self.dev_inputs))
        whole = int(right) if right.is_integer() else right
        return Epoch(total / len(self.train), whole, p_value)

    def _compute_gradient(self, batch: npt.NDArray[np.intp]) -> float:
        """Compute the gradient of a batch's mean loss, and return that loss.

        A batch that does not fit into memory is processed in chunks, whose gradients are added.
        """
        while True:
            self.optimiser.zero_grad(set_to_none=True)
            starts = range(0, len(batch), self.chunk_size)
            chunks = (batch[at : at + self.chunk_size] for at in starts)
            try:
                return sum(self._backpropagate(chunk, len(batch)) for chunk in chunks)
            except (RuntimeError, MemoryError) as error:
                if not _network.is_out_of_memory(error):
                    raise
                if (size := min(self.chunk_size, len(batch))) == 1:
                    raise InputError(
                        "there is not enough memory to train this model, even on one problem at a "
                        "time; use a smaller model, a shorter max_length, or a larger machine"
                    ) from error
            self.chunk_size = max(1, size // 2)
            warnings.warn(
                f"out of memory with {size} problems at a time; continuing with "
                f"{self.chunk_size} at a time, and {self.settings.batch_size} per step",
                stacklevel=2,
            )
            _network.free_memory()

    def _backpropagate(self, rows: npt.NDArray[np.intp], batch_size: int) -> float:
        torch = require("torch", "models")
        each = self.train.texts_per_problem
        texts = [self.inputs[each * row + option] for row in rows for option in range(each)]
        scores = self.choice.forward(texts)
        answers = torch.from_numpy(self.train.answers[rows]).to(scores.device)
        loss = self.train.compute_loss(scores, answers) / batch_size
        loss.backward()
        return float(loss.detach())


Weights = dict[str, Any]


def save_state(
    path: Path, weights: Weights, best_weights: Weights, optimiser: Any, epochs: list[Epoch]
) -> None:
    """Save the state of a run atomically, as a safetensors file.

    Unlike a pickle, such a file can't run code when loaded. The state consists of the current
    weights, the weights of the best epoch, the optimiser's moments and the epochs. Random numbers
    and the learning rate are not saved, because they are functions of seed, epoch and step.
    """
    moments = optimiser.state_dict()["state"]
    tensors = {f"weight/{name}": tensor for name, tensor in weights.items()}
    tensors |= {f"best/{name}": tensor for name, tensor in best_weights.items()}
    for at, values in moments.items():
        tensors |= {f"moment/{at}/{name}": tensor for name, tensor in values.items()}
    copies = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
    record = {"epochs": json.dumps([asdict(epoch) for epoch in epochs])}
    with atomic_write(path, "wb") as file:
        file.write(require("safetensors.torch", "models").save(copies, record))


def load_state(path: Path) -> tuple[Weights, Weights, dict[int, Weights], list[Epoch]] | None:
    """Return the weights, best weights, moments and epochs, or None if they can't be read."""
    safetensors = require("safetensors", "models")
    if not path.is_file():
        return None
    try:
        with safetensors.safe_open(str(path), "pt") as file:
            epochs = list(parse_epochs(file.metadata()["epochs"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError):
        return None
    kinds: dict[str, dict[Any, Any]] = {"weight": {}, "best": {}, "moment": {}}
    for key, tensor in tensors.items():
        kind, name = key.split("/", 1)
        if kind == "moment":
            at, name = name.split("/")
            kinds[kind].setdefault(int(at), {})[name] = tensor
        else:
            kinds[kind][name] = tensor
    return kinds["weight"], kinds["best"], kinds["moment"], epochs
