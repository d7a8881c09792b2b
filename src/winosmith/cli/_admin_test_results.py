"""`winosmith admin test DIR results`: a round as files that `winosmith humans` reads."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._common import json_option, print_json, say

__all__ = ["command"]


@click.command()
@click.argument("name")
@click.argument("out", type=click.Path(file_okay=False))
@click.option("--force", is_flag=True, help="Replace what an earlier look at the round wrote.")
@database_option
@json_option
@click.pass_obj
def command(
    folder: str, name: str, out: str, force: bool, database: str | None, as_json: bool
) -> None:
    """Write what people handed in so far in the round NAME to the folder OUT.

    OUT gets the sheets, a file of answers for each (as a form for a browser saves them), what
    `winosmith humans enter` makes of them (responses.jsonl, subjects.jsonl), ledger.json, and the
    problems with their answers in private/schemas.jsonl. People stand under random codes.
    """
    existing_site(folder, database)
    from winosmith.web.take.closing import round_named
    from winosmith.web.take.writing_out import write_results

    counts = write_results(round_named(name), out, force=force)
    if as_json:
        print_json(counts)
        return
    for what, count in counts.items():
        click.echo(f"{what:10} {count:>7,}")
    if not counts["answers"]:
        say("Nobody has handed in an answer yet.")
        return
    say(
        f"Now:  winosmith humans results {out}/private/schemas.jsonl {out}/responses.jsonl "
        f"--subjects {out}/subjects.jsonl --out results.html"
    )
