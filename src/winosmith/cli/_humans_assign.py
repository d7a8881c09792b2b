"""`winosmith humans assign`: give subjects their sheets, so that nobody sees both halves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from winosmith.cli._common import json_option, print_json, say
from winosmith.cli._tables import print_table
from winosmith.errors import InputError
from winosmith.humans import (
    Ledger,
    Sheet,
    assign,
    ledger_held,
    read_ledger,
    read_sheet,
    write_ledger,
)
from winosmith.outputs import MANIFEST

__all__ = ["LEDGER", "command", "enrol", "read_subjects_file"]

LEDGER = "ledger.json"
"""Where the ledger is, in the folder of the sheets, when nothing else is asked for."""


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.argument("subjects", nargs=-1, metavar="SUBJECT...")
@click.option("--test", metavar="NAME", help="Give this test, such as a, or nothing.")
@click.option("--another", is_flag=True, help="They are done with their sheet, and have the time "
              "for a further one.")  # fmt: skip
@click.option("--dropped", is_flag=True, help="They gave their sheet up: it is no longer counted "
              "as taken. They have seen it all the same.")  # fmt: skip
@click.option("--ledger", "ledger_file", type=click.Path(dir_okay=False), metavar="FILE",
              help=f"Who was given what in all sessions; DIR/{LEDGER} when left out.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Settles ties.")
@json_option
def command(
    folder: str,
    subjects: tuple[str, ...],
    test: str | None,
    another: bool,
    dropped: bool,
    ledger_file: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Give each SUBJECT a sheet of DIR, a folder of `winosmith humans sheets`.

    SUBJECT is a code, never a name. Nobody gets a sheet with another half, a look-alike or a text
    of what they have seen on any sheet of the ledger, given up or not; all tests and all orders
    are given alike often. Who has a sheet is told the same again; --another gives a further one.
    Without a SUBJECT, the ledger is shown.

    Use one --ledger FILE for all sessions and all data sets that the same people may come to.

    \b
    Example:
        winosmith humans assign sheets S01 S02 S03
        winosmith humans assign sheets S02 --another
    """  # noqa: D301
    if dropped and (another or test):
        raise click.UsageError("--dropped goes with neither --another nor --test")
    path = Path(ledger_file or Path(folder) / LEDGER)
    sheets = sheets_of(folder)
    given: list[tuple[str, Sheet]] = []
    with ledger_held(path):
        ledger = read_ledger(path)
        if dropped:
            ledger = _given_up(ledger, subjects)
        else:
            ledger, given = enrol(ledger, sheets, subjects, test=test, another=another, seed=seed)
        if subjects:
            write_ledger(ledger, path)
    report = _report(ledger, sheets, given)
    if as_json:
        print_json(report)
    else:
        _print(report, folder)
    if subjects:
        say(f"Wrote {path}.")


def enrol(
    ledger: Ledger, sheets: Sequence[Sheet], subjects: Sequence[str], **how: Any
) -> tuple[Ledger, list[tuple[str, Sheet]]]:
    """Give each subject a sheet, one after another; all of them get one, or nobody does."""
    twice = [subject for subject, count in Counter(subjects).items() if count > 1]
    if twice:
        raise InputError(f"the subject {twice[0]!r} is named twice; each code is one person's")
    given = []
    for subject in subjects:
        ledger, sheet = assign(ledger, sheets, subject, **how)
        given.append((subject, sheet))
    return ledger, given


def _given_up(ledger: Ledger, subjects: Sequence[str]) -> Ledger:
    for subject in subjects:
        if not any(given.state == "given" for given in ledger.of(subject)):
            raise InputError(f"{subject} has no sheet out that could be given up")
        ledger = ledger.marked(subject, "dropped")
    return ledger


def sheets_of(folder: str | Path) -> list[Sheet]:
    """Read the sheets of a folder of `winosmith humans sheets`.

    Raises:
        InputError: there are none.
    """
    names = sorted(path for path in Path(folder).glob("*-*.json") if path.name != MANIFEST)
    if not names:
        raise InputError(f"{folder} holds no sheets; make them with: winosmith humans sheets DATA")
    return [read_sheet(path) for path in names]


def read_subjects_file(path: str | Path) -> list[str]:
    """Read codes of subjects, one a line; empty lines and what follows a # are passed over."""
    lines = Path(path).read_text("utf-8").splitlines()
    return [code for line in lines if (code := line.partition("#")[0].strip())]


def _report(
    ledger: Ledger, sheets: Sequence[Sheet], given: Sequence[tuple[str, Sheet]]
) -> dict[str, Any]:
    return {
        "given": [{"subject": s, "sheet": sheet.code, "name": sheet.name} for s, sheet in given],
        "takers": {sheet.code: ledger.takers(sheet.code) for sheet in sheets},
        "ledger": [
            {"subject": each.subject, "sheet": each.sheet, "state": each.state}
            for each in ledger.given
        ],
    }


def _file(folder: str, name: str) -> str:
    """Return what is handed out: the PDF, or the form where no PDF was made."""
    found = [f"{folder}/{name}{end}" for end in (".pdf", ".html", ".json")]
    return next((file for file in found if Path(file).exists()), found[0])


def _print(report: dict[str, Any], folder: str) -> None:
    if report["given"]:
        rows = [
            (each["subject"], each["sheet"], _file(folder, each["name"]))
            for each in report["given"]
        ]
        print_table("Given", ("subject", "sheet", "hand out"), rows)
    else:
        rows = [(each["subject"], each["sheet"], each["state"]) for each in report["ledger"]]
        print_table("Ledger", ("subject", "sheet", "state"), rows)
    print_table("Taken", ("sheet", "takers"), list(report["takers"].items()))
