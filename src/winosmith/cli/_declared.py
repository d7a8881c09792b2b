"""Generate command-line options from declarations and checked functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import click

from winosmith.options import build_schema


def parse_number(value: str) -> int | float:
    try:
        return int(value) if value.isdecimal() else float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a number") from None


def add_declared_options(
    kind: Any,
    *,
    only: Collection[str] = (),
    option_names: Mapping[str, str] | None = None,
    prefix: str = "",
) -> Callable[[Any], Any]:
    """Add an option for each field of a declaration, with its range, default and description.

    The command receives each value under the field's name.

    Args:
        kind: the declaration, or a function decorated with `checked`.
        only: names of the fields that get an option; empty for all fields.
        option_names: maps a field to its option if their names differ ("pmi": "--pmi-variant").
        prefix: beginning of each help text ("For chat: ").
    """

    def decorate(function: Any) -> Any:
        for name, key in reversed(build_schema(kind)["properties"].items()):
            if name in only or not only:
                option = (option_names or {}).get(name, f"--{name.replace('_', '-')}")
                if prefix:
                    text = key["description"]
                    key = {**key, "description": f"{prefix}{text[0].lower()}{text[1:]}"}
                function = make_option(name, option, key)(function)
        return function

    return decorate


def make_option(name: str, option: str, field: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return a click option; `field` is the JSON schema of the value."""
    default = field.get("default")
    settings: dict[str, Any] = {"default": default, "show_default": default is not None}
    if default is False:
        settings = {"is_flag": True}
    elif default is True:
        option = f"{option}/--no-{option.removeprefix('--')}"
    else:
        settings["type"] = _choose_click_type(field)
    if "off" in field:
        settings["metavar"] = f"RATE|{field['off']}"
    if settings.get("type") == (int, int):
        settings["metavar"] = "MIN MAX"
    if field.get("items", {}).get("type") == "integer":
        settings |= {"default": ",".join(map(str, default or ())), "metavar": "N,N,…"}
        settings["callback"] = _parse_whole_numbers
    if values := field.get("items", {}).get("enum"):
        settings = {"multiple": True, "type": click.Choice(values)}
    return click.option(option, name, help=" ".join(field["description"].split()), **settings)


def _parse_whole_numbers(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, value.split(",")))
    except ValueError:
        raise click.BadParameter("use whole numbers separated by commas") from None


class _RateOrWord(click.FloatRange):
    """A click type for a number in a range, or a word that means None."""

    def __init__(self, word: str, limits: click.FloatRange):
        super().__init__(limits.min, limits.max, limits.min_open, limits.max_open)
        self.word = word

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return None if value == self.word else super().convert(value, param, ctx)


def _choose_click_type(field: Mapping[str, Any]) -> Any:
    choices = [one for one in field.get("anyOf", [field]) if one.get("type") != "null"]
    if field.get("type") == "array":
        return str
    if len(choices) > 1:
        return parse_number
    (one,) = choices
    if "enum" in one:
        return click.Choice(one["enum"])
    if "prefixItems" in one:
        return (int, int)
    if one.get("format") == "path":
        return click.Path(exists=True, dir_okay=False)
    if one["type"] == "string":
        return str
    limits: Any = {"integer": click.IntRange, "number": click.FloatRange}[one["type"]](
        one.get("minimum", one.get("exclusiveMinimum")),
        one.get("maximum", one.get("exclusiveMaximum")),
        min_open="exclusiveMinimum" in one,
        max_open="exclusiveMaximum" in one,
    )
    return _RateOrWord(field["off"], limits) if "off" in field else limits
