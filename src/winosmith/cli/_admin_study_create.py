"""`winosmith admin study DIR create`: a study, and its link."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._admin_study_link import address_option, print_link
from winosmith.cli._common import say

__all__ = ["command"]


def _money(_: click.Context, option: click.Parameter, text: str | None) -> Decimal | None:
    """Return the sum that an option names."""
    if text is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        raise click.BadParameter(f"{text!r} is no sum of money; write it like 2.50") from None


@click.command()
@click.argument("name")
@click.option("--on", "provider", type=click.Choice(["prolific", "mturk", "generic"]),
              required=True, help="The market.")  # fmt: skip
@click.option("--judge", type=click.IntRange(min=1), metavar="N", help="People judge N problems.")
@click.option("--write", type=click.IntRange(min=1), metavar="N", help="People write N twins.")
@click.option(
    "--reward",
    callback=_money,
    metavar="AMOUNT",
    required=True,
    help="For all of it, in --currency.",
)
@click.option("--currency", metavar="CODE", required=True, help="GBP, USD, EUR …")
@click.option("--minutes", type=click.IntRange(min=1), required=True,
              help="That it should take.")  # fmt: skip
@click.option("--places", type=click.IntRange(min=1), metavar="N", required=True, help="How many "
              "people the market sends; half as many again may begin, for those who return their "
              "submission.")  # fmt: skip
@click.option(
    "--least-wage", callback=_money, metavar="AMOUNT", help="An hour; the ledger warns below it."
)
@click.option("--code", default="", help="The market's completion code. On mturk and generic each "
              "worker gets a code of their own without it.")  # fmt: skip
@click.option("--short-code", default="", help="The code where no work was left before the end.")
@click.option(
    "--short-reward", callback=_money, metavar="AMOUNT", help="What the market pays for that code."
)
@click.option("--market-study", default="", metavar="ID", help="The market's id of the study, "
              "which links must name then.")  # fmt: skip
@click.option("--only", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="Those alone may come whose ids are in FILE: one a line, or a table with "
              "qualifications.")  # fmt: skip
@click.option("--never", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="Those may not come.")  # fmt: skip
@click.option("--require", multiple=True, metavar="COLUMN>=NUMBER", help="What a column of --only "
              "must hold; as often as wanted.")  # fmt: skip
@click.option("--trust", is_flag=True, help="Votes count at once, before the market confirms who "
              "gave them.")  # fmt: skip
@address_option
@database_option
@click.pass_obj
def command(folder: str, /, name: str, **options: Any) -> None:
    """Make the study NAME, and print its link; it is shown this once.

    Votes of its people take their places, and count when `reconcile` has read from the market's
    export that they were who they said.

    \b
    Example:
        winosmith admin study DIR create gate --on mturk --judge 20 --reward 0.60 \\
            --currency USD --minutes 8 --places 50 --only workers.csv \\
            --require "approval rate>=99" --require "approved>=5000"
    """  # noqa: D301
    if (options["judge"] is None) == (options["write"] is None):
        raise click.UsageError("give --judge N or --write N")
    if options["provider"] == "mturk" and not options["address"].startswith("https://"):
        raise click.UsageError("MTurk shows pages of https addresses alone; give --address")
    if options["require"] and not options["only"]:
        raise click.UsageError("--require asks for columns of --only FILE")
    existing_site(folder, options["database"])
    from winosmith.web.market.ledger import planned_wage
    from winosmith.web.market.screening import Requirement, read_ids
    from winosmith.web.market.studies import create_study

    only: list[str] = []
    never: list[str] = []
    provider = options["provider"]
    if options["only"]:
        require = [Requirement.of(text) for text in options["require"]]
        only = read_ids(Path(options["only"]), provider, require)
    if options["never"]:
        never = read_ids(Path(options["never"]), provider)
    names = ("reward", "currency", "minutes", "places", "least_wage", "code", "short_code",
             "short_reward", "market_study", "trust")  # fmt: skip
    study, token = create_study(
        name,
        provider,
        "judge" if options["judge"] else "write",
        options["judge"] or options["write"],
        screens=[(only, True), (never, False)],
        **{key: options[key] for key in names},
    )
    if only:
        say(f"{len(only):,} people may come.")
    if never:
        say(f"{len(never):,} people may not come.")
    wage = planned_wage(study)
    say(f"An hour is paid {wage} {study.currency} if it takes {study.minutes} minutes.")
    if study.least_wage is not None and wage < study.least_wage:
        say(f"That is less than {study.least_wage} {study.currency}: raise the reward.")
    print_link(study, token, options["address"])
