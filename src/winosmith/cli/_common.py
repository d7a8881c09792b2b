"""Options and output that several commands share."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from winosmith.dataset import Dataset

__all__ = [
    "data_argument",
    "format_option",
    "json_option",
    "pairing_column",
    "print_json",
    "progress",
    "read_data",
    "say",
    "told",
    "unmarked_twins",
]

_PAIR_BY = "pair_by"


def data_argument(name: str = "data") -> Callable[[Any], Any]:
    """Add the argument DATA: an existing file of problems in any known format."""
    return click.argument(name, metavar=name.upper(), type=click.Path(exists=True, dir_okay=False))


def format_option(function: Any) -> Any:
    """Add `--from FORMAT` and `--pair-by COLUMN`: how `read_data` is to read the file.

    The command gets `format_name`; the column waits in click's context for `read_data`.
    """
    function = click.option(
        "--pair-by",
        _PAIR_BY,
        metavar="COLUMN",
        expose_value=False,
        callback=lambda context, _, column: context.meta.update({_PAIR_BY: column}),
        help="A further column that both halves of a twin share; left out, twins are found by "
        "their ids, or else by their texts.",
    )(function)
    return click.option(
        "--from",
        "format_name",
        metavar="FORMAT",
        help="Format of the input; found from its content when left out.",
    )(function)


def read_data(path: str, format_name: str | None) -> Dataset:
    """Read a command's DATA as its options `--from` and `--pair-by` say.

    Raises:
        FormatError: see `winosmith.formats.read`.
    """
    from winosmith import formats

    return formats.read(path, format_name, pair_by=pairing_column())


def pairing_column() -> str | None:
    """Return the column that `--pair-by` names; None without it."""
    column: str | None = click.get_current_context().meta.get(_PAIR_BY)
    return column


def unmarked_twins(dataset: Dataset) -> tuple[int, str]:
    """Return how many pairs look like twins though nothing marks them, and what to do; or ""."""
    from winosmith import formats

    pairs = formats.alike(dataset.problems)
    if not pairs:
        return 0, ""
    first, second = (dataset[row].id for row in pairs[0])
    one = len(pairs) == 1
    return len(pairs), (
        f"{len(pairs):,} pair{'s' * (not one)} of singles look{'s' * one} like {'a ' * one}"
        f"twin{'s' * (not one)}, though nothing marks {'it' if one else 'them'} (as {first!r} and "
        f"{second!r}): name a column that both halves share with --pair-by, or give both one "
        "twin_id"
    )


def json_option(function: Any) -> Any:
    """Add `--json`: print the report as JSON instead of text."""
    return click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")(
        function
    )


def print_json(report: Any) -> None:
    """Print a report as indented JSON, non-ASCII characters as they are."""
    click.echo(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False))


def say(message: str) -> None:
    """Tell the user something that is not the result: to the error stream."""
    click.echo(message, err=True)


@contextmanager
def told() -> Iterator[None]:
    """Say what is logged at level INFO while the block runs: files that take room, compiling."""
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
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[note]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=total, note="")

        def advance(done: int, note: str = "") -> None:
            bar.update(task, completed=done, note=note)

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
