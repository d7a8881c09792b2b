"""`winosmith work`: the worker of a site, which does what no request waits for."""

from __future__ import annotations

import os

import click

from winosmith.cli.admin import database_option, site_argument


@click.command()
@site_argument
@database_option
@click.option("--public-url", envvar="WINOSMITH_PUBLIC_URL", metavar="URL", help="The address "
              "with which links in mails begin, as given to `winosmith serve`.")  # fmt: skip
def command(folder: str, database: str | None, public_url: str | None) -> None:
    """Do the jobs of the site of DIR: imports, backups, mail, and what is due every hour or day.

    `winosmith serve` starts this command by itself, and again if it ends. One worker is at work at
    a time; another one waits until the first has ended. A job that was interrupted continues.

    \b
    Example, on another machine than the server's, with --no-work there:
        winosmith work twins --database postgresql://db.example.org/twins
    """  # noqa: D301
    from winosmith.web import Site, hosting

    os.umask(0o077)
    hosting.opened(Site.open(folder, database=database or None, public_url=public_url or None))
    from winosmith.web.jobs import work  # a table, which Django must know of first

    work()
