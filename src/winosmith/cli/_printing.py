"""Print messages, JSON and progress.

All output of commands, on both streams, passes through this module. Therefore, text from data never
controls the terminal, and a closed pipe does not stop a command.

The library's messages give advice in backticks, in the syntax of a Python call: `question=` or
`answer_is='letter'`. A command prints its corresponding option. If it has none, it names another
command that does.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from winosmith.escape import escape_json, escape_terminal

JSON_VERSION = 1
"""Version of the JSON Schemas of `--json`. It is increased when a key is removed or changes its
type or meaning, but not for a new key."""


def _write(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Write text without control characters other than our own styles.

    If the stream is closed (`| head`), the rest is discarded. The command still finishes its work
    and has the same exit code.
    """
    try:
        click.echo(text, err=err, nl=nl)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, (sys.stderr if err else sys.stdout).fileno())
        os.close(nowhere)


def echo(message: object = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    r"""Print a message, with its advice translated to options of the running command.

    Control characters except tabs and newlines are escaped as in Python (`\x1b`). `style` contains
    arguments of `click.style`.
    """
    text = escape_terminal(translate_advice(message))
    _write(click.style(text, **style) if style else text, err=err, nl=nl)


def translate_advice(message: object) -> str:
    context = click.get_current_context(silent=True)
    return translate_settings(str(message), context.command if context else None)


def is_json_requested() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and context.meta.get("as_json", False)


def print_json_if_requested(report: Mapping[str, Any]) -> bool:
    """Print a report as JSON if `--json` is given, and return whether it was printed.

    Only control characters are escaped. The first key, `schema`, contains the full name of the
    command, such as "data list", and the version of its JSON Schema.
    """
    if not is_json_requested():
        return False
    context: click.Context | None = click.get_current_context()
    names: list[str] = []
    while context and context.parent:
        names.insert(0, context.info_name or "")
        context = context.parent
    document = {"schema": f"{' '.join(names)} {JSON_VERSION}", **report}
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    _write(escape_json(text), nl=False)
    return True


def print_rich(*parts: Any) -> None:
    """Print rich renderables, whose text must not contain control characters."""
    from rich.console import Console

    console = Console(highlight=False)
    with console.capture() as printed:
        for part in parts:
            console.print(part)
    _write(printed.get(), nl=False)


def say(message: str) -> None:
    """Print a message that is not part of the result to standard error."""
    echo(message, err=True)


def exit_with_reasons(reasons: Sequence[str]) -> NoReturn:
    for reason in reasons:
        say(f"Broken: {reason}.")
    click.get_current_context().exit(1)


@contextmanager
def show_log() -> Iterator[None]:
    import logging

    logger, handler = logging.getLogger("winosmith"), logging.Handler()

    def print_record(record: logging.LogRecord) -> None:
        message = record.getMessage()
        say(message[:1].upper() + message[1:])

    handler.emit = print_record  # type: ignore[method-assign]
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[[int, str], None]]:
    """Show progress on standard error, and yield the function `advance(done, note)`.

    A terminal shows a bar. Other output, such as a log file, gets a line at most every 5 seconds.
    """
    from rich.console import Console

    console = Console(file=sys.stderr)
    if not console.is_terminal:
        last = time.monotonic()

        def print_line(done: int, note: str = "") -> None:
            nonlocal last
            if time.monotonic() - last >= 5:
                last = time.monotonic()
                of = f" of {total}" if total else ""
                say(f"{title}: {done}{of} {note}".rstrip())

        yield print_line
        return
    from rich import progress as bars

    columns = (
        bars.SpinnerColumn(),
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TextColumn("{task.fields[note]}", style="dim", markup=False),
    )
    with bars.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(escape_terminal(title), total=total, note="")

        def update_bar(done: int, note: str = "") -> None:
            bar.update(task, completed=done, note=escape_terminal(note))

        yield update_bar


_SETTING = re.compile(r"`([a-z]\w*)=([^`]*)`")

_OPTION_NAMES = {"format_name": "--from", "filters": "--filter"}
"""Options whose names differ from the names of their parameters."""

_SETTING_OPTIONS = {
    ("new_ids", "True"): "--ids digest",
    ("probe_draws", "0"): "--no-probes",
}
"""Options that represent one value of a setting."""

OTHER_COMMANDS = {
    "convert": "`winosmith convert` has {}, and writes a file that this command reads",
    "serve": "`winosmith serve` has {}",
    "build": "`winosmith build` has {}",
}
"""Commands with options that other commands lack, and the advice to use them."""


def translate_settings(message: str, command: click.Command | None) -> str:
    """Replace settings in backticks with the options of this command, or name another command."""
    if command is None:
        return message
    lacking: dict[str, list[str]] = {name: [] for name in OTHER_COMMANDS}

    def replace_setting(match: re.Match[str]) -> str:
        name, typed = _find_option(match[1], match[2])
        if _has_option(command, name):
            return typed
        for other in OTHER_COMMANDS:
            if _has_option(importlib.import_module(f"{__package__}.{other}").command, name):
                lacking[other].append(name)
                return typed
        return match[0]

    text = _SETTING.sub(replace_setting, message)
    for other, names in lacking.items():
        if names:
            text += "; " + OTHER_COMMANDS[other].format(", ".join(dict.fromkeys(names)))
    return text


def _find_option(name: str, value: str) -> tuple[str, str]:
    """Return the option for a setting, and the option with its value as a user would type it."""
    whole = _SETTING_OPTIONS.get((name, value))
    option = _OPTION_NAMES.get(name, f"--{name.replace('_', '-')}")
    if whole or value in ("", "True"):
        return (whole or option).partition(" ")[0], whole or option
    with suppress(SyntaxError, ValueError):
        value = shlex.quote(str(ast.literal_eval(value)))
    return option, f"{option} {value}"


def _has_option(command: click.Command, option: str) -> bool:
    return any(option in param.opts for param in command.params)
