"""`winosmith admin invite`: a one-time link, printed."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site, site_argument

__all__ = ["command"]


@click.command()
@site_argument
@click.option(
    "--role",
    type=click.Choice(["contributor", "judge", "moderator", "admin"]),
    required=True,
    help="What the link makes somebody.",
)
@click.option(
    "--minutes",
    default=30,
    show_default=True,
    type=click.IntRange(1, 60 * 24 * 90),
    help="For how long it works.",
)
@click.option("--address", metavar="URL", help="Under which people come: the link begins with it.")
@database_option
def command(
    folder: str, role: str, minutes: int, address: str | None, database: str | None
) -> None:
    """Print a link with which one person makes an account; it works once.

    Only a digest of it is stored: whoever reads the database, or a backup, can't use it.
    """
    from winosmith.web._invite import invite_path

    existing_site(folder, database, public_url=address)
    path = invite_path(role, minutes)  # type: ignore[arg-type]
    click.echo(f"{(address or 'http://127.0.0.1:8000').rstrip('/')}{path}")
