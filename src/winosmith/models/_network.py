"""Find, download, identify and load models, and process texts in batches.

Weights are read only from safetensors, code from model folders is never run, and missing weights
are errors. Batches contain texts of similar length, and are halved if memory runs out.
"""

from __future__ import annotations

import gc
import hashlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from winosmith.errors import InputError, check_choice, first_line, require
from winosmith.outputs import sha256

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")

FILE_PATTERNS = ("*.json", "*.safetensors", "*.txt", "*.model")
"""Patterns of files to download: configuration, weights and tokeniser, never code or pickles."""

SHORT_NAMES = {"minilm": "sentence-transformers/all-MiniLM-L6-v2"}
"""Short names for hub ids. A folder with the same name takes precedence."""


def find_model_folder(model: str | Path) -> Path:
    """Return the folder of a model, and download the model from the hub if necessary.

    A model in the local hub cache is used without network access. For an output folder of
    `train_multiple_choice`, its `model/` subfolder is returned.

    Raises:
        InputError: The folder or hub id does not exist, can't be downloaded, or lacks safetensors.
    """
    folder = Path(model)
    if not folder.is_dir():
        model = SHORT_NAMES.get(str(model), model)
        if not _HUB_ID.fullmatch(str(model)):
            raise InputError(f"{model}: there is no such folder, and it can't be a hub id")
        folder = _download_model(str(model))
    if not (folder / "config.json").is_file() and (folder / "model" / "config.json").is_file():
        folder = folder / "model"
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: there is no config.json; give the folder of a saved model")
    if not any(folder.glob("*.safetensors")):
        raise InputError(
            f"{folder} contains no weights in *.safetensors files; winosmith does not read "
            "pickles, so save the model again with safe_serialization=True"
        )
    return folder


def _download_model(name: str) -> Path:
    hub = require("huggingface_hub", "models")
    try:
        folder = Path(
            hub.snapshot_download(name, allow_patterns=FILE_PATTERNS, local_files_only=True)
        )
        if any(folder.glob("*.safetensors")):
            return folder
    except (OSError, ValueError):
        pass  # not in this machine's cache
    try:
        return Path(hub.snapshot_download(name, allow_patterns=FILE_PATTERNS, etag_timeout=10))
    except (OSError, ValueError) as error:
        raise InputError(
            f"the model {name!r} was not found on this machine and could not be downloaded "
            f"({first_line(error)}). Check the name, or run `hf download {name}` on a machine with "
            "network access and give the model's folder"
        ) from error


def digest_weights(folder: str | Path) -> str:
    """Return the SHA-256 of a model's files, as 64 hexadecimal digits.

    The digest covers the names and contents of the weights, configuration and tokeniser files in
    the folder, but not subfolders or other files such as a README.
    """
    state = hashlib.sha256()
    for file in sorted({file for pattern in FILE_PATTERNS for file in Path(folder).glob(pattern)}):
        state.update(f"{file.name}\0{sha256(file)}\n".encode())
    return state.hexdigest()


@contextmanager
def silence_transformers() -> Iterator[None]:
    logging = require("transformers", "models").utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def load_configuration(
    folder: Path, dropout: float | None = None, *, kind: str = "an encoder"
) -> Any:
    transformers = require("transformers", "models")
    try:
        with silence_transformers():
            config = transformers.AutoConfig.from_pretrained(str(folder), trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{folder}: the configuration can't be used: {error}") from error
    if getattr(config, "is_encoder_decoder", False) or not hasattr(config, "hidden_size"):
        raise InputError(f"{folder}: {config.model_type} is not {kind}; use {kind}")
    if dropout is not None:
        for name, value in vars(config).items():
            if "dropout" in name and isinstance(value, float):
                setattr(config, name, dropout)
    return config


def load_network(
    auto_class: Any, folder: Path, config: Any, *, dtype: str = "float32"
) -> tuple[Any, list[str]]:
    """Load a network, and return it with the names of newly initialised weights.

    Only the weights of a head or pooler may be missing. Otherwise, InputError is raised.
    """
    broken = require("safetensors", "models").SafetensorError
    try:
        with silence_transformers():
            network, report = auto_class.from_pretrained(
                str(folder),
                config=config,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except (OSError, ValueError, KeyError, RuntimeError, broken) as error:
        raise InputError(f"{folder}: the model can't be loaded: {error}") from error
    prefix = "" if auto_class.__name__ == "AutoModel" else f"{network.base_model_prefix}."
    new = sorted(report["missing_keys"])
    missing = [name for name in new if name.startswith(prefix) and "pooler" not in name]
    if missing:
        raise InputError(
            f"{folder}: the weights are incomplete: {len(missing)} tensors are missing, such as "
            f"{missing[0]!r}; download the model again"
        )
    return network.to(getattr(require("torch", "models"), dtype)), new


Precision = Literal["float32", "bfloat16", "float16"]
"""Precision of a network. In float32, batching changes scores by less than 1e-4. bfloat16 and
float16 halve memory and time on a GPU, but may change close decisions."""


@dataclass
class LanguageModel:
    """A loaded language model.

    Attributes:
        folder: The folder of the model.
        network: The torch module, on its device, without dropout.
        tokeniser: The tokeniser.
        device: The torch device.
        max_length: The maximum number of tokens per text.
    """

    folder: Path
    network: Any
    tokeniser: Any
    device: str
    max_length: int


def load_language_model(
    model_class: type[Model], model: str | Path, kind: str, *, device: str | None, dtype: Precision
) -> Model:
    """Load a language model; `kind` is "a causal language model" or "a masked language model"."""
    transformers = require("transformers", "models")
    check_choice("dtype", dtype, Precision)
    folder = find_model_folder(model)
    config = load_configuration(folder, kind=kind)
    causal = kind == "a causal language model"
    masked = type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING
    if masked is causal and not getattr(config, "is_decoder", False):
        # transformers would load a BERT as a causal model that sees the token to predict
        other = "masked" if causal else "causal"
        raise InputError(
            f"{folder}: {config.model_type} is a {other} language model; score it as such"
        )
    if type(config) not in transformers.MODEL_FOR_CAUSAL_LM_MAPPING and causal:
        raise InputError(f"{folder}: {config.model_type} is not {kind}; use {kind}")
    auto = transformers.AutoModelForCausalLM if causal else transformers.AutoModelForMaskedLM
    network, new = load_network(auto, folder, config, dtype=dtype)
    if new:
        raise InputError(
            f"{folder}: this model was saved without its output layer ({new[0]!r} is missing), so "
            f"it gives no probabilities; use {kind} with its output layer"
        )
    device = device or choose_device()
    tokeniser = load_tokeniser(folder)
    if not tokeniser.is_fast:
        raise InputError(
            f"{folder}: the tokeniser does not report the positions of tokens in the text; use a "
            "model with a tokenizer.json"
        )
    try:
        network = network.to(device).eval()
    except (RuntimeError, AssertionError) as error:  # AssertionError: torch without CUDA
        raise InputError(f"the device {device!r} can't be used: {first_line(error)}") from error
    return model_class(folder, network, tokeniser, device, find_max_length(config, tokeniser))


def choose_device() -> str:
    return "cuda" if require("torch", "models").cuda.is_available() else "cpu"


def load_tokeniser(folder: Path) -> Any:
    auto = require("transformers", "models").AutoTokenizer
    try:
        with silence_transformers():
            return auto.from_pretrained(str(folder), trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{folder}: the tokeniser can't be loaded: {error}") from error


def find_max_length(config: Any, tokeniser: Any) -> int:
    limit = int(tokeniser.model_max_length)
    return min(limit, int(getattr(config, "max_position_embeddings", None) or limit))


Rows = npt.NDArray[np.intp]

BATCHES_PER_POOL = 50
"""Number of training batches per pool that is sorted by length. It is large enough to avoid most
padding, and small enough to keep the order random."""


def batch_by_length(lengths: Sequence[int], max_tokens: int) -> list[Rows]:
    """Divide rows into batches of at most `max_tokens` tokens, including padding.

    The longest rows come first, so that a lack of memory becomes apparent early. A row with more
    than `max_tokens` tokens is a batch by itself. Rows of equal length keep their order.

    >>> [batch.tolist() for batch in batch_by_length([2, 9, 3, 2, 3], max_tokens=6)]
    [[1], [2, 4], [0, 3]]
    """
    batches: list[Rows] = []
    run_by_length(lengths, max_tokens, batches.append)
    return batches


def shuffle_batches(
    lengths: Sequence[int],
    groups: Sequence[Sequence[int]],
    size: int,
    generator: np.random.Generator,
) -> list[Rows]:
    """Divide rows into random batches of similar length, keeping twins together.

    The groups are shuffled and divided into pools of 50 batches. Each pool is sorted by length and
    divided into batches; then all batches are shuffled. If a batch contains both halves of a twin,
    the gradients of a preference for one option cancel, and those of the trigger remain. If an odd
    number of singles precedes a twin, the twin's halves can be separated.
    """
    measured = np.asarray(lengths, dtype=np.int64)
    order = generator.permutation(len(groups))
    pool_size = BATCHES_PER_POOL * size
    batches: list[Rows] = []
    for start in range(0, len(order), pool_size):
        pool = [np.asarray(groups[at], np.intp) for at in order[start : start + pool_size]]
        pool.sort(key=lambda rows: -int(measured[rows].max()))
        rows = np.concatenate(pool)
        batches.extend(rows[at : at + size] for at in range(0, len(rows), size))
    return [batches[at] for at in generator.permutation(len(batches))]


Batch = TypeVar("Batch")
Model = TypeVar("Model", bound="LanguageModel")

OnProgress = Callable[[int, int], None]
"""A callback that receives the number of finished texts and the total number."""

_MEMORY_MESSAGES = ("out of memory", "can't allocate memory", "not enough memory")
"""Substrings of torch's out-of-memory messages for errors without their own class, as on a CPU."""


def is_out_of_memory(error: BaseException) -> bool:
    torch = require("torch", "models")
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _MEMORY_MESSAGES)


def run_batches(
    total: int,
    budget: int,
    take_batch: Callable[[int, int], tuple[Batch, int, int]],
    process: Callable[[Batch], None],
    on_progress: OnProgress | None = None,
) -> None:
    """Process texts in batches. A batch that does not fit into memory is halved.

    `budget` is the maximum number of tokens per batch. `take_batch` receives the index of the first
    text and the budget, and returns a batch with its numbers of texts and tokens. InputError is
    raised if a single text does not fit into memory.
    """
    completed = 0
    while completed < total:
        batch, count, tokens = take_batch(completed, budget)
        try:
            process(batch)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            if count == 1:
                raise InputError(
                    f"there is not enough memory for the model and one text of {tokens} tokens; "
                    "use a smaller model, dtype='bfloat16' on a GPU, or a larger machine"
                ) from error
        else:
            completed += count
            if on_progress:
                on_progress(completed, total)
            continue
        budget = max(1, tokens // 2)
        warnings.warn(
            f"out of memory with {tokens} tokens per batch; continuing with {budget}", stacklevel=4
        )
        del batch
        free_memory()


def run_by_length(
    lengths: Sequence[int],
    budget: int,
    process: Callable[[Rows], None],
    on_progress: OnProgress | None = None,
) -> None:
    measured = np.asarray(lengths, np.int64)
    order = np.argsort(-measured, kind="stable")

    def take_batch(start: int, max_tokens: int) -> tuple[Rows, int, int]:
        longest = int(measured[order[start]])
        batch = order[start : start + max(1, max_tokens // max(1, longest))]
        return batch, len(batch), len(batch) * longest

    run_batches(len(order), budget, take_batch, process, on_progress)


def free_memory() -> None:
    torch = require("torch", "models")
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
