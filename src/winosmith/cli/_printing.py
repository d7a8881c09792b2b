"""Print messages, JSON and progress.

Everything that a command prints, on both streams, passes through this module: text from data never
controls the terminal, and a closed pipe ends no command.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from winosmith.cli._advice import advised
from winosmith.escape import for_json, for_terminal


def _write(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Write text without control characters, except our own styles.

    If the stream is closed (`| head`), the rest is discarded: the command still does its work, and
    ends with the same code.
    """
    try:
        click.echo(text, err=err, nl=nl)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, (sys.stderr if err else sys.stdout).fileno())
        os.close(nowhere)


def echo(message: object = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    r"""Print a message with its advice as options of the command that runs.

    Control characters are written as Python does (`\x1b`).

    Args:
        message: what to print; tabs and newlines are kept.
        err: to the error stream.
        nl: end the line.
        style: colour and weight, as `click.style` takes them.
    """
    text = for_terminal(with_options(message))
    _write(click.style(text, **style) if style else text, err=err, nl=nl)


def with_options(message: object) -> str:
    """Return a message with its advice as options of the command that runs."""
    context = click.get_current_context(silent=True)
    return advised(str(message), context.command if context else None)


def ring() -> None:
    """Ring the terminal's bell."""
    _write("\a", err=True, nl=False)


def print_json(report: Any) -> None:
    """Print a report as indented JSON with non-ASCII characters, of which controls are escaped."""
    print_json_text(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def print_json_text(document: str) -> None:
    """Print a JSON document with its control characters escaped."""
    _write(for_json(document), nl=False)


def print_rich(*parts: Any) -> None:
    """Print parts as rich renders them; their text has no control characters."""
    from rich.console import Console

    console = Console(highlight=False)
    with console.capture() as printed:
        for part in parts:
            console.print(part)
    _write(printed.get(), nl=False)


def say(message: str) -> None:
    """Print a message that is not part of the result: to the error stream."""
    echo(message, err=True)


def fail_gate(broken: Sequence[str]) -> NoReturn:
    """End the command with code 1, with the reasons on the error stream."""
    for reason in broken:
        say(f"Broken: {reason}.")
    click.get_current_context().exit(1)


@contextmanager
def log_shown() -> Iterator[None]:
    """Print what is logged at level INFO while the block runs, such as large files."""
    import logging

    logger, handler = logging.getLogger("winosmith"), logging.Handler()
    handler.emit = lambda record: say(_sentence(record.getMessage()))  # type: ignore[method-assign]
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[[int, str], None]]:
    """Show progress on the error stream; yields `advance(done, note)`, `done` so far.

    On a terminal it is a bar; elsewhere (a log file, CI) a plain line at most every 5 seconds.
    """
    from rich.console import Console

    console = Console(file=sys.stderr)
    if console.is_terminal:
        yield from _bar(console, title, total)
    else:
        yield from _plain_lines(title, total)


def _bar(console: Any, title: str, total: int | None) -> Iterator[Callable[[int, str], None]]:
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
        task = bar.add_task(for_terminal(title), total=total, note="")

        def advance(done: int, note: str = "") -> None:
            bar.update(task, completed=done, note=for_terminal(note))

        yield advance


def _plain_lines(title: str, total: int | None) -> Iterator[Callable[[int, str], None]]:
    import time

    last = time.monotonic()

    def advance(done: int, note: str = "") -> None:
        nonlocal last
        if time.monotonic() - last >= 5:
            last = time.monotonic()
            of = f" of {total}" if total else ""
            say(f"{title}: {done}{of} {note}".rstrip())

    yield advance
