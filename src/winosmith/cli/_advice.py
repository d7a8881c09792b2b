"""Advice in messages, as options of the command that runs.

The library writes parameters like Python callers, in backticks: `question=` or
`answer_is='letter'`. A command prints its option for the parameter, or names a command with such an
option, so that users can type the advice.
"""

from __future__ import annotations

import ast
import importlib
import re
import shlex

import click

_SETTING = re.compile(r"`([a-z]\w*)=([^`]*)`")

_NAMES = {"format_name": "--from", "filters": "--filter"}
"""Options with another name than the parameter."""

_WHOLE = {
    ("new_ids", "True"): "--ids digest",
    ("probe_draws", "0"): "--no-probes",
}
"""Settings with their own option."""

ELSEWHERE = {
    "convert": "`winosmith convert` has {}, and writes a file that this command reads",
    "serve": "`winosmith serve` has {}",
    "build": "`winosmith build` has {}",
    "round": "`winosmith round` has {}",
}
"""Commands with options that others lack, and their use."""


def advised(message: str, command: click.Command | None) -> str:
    """Return a message with each setting as an option, and the command with it if it is another.

    Args:
        message: with settings in backticks.
        command: the command that runs; None returns the message unchanged.
    """
    if command is None:
        return message
    lacking: dict[str, list[str]] = {name: [] for name in ELSEWHERE}

    def option(found: re.Match[str]) -> str:
        name, typed = _as_typed(found[1], found[2])
        if not _has(command, name):
            other = next((other for other in ELSEWHERE if _has(_loaded(other), name)), None)
            if other is None:
                return found[0]
            lacking[other].append(name)
        return typed

    text = _SETTING.sub(option, message)
    for other, names in lacking.items():
        if names:
            text += "; " + ELSEWHERE[other].format(", ".join(dict.fromkeys(names)))
    return text


def _as_typed(name: str, value: str) -> tuple[str, str]:
    """Return the option of a setting, and its text with the value."""
    whole = _WHOLE.get((name, value))
    option = _NAMES.get(name, f"--{name.replace('_', '-')}")
    if whole or value in ("", "True"):
        return (whole or option).partition(" ")[0], whole or option
    return option, f"{option} {_quoted(value)}"


def _loaded(name: str) -> click.Command:
    command: click.Command = importlib.import_module(f"{__package__}.{name}").command
    return command


def _has(command: click.Command, option: str) -> bool:
    return any(option in param.opts for param in command.params)


def _quoted(value: str) -> str:
    """Quote a Python literal for a shell."""
    try:
        return shlex.quote(str(ast.literal_eval(value)))
    except (SyntaxError, ValueError):
        return value
