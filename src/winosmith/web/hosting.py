"""What the commands do with a site: make it ready, serve it, save it, fill it, write it out.

Before a site is served there must be tables, static files, settings, texts and an admin.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from winosmith import __version__
from winosmith.errors import InputError
from winosmith.outputs import write_aside
from winosmith.web._backup import Contents, backup, restore
from winosmith.web._export import Exported, export
from winosmith.web._import import Imported, import_problems, with_new_ids
from winosmith.web._server import address_of, claim, listen, run, workers_for
from winosmith.web._site import Site

__all__ = [
    "Contents",
    "Exported",
    "Imported",
    "address_of",
    "backup",
    "claim",
    "export",
    "first_admin_path",
    "import_problems",
    "listen",
    "opened",
    "prepare",
    "restore",
    "run",
    "with_new_ids",
    "workers_for",
]

SETTINGS = Path(__file__).with_name("first_site.toml")
"""The settings as they are built in, each with what it means, all commented out."""

GATHERED = "gathered.txt"
"""In the folder of static files: a digest of what they were gathered from."""

MIGRATING = 0x77696E6F
"""The PostgreSQL advisory lock under which one server at a time changes tables ("wino")."""


def prepare(site: Site) -> None:
    """Make a site ready to be served; what is ready already costs next to nothing.

    The tables are made, or brought to this version with their rows; the static files are
    gathered once a version; `site.toml` is written at the first start, all of it commented.

    Raises:
        InputError: the database can't be reached, or is from a newer version of winosmith.
        MissingExtraError: the extra `web` (or `postgres`) is not installed.
    """
    write_settings(site.folder)
    site.activate()
    with _reached(site):
        _migrate()
    _gather()


def opened(site: Site) -> Site:
    """Set Django up for a command beside a server that may be running, and return the site.

    Raises:
        InputError: the folder holds no site, the database can't be reached, or its tables are
            not those of this version.
    """
    site.activate()
    if site.database.url is None and not site.database.path.exists():
        raise InputError(
            f"{site.folder} holds no site yet ({site.database.path.name} is missing); start it "
            f"once with: winosmith serve {site.folder}"
        )
    with _reached(site):
        if _missing():
            raise InputError(
                f"the tables of {site.database.shown} are those of an older version; start "
                f"`winosmith serve {site.folder}` once, which brings them forward"
            )
    return site


def write_settings(folder: Path) -> None:
    """Write a `site.toml` in which every setting stands commented, unless there is one."""
    path = folder / "site.toml"
    if not path.exists():
        with write_aside(path) as file:
            file.write(SETTINGS.read_text("utf-8"))


@contextmanager
def _reached(site: Site) -> Iterator[None]:
    from django.db import OperationalError

    try:
        yield
    except OperationalError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise InputError(
            f"the database {site.database.shown} can't be used: {reason}; "
            + (
                "check the address, that the server runs, and that the database exists"
                if site.database.url
                else "check the folder's rights and the room on the disk"
            )
        ) from None


def _missing() -> bool:
    """Tell whether tables must be changed first.

    Raises:
        InputError: they are from a newer version.
    """
    from django.apps import apps
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    known = set(executor.loader.disk_migrations)
    ours = {config.label for config in apps.get_app_configs()}
    newer = sorted(
        key for key in executor.loader.applied_migrations if key[0] in ours and key not in known
    )
    if newer:
        raise InputError(
            f"the database was written by a newer version of winosmith ({'.'.join(newer[0])}); "
            f"install that version instead of {__version__}, or restore a backup of this one"
        )
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _migrate() -> None:
    from django.core.management import call_command
    from django.db import connection

    with _one_at_a_time():
        if _missing():
            call_command("migrate", interactive=False, verbosity=0)
        else:
            _emit_post_migrate()
    connection.close()


def _emit_post_migrate() -> None:
    """Let areas look after what they keep (the first texts, the search index), as migrate does."""
    from django.core.management.sql import emit_post_migrate_signal

    emit_post_migrate_signal(verbosity=0, interactive=False, db="default")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Keep two servers of one PostgreSQL database from changing its tables at once."""
    from django.db import connection

    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATING])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATING])


def _gather() -> None:
    """Gather the static files, under names that carry their digests, when they have changed."""
    from django.conf import settings
    from django.core.management import call_command

    mark = Path(settings.STATIC_ROOT) / GATHERED
    fingerprint = _fingerprint()
    if mark.exists() and mark.read_text("ascii").strip() == fingerprint:
        return
    call_command("collectstatic", interactive=False, verbosity=0, stdout=io.StringIO())
    with write_aside(mark) as file:
        file.write(fingerprint + "\n")


def _fingerprint() -> str:
    """Return a digest of the version and of the static files' names, sizes and times."""
    from django.contrib.staticfiles.finders import get_finders

    digest = sha256(__version__.encode())
    for finder in get_finders():
        for name, storage in sorted(finder.list([]), key=lambda found: found[0]):
            about = Path(storage.path(name)).stat()
            digest.update(f"{name}\0{about.st_size}\0{about.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def first_admin_path(minutes: int) -> str | None:
    """Return the path of a new link for the first admin; None when there is an admin.

    Earlier links from a terminal that would make an admin stop working: only the newest start of
    the server lets somebody in.
    """
    from django.utils import timezone

    from winosmith.web._lock import writing
    from winosmith.web.people.accounts import invite
    from winosmith.web.people.models import Invitation, Person

    if Person.objects.filter(is_superuser=True, is_active=True).exists():
        return None
    with writing():
        earlier = Invitation.objects.filter(is_superuser=True, made_by=None, person=None, used=None)
        earlier.update(used=timezone.now())
        return invite(["admin"], minutes)
