"""From the name of a model to the folder that holds it, and the digest of what lies there."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from winosmith.errors import InputError
from winosmith.extras import require
from winosmith.outputs import sha256

__all__ = ["model_folder", "weights_digest"]

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")

WANTED = ("*.json", "*.safetensors", "*.txt", "*.model")
"""What is downloaded: configuration, weights and the tokeniser's files; never code or pickles."""


SHORT_NAMES = {"minilm": "sentence-transformers/all-MiniLM-L6-v2"}
"""What may be said for a hub id; a folder of that name comes first."""


def model_folder(model: str | Path) -> Path:
    """Return the folder of a model: the one named, or the hub's, downloaded when it must be.

    What the hub's cache on this machine already holds is used without asking the network. The
    folder of a run of `train_multiple_choice` stands for the `model/` in it.

    Raises:
        InputError: no such folder or hub id, no network, or no safetensors in it.
    """
    folder = Path(model)
    if not folder.is_dir():
        model = SHORT_NAMES.get(str(model), model)
        if not _HUB_ID.fullmatch(str(model)):
            raise InputError(f"{model}: there is no such folder, and it can't be a hub id")
        folder = _from_hub(str(model))
    if not (folder / "config.json").is_file() and (folder / "model" / "config.json").is_file():
        folder = folder / "model"
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: there is no config.json; name the folder of a saved model")
    if not any(folder.glob("*.safetensors")):
        raise InputError(
            f"{folder}: there are no weights as *.safetensors; winosmith reads no pickles, so "
            "save the model again with safe_serialization=True"
        )
    return folder


def _from_hub(name: str) -> Path:
    hub = require("huggingface_hub", "models")
    try:
        folder = Path(hub.snapshot_download(name, allow_patterns=WANTED, local_files_only=True))
        if any(folder.glob("*.safetensors")):
            return folder
    except (OSError, ValueError):
        pass  # not in the cache of this machine
    try:
        return Path(hub.snapshot_download(name, allow_patterns=WANTED, etag_timeout=10))
    except (OSError, ValueError) as error:
        raise InputError(
            f"the model {name!r} is neither a folder nor in the hub's cache here, and could not "
            f"be downloaded ({_first_line(error)}); check the name, or download it where there is "
            f"network (hf download {name}) and name its folder"
        ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(" .:") if lines else type(error).__name__


def weights_digest(folder: str | Path) -> str:
    """Return a SHA-256 over the files that make a model what it is, as 64 hexadecimal digits.

    Covered are the names and bytes of the weights, the configuration and the tokeniser's files
    at the top of the folder; a README or another note changes nothing.
    """
    state = hashlib.sha256()
    for file in sorted({file for pattern in WANTED for file in Path(folder).glob(pattern)}):
        state.update(f"{file.name}\0{sha256(file)}\n".encode())
    return state.hexdigest()
