"""A network from a folder: safetensors only, no foreign code, every weight accounted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from winosmith.errors import InputError
from winosmith.extras import require
from winosmith.models._quiet import quiet

__all__ = ["load_configuration", "load_network"]


def load_configuration(
    folder: Path, dropout: float | None = None, *, kind: str = "an encoder"
) -> Any:
    """Load the configuration of a model; set every dropout of it unless `dropout` is None.

    Args:
        folder: where the model is.
        dropout: a rate, or None for the model's own.
        kind: what the model must be, for the message when it is not.

    Raises:
        InputError: it can't be read, its code is not part of transformers, or it has an encoder
            and a decoder.
    """
    transformers = require("transformers", "models")
    try:
        with quiet():
            config = transformers.AutoConfig.from_pretrained(str(folder), trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{folder}: the configuration can't be used: {error}") from error
    if getattr(config, "is_encoder_decoder", False) or not hasattr(config, "hidden_size"):
        raise InputError(f"{folder}: {config.model_type} is not {kind}; name {kind}")
    if dropout is not None:
        for name, value in vars(config).items():
            if "dropout" in name and isinstance(value, float):
                setattr(config, name, dropout)
    return config


def load_network(
    auto_class: Any, folder: Path, config: Any, *, dtype: str = "float32"
) -> tuple[Any, list[str]]:
    """Load a network, and name the weights of a head or pooler that are new in it.

    Raises:
        InputError: it can't be loaded, or weights of the network below its head are missing.
    """
    broken = require("safetensors", "models").SafetensorError
    try:
        with quiet():
            network, told = auto_class.from_pretrained(
                str(folder),
                config=config,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except (OSError, ValueError, KeyError, RuntimeError, broken) as error:
        raise InputError(f"{folder}: the model can't be loaded: {error}") from error
    prefix = "" if auto_class.__name__ == "AutoModel" else f"{network.base_model_prefix}."
    new = sorted(told["missing_keys"])
    missing = [name for name in new if name.startswith(prefix) and "pooler" not in name]
    if missing:
        raise InputError(
            f"{folder}: the weights are incomplete: {len(missing)} tensors are missing, such as "
            f"{missing[0]!r}; get the model again"
        )
    return network.to(getattr(require("torch", "models"), dtype)), new
