"""`winosmith admin backup`: the whole site in one archive."""

from __future__ import annotations

from pathlib import Path

import click

from winosmith.cli._admin_common import database_option, existing_site, site_argument

__all__ = ["command"]


@click.command()
@site_argument
@click.argument("file", type=click.Path(dir_okay=False))
@database_option
def command(folder: str, file: str, database: str | None) -> None:
    """Save the site of DIR into FILE (.tar, or .tar.gz to compress it).

    FILE holds the database as it is at one moment, the key and the settings: keep it as safe as
    the site itself. Nobody who writes meanwhile waits or is left out half.
    """
    from winosmith.web import hosting

    contents = hosting.backup(existing_site(folder, database), file)
    size = Path(file).stat().st_size
    click.echo(f"{file}: {size:,} bytes, {contents.database}, {contents.made}")
