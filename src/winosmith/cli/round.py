"""`winosmith round`: make a release from a pool, measure it, and draw the next round's roots."""

from __future__ import annotations

import click

from winosmith.cli._options import FOLDER, find_given_options, json_option
from winosmith.cli._output import print_blocks
from winosmith.cli._printing import echo, is_json_requested, print_json_if_requested, progress, say
from winosmith.cli.admin import database_option, open_existing_site
from winosmith.errors import InputError, OutputError


@click.command()
@click.argument("recipe", required=False)
@click.option("--out", metavar="DIR", help="Output folder; created if missing.")
@click.option("--site", metavar="DIR", help="Folder of a site, whose public problems and votes are "
              "used instead of the recipe's data, and whose database is used instead of "
              "--out.")  # fmt: skip
@click.option("--name", metavar="NAME", help="With --site: name of the round, used in its "
              "URL; by default that of the interrupted round, otherwise round-1, round-2 and so "
              "on. To resume a failed or cancelled round, give its name.")  # fmt: skip
@database_option
@click.option("--last", metavar="DIR", type=FOLDER,
              help="Folder of the last round, for comparison. Its problems keep their split "
              "(train, dev or test); only new problems are split at random.")  # fmt: skip
@click.option("--stored", metavar="DIR", type=FOLDER,
              help="Folder of a finished run of the same round: use its vectors and predictions "
              "instead of models, and report whether all files are identical.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite results from a different recipe.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    recipe: str | None,
    out: str | None,
    site: str | None,
    name: str | None,
    database: str | None,
    last: str | None,
    stored: str | None,
    force: bool,
) -> None:
    """Run a round of the benchmark with the settings in RECIPE.

    RECIPE is the TOML file of `winosmith build`, with a `[[solvers]]` for each reference solver.
    The command builds a release from the pool, solves its dev and test sets, and draws the roots
    for the next round (problems that every solver gets right). It lists the problems that fool a
    solver, and reports the changes since the last round. You can stop the command at any time; run
    it again to resume.

    With --site, the pool consists of the public problems of a site, whose pages show the progress
    and the results of the round. RECIPE may be omitted, or be a file in the site's recipes folder.

    The exit code is 1 if the vectors do not distinguish the problems; then nothing is filtered, and
    the remaining guessability is not measured.

    \b
    Example recipe, next to twins.jsonl and votes.csv:
        name = "mine-2"
        data = "twins.jsonl"
        votes_file = "votes.csv"
        roots = 14
        [[solvers]]
        name = "words"
        solver = "association"
        learn = true
        [[solvers]]
        name = "roberta"
        solver = "encoder"
        model = "models/roberta-winogrande"

    \b
    Example:
        winosmith round mine.toml --out rounds/2 --last rounds/1
        winosmith round --site winosmith-site
    """  # noqa: D301
    if site is not None:
        others = {"--out": out, "--last": last, "--stored": stored, "--force": force,
                  "--json": is_json_requested()}  # fmt: skip
        if given := [option for option, value in others.items() if value]:
            raise InputError(f"--site can't be combined with {', '.join(given)}")
        open_existing_site(site, database)
        _run_on_site(recipe, name)
        return
    if recipe is None or out is None:
        raise InputError("name a recipe and an output folder (--out), or a site (--site)")
    if name is not None:
        raise InputError("--name needs --site; otherwise the recipe names the round")
    if "database" in find_given_options(ctx):
        raise InputError("--database needs --site")
    from winosmith import rounds
    from winosmith.build import describe_previous_splits

    read = rounds.read_round(recipe)
    found = rounds.run_round(read, out, last=last, stored=stored, force=force, step=progress)
    record = found.record
    if not print_json_if_requested(record):
        print_blocks([rounds.make_changes_table(found.changes, record)])
        for line in rounds.describe_seen_problems(record):
            echo(f"{line}.", fg="yellow")
        for line in describe_previous_splits(record.get("sides")):
            echo(line)
        roots = record["roots"]
        asked = "" if roots["drawn"] == roots["asked"] else f" ({roots['asked']} were requested)"
        echo(
            f"{roots['drawn']} roots for the next round, which every solver answers "
            f"correctly{asked};"
        )
        echo(f"{len(record['fooling'])} perturbed problems that fool a solver")
        echo(f"The report is in {found.report.resolve()}", bold=True)
        say(f"signature {record['build']['signature']}")
    if stored is not None:
        if names := rounds.find_differing_files(stored, found.folder):
            raise OutputError(
                f"{len(names)} files differ from {stored}: {', '.join(names[:5])}"
                + ", …" * (len(names) > 5)
            )
        say(f"every file is identical to the one in {stored}")
    if record["artifacts"]["blind"]:
        ctx.exit(1)


def _run_on_site(recipe: str | None, name: str | None) -> None:
    """Resume an interrupted or failed round on a site, or start a new one.

    If the site has a worker, the worker runs the round, even after Ctrl-C here.
    """
    from winosmith.web.jobs import wait_for_job
    from winosmith.web.rounds import running
    from winosmith.web.rounds.models import Round as Row

    wanted = {"name": name} if name else {"busy": True}
    row: Row | None = Row.objects.select_related("last").filter(**wanted).first()
    if row is None:
        table, base = running.read_recipe(recipe) if recipe else ({}, "")
        row = running.create_round(name or running.suggest_next_name(), table, base)
    elif recipe:
        raise InputError(f"the round {row.name} already has a recipe; omit {recipe}")
    elif not row.busy:
        running.resume_round(row)
        row.refresh_from_db()
    wait_for_job(running.queue_round(row))
    row = Row.objects.get(pk=row.pk)
    if row.state == Row.State.FAILED or row.busy:
        reason = row.error or "the worker stopped during the round; see its log and the jobs page"
        raise InputError(f"{row.name} failed: {reason}")
    echo(f"{row.name} is {row.get_state_display()}")
    say(f"Its files are in {row.folder / 'results'}; moderators can see it at /rounds/.")
