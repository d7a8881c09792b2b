"""What commands print: results as tables of 80 columns, as a page and as JSON; progress.

Everything that a command prints, on both streams, passes through `echo`, `print_table` or
`print_json`, so text from data never controls the terminal, and a closed pipe ends no command.
"""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import click

from winosmith._version import __version__
from winosmith.cli._advice import advised
from winosmith.escape import for_json, for_terminal
from winosmith.outputs import write_aside

if TYPE_CHECKING:
    from winosmith import report
    from winosmith.metrics import Proportion


def _write(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Write text that has no control characters except our own styles.

    If nobody reads the stream any longer (`| head`), the rest of it is discarded: the command
    still does its work, and ends with the code that it would have had.
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
    text = for_terminal(_advised(message))
    _write(click.style(text, **style) if style else text, err=err, nl=nl)


def _advised(message: object) -> str:
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
    """Say what is logged at level INFO while the block runs: files that take room, compiling."""
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


def print_table(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str | int | float | None]],
    *,
    forms: Sequence[str] = (),
) -> None:
    """Print a table to the output: numbers to the right, text to the left and wrapped.

    A header of empty names is not shown, and a table without rows is not printed. `forms` are the
    columns' format specifications, as on a page; none for a column's usual one.

    Control characters in cells are escaped, and nothing is taken for markup.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from winosmith.report import shown

    body = [list(row) for row in rows]
    if not body:
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, show_header=any(header))
    for at, name in enumerate(header):
        numeric = all(
            type(row[at]) is not bool and isinstance(row[at], int | float | None) for row in body
        )
        table.add_column(
            Text(for_terminal(name)), justify="right" if numeric else "left", overflow="fold"
        )
    forms = forms or [""] * len(header)
    for row in body:
        cells = zip(row, forms, strict=True)
        table.add_row(
            *(Text("" if cell is None else for_terminal(shown(cell, form))) for cell, form in cells)
        )
    console = Console(highlight=False)
    with console.capture() as printed:
        console.print(Text(for_terminal(title), style="bold"))
        console.print(table)
        console.print()
    _write(printed.get(), nl=False)


def print_records(
    title: str, records: Iterable[Mapping[str, Any]], names: Iterable[str] = ()
) -> None:
    """Print some fields of records as a table, or all of them; its header has their names."""
    rows = [dict(record) for record in records]
    header = list(names) or list(rows[0] if rows else ())
    cells = [[in_words(row[name]) for name in header] for row in rows]
    print_table(title, [name.replace("_", " ") for name in header], cells)


def in_words(value: Any) -> Any:
    """Return a value of JSON as a cell shows it: a list is counted, and a dash is for nothing.

    >>> in_words({"a": 2, "b": 0}), in_words([3, 4]), in_words(""), in_words(True), in_words(5)
    ('2 a', 2, '–', 'yes', 5)
    """
    if isinstance(value, dict):
        return ", ".join(f"{count} {word}" for word, count in value.items() if count) or "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return len(value) if isinstance(value, list) else "–" if value in (None, "") else value


Rows: TypeAlias = "list[list[report.Value]]"

_FIGURE = re.compile(r"\d+\.\d( %)? \(")

LONGEST = 18
"""Where a terminal cuts names, it cuts them to so many characters; figures it never cuts."""


def print_blocks(blocks: Iterable[report.Block], *, cut: bool = False) -> None:
    """Print what a terminal shows of blocks: paragraphs, tables, and the tables behind drawings.

    Where asked for, long names in tables are cut.
    """
    from winosmith import report

    for block in blocks:
        table = block.table if isinstance(block, report.Drawing) else block
        if isinstance(table, report.Table):
            _print_table(table, cut=cut)
        elif isinstance(block, report.Text):
            _print_text(block)


def _is_printed(block: report.Block) -> bool:
    from winosmith import report

    has_table = isinstance(block, report.Drawing) and block.table is not None
    return has_table or isinstance(block, report.Table | report.Text)


def _ends_empty(blocks: Sequence[report.Block]) -> bool:
    """Return whether the last of blocks that are printed ends with an empty line, as tables do."""
    from winosmith import report

    last = [block for block in blocks if _is_printed(block)][-1]
    return not isinstance(last, report.Text) or last.kind == "list"


def _print_table(table: report.Table, *, cut: bool) -> None:
    rows = [[_cut(cell) if cut else cell for cell in row] for row in table.rows[: table.most]]
    heads = table.heads
    print_table(
        table.caption, [head.title for head in heads], rows, forms=[head.form for head in heads]
    )
    more = len(table.rows) - len(rows)
    if note := f"{table.beyond.format(more) if more else ''} {table.note}".strip():
        echo(textwrap.fill(_advised(note), 80) + "\n")


def _cut(cell: report.Value) -> report.Value:
    if isinstance(cell, str) and len(cell) > LONGEST and not _FIGURE.match(cell):
        return cell[: LONGEST - 1] + "…"
    return cell


def _print_text(text: report.Text) -> None:
    from winosmith.report import shown

    for paragraph in map(_advised, map(shown, text.paragraphs)):
        if text.kind == "warning":  # it may name a file and a line, which nothing should break
            echo(paragraph, fg="yellow")
        elif text.kind == "list":
            echo(textwrap.fill(paragraph, 78, initial_indent="  - ", subsequent_indent="    "))
        else:
            echo(textwrap.fill(paragraph, 80))
    if text.kind == "list":
        echo()


@dataclass(frozen=True)
class Output:
    """What a command found, told once: a terminal, a page and JSON render it.

    Attributes:
        title: of the page.
        record: what JSON has.
        sections: of the page; a terminal prints their paragraphs and tables.
        verdict: the first sentence; empty for none.
        subtitle: what a page says under its title; the verdict when empty.
        signature: what determines all figures; empty if each has its own.
        signatures: by what they are of.
        cut: a terminal cuts long names in tables.
        apart: a terminal leaves a line empty between sections.
    """

    title: str
    record: Mapping[str, Any]
    sections: Sequence[report.Section]
    verdict: str = ""
    subtitle: str = ""
    signature: report.Signature | str = ""
    signatures: Mapping[str, report.Signature] = field(default_factory=dict)
    cut: bool = False
    apart: bool = False

    def show(self, *, as_json: bool, out: str | None) -> None:
        """Write the page to `out` if that is named; print the JSON, or the tables."""
        from winosmith.report import shown

        if out:
            with write_aside(out) as file:
                file.write(self.page())
        if as_json:
            print_json(self.record)
            return
        if self.verdict:
            echo(f"{shown(self.verdict)}\n", bold=True)
        printed = [section for section in self.sections if any(map(_is_printed, section.blocks))]
        for number, section in enumerate(printed):
            if self.apart and number and not _ends_empty(printed[number - 1].blocks):
                echo()
            print_blocks(section.blocks, cut=self.cut)
        self._print_signatures()
        if out:
            echo(f"The report is {out}", bold=True)

    def _print_signatures(self) -> None:
        from winosmith.report import shown

        if self.signature:
            echo(f"Signature: {shown(str(self.signature))}")
        for what, signature in self.signatures.items():
            echo(f"Signature of {shown(what)}: {signature}")

    def page(self) -> str:
        """Return all of it as one HTML page."""
        from winosmith import report

        signed = "\n".join(f"{what}: {one}" for what, one in self.signatures.items())
        rest = report.Section("What determines the figures", [report.Code(signed, "Signatures")])
        return report.page(
            self.title,
            [*self.sections, *([rest] if signed else [])],
            subtitle=self.subtitle or self.verdict,
            signature=self.signature,
            footer=f"Made by winosmith {__version__}.",
        )


INVALID = "Invalid answers are none of the options; they are incorrect"

TIES = (
    "A tie counts as 1 / (options tied) where the right one is among them, as a fair draw would on "
    "average"
)


def of_each(values: Mapping[str, str]) -> str:
    """Return the value that all solvers share, or each value with its solver.

    >>> of_each({"a": "50.0 %", "b": "50.0 %"}), of_each({"a": "50.0 %", "b": "33.3 %"})
    ('50.0 %', '50.0 % (a), 33.3 % (b)')
    """
    from winosmith.report import shown

    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{value} ({shown(name)})" for name, value in values.items())


def off_scores(counts: Mapping[str, int]) -> list[str]:
    """Return a sentence for each solver whose choices are not all its best scores.

    `counts` are how many are not, by the solver's name; 0 if all are.
    """
    from winosmith.report import shown

    return [
        f"{count:,} of {shown(name)}'s choices {'is' if count == 1 else 'are'} not the option with "
        "its best score; what it chose counts"
        for name, count in counts.items()
        if count
    ]


def share(found: Proportion | None) -> list[report.Value]:
    """Return a share and its interval as two cells; two empty ones for None."""
    from winosmith.metrics import rate
    from winosmith.report import span

    return [None, None] if found is None else [rate(found), span(found.interval)]
