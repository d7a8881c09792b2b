"""The one place that says what to install when an optional library is missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from winosmith.errors import MissingExtraError

__all__ = ["require"]


def require(module: str, extra: str) -> ModuleType:
    """Import an optional `module`, or say which extra of winosmith brings it.

    Raises:
        MissingExtraError: the module is not installed.

    >>> require("json", "models").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"this needs the package {error.name!r}, which is not installed; "
            f"install it with: pip install 'winosmith[{extra}]'"
        ) from error
