"""`winosmith admin study`: paid work by study links, from the link to the pay."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._main import Group
from winosmith.cli._options import FILE, json_option
from winosmith.cli._printing import echo, in_words, print_json, print_records, print_table, say
from winosmith.cli.admin import address_option, on_site, site_argument
from winosmith.outputs import guard_cell

if TYPE_CHECKING:
    from winosmith.web import Site
    from winosmith.web.market.exports import Plan
    from winosmith.web.market.models import Study


@click.group(cls=Group)
@site_argument
@click.pass_context
def command(context: click.Context, folder: str) -> None:
    """Let people of a crowd market judge or write on the site of DIR, for pay.

    \b
    Start with:  winosmith admin study DIR create pilot --on prolific --judge 20 \\
                     --reward 2.50 --currency GBP --minutes 12 --places 50 --code C1A2B3C4
    """  # noqa: D301
    context.obj = folder


def print_link(study: Study, token: str, address: str) -> None:
    """Print the link that the market gets."""
    from winosmith.web.market.providers import study_link

    echo(study_link(study.provider, token, address))
    say("Keep the link secret: whoever has it can pretend to be a worker. It is shown this once.")


def _money(_: click.Context, option: click.Parameter, text: str | None) -> Decimal | None:
    """Return the sum that an option names."""
    if text is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        raise click.BadParameter(f"{text!r} is no sum of money; write it like 2.50") from None


@command.command("create", short_help="a study, and the secret link that the market needs")
@click.argument("name")
@click.option("--on", "provider", type=click.Choice(["prolific", "generic"]),
              required=True, help="The market.")  # fmt: skip
@click.option("--judge", type=click.IntRange(min=1), metavar="N", help="People judge N problems.")
@click.option("--write", type=click.IntRange(min=1), metavar="N", help="People write N twins.")
@click.option("--reward", callback=_money, metavar="AMOUNT", required=True, help="For all of it, "
              "in --currency.")  # fmt: skip
@click.option("--currency", metavar="CODE", required=True, help="GBP, USD, EUR …")
@click.option("--minutes", type=click.IntRange(min=1), required=True,
              help="That it should take.")  # fmt: skip
@click.option("--places", type=click.IntRange(min=1), metavar="N", required=True, help="How many "
              "people the market sends; half as many again may begin, for those who return their "
              "submission.")  # fmt: skip
@click.option(
    "--least-wage", callback=_money, metavar="AMOUNT", help="An hour; the ledger warns below it."
)
@click.option("--code", default="", help="The market's completion code. On generic each worker "
              "gets a code of their own without it.")  # fmt: skip
@click.option("--short-code", default="", help="The code where no work was left before the end.")
@click.option(
    "--short-reward", callback=_money, metavar="AMOUNT", help="What the market pays for that code."
)
@click.option("--market-study", default="", metavar="ID", help="The market's id of the study, "
              "which links must name then.")  # fmt: skip
@click.option("--only", type=FILE, metavar="FILE",
              help="Those alone may come whose ids are in FILE: one a line, or a table with "
              "qualifications.")  # fmt: skip
@click.option("--never", type=FILE, metavar="FILE",
              help="Those may not come.")  # fmt: skip
@click.option("--require", multiple=True, metavar="COLUMN>=NUMBER", help="What a column of --only "
              "must hold; as often as wanted.")  # fmt: skip
@click.option("--trust", is_flag=True, help="Votes count at once, before the market confirms who "
              "gave them.")  # fmt: skip
@address_option
@on_site
def create(site: Site, /, name: str, **options: Any) -> None:
    """Make the study NAME, and print its link; it is shown this once.

    Votes of its people take their places, and count when `reconcile` has read from the market's
    export that they were who they said.

    \b
    Example:
        winosmith admin study DIR create gate --on prolific --judge 20 --reward 1.60 \\
            --currency USD --minutes 8 --places 50 --code C1A2B3C4 --only workers.csv \\
            --require "approval rate>=99" --require "approved>=5000"
    """  # noqa: D301
    if (options["judge"] is None) == (options["write"] is None):
        raise click.UsageError("give --judge N or --write N")
    if options["require"] and not options["only"]:
        raise click.UsageError("--require asks for columns of --only FILE")
    from winosmith.web.market.ledger import planned_wage
    from winosmith.web.market.studies import Requirement, create_study, read_ids

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


@command.command("list", short_help="the studies, and how far each is")
@on_site
@json_option
def list_(site: Site, as_json: bool) -> None:
    """Show the studies of DIR: how many began, finished, and were confirmed by the market."""
    from winosmith.web.market.models import Study
    from winosmith.web.market.studies import progress

    rows = [progress(study).record() for study in Study.objects.order_by("pk")]
    if as_json:
        print_json(rows)
        return
    if not rows:
        say(f"There is no study yet; see: winosmith admin study {site.folder} create --help")
    names = ("study", "closed", "places", "began", "states", "verdicts", "votes_that_wait")
    print_records("Studies", rows, names)


@command.command(
    "show", short_help="one study; a new link in place of one that is lost, or other places"
)
@click.argument("name")
@click.option("--new-link", is_flag=True, help="Make a new link; the one before works no more.")
@click.option("--places", type=click.IntRange(min=1), metavar="N",
              help="Let the market send N people from now on.")  # fmt: skip
@address_option
@on_site
@json_option
def show(
    site: Site, name: str, new_link: bool, places: int | None, address: str, as_json: bool
) -> None:
    """Show what the study NAME asks and pays, and how far it is."""
    from winosmith.web.market import studies
    from winosmith.web.market.studies import progress

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
    rows = [(key.replace("_", " "), in_words(value)) for key, value in record.items()]
    print_table(f"Study {name}", ("", ""), rows)


@command.command(
    "reconcile", short_help="what the market's export says: votes count from then on, or don't"
)
@click.argument("name")
@click.argument("export", type=FILE)
@click.option("--final", is_flag=True, help="EXPORT holds all submissions there will be: whoever "
              "is not in it did not come from the market.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@on_site
@json_option
def reconcile(
    site: Site, name: str, export: str, final: bool, dry_run: bool, as_json: bool
) -> None:
    """Read the market's table of submissions of the study NAME from the file EXPORT (CSV).

    Votes of approved submissions count from then on, and problems that waited for them are
    decided. Votes of rejected and returned ones don't, and other people judge these problems;
    twins that they wrote are withdrawn. Read again, the same file changes nothing.
    """
    from winosmith.web.market.exports import apply, plan, read_export
    from winosmith.web.market.studies import study_named

    study = study_named(name)
    rows = read_export(Path(export), study.provider, study.currency)
    found = plan(study, rows, final=final)
    votes = 0 if dry_run else apply(study, found)
    if as_json:
        print_json({"dry_run": dry_run, **found.record(), "votes": votes})
        return
    _tell(found, export, final)
    if dry_run:
        say("Nothing was changed.")
    else:
        say(f"{votes:,} votes came to count, or count no more.")


def _tell(found: Plan, export: str, final: bool) -> None:
    print_records("Changes", found.record()["changes"])
    echo(f"{found.same} as they were")
    _list(export, [(line, "never began here") for line in found.unknown])
    _list(export, found.doubts)
    _list(export, found.notes)
    if found.missing:
        what = "rejected where it was not confirmed" if final else "left as it is; see --final"
        echo(f"{len(found.missing)} began here and are not in the file: {what}")


def _list(export: str, told: Sequence[tuple[int, str]]) -> None:
    for line, what in told:
        echo(f"{export}:{line}: {what}")


@command.command("pay", short_help="the ledger, what is due, and what was paid")
@click.argument("name")
@click.option("--csv", "table", type=click.Path(dir_okay=False), metavar="FILE",
              help="Write the ledger, too, by pseudonyms.")  # fmt: skip
@click.option("--bonuses", type=click.Path(dir_okay=False), metavar="FILE",
              help="Write what is due in addition to the reward: the market's ids and the amounts, "
              "as the market takes them, then currencies and ids of the payments. Delete FILE "
              "when it is paid.")  # fmt: skip
@click.option("--paid", type=FILE, metavar="FILE",
              help="Enter the payments of FILE from --bonuses; each counts once.")  # fmt: skip
@on_site
@json_option
def pay(
    site: Site, name: str, table: str | None, bonuses: str | None, paid: str | None, as_json: bool
) -> None:
    """Show who did what in the study NAME, in how long, for what pay, and an hour's wage."""
    from winosmith.web.market.ledger import COLUMNS, bonus_lines, ledger, record_bonuses
    from winosmith.web.market.studies import study_named

    study = study_named(name)
    if paid:
        say(f"{record_bonuses(study, Path(paid)):,} payments are new in the ledger.")
    book = ledger(study)
    rows = [entry.row() for entry in book.entries]
    workers = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    if table:
        _write(table, [COLUMNS, *([guard_cell(cell) for cell in row] for row in rows)])
    if bonuses:
        lines = list(bonus_lines(book))
        _write(bonuses, lines)
        say(f"{len(lines)} lines with ids of the market; delete {bonuses} when it is paid.")
    if as_json:
        print_json(
            {
                "study": name,
                "currency": study.currency,
                "paid": str(book.total),
                "due": str(book.due),
                "median_wage": None if book.median_wage is None else str(book.median_wage),
                "warnings": list(book.warnings),
                "payments": [
                    {
                        "id": one.key,
                        "worker": entry.name,
                        "amount": str(one.amount),
                        "at": one.at.isoformat(),
                    }
                    for entry in book.entries
                    for one in entry.part.payments.all()
                ],
                "workers": workers,
            }
        )
        return
    names = ("worker", "state", "verdict", "done", "asked", "paid", "wage_per_hour")
    print_records(f"Ledger of {name}", workers, names)
    for entry in book.entries:
        for note in entry.notes:
            echo(f"{entry.name}: {note}")
    middle = "–" if book.median_wage is None else f"{book.median_wage} {study.currency}"
    echo(f"Paid {book.total} {study.currency}; due beside it {book.due}; an hour, at the "
               f"median: {middle}")  # fmt: skip
    for warning in book.warnings:
        echo(f"Warning: {warning}")


def _write(path: str, rows: object) -> None:
    """Write a table that only its owner may read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        csv.writer(file).writerows(rows)  # type: ignore[arg-type]


@command.command("close", short_help="nobody new may come")
@click.argument("name")
@on_site
def close(site: Site, name: str) -> None:
    """Let nobody new come to the study NAME; anyone who is at work may finish."""
    from winosmith.web.market.studies import close_study, progress, study_named

    study = study_named(name)
    close_study(study)
    say(f"{progress(study).states['working']} are still at work.")
