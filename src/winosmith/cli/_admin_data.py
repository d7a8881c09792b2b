"""What `winosmith admin` saves of a site and puts into one: archives, exports, problems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from winosmith.cli._options import data_argument, format_option, json_option, read_data
from winosmith.cli._printing import print_json, progress
from winosmith.cli.admin import database_option, existing_site, site_argument

if TYPE_CHECKING:
    from winosmith import Dataset
    from winosmith.web.hosting import Imported


@click.command("backup")
@site_argument
@click.argument("file", type=click.Path(dir_okay=False))
@database_option
def backup(folder: str, file: str, database: str | None) -> None:
    """Save the site of DIR into FILE (.tar, or .tar.gz to compress it).

    FILE holds the database as it is at one moment, the key and the settings: keep it as safe as
    the site itself. Nobody who writes meanwhile waits or is left out half.
    """
    from winosmith.web import hosting

    contents = hosting.backup(existing_site(folder, database), file)
    size = Path(file).stat().st_size
    click.echo(f"{file}: {size:,} bytes, {contents.database}, {contents.made}")


@click.command("restore")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("folder", metavar="DIR", type=click.Path())
@database_option
def restore(file: str, folder: str, database: str | None) -> None:
    """Make the site of DIR, a new or empty folder, out of FILE from `winosmith admin backup`.

    The checksums are checked first; DIR appears when all of it is there. An archive of a
    PostgreSQL site goes into an empty database, named by --database.
    """
    from winosmith.web import hosting

    contents = hosting.restore(file, folder, database=database or None)
    place = Path(folder).absolute()
    click.echo(f"{place}: the site of {contents.made} ({contents.database})")
    more = " --database …" if contents.database == "postgresql" else ""
    click.echo(f"Serve it with: winosmith serve {place}{more}")


@click.command("export")
@site_argument
@click.option("--out", required=True, metavar="FOLDER", type=click.Path(), help="Where to write.")
@click.option(
    "--format",
    "format_name",
    default="winosmith",
    show_default=True,
    help="Of the public problems; those of `winosmith convert --to`.",
)
@click.option("--public", is_flag=True, help="The public problems alone, nothing private.")
@database_option
@json_option
def export(
    folder: str, out: str, format_name: str, public: bool, database: str | None, as_json: bool
) -> None:
    """Write the set of DIR as files: the public problems, and below private/ all the rest.

    The rest is what moderators know: every problem and where it stands, the judgements by
    pseudonym, the audit log, people by pseudonym with what they agreed to. Equal data give equal
    bytes, and the same digest.
    """
    from dataclasses import asdict

    from winosmith.web import hosting

    existing_site(folder, database)
    exported = hosting.export(out, format_name=format_name, public=public)
    if as_json:
        print_json(asdict(exported))
        return
    for name, count in exported.counts.items():
        click.echo(f"{name:20} {count:>9,}")
    click.echo(f"digest {exported.digest}")


@click.command("import")
@site_argument
@data_argument("file")
@click.option(
    "--as",
    "as_",
    required=True,
    type=click.Choice(["judging", "valid", "published"]),
    help="To be judged; part of the set; or only compared with what people write.",
)
@click.option("--source", metavar="NAME", help="Of published sentences; the file's name else.")
@click.option("--embargo", is_flag=True, help="Keep them out of everything public.")
@click.option("--new-ids", is_flag=True, help="Under ids that tell nothing and clash with none.")
@format_option
@database_option
def import_(
    folder: str,
    file: str,
    as_: str,
    source: str | None,
    embargo: bool,
    new_ids: bool,
    format_name: str | None,
    database: str | None,
) -> None:
    """Put the problems of FILE, in any known format, into the site of DIR.

    People may work meanwhile. What is there already stays as it is; after an interrupt, the same
    command goes on.
    """
    site = existing_site(folder, database)
    dataset = read_data(file, format_name)
    if as_ == "published":
        added = _published(dataset, source or dataset.name)
    else:
        from winosmith.web import hosting

        if new_ids:
            dataset = hosting.with_new_ids(dataset, site.secret)
        with progress("Importing", len(dataset)) as advance:
            made = hosting.import_problems(
                dataset,
                "judging" if as_ == "judging" else "valid",
                embargo=embargo,
                on_progress=lambda done: advance(done, ""),
            )
        added = made.added
        _tell_of_families(made)
    click.echo(f"{added:,} new, {len(dataset) - added:,} there already")


def _tell_of_families(made: Imported) -> None:
    if made.versions:
        click.echo(f"{made.versions:,} perturbed problems have their place in a family")
    if made.apart:
        click.echo(
            f"{made.apart:,} perturbed problems stand alone: the site lacks their root, or a "
            "problem on the way to it; import those, then this file again"
        )


def _published(dataset: Dataset, source: str) -> int:
    from winosmith.web.problems.lookalikes import remember_published

    with progress("Remembering", len(dataset)) as advance:
        return remember_published(dataset, source, on_progress=lambda done: advance(done, ""))


@click.command("gold")
@site_argument
@data_argument("file")
@click.option("--new-ids", is_flag=True, help="Under ids that tell nothing and clash with none.")
@format_option
@database_option
def gold(
    folder: str, file: str, new_ids: bool, format_name: str | None, database: str | None
) -> None:
    """Add the problems of FILE as questions that show whether judges read with care.

    Each needs an answer, and `gold.explanation` in its extra: why that answer is right, which the
    judge reads afterwards. `gold.attention` marks a sentence that says itself what to choose.
    They are never part of the data.
    """
    from winosmith.web import hosting

    site = existing_site(folder, database)
    dataset = read_data(file, format_name)
    if new_ids:
        dataset = hosting.with_new_ids(dataset, site.secret)
    made = hosting.import_problems(dataset, "gold")
    click.echo(f"{made.added:,} new, {made.known:,} there already")
