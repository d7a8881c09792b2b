"""The formats that are known, in the order in which they are named to the user."""

from __future__ import annotations

from winosmith.formats._base import Format
from winosmith.formats._jsonl import JSONL
from winosmith.formats._winogrande import WINOGRANDE

__all__ = ["FORMATS"]

FORMATS: tuple[Format, ...] = (
    JSONL,
    WINOGRANDE,
)
