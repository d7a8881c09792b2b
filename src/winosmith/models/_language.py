"""What causal and masked language models share: how they are loaded, and how fine they compute."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

from winosmith.errors import InputError
from winosmith.extras import require
from winosmith.models._folder import model_folder
from winosmith.models._network import load_configuration, load_network
from winosmith.models._quiet import quiet

__all__ = ["Precision", "load_language_model", "longest_input"]

Precision = Literal["float32", "bfloat16", "float16"]
"""What a network computes in. Scores are the same to 1e-4 whatever the batch in float32 alone; the
other two halve memory and time on a GPU, and change the closest decisions."""

_OTHERS = {
    "a causal language model": "a masked language model; score it as that",
    "a masked language model": "a causal language model; score it as that",
}


def load_language_model(
    model: str | Path, kind: str, *, device: str | None, dtype: Precision
) -> tuple[Path, Any, Any, str]:
    """Load the folder, the network and the tokeniser of a language model, and settle its device.

    Args:
        model: a folder or hub id.
        kind: "a causal language model" or "a masked language model".
        device: as torch names it; the GPU when there is one when None.
        dtype: see `Precision`.

    Raises:
        InputError: it is not there, is of another kind, or its weights are incomplete.
    """
    transformers = require("transformers", "models")
    if dtype not in get_args(Precision):
        raise InputError(f"the dtype is one of {', '.join(get_args(Precision))}; not {dtype!r}")
    folder = model_folder(model)
    config = load_configuration(folder, kind=kind)
    causal = kind == "a causal language model"
    masked = type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING
    if masked is causal and not getattr(config, "is_decoder", False):
        # transformers would load a BERT as a causal model that sees what it is to predict
        raise InputError(f"{folder}: {config.model_type} is {_OTHERS[kind]}")
    if type(config) not in transformers.MODEL_FOR_CAUSAL_LM_MAPPING and causal:
        raise InputError(f"{folder}: {config.model_type} is not {kind}; name {kind}")
    auto = transformers.AutoModelForCausalLM if causal else transformers.AutoModelForMaskedLM
    network, new = load_network(auto, folder, config, dtype=dtype)
    if new:
        raise InputError(
            f"{folder}: this model was saved without its output layer ({new[0]!r} is missing), so "
            f"it gives no probabilities; name {kind} that was saved whole"
        )
    return folder, *_placed(network, device, folder)


def _placed(network: Any, device: str | None, folder: Path) -> tuple[Any, Any, str]:
    torch = require("torch", "models")
    transformers = require("transformers", "models")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        with quiet():
            tokeniser = transformers.AutoTokenizer.from_pretrained(
                str(folder), trust_remote_code=False
            )
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{folder}: the tokeniser can't be loaded: {error}") from error
    if not tokeniser.is_fast:
        raise InputError(
            f"{folder}: its tokeniser does not say where a token stands in the text; name a model "
            "with a tokenizer.json"
        )
    try:
        return network.to(device).eval(), tokeniser, device
    except (RuntimeError, AssertionError) as error:  # the second without CUDA built in
        first = str(error).splitlines()[0]
        raise InputError(f"the device {device!r} can't be used: {first}") from error


def longest_input(network: Any, tokeniser: Any) -> int:
    """Return the tokens that a model reads at most."""
    limits = [int(tokeniser.model_max_length)]
    positions = getattr(network.config, "max_position_embeddings", None)
    if positions:
        limits.append(int(positions))
    return min(limits)
