"""Output of commands: tables for a terminal of 80 columns, an HTML page, and JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import click
from rich import box
from rich.table import Table
from rich.text import Text

from winosmith import report
from winosmith._version import __version__
from winosmith.cli._printing import echo, print_json_if_requested, print_rich, translate_advice
from winosmith.escape import escape_terminal
from winosmith.metrics import Proportion, format_rate
from winosmith.outputs import atomic_write
from winosmith.report import format_value, percent_span

Rows: TypeAlias = list[list[report.Value]]


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    _print_table(report.Table(title, list(header), [list(row) for row in rows]))


def _print_table(table: report.Table) -> None:
    """Print a table and its note.

    The table is omitted if it has no rows, and its header if all titles are empty. Control
    characters are escaped, and text is not interpreted as markup.
    """
    rows = table.rows[: table.most]
    if rows:
        heads = table.headings
        grid = Table(
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            show_header=any(head.title for head in heads),
        )
        for at, head in enumerate(heads):
            cells = [row[at] for row in rows if type(row[at]) is not bool]
            numeric = len(cells) == len(rows) and all(
                isinstance(of, int | float | None) or of == "—" for of in cells
            )
            title = Text(escape_terminal(head.title))
            grid.add_column(title, justify="right" if numeric else "left", overflow="fold")
        for row in rows:
            grid.add_row(
                *(
                    Text("" if cell is None else escape_terminal(format_value(cell, head.form)))
                    for cell, head in zip(row, heads, strict=True)
                )
            )
        print_rich(Text(escape_terminal(table.caption), style="bold"), grid, "")
    more = len(table.rows) - len(rows)
    if note := f"{table.beyond.format(more) if more else ''} {table.note}".strip():
        page = click.get_current_context().meta.get("page")
        note = note.replace("(`out=`)", f"({page})") if page else note
        echo(textwrap.fill(translate_advice(note), 80) + "\n")


def print_records(
    title: str, records: Iterable[Mapping[str, Any]], names: Iterable[str] = ()
) -> None:
    rows = [dict(record) for record in records]
    header = list(names) or list(rows[0] if rows else ())
    cells = [[format_cell(row[name]) for name in header] for row in rows]
    print_table(title, [name.replace("_", " ") for name in header], cells)


def format_cell(value: Any) -> Any:
    """Return the table cell for a JSON value: a list becomes its length, an empty value a dash.

    >>> [format_cell(value) for value in ({"a": 2, "b": 0}, [3, 4], "", True, 5)]
    ['2 a', 2, '–', 'yes', 5]
    """
    if isinstance(value, dict):
        return ", ".join(f"{count} {word}" for word, count in value.items() if count) or "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return len(value) if isinstance(value, list) else "–" if value in (None, "") else value


def print_blocks(blocks: Iterable[report.Block]) -> None:
    """Print paragraphs and tables. A chart is printed as its table."""
    for part in _list_printed_parts(blocks):
        if isinstance(part, report.Table):
            _print_table(part)
            continue
        for paragraph in map(translate_advice, part.paragraphs):
            if part.kind == "warning":  # not wrapped, as it may name a file and a line
                echo(paragraph, fg="yellow")
            elif part.kind == "list":
                echo(textwrap.fill(paragraph, 78, initial_indent="  - ", subsequent_indent="    "))
            else:
                echo(textwrap.fill(paragraph, 80))
        if part.kind == "list":
            echo()


def _list_printed_parts(blocks: Iterable[report.Block]) -> list[report.Table | report.Text]:
    parts = (block.table if isinstance(block, report.Drawing) else block for block in blocks)
    return [part for part in parts if isinstance(part, report.Table | report.Text)]


def _translate_text(block: report.Block) -> report.Block:
    if not isinstance(block, report.Text):
        return block
    return replace(block, paragraphs=[*map(translate_advice, block.paragraphs)])


@dataclass(frozen=True)
class Output:
    """The result of a command, for a terminal, a page and JSON.

    Attributes:
        verdict: the main result in one sentence; empty if there is none.
        subtitle: subtitle of the page; by default the verdict.
        signature: the signature of all results; empty if each result has its own.
        signatures: signature of each result, by its title.
    """

    title: str
    record: Mapping[str, Any]
    sections: Sequence[report.Section]
    verdict: str = ""
    subtitle: str = ""
    signature: report.Signature | str = ""
    signatures: Mapping[str, report.Signature] = field(default_factory=dict)

    def show(self) -> None:
        out = click.get_current_context().meta.get("page")
        if out:
            with atomic_write(out) as file:
                file.write(self.render_page())
        if print_json_if_requested(self.record):
            return
        if self.verdict:
            echo(f"{self.verdict}\n", bold=True)
        ends_with_empty_line = True
        for parts in filter(None, (_list_printed_parts(one.blocks) for one in self.sections)):
            if not ends_with_empty_line:
                echo()
            print_blocks(parts)
            ends_with_empty_line = isinstance(parts[-1], report.Table) or parts[-1].kind == "list"
        if self.signature:
            echo(f"Signature: {self.signature}")
        for title, signature in self.signatures.items():
            echo(f"Signature of {title}: {signature}")
        if out:
            echo(f"The report is in {out}", bold=True)

    def render_page(self) -> str:
        sections = [
            replace(one, blocks=[*map(_translate_text, one.blocks)]) for one in self.sections
        ]
        signed = "\n".join(f"{title}: {one}" for title, one in self.signatures.items())
        rest = report.Section("Signatures", [report.Code(signed, "Data and settings")])
        return report.render_page(
            self.title,
            [*sections, *([rest] if signed else [])],
            subtitle=self.subtitle or self.verdict,
            signature=self.signature,
            footer=f"Made by winosmith {__version__}.",
        )


INVALID_NOTE = "Invalid answers match none of the options and count as incorrect"

TIES_NOTE = (
    "A tie that includes the correct option counts as 1 / (options tied), as a random choice does "
    "on average"
)


def join_by_solver(values: Mapping[str, str]) -> str:
    """Return the value that all solvers share, or each value with its solver.

    >>> join_by_solver({"a": "50.0 %", "b": "33.3 %"})
    '50.0 % (a), 33.3 % (b)'
    """
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{value} ({name})" for name, value in values.items())


def explain_overruled_scores(counts: Mapping[str, int]) -> list[str]:
    """Return a sentence for each solver whose choices contradict its own scores.

    `counts` maps each solver to the number of its choices that do not have its best score.
    """
    return [
        f"{count:,} of {name}'s choices {'is' if count == 1 else 'are'} not the "
        "option with its best score; the choices are used, not the scores"
        for name, count in counts.items()
        if count
    ]


def make_rate_cells(rate: Proportion | None) -> list[report.Value]:
    return [None, None] if rate is None else [format_rate(rate), percent_span(rate.interval)]
