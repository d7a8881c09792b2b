"""What the terminal says of a finished build."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from winosmith.cli._common import say

if TYPE_CHECKING:
    from winosmith.release import Built
    from winosmith.report import KeyFigure

__all__ = ["print_figures", "tell"]


def tell(built: Built, as_json: bool) -> None:
    """Print where the report is, and the figures that matter in it; or the report as JSON."""
    if as_json:
        click.echo((built.folder / "report.json").read_text("utf-8"), nl=False)
        return
    from winosmith.release import key_figures

    kept = built.funnel.kept
    click.echo(f"{kept.problems:,} problems kept of {built.funnel.collected.problems:,} collected,")
    click.echo(f"  {kept.twins:,} whole twins and {kept.singles:,} singles")
    print_figures(key_figures(built.run, built.measures))
    click.secho(f"The report is {built.report.resolve()}", bold=True)
    say(f"signature {built.measures.signature}")
    if built.told.get("at_chance"):
        say(f"Fine-tuning: {built.told['finetuned']}")


def print_figures(figures: Sequence[KeyFigure]) -> None:
    """Print key figures, each with its note on a line of its own."""
    from winosmith.report import shown

    for figure in figures:
        click.echo(f"{shown(figure.value, figure.form)} {figure.label},")
        click.echo(f"  {figure.note}")
