"""`winosmith admin models`: how the models of a site stand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from winosmith.cli._admin_common import database_option, existing_site, site_argument
from winosmith.errors import InputError

if TYPE_CHECKING:
    from winosmith.web.predict.standing import Figures

__all__ = ["command"]


@click.command()
@site_argument
@click.option("--retry", metavar="NAME", help="Let a model try the late and failed ones again.")
@database_option
def command(folder: str, retry: str | None, database: str | None) -> None:
    """Show how the models of the site of DIR stand: state, progress, speed, troubles.

    What a model can't be loaded for is told here in full, and nowhere on the site.
    """
    site = existing_site(folder, database)
    from winosmith.web.predict import again, standing

    models = standing.standing()
    if retry is not None:
        found = next((stand.model for stand in models if stand.model.name == retry), None)
        if found is None:
            known = ", ".join(stand.model.name for stand in models) or "none"
            raise InputError(f"--retry {retry}: the site has no such model; it has {known}")
        count = again.retry(found)
        click.echo(f"{count:,} prediction{'s' * (count != 1)} of {retry} tried again")
        return
    if not models:
        click.echo("The site has no models, or was never served with any.")
    for stand in models:
        _tell(stand, site.folder)


def _tell(stand: Figures, folder: Path) -> None:
    from winosmith.web.predict.process import fault_file

    model = stand.model
    took = "" if stand.seconds is None else f", {stand.seconds:.3g} s each"
    click.echo(f"{model.name}  {model.solver} {model.revision} {model.digest[:12]}".rstrip())
    click.echo(f"  {stand.state}")
    click.echo(f"  {stand.done:,} of {stand.total:,} predicted{took}")
    if stand.trouble:
        click.echo(
            f"  {stand.late:,} too late, {stand.failed:,} failed; "
            f"again with: winosmith admin models {folder} --retry {model.name}"
        )
    told = fault_file(folder, model.name)
    if model.fault and told.exists():
        click.echo(f"  {told.read_text('utf-8').strip()}")
