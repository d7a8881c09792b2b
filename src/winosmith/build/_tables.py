"""Tables of TOML as dataclasses, with errors that name the key and what would fit."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar

from winosmith.errors import RecipeError

Kind = TypeVar("Kind")


_LARGEST = 2**1000
"""Whole numbers from here on, or soon after, are no floats."""


def constructed(
    kind: type[Kind], table: Mapping[str, Any], where: str = "", whole: Any = None
) -> Kind:
    """Construct a dataclass from a table, and the dataclasses of its fields from the tables in it.

    Args:
        kind: the dataclass.
        table: as TOML gives it.
        where: the table's place in the whole, for messages ("filter.").
        whole: the outermost dataclass, whose tables a misplaced key may belong to.

    Raises:
        RecipeError: an unknown or missing key, or a value that does not fit.
    """
    whole = whole or kind
    hints = typing.get_type_hints(kind)
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise RecipeError(_unknown(key, known, where, whole))
    needed = [f.name for f in fields(kind) if _is_needed(f) and f.name not in table]  # type: ignore[arg-type]
    if needed:
        raise RecipeError(f"the key {where}{needed[0]!r} is missing")
    values = {key: _value(hints[key], value, where + key, whole) for key, value in table.items()}
    try:
        return kind(**values)
    except RecipeError as error:
        raise RecipeError(f"[{where.rstrip('.')}] {error}" if where else str(error)) from None


def _is_needed(known: Any) -> bool:
    return known.default is MISSING and known.default_factory is MISSING


def _unknown(key: str, known: list[str], where: str, whole: Any) -> str:
    elsewhere = {
        inner.name: table
        for table, kind in typing.get_type_hints(whole).items()
        if is_dataclass(kind)
        for inner in fields(kind)
    }
    near = difflib.get_close_matches(key, known, n=1)
    far = difflib.get_close_matches(key, elsewhere, n=1)
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif far:
        hint = f"did you mean {far[0]!r} in the table [{elsewhere[far[0]]}]?"
    else:
        hint = f"the keys are {', '.join(known)}"
    return f"unknown key {where + key!r}; {hint}"


def _value(hint: Any, value: Any, where: str, whole: Any) -> Any:
    """Return a value of TOML as the field's type, or say that it does not fit."""
    if is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise RecipeError(f"{where} must be a table: [{where}]")
        return constructed(typing.cast("type[Any]", hint), value, f"{where}.", whole)
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    kinds = typing.get_args(hint) if is_union else (hint,)
    if types.NoneType in kinds and value is False:
        return None
    for kind in kinds:
        fitting = _fitting(kind, value)
        if fitting is not None:
            return fitting
    wanted = " or ".join(_in_words(kind) for kind in kinds if kind is not types.NoneType)
    raise RecipeError(f"{where} is {value!r}; it must be {wanted}")


def _fitting(kind: Any, value: Any) -> Any:
    """Return the value as this one type, or None when it does not fit."""
    if typing.get_origin(kind) is Literal:
        return value if value in typing.get_args(kind) else None
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)
        if isinstance(value, list) and inner[-1] is Ellipsis:
            inner = inner[:1] * len(value)
        if isinstance(value, list) and len(value) == len(inner):
            items = tuple(_fitting(kind, item) for kind, item in zip(inner, value, strict=True))
            return None if None in items else items
        return None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < _LARGEST else None
    if isinstance(value, bool) and kind is not bool:
        return None
    return value if isinstance(value, kind) else None


def _in_words(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return "a list of texts" if str in typing.get_args(kind) else "a list such as [15, 30]"
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    return words[kind]
