"""`winosmith admin study DIR pay`: the ledger of a study."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import click

from winosmith.cells import guarded
from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._common import json_option, print_json, say
from winosmith.cli._tables import print_table

__all__ = ["command"]


@click.command()
@click.argument("name")
@click.option("--csv", "table", type=click.Path(dir_okay=False), metavar="FILE",
              help="Write the ledger, too, by pseudonyms.")  # fmt: skip
@click.option("--bonuses", type=click.Path(dir_okay=False), metavar="FILE",
              help="Write what is due beside the reward as the market takes it: its ids, and "
              "amounts. Delete FILE when it is paid.")  # fmt: skip
@click.option("--paid", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="Note the bonuses of FILE as paid.")  # fmt: skip
@database_option
@json_option
@click.pass_obj
def command(
    folder: str,
    name: str,
    table: str | None,
    bonuses: str | None,
    paid: str | None,
    database: str | None,
    as_json: bool,
) -> None:
    """Show who did what in the study NAME, in how long, for what pay, and an hour's wage."""
    existing_site(folder, database)
    from winosmith.web.market.ledger import COLUMNS, ledger
    from winosmith.web.market.paying import bonus_lines, record_bonuses
    from winosmith.web.market.studies import study_named

    study = study_named(name)
    if paid:
        say(f"{record_bonuses(study, Path(paid)):,} bonuses are new in the ledger.")
    book = ledger(study)
    rows = [entry.row() for entry in book.entries]
    if table:
        _write(table, [COLUMNS, *([guarded(cell) for cell in row] for row in rows)])
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
                "workers": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
            }
        )
        return
    print_table(f"Ledger of {name}", COLUMNS, rows)
    middle = "–" if book.median_wage is None else f"{book.median_wage} {study.currency}"
    click.echo(f"Paid {book.total} {study.currency}; due beside it {book.due}; an hour, at the "
               f"median: {middle}")  # fmt: skip
    for warning in book.warnings:
        click.echo(f"Warning: {warning}")


def _write(path: str, rows: object) -> None:
    """Write a table that only its owner may read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        csv.writer(file).writerows(rows)  # type: ignore[arg-type]
