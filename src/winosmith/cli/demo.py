"""`winosmith demo`: the main job on the practice corpus, in a minute."""

from __future__ import annotations

from pathlib import Path

import click

from winosmith.cli._options import json_option
from winosmith.cli._printing import progress, say
from winosmith.cli.build import tell_build
from winosmith.cli.practice import write_practice

TWINS, STRENGTH = 3_000, 0.5


@click.command()
@click.option(
    "--out", default="winosmith-demo", show_default=True, metavar="DIR", help="The folder to write."
)
@click.option("--force", is_flag=True, help="Replace an older demo in that folder.")
@json_option
def command(out: str, force: bool, as_json: bool) -> None:
    """Build a benchmark from practice twins whose artifacts are known, in a minute.

    Nothing is downloaded. DIR/pool takes the raw twins, the votes and the recipe; DIR/benchmark
    the published files and the report, which says how many of the planted artifacts were found.

    \b
    Example:
        winosmith demo
    """  # noqa: D301
    from winosmith.build import build, read_recipe

    folder = Path(out)
    say(f"Writing {TWINS:,} practice twins, {STRENGTH:.0%} of them with a planted artifact")
    recipe = write_practice(folder / "pool", twins=TWINS, strength=STRENGTH, force=force)
    built = build(read_recipe(recipe), folder / "benchmark", force=force, step=progress)
    tell_build(built.folder, as_json)
    if not as_json:
        click.echo(f"Now try your own twins: edit a copy of {recipe}")
