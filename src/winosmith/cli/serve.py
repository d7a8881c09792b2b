"""`winosmith serve` and `work`: run the platform and its worker."""

from __future__ import annotations

import os

import click

from winosmith.cli._printing import echo
from winosmith.cli.admin import database_option, site_argument

_FIRST_ADMIN_MINUTES = 30
"""Validity of the first admin's link, in minutes."""


@click.command()
@click.argument(
    "folder", metavar="[DIR]", default="winosmith-site", type=click.Path(file_okay=False)
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535),
              help="Port; 0 selects a free port.")  # fmt: skip
@click.option("--public-url", metavar="URL", help="Public HTTPS URL of the site.")
@click.option("--database", envvar="WINOSMITH_DATABASE", metavar="URL", help="URL of a PostgreSQL "
              "database, used instead of a file in DIR; also read from "
              "WINOSMITH_DATABASE.")  # fmt: skip
@click.option("--workers", type=click.IntRange(1, 512),
              help="Number of server processes; by default one per core.")  # fmt: skip
@click.option("--work/--no-work", default=True, help="Start a worker for imports, backups and "
              "mail; with --no-work, run `winosmith work` elsewhere.")  # fmt: skip
def command(
    folder: str,
    host: str,
    port: int,
    public_url: str | None,
    database: str | None,
    workers: int | None,
    work: bool,
) -> None:
    """Serve the site in a folder (winosmith-site by default), which is created at first start.

    The folder contains the database, the site's key and its settings (site.toml). To run a public
    server, see docs/how-to/serve.md.

    \b
    Example:
        winosmith serve
        winosmith serve twins --port 8080
    """  # noqa: D301
    from winosmith.web import Site, hosting

    os.umask(0o077)  # what the server writes is readable only by its owner
    site = Site.open(folder, database=database or None, public_url=public_url)
    site.check_host(host)
    lock = hosting.lock_site(site.folder)
    door = hosting.listen(host, port)
    hosting.prepare(site)
    workers = hosting.choose_worker_count(workers)
    url = hosting.get_browser_url(door)
    hosting.store_url(lock, site.public_url or url)
    address = site.public_url or url
    lines = [
        f"Database    {site.database.location}",
        f"Settings    {site.folder / 'site.toml'}",
        f"Address     {address}/",
    ]
    if site.public_url:
        lines.append(f"Listens at  {url}")
    if path := hosting.get_first_admin_path(_FIRST_ADMIN_MINUTES):
        lines += [
            f"First admin {address}{path}",
            f"            (once, within {_FIRST_ADMIN_MINUTES} minutes)",
        ]
    echo("\n".join([*lines, "Stop with Ctrl-C."]))
    hosting.run(site, door, workers=workers, run_jobs=work)


@click.command()
@site_argument
@database_option
@click.option("--public-url", envvar="WINOSMITH_PUBLIC_URL", metavar="URL", help="Public "
              "URL of the site for links in emails, as for `winosmith serve`.")  # fmt: skip
def work(folder: str, database: str | None, public_url: str | None) -> None:
    """Run the background jobs of the site in DIR: imports, backups, mail, hourly and daily jobs.

    `winosmith serve` starts this command, and restarts it if it ends. Only one worker runs at a
    time; another worker waits until the first has ended. An interrupted job is resumed.

    \b
    Example, on a different machine from the server, which runs with --no-work:
        winosmith work twins --database postgresql://db.example.org/twins
    """  # noqa: D301
    from winosmith.web import Site, hosting

    os.umask(0o077)
    hosting.open_site(Site.open(folder, database=database or None, public_url=public_url or None))
    from winosmith.web import jobs  # needs Django's settings

    jobs.run_worker()
