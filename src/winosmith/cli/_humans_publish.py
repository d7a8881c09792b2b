"""`winosmith humans publish`: what is released after a round, and what stays under embargo."""

from __future__ import annotations

from pathlib import Path

import click

from winosmith import formats
from winosmith.cli._common import (
    data_argument,
    format_option,
    json_option,
    print_json,
    read_data,
    say,
)
from winosmith.dataset import Dataset
from winosmith.humans import publish
from winosmith.outputs import PRIVATE, OutputFolder

__all__ = ["command"]

_NOTE = """# Released test materials

{released} problems: those that a round asked, and their alternates. Every record carries this
canary, so that training data can be searched for it; please leave the line where it is.

    {canary}
"""


@click.command()
@data_argument()
@click.argument("used", type=click.Path(exists=True, dir_okay=False))
@format_option
@click.option("--out", type=click.Path(file_okay=False), required=True, metavar="DIR",
              help="Write released.jsonl and private/withheld.jsonl there.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace what another round wrote to DIR.")
@json_option
def command(
    data: str, used: str, format_name: str | None, out: str, force: bool, as_json: bool
) -> None:
    """Release the problems of DATA that a round USED, and put the rest under embargo.

    USED is a file of problems (such as chosen.jsonl of `winosmith humans select`). They are
    released with their other halves; everything else is marked, and no exporter of winosmith
    lets it out until the mark is taken off. Every problem carries a canary string.

    \b
    Example:
        winosmith humans publish schemas.jsonl reliable/chosen.jsonl --out after-the-round
    """  # noqa: D301
    dataset = read_data(data, format_name)
    asked = formats.read(used)
    after = publish(dataset, asked.ids)
    recipe = {"command": "humans publish", "data": dataset.digest, "used": asked.digest}
    folder = OutputFolder.open(Path(out), recipe, force=force)
    _write(folder, "released.jsonl", after.released)
    _write(folder, f"{PRIVATE}/withheld.jsonl", after.withheld)
    with folder.write("README.md") as file:
        file.write(_NOTE.format(released=len(after.released), canary=after.canary))
    counts = {
        "used": len(asked),
        "alternates": after.alternates,
        "released": len(after.released),
        "withheld": len(after.withheld),
        "canary": after.canary,
    }
    if as_json:
        print_json(counts)
        return
    click.echo(
        f"{len(after.released)} problems are released ({len(asked)} used, {after.alternates} "
        f"alternates); {len(after.withheld)} stay under embargo"
    )
    click.echo(after.canary)
    say(f"Wrote {folder.path / 'released.jsonl'} and {folder.path / PRIVATE / 'withheld.jsonl'}.")


def _write(folder: OutputFolder, name: str, problems: Dataset) -> None:
    with folder.write(name) as file:
        file.writelines(formats.lines(problems))
