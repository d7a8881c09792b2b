"""`winosmith humans`: tests of problems on people, from the sheets to the reliable subset."""

from __future__ import annotations

import click

from winosmith.cli._main import LazyGroup

COMMANDS = {
    "sheets": "make test sheets, as PDFs and as forms for a browser",
    "assign": "give subjects their sheets, so that nobody sees both halves of a schema",
    "enter": "read answers from tables and from files that forms saved",
    "results": "print results by subject and item, measure agreement, and write a report",
    "keys": "estimate the number of wrong keys from people's checks",
    "select": "select the reliable subset, and estimate the agreement among new people",
    "publish": "release a round's items, and put the rest under embargo",
}

LOCATIONS = {
    "sheets": "_humans_sheets:make_test_sheets",
    "assign": "_humans_sheets:assign_sheets",
    "enter": "_humans_sheets:enter_answers",
    "results": "_humans_results:print_results",
    "keys": "_key_check:estimate_wrong_keys",
    "select": "_humans_results:select_problems",
    "publish": "_humans_results:publish_problems",
}


@click.command(cls=LazyGroup, sections={"Commands": COMMANDS}, locations=LOCATIONS)
def command() -> None:
    """Test problems with people, and select the problems that they agree on.

    \b
    Start with:  winosmith humans sheets DATA --out DIR
    Then:        winosmith humans results DATA ANSWERS
    """  # noqa: D301
