"""`winosmith admin test`: human tests on the site, from the sheets to the publication."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli import _options
from winosmith.cli._humans_sheets import print_omitted_problems
from winosmith.cli._main import Group
from winosmith.cli._output import print_records
from winosmith.cli._printing import echo, print_json_if_requested, say
from winosmith.cli.admin import pass_site, print_counts, site_argument
from winosmith.humans import QUESTIONS, make_sheets
from winosmith.report import percent

if TYPE_CHECKING:
    from winosmith.web import Site


@click.group(cls=Group)
@site_argument
@click.pass_context
def command(context: click.Context, folder: str) -> None:
    """Manage human tests on the site in DIR.

    Each person gets a sheet with one half of each twin, never both, and no problem that they have
    judged, written or answered before.

    \b
    Start with:  winosmith admin test DIR open schemas.jsonl --name spring
    """  # noqa: D301
    context.obj = folder


@command.command("open", short_help="open a round: embargo problems, make sheets, admit people")
@_options.data_argument("file")
@click.option("--name", required=True, metavar="NAME", help="Name of the round, used in its URLs.")
@click.option("--versions", default="a,b", show_default=True, metavar="NAMES",
              help="Names of the tests, separated by commas; the two halves of a twin are in "
              "different tests.")  # fmt: skip
@_options.add_declared_options(make_sheets, only=("orders", "title", "seed"))
@click.option("--ask", multiple=True, metavar="NAME=QUESTION", help="Additional optional question "
              "before the test; may be repeated.")  # fmt: skip
@click.option("--consent", type=_options.FILE, metavar="FILE",
              help="Consent form that people agree to, instead of the default.")  # fmt: skip
@click.option("--public-too", is_flag=True, help="Include problems that are public on the site.")
@_options.new_ids_option
@_options.format_option
@pass_site
@_options.json_option
def open_(site: Site, /, **options: Any) -> None:
    """Make test sheets from the problems in FILE, and let people take them at /tests/.

    New problems are added to the site under embargo; problems that the site already has are put
    under embargo. One half of each twin goes to test a and the other to test b. Problems without
    another half form a common test, or are in both tests if there are fewer than ten.

    \b
    Example:
        winosmith admin test DIR open schemas.jsonl --name spring --orders 4
    """  # noqa: D301
    from winosmith.web import importing
    from winosmith.web.take.rounds import open_round

    dataset = _options.read_data(options["file"])
    if options["new_ids"]:
        dataset = importing.assign_new_ids(dataset, site.secret)
    consent = options["consent"] and Path(options["consent"]).read_text("utf-8")
    opened, left_out = open_round(
        dataset,
        options["name"],
        versions=[name.strip() for name in options["versions"].split(",")],
        orders=options["orders"],
        seed=options["seed"],
        title=options["title"],
        declared=(*QUESTIONS, *map(_options.parse_question, options["ask"])),
        consent=consent or None,
        public=options["public_too"],
    )
    sheets = [
        {"code": sheet.code, "questions": len(sheet.record["items"])}
        for sheet in opened.sheets.order_by("pk")
    ]
    report = {
        "round": opened.name,
        "sheets": sheets,
        "left_out": [{"id": d.problem.id, "reason": d.reason} for d in left_out],
    }
    if print_json_if_requested(report):
        return
    print_records(f"Round {opened.name}", sheets)
    print_omitted_problems(left_out)
    say(f"People can take it at /tests/round/{opened.name}/ on the site.")


@command.command("close", short_help="close a round, and compute its results")
@click.argument("name")
@click.option("--drop", is_flag=True, help="Treat unfinished sheets as abandoned.")
@pass_site
def close(site: Site, name: str, drop: bool) -> None:
    """Close the round NAME, and compute its results, which moderators can see on the site."""
    from winosmith.web.take.rounds import close_round, count_sittings

    row = count_sittings(close_round(name, drop=drop))
    figures = row["round"].figures or {}
    if figures.get("answers"):
        share = figures["right"] / figures["answers"]
        echo(
            f"{percent(share)} of the answers are the intended ones ({figures['right']:,} of "
            f"{figures['answers']:,}), {figures['subjects']} people"
        )
    echo("{done} sheets submitted, {dropped} abandoned".format_map(row))
    say(f"Moderators can see more at /tests/progress/{name}/ on the site.")


@command.command("results", short_help="write the sheets, answers, subjects and ledger to files")
@click.argument("name")
@click.argument("out", type=click.Path(file_okay=False))
@click.option("--force", is_flag=True, help="Overwrite earlier results of the round in OUT.")
@pass_site
@_options.json_option
def results(site: Site, name: str, out: str, force: bool) -> None:
    """Write the answers that the round NAME has so far to the folder OUT.

    OUT contains the sheets; a file of answers for each, like those that browser forms save; the
    output files of `winosmith humans enter` (responses.jsonl, subjects.jsonl); ledger.json; and the
    problems with their answers in private/schemas.jsonl. People are identified by random codes.
    """
    from winosmith.web.take.results import write_results
    from winosmith.web.take.rounds import get_round

    counts = write_results(get_round(name), out, force=force)
    if print_json_if_requested(counts):
        return
    print_counts(counts)
    if not counts["answers"]:
        say("Nobody has submitted answers yet.")
        return
    say(
        f"Next, run: winosmith humans results {out}/private/schemas.jsonl {out}/responses.jsonl "
        f"--subjects {out}/subjects.jsonl --out results.html"
    )


@command.command("publish", short_help="publish the problems of a closed round")
@click.argument("name")
@pass_site
@_options.json_option
def publish(site: Site, name: str) -> None:
    """Publish the problems that the closed round NAME used, with their other halves.

    Its other problems stay under embargo for a later round. All problems get a canary string. This
    can't be undone.
    """
    from winosmith.web.take.rounds import publish_round

    released = publish_round(name)
    if print_json_if_requested(released):
        return
    used, alternates = released["used"], released["alternates"]
    echo(
        f"{used + alternates} problems are released ({used} used, {alternates} alternates); "
        f"{released['withheld']} stay under embargo"
    )
    echo(released["canary"])
