"""What the terminal says of a finished build, or a finished filter."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._printing import say

if TYPE_CHECKING:
    from winosmith.build import Built

__all__ = ["tell", "tell_build", "tell_filter"]


def tell(built: Built, as_json: bool) -> None:
    """Print what a build made."""
    tell_build(built.folder, as_json)


def tell_build(folder: Path, as_json: bool) -> None:
    """Print where the report is, and the figures that matter in it; or the report as JSON."""
    if _printed(folder, as_json):
        return
    from winosmith.build import columns_told, copies_told, sides_told

    record = _record(folder)
    for line in record.get("rules_used", {}).get("words", ()):
        click.echo(textwrap.fill(line, 80, subsequent_indent="  "))
    funnel = record["funnel"]
    steps = funnel["steps"]
    kept = steps[-1]["kept"] if steps else funnel["collected"]
    click.echo(
        f"{kept['problems']:,} problems kept of {funnel['collected']['problems']:,} collected,"
    )
    click.echo(f"  {kept['twins']:,} whole twins and {kept['singles']:,} singles")
    _figures(folder, record)
    for line in copies_told(record.get("copies")):
        say(f"{line}.")
    for line in sides_told(record.get("sides")):
        say(f"{line}.")
    for line in columns_told(record.get("columns")):
        say(f"{line}.")
    if record.get("unvalidated"):
        told = ", ".join(f"{count:,} of {name}" for name, count in record["unvalidated"].items())
        say(f"Generated, and not found valid by judges: {told}.")
    if record["embedding"].get("at_chance"):
        say(f"Fine-tuning: {record['embedding']['finetuned']}")


def tell_filter(folder: Path, as_json: bool) -> None:
    """Print the same of a filter."""
    if _printed(folder, as_json):
        return
    record = _record(folder)
    click.echo(f"{record['kept']:,} problems kept of {record['kept'] + record['dropped']:,}")
    _figures(folder, record)


def _printed(folder: Path, as_json: bool) -> bool:
    if as_json:
        click.echo((folder / "report.json").read_text("utf-8"), nl=False)
    return as_json


def _record(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "report.json").read_text("utf-8")))


def _figures(folder: Path, record: Mapping[str, Any]) -> None:
    """Print the key figures, each with its note on a line of its own, and their signature."""
    from winosmith.report import shown

    for figure in record["figures"]:
        click.echo(f"{shown(figure['value'], figure['form'])} {figure['label']},")
        click.echo(textwrap.fill(figure["note"], 100, initial_indent="  ", subsequent_indent="  "))
    click.secho(f"The report is {(folder / 'report.html').resolve()}", bold=True)
    say(f"signature {record['signature']}")
