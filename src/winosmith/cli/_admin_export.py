"""`winosmith admin export`: the whole set as files."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site, site_argument
from winosmith.cli._common import json_option, print_json

__all__ = ["command"]


@click.command()
@site_argument
@click.option("--out", required=True, metavar="FOLDER", type=click.Path(), help="Where to write.")
@click.option(
    "--format",
    "format_name",
    default="winosmith",
    show_default=True,
    help="Of the public problems; those of `winosmith convert --to`.",
)
@click.option("--public", is_flag=True, help="The public problems alone, nothing private.")
@database_option
@json_option
def command(
    folder: str, out: str, format_name: str, public: bool, database: str | None, as_json: bool
) -> None:
    """Write the set of DIR as files: the public problems, and below private/ all the rest.

    The rest is what moderators know: every problem and where it stands, the judgements by
    pseudonym, the audit log, people by pseudonym with what they agreed to. Equal data give equal
    bytes, and the same digest.
    """
    from dataclasses import asdict

    from winosmith.web import hosting

    existing_site(folder, database)
    exported = hosting.export(out, format_name=format_name, public=public)
    if as_json:
        print_json(asdict(exported))
        return
    for name, count in exported.counts.items():
        click.echo(f"{name:20} {count:>9,}")
    click.echo(f"digest {exported.digest}")
