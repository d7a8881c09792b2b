"""`winosmith admin tidy`: what time brings about by itself, now."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site, site_argument

__all__ = ["command"]


@click.command()
@site_argument
@database_option
def command(folder: str, database: str | None) -> None:
    """Delete from the site of DIR what is older than it keeps (retention_days in site.toml).

    A running server does so once a day by itself. Sentences and judgements are never deleted. What
    has waited long enough for its other half (wait_days) becomes public; a server looks every hour.
    """
    existing_site(folder, database)
    from winosmith.web.people.retention import tidy
    from winosmith.web.problems.public import publish_due

    click.echo(f"{'published':12} {publish_due():>9,}")
    for name, count in tidy().items():
        click.echo(f"{name:12} {count:>9,}")
