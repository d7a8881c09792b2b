"""`winosmith admin restore`: a site out of an archive."""

from __future__ import annotations

from pathlib import Path

import click

from winosmith.cli._admin_common import database_option

__all__ = ["command"]


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("folder", metavar="DIR", type=click.Path())
@database_option
def command(file: str, folder: str, database: str | None) -> None:
    """Make the site of DIR, a new or empty folder, out of FILE from `winosmith admin backup`.

    The checksums are checked first; DIR appears when all of it is there. An archive of a
    PostgreSQL site goes into an empty database, named by --database.
    """
    from winosmith.web import hosting

    contents = hosting.restore(file, folder, database=database or None)
    place = Path(folder).absolute()
    click.echo(f"{place}: the site of {contents.made} ({contents.database})")
    more = " --database …" if contents.database == "postgresql" else ""
    click.echo(f"Serve it with: winosmith serve {place}{more}")
