"""`winosmith admin`: manage a site from a terminal, also while it is served.

Human tests and studies have their own modules; `existing_site` and the options are shared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli import _options
from winosmith.cli._main import Group, LazyGroup
from winosmith.cli._output import print_records, print_table
from winosmith.cli._printing import echo, print_json, progress, say
from winosmith.errors import FormatError, InputError
from winosmith.text import count_noun

if TYPE_CHECKING:
    from winosmith import Dataset
    from winosmith.web import Site
    from winosmith.web.rounds.models import Round


COMMANDS = {
    "backup": "back up the whole site to one archive, even while it is in use",
    "restore": "restore a site from an archive to a new folder",
    "erase-again": "erase people again who were erased after the backup",
    "export": "export all data as files: problems, judgements, states, the log",
    "import": "import problems, or published sentences for comparison",
    "gold": "import gold questions, which check attention",
    "round": "manage rounds of the benchmark",
    "test": "manage human tests on the site",
    "study": "manage paid studies with workers of crowd markets",
    "invite": "create a one-time link for a contributor, judge, moderator or admin",
    "people": "count people by role",
    "models": "show the state of the site's models, and retry failed predictions",
    "tidy": "delete data older than the retention period",
}
"""The commands, each with its summary."""

_OTHER_PLACES = {
    "import": "admin:import_",
    "round": "admin:rounds",
    "test": "_admin_test:command",
    "study": "_admin_study:command",
}
PLACES = {name: f"admin:{name.replace('-', '_')}" for name in COMMANDS} | _OTHER_PLACES
"""The place of each command."""


@click.command(cls=LazyGroup, sections={"Commands": COMMANDS}, places=PLACES)
def command() -> None:
    """Manage a site: backups, imports, exports, invitations.

    \b
    Start with:  winosmith admin backup DIR site.tar.gz
    """  # noqa: D301


def site_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument DIR, a site's folder."""
    return click.argument("folder", metavar="DIR", type=_options.FOLDER)(function)


def database_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--database`, as the server takes it."""
    return click.option(
        "--database",
        envvar="WINOSMITH_DATABASE",
        metavar="URL",
        help="postgresql://…, as given to `winosmith serve`; also read from WINOSMITH_DATABASE.",
    )(function)


def on_site(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--database`; the first argument is the site of DIR, from the command or its group."""

    @wraps(function)
    @click.pass_obj
    def run(given: str | None, /, *, folder: str = "", database: str | None, **rest: Any) -> Any:
        return function(existing_site(given or folder, database), **rest)

    return database_option(run)


_DEFAULT_ADDRESS = "http://127.0.0.1:8000"
"""The default address of `winosmith serve`."""


def address_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--address`, the start of printed links; by default the address of the site of DIR."""
    return click.option(
        "--address",
        metavar="URL",
        callback=_address,
        show_default=f"the site's current or last address; otherwise {_DEFAULT_ADDRESS}",
        help="Public address of the site, used in links.",
    )(function)


def _address(context: click.Context, _: click.Parameter, given: str | None) -> str:
    from winosmith.web.hosting import last_address

    if given:
        return given
    # Click processes omitted options last: DIR is known by now, from the command or its group.
    return last_address(Path(context.obj or context.params["folder"])) or _DEFAULT_ADDRESS


def print_counts(counts: Mapping[str, int]) -> None:
    """Print numbers with their names, a line each."""
    width = max(map(len, counts), default=0)
    for name, count in counts.items():
        echo(f"{name.replace('_', ' '):{width}} {count:>9,}")


def print_list(
    title: str, rows: Sequence[Mapping[str, Any]], names: Iterable[str], *, as_json: bool, hint: str
) -> None:
    """Print records as JSON or as a table; without records, print a hint."""
    if as_json:
        print_json({title.lower(): rows})
        return
    if not rows:
        say(hint)
    print_records(title, rows, names)


def existing_site(folder: str, database: str | None) -> Site:
    """Return the site of a folder with Django set up.

    Raises:
        InputError: the folder contains no site, or the tables of another version.
    """
    from winosmith.web import Site, hosting

    if not any((Path(folder) / name).exists() for name in ("secret", "site.sqlite3")):
        raise InputError(f"{folder} contains no site; name the folder given to `winosmith serve`")
    os.umask(0o077)
    return hosting.open_site(Site.open(folder, database=database or None))


MOST_MINUTES = 90 * 24 * 60
"""The longest validity of a link: 90 days."""


@click.command("invite")
@site_argument
@click.option("--role", type=click.Choice(["contributor", "judge", "moderator", "admin"]),
              help="Role of the new account.")  # fmt: skip
@click.option("--for", "name", metavar="NAME", help="Account that may set a new password.")
@click.option("--minutes", default=30, show_default=True, type=click.IntRange(1, MOST_MINUTES),
              help="Number of minutes for which the link works.")  # fmt: skip
@address_option
@on_site
def invite(site: Site, role: str | None, name: str | None, minutes: int, address: str) -> None:
    """Print a one-time link to create an account, or to set a new password.

    Only a digest of the link is stored, so it can't be read from the database or a backup.
    """
    if (role is None) == (name is None):
        raise click.UsageError("give --role for a new account, or --for NAME for a new password")
    from winosmith.web.people.accounts import create_reset_link, invite
    from winosmith.web.people.models import Person

    try:
        path = (
            invite([role], minutes)  # type: ignore[list-item]
            if role
            else create_reset_link(Person.objects.get_by_natural_key(str(name)), minutes)
        )
    except Person.DoesNotExist:
        raise InputError(f"there is no account {name!r}; check the name") from None
    echo(f"{address.rstrip('/')}{path}")


@click.command("people")
@site_argument
@on_site
@_options.json_option
def people(site: Site, as_json: bool) -> None:
    """Count the people of DIR by role, without names; a person counts once for each role."""
    from django.db.models import Count, Q

    from winosmith.web.people.models import Person

    account = Q(anonymous=False, erased=None)
    counts = Person.objects.aggregate(
        accounts=Count("pk", filter=account),
        judges=Count("pk", filter=account & Q(is_judge=True)),
        moderators=Count("pk", filter=account & Q(is_moderator=True)),
        admins=Count("pk", filter=account & Q(is_superuser=True)),
        paused=Count("pk", filter=account & Q(is_active=False)),
        anonymous=Count("pk", filter=Q(anonymous=True)),
        erased=Count("pk", filter=Q(erased__isnull=False)),
    )
    if as_json:
        print_json(counts)
    else:
        print_counts(counts)


@click.command("models")
@site_argument
@click.option(
    "--retry", metavar="NAME", help="Model whose failed and timed-out predictions are retried."
)
@on_site
def models(site: Site, retry: str | None) -> None:
    """Show the state, progress, speed and errors of the models of the site in DIR.

    The reason that a model can't be loaded is shown in full only here, not on the site.
    """
    from winosmith.web.predict import asking
    from winosmith.web.predict.process import fault_file

    known = asking.all_statuses()
    if retry is not None:
        found = next((one.model for one in known if one.model.name == retry), None)
        if found is None:
            names = ", ".join(one.model.name for one in known) or "none"
            raise InputError(f"--retry {retry}: the site has no such model; it has {names}")
        count = asking.retry_failed(found)
        echo(f"{count_noun(count, 'prediction')} of {retry} tried again")
        return
    if not known:
        echo("The site has no models, or was never served with any.")
    for one in known:
        model = one.model
        speed = "" if one.seconds is None else f", {one.seconds:.3g} s each"
        echo(f"{model.name}  {model.solver} {model.revision} {model.digest[:12]}".rstrip())
        echo(f"  {one.state}")
        echo(f"  {one.done:,} of {one.total:,} predicted{speed}")
        if one.trouble:
            echo(
                f"  {one.late:,} timed out, {one.failed:,} failed; "
                f"retry with: winosmith admin models {site.folder} --retry {model.name}"
            )
        path = fault_file(site.folder, model.name)
        if model.fault and path.exists():
            echo(f"  {path.read_text('utf-8').strip()}")


@click.command("tidy")
@site_argument
@on_site
def tidy(site: Site) -> None:
    """Delete data of the site in DIR that are older than retention_days in site.toml.

    A running server does this once a day. Sentences and judgements are never deleted. A half that
    has waited wait_days for its other half is published; a running server checks this hourly.
    """
    from winosmith.web.people.privacy import tidy as delete_old
    from winosmith.web.problems.states import publish_due

    print_counts({"published": publish_due(), **delete_old()})


@click.command("backup")
@site_argument
@click.argument("file", type=click.Path(dir_okay=False))
@on_site
def backup(site: Site, file: str) -> None:
    """Save the site of DIR into FILE (.tar, or .tar.gz to compress it).

    FILE contains the database at one moment, the key and the settings: keep it as safe as the
    site. People can use the site in the meantime; the backup contains all of a write, or none of
    it.
    """
    from winosmith.web import hosting

    contents = hosting.backup(site, file)
    size = Path(file).stat().st_size
    echo(f"{file}: {size:,} bytes, {contents.database}, {contents.made}")


@click.command("restore")
@click.argument("file", type=_options.FILE)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--erased", type=click.Path(exists=True), metavar="OLD-DIR", help="The folder of "
              "the site that was backed up, or its log of erasures (erased.jsonl).")  # fmt: skip
@database_option
def restore(file: str, folder: str, erased: str | None, database: str | None) -> None:
    """Make the site of DIR, a new or empty folder, out of FILE from `winosmith admin backup`.

    The checksums are checked first; DIR appears when all of it is there. An archive of a
    PostgreSQL site goes into an empty database, named by --database. All log-ins, tokens,
    invitations and links for a new password end. People who were erased after the backup was made
    are listed, as far as the log of erasures shows: the one in OLD-DIR, next to FILE, or in the
    folder of the site if FILE is among its own backups.
    """
    from django.db import connection

    from winosmith.web import hosting

    contents = hosting.restore(file, folder, database=database or None, erased=erased)
    place = Path(folder).absolute()
    echo(f"{place}: the site of {contents.made} ({contents.database})")
    more = " --database …" if contents.database == "postgresql" else ""
    echo("Ended: all log-ins, tokens, invitations, and links for a new password.")
    _list_erased(existing_site(str(place), database), more)
    connection.close()  # so that SQLite leaves no log next to the file
    echo(f"Serve it with: winosmith serve {place}{more}")


def _list_erased(site: Site, more: str) -> None:
    """Print who was erased after a backup was made."""
    from winosmith.web.people.models import pseudonym
    from winosmith.web.people.privacy import has_erasure_log, people_to_erase_again

    if not has_erasure_log():
        echo("No log of erasures was found; if somebody was erased since, erase them again.")
    if names := [pseudonym(person) for person, _texts in people_to_erase_again()]:
        echo(f"Erased since this backup: {', '.join(names)}")
        echo(f"Erase them again with: winosmith admin erase-again {site.folder}{more}")


@click.command("erase-again")
@site_argument
@on_site
def erase_again(site: Site) -> None:
    """Erase people again whom a restored backup brought back to the site of DIR.

    The log of erasures (erased.jsonl in the site's folder) shows who they are. It has no names: an
    entry fits only the person in a backup.
    """
    from winosmith.web.people import privacy

    echo(f"{count_noun(privacy.erase_again(), 'person', 'people')} erased again")


@click.command("export")
@site_argument
@click.option("--out", required=True, metavar="FOLDER", type=click.Path(), help="Output folder.")
@click.option("--format", "format_name", default="winosmith", show_default=True, help="Format "
              "of the public problems, as in `winosmith convert --to`.")  # fmt: skip
@click.option("--public", is_flag=True, help="Export only the public problems.")
@on_site
@_options.json_option
def export(site: Site, out: str, format_name: str, public: bool, as_json: bool) -> None:
    """Write the data of DIR as files: the public problems, and the rest in private/.

    The rest is for moderators: every problem with its state, the judgements by pseudonym, the
    audit log, and people by pseudonym with their consents. Equal data give equal bytes, and the
    same digest.
    """
    from winosmith.web import hosting

    exported = hosting.export(out, format_name=format_name, public=public)
    if as_json:
        print_json(asdict(exported))
        return
    print_counts(exported.counts)
    echo(f"digest {exported.digest}")


@click.command("import")
@site_argument
@_options.data_argument("file")
@click.option("--as", "as_", required=True, type=click.Choice(["judging", "valid", "published"]),
              help="Purpose: to be judged, valid without judges, or only for comparison with "
              "new sentences.")  # fmt: skip
@click.option(
    "--source", metavar="NAME", help="Source of published sentences; by default the file's name."
)
@click.option("--embargo", is_flag=True, help="Put the problems under embargo.")
@click.option(
    "--new-ids", is_flag=True, help="Give the problems new ids that reveal nothing and are unique."
)
@_options.format_option
@on_site
def import_(
    site: Site,
    file: str,
    as_: str,
    source: str | None,
    embargo: bool,
    new_ids: bool,
    format_name: str | None,
) -> None:
    """Import the problems of FILE, in any known format, into the site in DIR.

    People can use the site in the meantime. Existing problems stay unchanged. After an interrupt,
    run the same command again to resume the import.
    """
    dataset = _options.read_data(file, format_name)
    if as_ == "published":
        from winosmith.web.problems.lookalikes import remember_published

        with progress("Importing", len(dataset)) as advance:
            added = remember_published(
                dataset, source or dataset.name, on_progress=lambda done: advance(done, "")
            )
    else:
        from winosmith.web import hosting

        if new_ids:
            dataset = hosting.with_new_ids(dataset, site.secret)
        with (
            progress("Importing", len(dataset)) as advance,
            _lines_in_errors(file, format_name, dataset),
        ):
            made = hosting.import_problems(
                dataset,
                "judging" if as_ == "judging" else "valid",
                embargo=embargo,
                on_progress=lambda done: advance(done, ""),
            )
        added = made.added
        if made.versions:
            echo(f"{made.versions:,} perturbed problems were added to families")
        if made.apart:
            echo(
                f"{made.apart:,} perturbed problems are in no family: the site lacks their root, "
                "or a problem between; import those, then this file again"
            )
    echo(f"{added:,} new, {len(dataset) - added:,} there already")


@contextmanager
def _lines_in_errors(file: str, format_name: str | None, dataset: Dataset) -> Iterator[None]:
    """Add the line of FILE to the error of a problem that can't be imported."""
    from winosmith import formats
    from winosmith.web import hosting

    try:
        yield
    except hosting.UnfitError as unfit:
        lines = formats.scan(file, format_name, **_options.reading_arguments()).lines
        line = lines[dataset.row(unfit.problem)]
        raise FormatError(str(unfit), file, line) from None


@click.command("gold")
@site_argument
@_options.data_argument("file")
@click.option(
    "--new-ids", is_flag=True, help="Give the problems new ids that reveal nothing and are unique."
)
@_options.format_option
@on_site
def gold(site: Site, file: str, new_ids: bool, format_name: str | None) -> None:
    """Add the problems of FILE as gold questions, which check the attention of judges.

    Each needs an answer, and `gold.explanation` in its extra: why that answer is correct, which
    the judge reads afterwards. `gold.attention` marks a sentence that states its answer. Gold
    questions are never part of the data.
    """
    from winosmith.web import hosting

    dataset = _options.read_data(file, format_name)
    if new_ids:
        dataset = hosting.with_new_ids(dataset, site.secret)
    with _lines_in_errors(file, format_name, dataset):
        made = hosting.import_problems(dataset, "gold")
    echo(f"{made.added:,} new, {made.known:,} there already")


@click.group(cls=Group)
@site_argument
@click.pass_context
def rounds(context: click.Context, folder: str) -> None:
    """Manage the rounds of the benchmark on the site in DIR.

    A round neither moves nor deletes problems. Once it is published, contributors see which of
    their problems its filter removed, with the score and the reason.

    \b
    Start one with:  winosmith round --site DIR
    """  # noqa: D301
    context.obj = folder


@rounds.command("list", short_help="the rounds and their states")
@on_site
@_options.json_option
def list_(site: Site, as_json: bool) -> None:
    """Show the rounds of DIR: their states, and how many problems they kept."""
    from winosmith.web.rounds.models import Round
    from winosmith.web.rounds.results import count_problems

    rows = [
        {
            "round": row.name,
            "state": row.state,
            "published": row.published and f"{row.published:%Y-%m-%d}",
            **count_problems(row),
        }
        for row in Round.objects.order_by("pk")
    ]
    names = ("round", "state", "collected", "kept", "published")
    hint = f"There is no round yet; start one with: winosmith round --site {site.folder}"
    print_list("Rounds", rows, names, as_json=as_json, hint=hint)


@rounds.command("show", short_help="one round: its progress, its error or its results")
@click.argument("name")
@on_site
@_options.json_option
def show(site: Site, name: str, as_json: bool) -> None:
    """Show the round NAME: its progress, its error, or its results next to the last round's."""
    from winosmith.web.rounds.results import compare_rounds
    from winosmith.web.rounds.running import get_round

    found = get_round(name)
    if as_json:
        print_json({"round": found.name, "state": found.state, "record": found.record})
        return
    echo(f"{found.name}: {found.get_state_display()}")
    if found.busy:
        _print_progress(site.folder, found)
    elif found.state == found.State.FAILED:
        echo(found.error)
        say(f"Resume it with: winosmith round --site {site.folder} --name {name}")
    elif found.state == found.State.DONE:
        print_table(
            "This round" if found.last is None else f"This round and {found.last.name}",
            ["figure", "last", "now", "change"],
            [[cell or "—" for cell in row] for row in compare_rounds(found)],
        )
        if found.published is None:
            say("It is not published: only moderators see it.")


def _print_progress(folder: Path, found: Round) -> None:
    from winosmith.web.rounds.running import round_progress

    progress = round_progress(found)
    if progress is None or not progress["at_work"]:
        echo(f"no process works on it; resume it with: winosmith round --site {folder}")
    elif "step" not in progress:
        echo("it starts")
    else:
        echo("step {number} of {of}: {step}, {percent} % of all".format_map(progress))
        if progress["until"] is not None:
            echo(f"it ends at about {progress['until']:%Y-%m-%d %H:%M} UTC, as the last round did")


@rounds.command("cancel", short_help="cancel a round that waits or runs")
@click.argument("name")
@on_site
def cancel(site: Site, name: str) -> None:
    """Cancel the round NAME. Its finished steps are kept, and it can be resumed.

    A process that works on it stops before its next step; Ctrl-C stops it at once.
    """
    from winosmith.web.rounds import running

    running.cancel_round(running.get_round(name))
    echo(f"{name} is cancelled")
    say(f"Resume it with: winosmith round --site {site.folder} --name {name}")


@rounds.command("publish", short_help="show the results of a round to everyone")
@click.argument("name")
@on_site
def publish(site: Site, name: str) -> None:
    """Show the results of the round NAME to everyone.

    Contributors see which of their problems its filter removed, with the score and the reason. Its
    roots can be perturbed, and the next round is compared with it. This can't be undone.
    """
    from winosmith.web.rounds import running

    running.publish_round(None, running.get_round(name))
    echo(f"{name} is published")
    say(f"Everyone sees it at /rounds/round/{name}/ on the site.")
