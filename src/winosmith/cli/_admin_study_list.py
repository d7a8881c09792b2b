"""`winosmith admin study DIR list`: the studies."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._common import json_option, print_json
from winosmith.cli._tables import print_table

__all__ = ["command"]


@click.command()
@database_option
@json_option
@click.pass_obj
def command(folder: str, database: str | None, as_json: bool) -> None:
    """Show the studies of DIR: how many began, finished, and were confirmed by the market."""
    existing_site(folder, database)
    from winosmith.web.market.models import Study
    from winosmith.web.market.progress import progress

    rows = [progress(study) for study in Study.objects.order_by("pk")]
    if as_json:
        print_json([row.record() for row in rows])
        return
    if not rows:
        click.echo("There is no study yet; make one with: winosmith admin study DIR create NAME")
    print_table(
        "Studies",
        ("study", "market", "began", "at work", "done", "approved", "waiting", "votes"),
        [
            (
                f"{row.study.name}{' (closed)' if row.study.closed else ''}",
                row.study.provider,
                row.began,
                row.states["working"],
                row.states["complete"],
                row.verdicts["approved"],
                row.verdicts["waiting"],
                row.provisional,
            )
            for row in rows
        ],
    )
