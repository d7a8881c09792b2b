"""`winosmith admin`: manage a site from a terminal, even while it is being served."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli import _options
from winosmith.cli._main import LazyGroup
from winosmith.cli._printing import echo, print_json_if_requested, progress, say
from winosmith.errors import FormatError, InputError
from winosmith.text import format_count

if TYPE_CHECKING:
    from winosmith import Dataset
    from winosmith.web import Site


COMMANDS = {
    "backup": "back up the whole site to one archive, even while it is in use",
    "restore": "restore a site from an archive to a new folder",
    "erase-again": "repeat the erasures that were made after the backup",
    "export": "export all data as files: problems, judgements, states, the log",
    "import": "import problems, gold questions, or published sentences for comparison",
    "invite": "create a one-time link for a contributor, judge, moderator or admin",
}

LOCATIONS = {name: f"admin:{name.replace('-', '_')}" for name in COMMANDS}
LOCATIONS["import"] = "admin:import_"


@click.command(cls=LazyGroup, sections={"Commands": COMMANDS}, locations=LOCATIONS)
def command() -> None:
    """Manage a site: backups, imports, exports, invitations.

    \b
    Start with:  winosmith admin backup DIR site.tar.gz
    """  # noqa: D301


site_argument = click.argument("folder", metavar="DIR", type=_options.FOLDER)

database_option = click.option(
    "--database",
    envvar="WINOSMITH_DATABASE",
    metavar="URL",
    help="URL of the PostgreSQL database, as given to `winosmith serve`; also read from "
    "WINOSMITH_DATABASE.",
)


def pass_site(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option `--database`, and pass the site of DIR as the first argument."""

    @wraps(function)
    def call(*, folder: str, database: str | None, **rest: Any) -> Any:
        return function(open_existing_site(folder, database), **rest)

    return database_option(call)


_DEFAULT_ADDRESS = "http://127.0.0.1:8000"
"""The default address of `winosmith serve`."""


def _choose_address(ctx: click.Context, param: click.Parameter, address: str | None) -> str:
    from winosmith.web.hosting import read_last_url

    if address:
        return address
    # Click processes omitted options last: DIR is known by now.
    return read_last_url(Path(ctx.params["folder"])) or _DEFAULT_ADDRESS


def open_existing_site(folder: str, database: str | None) -> Site:
    """Set up Django for the site in a folder, and return the site."""
    from winosmith.web import Site, hosting

    if not any((Path(folder) / name).exists() for name in ("secret", "site.sqlite3")):
        raise InputError(f"{folder} contains no site; name the folder given to `winosmith serve`")
    os.umask(0o077)
    return hosting.open_site(Site.open(folder, database=database or None))


def import_for_judging(problems: Dataset) -> None:
    from winosmith.web import importing

    made = importing.import_problems(problems, "judging", embargo=True)
    say(f"Added to the site for judging: {made.added:,}; already there: {made.known:,}.")


MAX_MINUTES = 90 * 24 * 60
"""Maximum validity of a link, in minutes."""


@click.command("invite")
@site_argument
@click.option("--role", type=click.Choice(["contributor", "judge", "moderator", "admin"]),
              help="Role of the new account.")  # fmt: skip
@click.option("--for", "name", metavar="NAME", help="Account that needs a new password.")
@click.option("--minutes", default=30, show_default=True, type=click.IntRange(1, MAX_MINUTES),
              help="Number of minutes for which the link is valid.")  # fmt: skip
@click.option(
    "--address",
    metavar="URL",
    callback=_choose_address,
    show_default=f"the site's current or last address; otherwise {_DEFAULT_ADDRESS}",
    help="Public URL of the site, used in links.",
)
@pass_site
def invite(site: Site, role: str | None, name: str | None, minutes: int, address: str) -> None:
    """Print a one-time link to create an account, or to set a new password.

    Only a digest of the link is stored, so the link can't be read from the database or a backup.
    """
    if (role is None) == (name is None):
        raise click.UsageError("give --role for a new account, or --for NAME for a new password")
    from winosmith.web.people.accounts import create_reset_link, invite
    from winosmith.web.people.models import Person

    try:
        path = (
            invite(role, minutes)
            if role
            else create_reset_link(Person.objects.get_by_natural_key(str(name)), minutes)
        )
    except Person.DoesNotExist:
        raise InputError(f"there is no account {name!r}; check the name") from None
    echo(f"{address.rstrip('/')}{path}")


@click.command("backup")
@site_argument
@click.argument("file", type=click.Path(dir_okay=False))
@pass_site
def backup(site: Site, file: str) -> None:
    """Back up the site in DIR to FILE (.tar, or .tar.gz to compress it).

    FILE contains a consistent snapshot of the database, the secret key and the settings, so keep it
    as safe as the site. People can use the site in the meantime.
    """
    from winosmith.web import hosting

    contents = hosting.backup(site, file)
    size = Path(file).stat().st_size
    echo(f"{file}: {size:,} bytes, {contents.database}, {contents.made}")


@click.command("restore")
@click.argument("file", type=_options.FILE)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--erased", type=click.Path(exists=True), metavar="OLD-DIR", help="Folder of the "
              "backed-up site, or its log of erasures (erased.jsonl).")  # fmt: skip
@database_option
def restore(file: str, folder: str, erased: str | None, database: str | None) -> None:
    """Restore a site from FILE, made by `winosmith admin backup`, to DIR, a new or empty folder.

    The checksums are verified first, and DIR is created only when it is complete. An archive of a
    PostgreSQL site is restored to the empty database given by --database. All log-ins,
    invitations and password links are revoked. People who were erased after the backup are listed,
    according to the log of erasures in OLD-DIR, next to FILE, or in the site's folder if FILE is
    one of its own backups.
    """
    from django.db import connection

    from winosmith.web import hosting

    contents = hosting.restore(file, folder, database=database or None, erased=erased)
    place = Path(folder).absolute()
    echo(f"{place}: the site as of {contents.made} ({contents.database})")
    more = " --database …" if contents.database == "postgresql" else ""
    echo("All log-ins, invitations and password links were revoked.")
    site = open_existing_site(str(place), database)
    from winosmith.web.people import privacy  # needs Django's settings
    from winosmith.web.people.models import get_pseudonym

    if not privacy.has_erasure_log():
        echo(
            "No log of erasures was found. If anyone's data were erased after this backup, erase "
            "them again."
        )
    if names := [get_pseudonym(person) for person, _ in privacy.find_people_to_erase_again()]:
        echo(f"Erased since this backup: {', '.join(names)}")
        echo(f"Erase them again with: winosmith admin erase-again {site.folder}{more}")
    connection.close()  # so that SQLite leaves no log next to the file
    echo(f"Serve it with: winosmith serve {place}{more}")


@click.command("erase-again")
@site_argument
@pass_site
def erase_again(site: Site) -> None:
    """Erase again the people whom a restored backup brought back to the site in DIR.

    They are listed in the log of erasures (erased.jsonl in the site's folder), which has no names:
    an entry can only be matched with the person in a backup.
    """
    from winosmith.web.people import privacy

    echo(f"{format_count(privacy.erase_again(), 'person', 'people')} erased again")


@click.command("export")
@site_argument
@click.option("--out", required=True, metavar="FOLDER", type=click.Path(), help="Output folder.")
@click.option("--public", is_flag=True, help="Export only the public problems.")
@pass_site
@_options.json_option
def export(site: Site, out: str, public: bool) -> None:
    """Export the site in DIR to files: the public problems, and all other data in private/.

    The private data are for moderators: every problem with its state, the judgements by pseudonym,
    the audit log, and people by pseudonym with their consents. The same data always give the same
    bytes and digest.
    """
    from winosmith.web import exporting

    exported = exporting.export(out, public=public)
    if print_json_if_requested(asdict(exported)):
        return
    width = max(map(len, exported.counts))
    for name, count in exported.counts.items():
        echo(f"{name.replace('_', ' '):{width}} {count:>9,}")
    echo(f"digest {exported.digest}")


@click.command("import")
@site_argument
@_options.data_argument("file")
@click.option("--as", "as_", required=True,
              type=click.Choice(["judging", "valid", "gold", "published"]),
              help="How to use the problems: judge them, accept them without judging, check the "
              "attention of judges, or only compare new sentences with them.")  # fmt: skip
@click.option(
    "--source", metavar="NAME", help="Source of published sentences; by default the file's name."
)
@click.option("--embargo", is_flag=True, help="Put the problems under embargo.")
@_options.new_ids_option
@_options.format_option
@pass_site
def import_(
    site: Site,
    file: str,
    as_: Any,
    source: str | None,
    embargo: bool,
    new_ids: bool,
) -> None:
    """Import the problems of FILE, in any known format, into the site in DIR.

    People can use the site in the meantime. Existing problems stay unchanged. If the import is
    interrupted, run the same command again to resume it.

    Gold questions are never part of the data. Each needs an answer and, in its extra,
    `gold.explanation`: the reason for the answer, which judges read afterwards.
    """
    dataset = _options.read_data(file)
    if as_ == "published":
        from winosmith.web.problems.lookalikes import index_published_dataset

        with progress("Importing", len(dataset)) as advance:
            added = index_published_dataset(
                dataset, source or dataset.name, on_progress=lambda done: advance(done, "")
            )
    else:
        from winosmith.web import importing

        if new_ids:
            dataset = importing.assign_new_ids(dataset, site.secret)
        with (
            progress("Importing", len(dataset)) as advance,
            _add_lines_to_errors(file, dataset),
        ):
            made = importing.import_problems(
                dataset,
                as_,
                embargo=embargo,
                on_progress=lambda done: advance(done, ""),
            )
        added = made.added
        if made.versions:
            echo(f"{made.versions:,} perturbed problems were added to families")
        if made.apart:
            echo(
                f"{made.apart:,} perturbed problems are in no family, because the site lacks their "
                "root or a problem in between; import those first, then this file again"
            )
    echo(f"{added:,} new, {len(dataset) - added:,} already there")


@contextmanager
def _add_lines_to_errors(file: str, dataset: Dataset) -> Iterator[None]:
    """Add the line number in FILE to the error for a problem that can't be imported."""
    from winosmith import formats
    from winosmith.web import importing

    try:
        yield
    except importing.NotImportableError as unfit:
        lines = formats.scan(file, **_options.get_reading_arguments()).line_numbers
        line = lines[dataset.row(unfit.problem)]
        raise FormatError(unfit.reason, file, line) from None
