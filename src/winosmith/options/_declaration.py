"""Declarations of parameters: one class states each parameter's type, range, default and meaning.

Under `@declaration` a class is a frozen dataclass that checks its values. The range is in the type
(`Annotated[int, Field(ge=1)]`), the meaning in the string below the field, and a rule for several
fields in `__post_init__`, which raises ValueError. The error, the table of a recipe, the page of
the reference, the options of a command and the JSON schema come from this one declaration.
`dataclasses.replace` checks the new values, too.
"""

from __future__ import annotations

import difflib
import functools
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Annotated, Any, TypeVar, dataclass_transform

import pydantic.dataclasses
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from winosmith.errors import RecipeError

T = TypeVar("T")

OrFalse = Annotated[T | None, BeforeValidator(lambda value: None if value is False else value)]
"""A value that can be switched off: `false` in a file, None in Python."""

Texts = Annotated[tuple[str, ...], Field(strict=False)]
"""A list of texts."""

Numbers = Annotated[tuple[int, int], Field(strict=False)]
"""A list of two whole numbers."""

_CONFIG = ConfigDict(
    strict=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
)


@dataclass_transform(frozen_default=True)
def declaration(kind: type[T]) -> type[T]:
    """Make a class a frozen dataclass that checks its values.

    Raises:
        RecipeError: by the class, for a value of another type or out of range.

    >>> @declaration
    ... class Penalty:
    ...     C: Annotated[float, Field(gt=0)] = 1.0
    >>> Penalty(C=0)
    Traceback (most recent call last):
    winosmith.errors.RecipeError: C is 0; it must be a number above 0
    """
    made = pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)(kind)
    check = made.__init__

    @functools.wraps(check)
    def checked(self: Any, *args: Any, **values: Any) -> None:
        try:
            check(self, *args, **values)
        except ValidationError as error:
            given = dict(zip(schema(made)["properties"], args, strict=False)) | values
            raise RecipeError(_reason(made, given, error)) from None

    made.__init__ = checked  # type: ignore[method-assign]
    return typing.cast("type[T]", made)


def _reason(kind: type, given: Mapping[str, Any], error: ValidationError) -> str:
    """Return the first thing that is wrong with the values, in words."""
    found = error.errors(include_url=False)[0]
    message = str(found.get("ctx", {}).get("error", found["msg"]))
    if not found["loc"]:
        return message
    key = str(found["loc"][0])
    properties = schema(kind)["properties"]
    if found["type"] == "missing":
        return f"the key {key!r} is missing"
    if key not in properties:
        return _unknown(key, kind, kind)
    wanted = message if found["type"] == "value_error" else f"it must be {words(properties[key])}"
    value = "not valid" if properties[key].get("writeOnly") else repr(given[key])
    return f"{key} is {value}; {wanted}"


def from_table(kind: type[T], table: Mapping[str, Any], top: type | None = None) -> T:
    """Construct a declaration from a table of TOML, and those of its fields from the tables in it.

    Args:
        kind: the declaration.
        table: its keys and values.
        top: the declaration of the whole file, whose tables a misplaced key may belong to.

    Raises:
        RecipeError: an unknown or missing key, or a value that does not fit.
    """
    values, hints = dict(table), typing.get_type_hints(kind)
    for key, value in table.items():
        if key not in hints:
            raise RecipeError(_unknown(key, kind, top or kind))
        if is_dataclass(inner := hints[key]):
            if not isinstance(value, Mapping):
                raise RecipeError(f"{key} is {value!r}; it must be a table: [{key}]")
            try:
                values[key] = from_table(typing.cast("type[Any]", inner), value, top or kind)
            except RecipeError as error:
                raise RecipeError(f"[{key}] {error}") from None
    return kind(**values)


def _unknown(key: str, kind: type, top: type) -> str:
    known = list(typing.get_type_hints(kind))
    elsewhere = {
        inner: name
        for name, table in typing.get_type_hints(top).items()
        if is_dataclass(table)
        for inner in typing.get_type_hints(table)
    }
    if near := difflib.get_close_matches(key, known, n=1):
        return f"unknown key {key!r}; did you mean {near[0]!r}?"
    if far := difflib.get_close_matches(key, elsewhere, n=1):
        return f"unknown key {key!r}; did you mean {far[0]!r} in the table [{elsewhere[far[0]]}]?"
    return f"unknown key {key!r}; the keys are {', '.join(known)}"


@functools.cache
def schema(kind: type) -> dict[str, Any]:
    """Return the JSON schema of a declaration; its tables are in `$defs`."""
    return TypeAdapter(kind).json_schema()


def words(of: Mapping[str, Any]) -> str:
    """Return the values that a part of a JSON schema allows.

    >>> words({"type": "integer", "minimum": 1})
    'a whole number, 1 or more'
    >>> words({"anyOf": [{"enum": ["mean", "cls"]}, {"type": "null"}]})
    '"mean" or "cls" or false'
    """
    if "anyOf" in of:
        choices = [words(one) for one in of["anyOf"]]
        return (", or " if any("," in choice for choice in choices) else " or ").join(choices)
    if "enum" in of:
        *first, last = (f'"{one}"' for one in of["enum"])
        return f"{', '.join(first)} or {last}"
    if "const" in of:
        return f'"{of["const"]}"'
    if "prefixItems" in of:
        return "two whole numbers"
    if "enum" in of.get("items", {}):
        return f"a list of {words(of['items'])}"
    kind = {
        "array": f"a list of {'one or more ' * ('minItems' in of)}texts",
        "object": "a table of texts",
        "boolean": "true or false",
        "integer": "a whole number",
        "null": "false",
        "number": "a number",
        "string": "text",
    }[of["type"]]
    if of.get("minLength") and "maxLength" not in of:
        return "text that is not empty"
    if "maxLength" in of:
        return f"{kind} of {of.get('minLength', 0)} to {of['maxLength']} characters"
    return kind + _range(of)


def _range(of: Mapping[str, Any]) -> str:
    if "minimum" in of and "maximum" in of:
        return f" from {of['minimum']:,} to {of['maximum']:,}"
    limits = [
        form.format(of[name])
        for name, form in (
            ("minimum", "{:,} or more"),
            ("exclusiveMinimum", "above {:,}"),
            ("maximum", "at most {:,}"),
            ("exclusiveMaximum", "below {:,}"),
        )
        if name in of
    ]
    return (", " if "minimum" in of else " ") * bool(limits) + " and ".join(limits)
