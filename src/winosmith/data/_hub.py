"""Data sets on the Hugging Face Hub, with `datasets` (`pip install 'winosmith[hub]'`).

An address is `hf:ORG/NAME`. If there are several configurations or splits, the address names one of
each: `hf:ORG/NAME:CONFIG[SPLIT]`. A folder's path may replace ORG/NAME. The `datasets` library does
not run code from data sets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from winosmith.errors import FormatError, first_line, require

_ADDRESS = re.compile(r"hf:([^:\[\]]+)(?::([^:\[\]]+))?(?:\[([^\[\]]+)\])?")


def load_hub_table(address: str) -> Any:
    match = _ADDRESS.fullmatch(address)
    if not match:
        raise FormatError("the address must be hf:ORG/NAME or hf:ORG/NAME:CONFIG[SPLIT]", address)
    path, config, split = match.groups()
    hub = require("datasets", "hub")
    try:
        if not Path(path).exists():
            _check_connection(path)
        configs = hub.get_dataset_config_names(path)
        config = config or hub.get_dataset_default_config_name(path)
        config = _choose_name(config, configs, "configuration", f"hf:{path}:{{}}", address)
        splits = hub.get_dataset_split_names(path, config)
        prefix = f"hf:{path}:{config}" if len(configs) > 1 else f"hf:{path}"
        split = _choose_name(split, splits, "split", f"{prefix}[{{}}]", address)
        return hub.load_dataset(path, config, split=split)
    except FormatError:
        raise
    except (OSError, ValueError, RuntimeError, hub.exceptions.DatasetsError) as error:
        advice = "check the name; for a private data set, log in: hf auth login"
        if isinstance(error, ConnectionError):
            advice = "connect to the internet, or download the data set and use hf:FOLDER"
        elif "gated" in str(error):
            advice = "accept the terms on the data set's page, then log in: hf auth login"
        raise FormatError(f"{first_line(error)}; {advice}", address) from error


def _check_connection(name: str) -> None:
    # `datasets` would repeat each request for half a minute before it reports the lost connection.
    hub = require("huggingface_hub", "hub")
    with suppress(hub.errors.HfHubHTTPError):
        try:
            hub.snapshot_download(
                name, repo_type="dataset", allow_patterns="README.md", etag_timeout=10
            )
        except hub.errors.LocalEntryNotFoundError as error:
            raise ConnectionError(f"{name!r} can't be reached on the Hub") from error


def _choose_name(
    name: str | None, names: Sequence[str], kind: str, template: str, address: str
) -> str:
    if name in names:
        return str(name)
    if name is None and len(names) == 1:
        return names[0]
    problem = f"there is no {kind} {name!r}" if name else f"there are {len(names)} {kind}s"
    listed = ", ".join(names)
    raise FormatError(f"{problem} ({listed}); name one: {template.format(names[0])}", address)
