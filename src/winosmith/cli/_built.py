"""What the terminal says of a finished build."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from winosmith.cli._common import say

if TYPE_CHECKING:
    from winosmith.release import Built

__all__ = ["tell"]


def tell(built: Built, as_json: bool) -> None:
    """Print where the report is, and the figures that matter in it; or the report as JSON."""
    if as_json:
        click.echo((built.folder / "report.json").read_text("utf-8"), nl=False)
        return
    from winosmith.release import key_figures
    from winosmith.report import shown

    kept = built.funnel.kept
    click.echo(f"{kept.problems:,} problems kept of {built.funnel.collected.problems:,} collected,")
    click.echo(f"  {kept.twins:,} whole twins and {kept.singles:,} singles")
    for figure in key_figures(built.run, built.measures):
        click.echo(f"{shown(figure.value, figure.form)} {figure.label},")
        click.echo(f"  {figure.note}")
    click.secho(f"The report is {built.report.resolve()}", bold=True)
    say(f"signature {built.measures.signature}")
    if built.told.get("at_chance"):
        say(f"Fine-tuning: {built.told['finetuned']}")
