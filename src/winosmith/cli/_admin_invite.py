"""`winosmith admin invite`: a one-time link, printed."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site, site_argument
from winosmith.errors import InputError

__all__ = ["command"]

MOST_MINUTES = 90 * 24 * 60


@click.command()
@site_argument
@click.option(
    "--role",
    type=click.Choice(["contributor", "judge", "moderator", "admin"]),
    help="What the link makes somebody.",
)
@click.option("--for", "name", metavar="NAME", help="Lets NAME set a new password instead.")
@click.option(
    "--minutes",
    default=30,
    show_default=True,
    type=click.IntRange(1, MOST_MINUTES),
    help="For how long it works.",
)
@click.option(
    "--address",
    metavar="URL",
    default="http://127.0.0.1:8000",
    show_default=True,
    help="Under which people come: the link begins with it.",
)
@database_option
def command(
    folder: str,
    role: str | None,
    name: str | None,
    minutes: int,
    address: str,
    database: str | None,
) -> None:
    """Print a link with which one person makes an account, or sets a new password.

    It works once. Only a digest of it is stored: whoever reads the database, or a backup, can't
    use it.
    """
    if (role is None) == (name is None):
        raise click.UsageError("give --role for a new account, or --for NAME for a new password")
    existing_site(folder, database)
    from winosmith.web.people.invitations import invite, reset

    path = invite([role], minutes) if role else reset(_person(str(name)), minutes)  # type: ignore[list-item]
    click.echo(f"{address.rstrip('/')}{path}")


def _person(name: str):  # type: ignore[no-untyped-def]
    from winosmith.web.people.models import Person

    try:
        return Person.objects.get_by_natural_key(name)
    except Person.DoesNotExist:
        raise InputError(f"there is no account {name!r}; check the name") from None
