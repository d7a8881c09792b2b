"""Cache charts, so that equal charts are drawn once per run; drawing is slow.

tests/report draws each chart, and checks that equal data give equal bytes.
"""

import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from winosmith.report import _svg

ANEW = _svg._render_chart
"""Draws without the cache."""


def remember(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Cache the charts that this process draws in the folder."""

    def painted(
        paint: Callable[..., None], width: float, height: float, kind: str = "svg"
    ) -> bytes:
        try:
            said = pickle.dumps([*_content(paint), width, height, kind])
        except (pickle.PicklingError, TypeError, AttributeError):
            return ANEW(paint, width, height, kind)
        path = folder / hashlib.sha256(said).hexdigest()
        if not path.exists():
            made = folder / f"{path.name}-{os.getpid()}-{id(paint)}"
            made.write_bytes(ANEW(paint, width, height, kind))
            made.rename(path)  # whole, or not there
        return path.read_bytes()

    patch.setattr(_svg, "_render_chart", painted)


def _content(function: Any) -> list[Any]:
    """Return the contents of a nested drawing function: its code and its closure."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return [function.__module__, function.__qualname__, function.__defaults__] + [
        _content(cell) if isinstance(cell, FunctionType) else cell for cell in cells
    ]
