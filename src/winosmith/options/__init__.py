"""Declarations of parameters, and those that a recipe and a command share."""

from __future__ import annotations

from winosmith.options._declaration import (
    Numbers,
    OrFalse,
    Texts,
    declaration,
    from_table,
    schema,
    words,
)
from winosmith.options._filter import EmbedRecipe, FilterRecipe, MeasureRecipe, Method

__all__ = [
    "EmbedRecipe",
    "FilterRecipe",
    "MeasureRecipe",
    "Method",
    "Numbers",
    "OrFalse",
    "Texts",
    "declaration",
    "from_table",
    "schema",
    "words",
]
