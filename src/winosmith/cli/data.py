"""`winosmith data`: list and download the published data sets."""

from __future__ import annotations

from dataclasses import asdict

import click

from winosmith import fetch
from winosmith.cli._main import Group
from winosmith.cli._options import json_option
from winosmith.cli._output import print_table
from winosmith.cli._printing import echo, print_json_if_requested, progress, say


@click.group(cls=Group)
def command() -> None:
    """List and download published data sets.

    \b
      winosmith data list
      winosmith data get wsc --out wsc
    """  # noqa: D301


@command.command("get")
@click.argument("name")
@click.option("--out", type=click.Path(file_okay=False), metavar="DIR", help="Output folder; by "
              "default NAME.")  # fmt: skip
@json_option
def get(name: str, out: str | None) -> None:
    """Download a data set over HTTPS, check it, and unpack it.

    An interrupted download leaves no files; existing files are kept.

    \b
      winosmith data get winogrande
      winosmith stats winogrande/winogrande_1.1/dev.jsonl
    """  # noqa: D301
    data = fetch.find_published(name)
    say(f"{data.title}")
    say(f"licence: {data.licence}; see {data.home}")
    with progress("downloading", None) as advance:
        files = fetch.fetch(
            data,
            out or name,
            on_progress=lambda remote, done: advance(done, f"bytes of {remote.name}"),
        )
    if print_json_if_requested({"files": {str(path): digest for path, digest in files.items()}}):
        return
    for path in files:
        echo(path)


@command.command("list")
@json_option
def list_() -> None:
    """List the published data sets with their licences and sizes."""
    if print_json_if_requested({"sets": list(map(_make_record, fetch.PUBLISHED))}):
        return
    print_table(
        "Published data sets",
        ("name", "what it is", "licence", "KiB"),
        [
            (data.name, data.title, data.licence, round(sum(r.size for r in data.remotes) / 1024))
            for data in fetch.PUBLISHED
        ],
    )
    say("Download one with: winosmith data get NAME")


def _make_record(data: fetch.PublishedDataset) -> dict[str, object]:
    record = asdict(data)
    record["files"] = record.pop("remotes")
    del record["members"]
    return record
