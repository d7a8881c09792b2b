"""`winosmith build`: raw twins in, a debiased benchmark and its report out."""

from __future__ import annotations

from pathlib import Path

import click

from winosmith.cli._built import tell_build
from winosmith.cli._options import json_option
from winosmith.cli._printing import progress, say

__all__ = ["command"]


@click.command()
@click.argument("recipe", type=click.Path(exists=True, dir_okay=False))
@click.option("--out", required=True, metavar="DIR", help="The folder to write; made if need be.")
@click.option("--force", is_flag=True, help="Replace the files of another recipe in that "
              "folder, or build this one again.")  # fmt: skip
@click.option("--last", metavar="DIR", type=click.Path(exists=True, file_okay=False),
              help="The folder of the build before: what it had in train, dev or test stays "
              "there, and only what is new is drawn.")  # fmt: skip
@json_option
def command(recipe: str, out: str, force: bool, last: str | None, as_json: bool) -> None:
    """Build a benchmark from raw twins, as RECIPE says.

    RECIPE is a TOML file. The steps: check structure and votes, embed, filter, split so that no
    twin is parted, write the sets, and report what the filter did. Stop it at any time; the same
    command goes on where it was, or shows what is finished. What would give test answers away
    goes to DIR/private.

    \b
    Example recipe, for the votes of three judges and AFLite with the light embedder:
        name = "mine"
        data = "twins.jsonl"
        votes_file = "votes.csv"
        [filter]
        threshold = 0.75

    \b
    Example:
        winosmith build mine.toml --out mine
        winosmith build grown.toml --out grown --last mine
    """  # noqa: D301
    from winosmith.build import build, finished_build, read_recipe

    read = read_recipe(recipe)
    if not force and finished_build(read, out, last):
        say(f"{out} holds the finished build of this recipe; add --force to build it again")
    else:
        build(read, out, force=force, step=progress, last=last)
    tell_build(Path(out), as_json)
