"""`winosmith build`: build a debiased benchmark and its report from raw twins."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from winosmith.build import (
    build,
    describe_copies,
    describe_missing_columns,
    describe_previous_splits,
    describe_small_splits,
    is_build_finished,
    read_recipe,
)
from winosmith.cli._options import FILE, FOLDER, get_bad_records_file, json_option, reading_option
from winosmith.cli._printing import echo, print_json_if_requested, progress, say, show_log
from winosmith.finished import BuildFiles
from winosmith.report import count_twins_and_singles, format_value


@click.command()
@click.argument("recipe", type=FILE)
@click.option("--out", required=True, metavar="DIR", help="Output folder; created if missing.")
@click.option("--force", is_flag=True, help="Overwrite a different recipe's files in DIR, or "
              "build the same recipe again.")  # fmt: skip
@click.option("--last", metavar="DIR", type=FOLDER,
              help="Folder of the previous build. Its problems keep their split (train, dev or "
              "test); only new problems are split at random.")  # fmt: skip
@reading_option("skip_bad")
@json_option
@click.pass_context
def command(ctx: click.Context, recipe: str, out: str, force: bool, last: str | None) -> None:
    """Build a benchmark from raw twins with the settings in RECIPE.

    RECIPE is a TOML file. The steps are: check structure and votes, embed, filter, split without
    separating twins, write the files, and report the effect of the filter. You can stop the command
    at any time; run it again to resume, or to show the finished result. Files that would reveal
    test answers go to DIR/private.

    The exit code is 1 if the vectors do not distinguish the problems; then nothing is filtered, and
    the remaining guessability is not measured.

    \b
    Example recipe, for the votes of three judges and AFLite with the light embedder:
        name = "mine"
        data = "twins.jsonl"
        votes_file = "votes.csv"
        [filter]
        threshold = 0.75

    \b
    Example:
        winosmith build mine.toml --out mine
        winosmith build grown.toml --out grown --last mine
    """  # noqa: D301
    with show_log():
        read = read_recipe(recipe)
    skip_bad = get_bad_records_file()
    if not force and is_build_finished(read, out, last, skip_bad):
        say(f"{out} contains the finished build of this recipe; add --force to build it again")
    else:
        build(read, out, force=force, step=progress, last=last, skip_bad=skip_bad)
    if print_build(Path(out))["blind"]:
        ctx.exit(1)


def print_build(folder: Path) -> dict[str, Any]:
    """Print the key figures of a build or filter, or its report as JSON, and return the report."""
    record = BuildFiles(folder).report
    if print_json_if_requested(record):
        return record
    echo(textwrap.fill(record["verdict"], 100), bold=True)
    first, *others = record["figures"]
    _print_key_figure(first)
    for line in record.get("rules_used", {}).get("words", ()):
        echo(textwrap.fill(line, 80, subsequent_indent="  "))
    if funnel := record.get("funnel"):
        collected, steps = funnel["collected"], funnel["steps"]
        kept = steps[-1]["kept"] if steps else collected
        echo(f"Kept {kept['problems']:,} of {collected['problems']:,} collected problems:")
        echo(f"  {count_twins_and_singles(kept['twins'], kept['singles'])}")
        for step in steps:
            if step["dropped"] and step["stage"] != record["recipe"]["filter"]["method"]:
                reasons = ", ".join(f"{count:,} {name}" for name, count in step["dropped"].items())
                say(f"Dropped by {step['stage']}: {reasons}; see {folder / 'dropped.jsonl'}.")
        for line in describe_small_splits(record):
            say(f"{line}.")
    else:
        echo(f"Kept {record['kept']:,} of {record['kept'] + record['dropped']:,} problems")
    for figure in others:
        _print_key_figure(figure)
    echo(f"The report is in {(folder / 'report.html').resolve()}", bold=True)
    say(f"Signature: {record['signature']}")
    notes = [
        *describe_copies(record.get("copies")),
        *describe_previous_splits(record.get("sides")),
        *describe_missing_columns(record.get("columns")),
    ]
    if counts := record.get("unvalidated"):
        unvalidated = ", ".join(f"{count:,} of {name}" for name, count in counts.items())
        notes.append(f"Generated problems that judges have not validated yet: {unvalidated}")
    for line in notes:
        say(f"{line}.")
    if record.get("embedding", {}).get("at_chance"):
        say(f"Fine-tuning: {record['embedding']['finetuned']}")
    return record


def _print_key_figure(figure: Mapping[str, Any]) -> None:
    echo(f"{format_value(figure['value'], figure['form'])} {figure['label']},")
    echo(textwrap.fill(figure["note"], 100, initial_indent="  ", subsequent_indent="  "))
