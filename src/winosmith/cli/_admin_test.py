"""`winosmith admin test`: human tests on the site, from the sheets to what is published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._declared import declared_options
from winosmith.cli._humans_sheets import print_left_out
from winosmith.cli._main import Group
from winosmith.cli._options import FILE, asked, data_argument, format_option, json_option, read_data
from winosmith.cli._printing import echo, print_json, print_records, say
from winosmith.cli.admin import on_site, site_argument
from winosmith.humans import DECLARED, make_sheets
from winosmith.report import percent

if TYPE_CHECKING:
    from winosmith.web import Site


@click.group(cls=Group)
@site_argument
@click.pass_context
def command(context: click.Context, folder: str) -> None:
    """Test problems on the people of the site of DIR.

    Each person gets a sheet with one half of each twin, never both, and none of what they have
    judged, written or been asked before.

    \b
    Start with:  winosmith admin test DIR open schemas.jsonl --name spring
    """  # noqa: D301
    context.obj = folder


@command.command("open", short_help="a round: problems under embargo, sheets, people may come")
@data_argument("file")
@click.option("--name", required=True, metavar="NAME", help="Of the round; in its addresses.")
@click.option("--versions", default="a,b", show_default=True, metavar="NAMES",
              help="Tests that the halves of each twin are dealt to.")  # fmt: skip
@declared_options(make_sheets, only=("orders", "title", "seed"))
@click.option("--ask", multiple=True, metavar="NAME=QUESTION", help="Ask this, too, before; as "
              "often as wanted. Nobody must answer.")  # fmt: skip
@click.option("--consent", type=FILE, metavar="FILE",
              help="What people agree to before, instead of the text that ships.")  # fmt: skip
@click.option("--public-too", is_flag=True, help="Ask also what is public on the site already.")
@click.option("--new-ids", is_flag=True, help="Under ids that tell nothing and clash with none.")
@format_option
@on_site
@json_option
def open_(site: Site, /, **options: Any) -> None:
    """Make sheets of the problems of FILE, and let people take them at /tests/.

    Problems that the site does not have enter it under embargo; those that it has by their id go
    under embargo. One half of each twin goes to test a and the other to test b; questions without
    a half make a common test, or stand on both where they are fewer than ten.

    \b
    Example:
        winosmith admin test DIR open schemas.jsonl --name spring --orders 4
    """  # noqa: D301
    from winosmith.web import hosting
    from winosmith.web.take.rounds import open_round

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
    sheets = [
        {"code": sheet.code, "questions": len(sheet.record["items"])}
        for sheet in opened.sheets.order_by("pk")
    ]
    if options["as_json"]:
        print_json(
            {
                "round": opened.name,
                "sheets": sheets,
                "left_out": [{"id": d.problem.id, "reason": d.reason} for d in left_out],
            }
        )
        return
    print_records(f"Round {opened.name}", sheets)
    print_left_out(left_out)
    say(f"People take it at /tests/round/{opened.name}/ on the site.")


@command.command("list", short_help="the rounds, and how far each is")
@on_site
@json_option
def list_(site: Site, as_json: bool) -> None:
    """Show the rounds of DIR: how many sheets are out, handed in and given up."""
    from winosmith.web.take.models import Round
    from winosmith.web.take.rounds import round_progress

    rows = [
        {
            **round_progress(row),
            "round": row.name,
            "state": row.state,
            "published": row.published is not None,
        }
        for row in Round.objects.order_by("pk")
    ]
    if as_json:
        print_json(rows)
        return
    if not rows:
        say(f"There is no round yet; see: winosmith admin test {site.folder} open --help")
    names = ("round", "state", "published", "problems", "sheets", "given", "done", "dropped")
    print_records("Rounds", rows, names)


@command.command("close", short_help="nobody takes it any more; the results are found")
@click.argument("name")
@click.option("--drop", is_flag=True, help="Sheets that are still out count as given up.")
@on_site
def close(site: Site, name: str, drop: bool) -> None:
    """Let nobody take the round NAME any more, and find its results.

    Moderators see them on the site from then on.
    """
    from winosmith.web.take.rounds import close_round, round_progress

    row = round_progress(close_round(name, drop=drop))
    figures = row["round"].figures or {}
    if figures.get("answers"):
        share = figures["right"] / figures["answers"]
        echo(
            f"{percent(share)} of the answers are the intended ones ({figures['right']:,} of "
            f"{figures['answers']:,}), {figures['subjects']} people"
        )
    echo("{done} sheets handed in, {dropped} given up".format_map(row))
    say(f"Moderators see more at /tests/progress/{name}/ on the site.")


@command.command("results", short_help="sheets, answers, subjects and ledger, for winosmith humans")
@click.argument("name")
@click.argument("out", type=click.Path(file_okay=False))
@click.option("--force", is_flag=True, help="Replace what an earlier look at the round wrote.")
@on_site
@json_option
def results(site: Site, name: str, out: str, force: bool, as_json: bool) -> None:
    """Write what people handed in so far in the round NAME to the folder OUT.

    OUT gets the sheets, a file of answers for each (as a form for a browser saves them), what
    `winosmith humans enter` makes of them (responses.jsonl, subjects.jsonl), ledger.json, and the
    problems with their answers in private/schemas.jsonl. People stand under random codes.
    """
    from winosmith.web.take.results import write_results
    from winosmith.web.take.rounds import round_named

    counts = write_results(round_named(name), out, force=force)
    if as_json:
        print_json(counts)
        return
    for what, count in counts.items():
        echo(f"{what:10} {count:>7,}")
    if not counts["answers"]:
        say("Nobody has handed in an answer yet.")
        return
    say(
        f"Now:  winosmith humans results {out}/private/schemas.jsonl {out}/responses.jsonl "
        f"--subjects {out}/subjects.jsonl --out results.html"
    )


@command.command(
    "publish", short_help="what a closed round asked becomes public, the rest does not"
)
@click.argument("name")
@on_site
@json_option
def publish(site: Site, name: str, as_json: bool) -> None:
    """Make public what the closed round NAME asked, with the other halves.

    The rest of its problems stays under embargo, for a later round. All of them carry a canary
    string from then on. It can't be taken back: what is public has been read.
    """
    from dataclasses import asdict

    from winosmith.web.take.rounds import publish_round

    released = publish_round(name)
    if as_json:
        print_json(asdict(released))
        return
    echo(
        f"{released.used + released.alternates} problems are released ({released.used} used, "
        f"{released.alternates} alternates); {released.withheld} stay under embargo"
    )
    echo(released.canary)
