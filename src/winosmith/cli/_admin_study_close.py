"""`winosmith admin study DIR close`: nobody new may come."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._common import say

__all__ = ["command"]


@click.command()
@click.argument("name")
@database_option
@click.pass_obj
def command(folder: str, name: str, database: str | None) -> None:
    """Let nobody new come to the study NAME; whoever is at work may finish."""
    existing_site(folder, database)
    from winosmith.web.market.progress import progress
    from winosmith.web.market.studies import close_study, study_named

    study = study_named(name)
    close_study(study)
    say(f"{progress(study).states['working']} are still at work.")
