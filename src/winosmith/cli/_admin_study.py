"""`winosmith admin study`: paid studies, from the study link to the payments."""

from __future__ import annotations

import csv
import os
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._main import Group
from winosmith.cli._options import FILE, json_option
from winosmith.cli._output import format_cell, print_records, print_table
from winosmith.cli._printing import echo, print_json_if_requested, say
from winosmith.cli.admin import address_option, pass_site, site_argument
from winosmith.outputs import guard_cell

if TYPE_CHECKING:
    from winosmith.web import Site
    from winosmith.web.market.models import Study


@click.group(cls=Group)
@site_argument
@click.pass_context
def command(context: click.Context, folder: str) -> None:
    """Manage paid studies: workers of a crowd market judge or write on the site in DIR.

    \b
    Start with:  winosmith admin study DIR create pilot --on prolific --judge 20 \\
                     --reward 2.50 --currency GBP --minutes 12 --places 50 --code C1A2B3C4
    """  # noqa: D301
    context.obj = folder


def print_link(study: Study, token: str, address: str) -> None:
    from winosmith.web.market.studies import make_study_link

    echo(make_study_link(study.provider, token, address))
    say("Keep the link secret: anyone with it can pretend to be a worker. It is shown only once.")


def _parse_amount(ctx: click.Context, param: click.Parameter, text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        raise click.BadParameter(f"{text!r} is not an amount; use a number such as 2.50") from None


@command.command("create", short_help="create a study, and print its secret link")
@click.argument("name")
@click.option("--on", "provider", type=click.Choice(["prolific", "generic"]),
              required=True, help="Crowd market.")  # fmt: skip
@click.option("--judge", type=click.IntRange(min=1), metavar="N", help="Number of problems that "
              "each person judges.")  # fmt: skip
@click.option("--write", type=click.IntRange(min=1), metavar="N", help="Number of twins that each "
              "person writes.")  # fmt: skip
@click.option("--reward", callback=_parse_amount, metavar="AMOUNT", required=True,
              help="Reward for each person, in --currency.")  # fmt: skip
@click.option("--currency", metavar="CODE", required=True, help="Currency, such as GBP.")
@click.option("--minutes", type=click.IntRange(min=1), required=True,
              help="Expected duration in minutes.")  # fmt: skip
@click.option("--places", type=click.IntRange(min=1), metavar="N", required=True, help="Number of "
              "participants that the market recruits; up to half as many again may start, because "
              "some return their submissions.")  # fmt: skip
@click.option("--least-wage", callback=_parse_amount, metavar="AMOUNT",
              help="Minimum hourly pay; the ledger warns about lower pay.")  # fmt: skip
@click.option("--code", default="", help="The market's completion code. By default, each worker "
              "of a generic market gets their own code.")  # fmt: skip
@click.option("--short-code", default="", help="Completion code for workers who stop early because "
              "no work is left.")  # fmt: skip
@click.option("--short-reward", callback=_parse_amount, metavar="AMOUNT",
              help="Reward that the market pays to workers who enter --short-code.")  # fmt: skip
@click.option("--market-study", default="", metavar="ID", help="The study's id on the market; if "
              "given, links must contain it.")  # fmt: skip
@click.option("--only", type=FILE, metavar="FILE", help="Ids of the people who may take part: one "
              "per line, or a table with a column of ids.")  # fmt: skip
@click.option("--never", type=FILE, metavar="FILE",
              help="Ids of people to exclude.")  # fmt: skip
@click.option("--trust", is_flag=True, help="Count votes immediately, before the market confirms "
              "the workers.")  # fmt: skip
@address_option
@pass_site
def create(site: Site, /, name: str, **options: Any) -> None:
    """Create the study NAME, and print its link, which is shown only once.

    The workers' votes are provisional. They count when `reconcile` finds the workers' submissions
    in the market's export.

    \b
    Example:
        winosmith admin study DIR create gate --on prolific --judge 20 --reward 1.60 \\
            --currency USD --minutes 8 --places 50 --code C1A2B3C4 --only workers.csv
    """  # noqa: D301
    if (options["judge"] is None) == (options["write"] is None):
        raise click.UsageError("give --judge N or --write N")
    from winosmith.web.market.ledger import compute_planned_wage
    from winosmith.web.market.studies import create_study, read_ids

    provider = options["provider"]
    only = read_ids(Path(options["only"]), provider) if options["only"] else []
    never = read_ids(Path(options["never"]), provider) if options["never"] else []
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
        say(f"Only the {len(only):,} listed people may take part.")
    if never:
        say(f"{len(never):,} people are excluded.")
    wage = compute_planned_wage(study)
    say(f"The hourly pay is {wage} {study.currency} if the study takes {study.minutes} minutes.")
    if study.least_wage is not None and wage < study.least_wage:
        say(f"That is less than {study.least_wage} {study.currency}: raise the reward.")
    print_link(study, token, options["address"])


@command.command("show", short_help="show a study, renew its link, or change its capacity")
@click.argument("name")
@click.option("--new-link", is_flag=True, help="Create a new link, and disable the old one.")
@click.option("--places", type=click.IntRange(min=1), metavar="N",
              help="New number of participants that the market recruits.")  # fmt: skip
@address_option
@pass_site
@json_option
def show(site: Site, name: str, new_link: bool, places: int | None, address: str) -> None:
    """Show the work, the pay and the progress of the study NAME."""
    from winosmith.web.market import studies

    study = studies.get_study(name)
    if places is not None:
        studies.set_places(study, places)
    if new_link:
        print_link(study, studies.replace_link(study), address)
        return
    record = studies.make_record(study)
    if print_json_if_requested(record):
        return
    rows = [(key.replace("_", " "), format_cell(value)) for key, value in record.items()]
    print_table(f"Study {name}", ("", ""), rows)


@command.command("reconcile", short_help="count or exclude votes according to the market's export")
@click.argument("name")
@click.argument("export", type=FILE)
@click.option("--final", is_flag=True, help="Treat EXPORT as complete: people who started "
              "before it was saved and are not in it did not come from the market.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
@pass_site
@json_option
def reconcile(site: Site, name: str, export: str, final: bool, dry_run: bool) -> None:
    """Read the market's table of submissions to the study NAME from the file EXPORT (CSV).

    From then on, votes of approved submissions are counted, and problems waiting for them are
    decided. Votes of rejected and returned submissions are excluded: other people judge these
    problems, and the workers' own twins are withdrawn. Reading the same file again changes nothing.
    """
    from winosmith.web.market.exports import apply_plan, plan_changes, read_export
    from winosmith.web.market.studies import get_study

    study = get_study(name)
    rows = read_export(Path(export), study.provider, study.currency)
    downloaded = datetime.fromtimestamp(Path(export).stat().st_mtime, UTC)
    found = plan_changes(study, rows, final=final, sent=downloaded)
    votes = 0 if dry_run else apply_plan(study, found)
    if print_json_if_requested({"dry_run": dry_run, **found.make_record(), "votes": votes}):
        return
    print_records("Changes", found.make_record()["changes"])
    echo(f"{found.unchanged} unchanged")
    unknown = [(line, "never started here") for line in found.unknown]
    for line, what in (*unknown, *found.doubts, *found.notes):
        echo(f"{export}:{line}: {what}")
    if found.missing:
        what = "rejected unless they are confirmed" if final else "left unchanged; see --final"
        echo(f"{len(found.missing)} people started here but are not in the file: {what}")
    if dry_run:
        say("Nothing was changed.")
    else:
        say(f"These decisions changed whether {votes:,} votes count.")


@command.command("pay", short_help="show the ledger with paid and due amounts")
@click.argument("name")
@click.option("--csv", "table", type=click.Path(dir_okay=False), metavar="FILE",
              help="Also write the ledger, with pseudonyms, to this file.")  # fmt: skip
@click.option("--bonuses", type=click.Path(dir_okay=False), metavar="FILE",
              help="Write the outstanding bonuses to FILE: worker ids and amounts in the market's "
              "format, followed by currencies and payment ids. Delete FILE after "
              "the payment.")  # fmt: skip
@click.option("--paid", type=FILE, metavar="FILE",
              help="Record the payments listed in FILE, which --bonuses wrote; each is recorded "
              "only once.")  # fmt: skip
@pass_site
@json_option
def pay(site: Site, name: str, table: str | None, bonuses: str | None, paid: str | None) -> None:
    """Show the work, time, pay and hourly pay of each worker in the study NAME."""
    from winosmith.web.market.ledger import COLUMNS, compute_ledger, iter_payments, record_bonuses
    from winosmith.web.market.studies import get_study

    study = get_study(name)
    if paid:
        say(f"New payments in the ledger: {record_bonuses(study, Path(paid)):,}.")
    book = compute_ledger(study)
    rows = [entry.make_cells() for entry in book.entries]
    workers = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    if table:
        _write_private_csv(table, [COLUMNS, *([guard_cell(cell) for cell in row] for row in rows)])
    if bonuses:
        lines = list(iter_payments(book))
        _write_private_csv(bonuses, lines)
        say(f"{len(lines)} lines with the market's ids; delete {bonuses} after the payment.")
    report = {
        "study": name,
        "currency": study.currency,
        "paid": str(book.total),
        "due": str(book.due),
        "median_wage": None if book.median_wage is None else str(book.median_wage),
        "warnings": book.warnings,
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
    if print_json_if_requested(report):
        return
    names = ("worker", "state", "verdict", "done", "asked", "paid", "wage_per_hour")
    print_records(f"Ledger of {name}", workers, names)
    for entry in book.entries:
        for note in entry.notes:
            echo(f"{entry.name}: {note}")
    median = "–" if book.median_wage is None else f"{book.median_wage} {study.currency}"
    echo(f"Paid {book.total} {study.currency}; still due: {book.due}; median hourly pay: {median}")
    for warning in book.warnings:
        echo(f"Warning: {warning}")


def _write_private_csv(path: str, rows: object) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        csv.writer(file).writerows(rows)  # type: ignore[arg-type]


@command.command("close", short_help="stop new people from taking part")
@click.argument("name")
@pass_site
def close(site: Site, name: str) -> None:
    """Stop new people from taking part in the study NAME; people who have started may finish."""
    from winosmith.web.market.studies import close_study, get_study, measure_progress

    study = get_study(name)
    close_study(study)
    say(f"{measure_progress(study)['states']['working']} people are still working.")
