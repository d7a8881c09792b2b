"""`winosmith admin test DIR open`: a round of a human test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._asked import asked
from winosmith.cli._common import (
    data_argument,
    format_option,
    json_option,
    print_json,
    read_data,
    say,
)
from winosmith.cli._tables import print_table
from winosmith.humans import DECLARED, TITLE

__all__ = ["command"]

REASONS = 5
"""How many of the reasons for leaving a problem out are told."""


@click.command()
@data_argument("file")
@click.option("--name", required=True, metavar="NAME", help="Of the round; in its addresses.")
@click.option("--versions", default="a,b", show_default=True, metavar="NAMES",
              help="Tests that the halves of each twin are dealt to.")  # fmt: skip
@click.option("--orders", type=click.IntRange(min=1), default=1, show_default=True,
              help="Orders of each test; parts of it move on from order to order.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Deals the halves, draws the orders, "
              "settles who gets what.")  # fmt: skip
@click.option("--title", default=TITLE, show_default=True, help="What stands at the top.")
@click.option("--ask", multiple=True, metavar="NAME=QUESTION", help="Ask this, too, before; as "
              "often as wanted. Nobody must answer.")  # fmt: skip
@click.option("--consent", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="What people agree to before, instead of the text that ships.")  # fmt: skip
@click.option("--public-too", is_flag=True, help="Ask also what is public on the site already.")
@click.option("--new-ids", is_flag=True, help="Under ids that tell nothing and clash with none.")
@format_option
@database_option
@json_option
@click.pass_obj
def command(folder: str, /, **options: Any) -> None:
    """Make sheets of the problems of FILE, and let people take them at /tests/.

    Problems that the site does not have enter it under embargo; those that it has by their id go
    under embargo. One half of each twin goes to test a and the other to test b; questions without
    a half make a common test, or stand on both where they are fewer than ten.

    \b
    Example:
        winosmith admin test DIR open schemas.jsonl --name spring --orders 4
    """  # noqa: D301
    site = existing_site(folder, options["database"])
    from winosmith.web import hosting
    from winosmith.web.take.opening import open_round

    dataset = read_data(options["file"], options["format_name"])
    if options["new_ids"]:
        dataset = hosting.with_new_ids(dataset, site.secret)
    consent = options["consent"] and Path(options["consent"]).read_text("utf-8")
    opened, left_out = open_round(
        dataset,
        options["name"],
        versions=[name.strip() for name in options["versions"].split(",")],
        orders=options["orders"],
        seed=options["seed"],
        title=options["title"],
        declared=(*DECLARED, *map(asked, options["ask"])),
        consent=consent or None,
        public=options["public_too"],
    )
    sheets = [(sheet.code, len(sheet.record["items"])) for sheet in opened.sheets.order_by("pk")]
    if options["as_json"]:
        print_json(
            {
                "round": opened.name,
                "sheets": [{"code": code, "questions": count} for code, count in sheets],
                "left_out": [{"id": d.problem.id, "reason": d.reason} for d in left_out],
            }
        )
        return
    print_table(f"Round {opened.name}", ("sheet", "questions"), sheets)
    for left in left_out[:REASONS]:
        click.echo(f"On no sheet: {left.problem.id}: {left.reason}")
    if len(left_out) > REASONS:
        click.echo(f"On no sheet: {len(left_out) - REASONS} more; see --json")
    say(f"People take it at /tests/round/{opened.name}/ on the site.")
