"""`winosmith admin study DIR show`: one study."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._admin_study_link import address_option, print_link
from winosmith.cli._common import json_option, print_json
from winosmith.cli._tables import print_table

__all__ = ["command"]


@click.command()
@click.argument("name")
@click.option("--new-link", is_flag=True, help="Make a new link; the one before works no more.")
@click.option("--places", type=click.IntRange(min=1), metavar="N",
              help="Let the market send N people from now on.")  # fmt: skip
@address_option
@database_option
@json_option
@click.pass_obj
def command(
    folder: str,
    name: str,
    new_link: bool,
    places: int | None,
    address: str,
    database: str | None,
    as_json: bool,
) -> None:
    """Show what the study NAME asks and pays, and how far it is."""
    existing_site(folder, database)
    from winosmith.web.market import studies
    from winosmith.web.market.progress import progress

    study = studies.study_named(name)
    if places is not None:
        studies.give_places(study, places)
    if new_link:
        print_link(study, studies.new_link(study), address)
        return
    record = progress(study).record()
    if as_json:
        print_json(record)
        return
    rows = [(key.replace("_", " "), _told(value)) for key, value in record.items()]
    print_table(f"Study {name}", ("", ""), rows)


def _told(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{count} {word}" for word, count in value.items() if count) or "–"
    return "–" if value in (None, "") else str(value)
