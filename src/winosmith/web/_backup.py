"""Back up a site to one archive while the site runs, and restore it.

An archive is a snapshot. It contains `manifest.json` (versions, checksums), `secret`, `site.toml`,
`site.sqlite3` or `database.pgdump`, the recipes, and the files of finished rounds. Anyone who can
read an archive can control the site, so only the archive's owner has permission to read it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from winosmith import __version__
from winosmith.errors import InputError, OutputError, require
from winosmith.outputs import make_write_error, sha256
from winosmith.records import parse_json
from winosmith.web._site import BACKUPS, ERASURES, Site, is_site_file, iter_site_files, redact_url

LAYOUT = 1
"""Version of the archive layout. An archive with a higher version needs a newer winosmith."""

MANIFEST, SECRET, SETTINGS = "manifest.json", "secret", "site.toml"
DUMPS = {"sqlite": "site.sqlite3", "postgresql": "database.pgdump"}
MAX_MANIFEST_SIZE = 10_000_000

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of an archive.

    Attributes:
        database: "sqlite" or "postgresql".
        made: The time of the backup in UTC, in ISO 8601.
        version: The version of winosmith that made the backup.
        files: The SHA-256 checksum of each file, by name.
    """

    database: str
    made: str
    version: str
    files: dict[str, str]


def backup(site: Site, file: str | Path) -> Manifest:
    """Write a snapshot of the site to an archive, without interrupting the site.

    The file appears only when the archive is complete, and only its owner can read it. An archive
    with the extension .gz or .tgz is compressed.
    """
    path = Path(file)
    if path.exists():
        raise OutputError(
            f"{path} already exists; name a new file, such as site-$(date +%F).tar.gz"
        )
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_write_error(error, path) from error
    with _make_temporary_folder(path) as folder:
        kind = "postgresql" if site.database.url else "sqlite"
        dump = folder / DUMPS[kind]
        if site.database.url:
            dump_postgresql(site.database.url, dump)
        else:
            copy_sqlite(site.database.path, dump)
        _write_file(folder / SECRET, (site.folder / "secret").read_bytes())
        settings = site.folder / SETTINGS
        _write_file(folder / SETTINGS, settings.read_bytes() if settings.exists() else b"")
        names = [SECRET, SETTINGS, dump.name]
        for name in iter_site_files(site.folder):
            # The site replaces these files and never changes them in place, so each copy is
            # complete. Files that are deleted in the meantime are omitted.
            with suppress(FileNotFoundError), (site.folder / name).open("rb") as source:
                _create_parent_folders(folder, name)
                with _create_file(folder / name) as file_:
                    shutil.copyfileobj(source, file_, CHUNK_BYTES)
                names.append(name)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        files = {name: sha256(folder / name) for name in names}
        about = {"layout": LAYOUT, "winosmith": __version__, "made": made, "database": kind}
        text = json.dumps({**about, "files": files}, indent=2) + "\n"
        _write_file(folder / MANIFEST, text.encode())
        archive = folder / "archive"
        compressed = path.suffix in (".gz", ".tgz")
        mode, level = ("w:gz", {"compresslevel": 6}) if compressed else ("w:", {})
        with (
            _create_file(archive) as output,
            tarfile.open(fileobj=output, mode=mode, **level) as tar,  # type: ignore[call-overload]
        ):
            for name in (MANIFEST, *names):
                tar.add(folder / name, name, recursive=False, filter=_remove_owner)
        os.link(archive, path)  # this never replaces a file that was created in the meantime
        _sync_folder(path.absolute().parent)
    return Manifest(kind, made, __version__, files)


def restore(
    file: str | Path,
    folder: str | Path,
    *,
    database: str | None = None,
    erased: str | Path | None = None,
) -> Manifest:
    """Restore a site from an archive, completely or not at all.

    All log-ins, invitations and password links are revoked: some may have been revoked
    since the backup, and other people may have read the archive.

    `database` is the URL of an empty PostgreSQL database, if the archived site used PostgreSQL.
    `erased` is the site's erasure log, or the folder that contains it. By default, this is the log
    next to the archive, or the log in the site's folder if the archive is in its backup folder.
    """
    path, target = Path(file), Path(folder).absolute()
    logs = _find_erasure_logs(path, erased)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputError(f"{target} is not empty; restore into a new folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    with _make_temporary_folder(target) as aside:
        contents = _extract_archive(path, aside)
        if contents.database == "sqlite":
            if database:
                raise InputError(f"{path} contains an SQLite database; omit `database=`")
            check_sqlite(aside / DUMPS["sqlite"])
            with closing(sqlite3.connect(aside / DUMPS["sqlite"])) as connection, connection:
                for statement in REVOCATIONS:
                    connection.execute(statement)
        elif database:
            restore_postgresql(database, aside / DUMPS["postgresql"])
            (aside / DUMPS["postgresql"]).unlink()
        else:
            raise InputError(
                f"{path} contains a PostgreSQL database; create an empty database (createdb), and "
                "give its URL as `database='postgresql://…'`"
            )
        if logs:
            with (aside / ERASURES).open("ab") as file_:
                os.fchmod(file_.fileno(), 0o600)
                file_.writelines(b"\n" + log.read_bytes() for log in logs)
        target.mkdir(mode=0o700, exist_ok=True)
        aside.replace(target)  # this only replaces an empty folder
        _sync_folder(target.parent)
    return contents


def _find_erasure_logs(file: Path, erased: str | Path | None) -> list[Path]:
    if erased is None:
        homes = [file.absolute().parent]
        homes += [homes[0].parent] if homes[0].name == BACKUPS else []
        return [log for home in homes if (log := home / ERASURES).is_file()]
    log = Path(erased) / ERASURES if Path(erased).is_dir() else Path(erased)
    if not log.is_file():
        raise InputError(f"{log} does not exist; give the folder of the site that was backed up")
    return [log]


REVOCATIONS = (
    "DELETE FROM people_session",
    "UPDATE people_invitation SET used = CURRENT_TIMESTAMP WHERE used IS NULL",
    "DELETE FROM run_job WHERE kind = 'mail'",
)
"""SQL statements for SQLite and PostgreSQL that revoke all access without a password."""


@contextmanager
def _make_temporary_folder(path: Path) -> Iterator[Path]:
    prefix, parent = f".{path.name}-", path.absolute().parent
    try:
        folder = tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}; choose another folder") from None
    with folder as name:
        yield Path(name)


def _create_parent_folders(folder: Path, name: str) -> None:
    for parent in reversed(PurePosixPath(name).parents[:-1]):
        (folder / parent).mkdir(mode=0o700, exist_ok=True)


@contextmanager
def _create_file(path: Path) -> Iterator[BinaryIO]:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _write_file(path: Path, data: bytes) -> None:
    with _create_file(path) as file:
        file.write(data)


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _remove_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member


def _extract_archive(path: Path, folder: Path) -> Manifest:
    """Extract the files that the manifest lists, and check their checksums.

    File modes in the archive are ignored, and links are refused.
    """
    try:
        with tarfile.open(path, "r:*") as tar:
            first = tar.next()
            contents = _read_manifest(path, tar, first)
            wanted = dict(contents.files)
            for member in tar:
                if member.name == MANIFEST and member is first:
                    continue
                if member.name not in wanted or not member.isfile():
                    raise InputError(
                        f"{path} contains {member.name!r}, which does not belong in a site backup"
                    )
                _create_parent_folders(folder, member.name)
                _extract_member(path, tar, member, folder / member.name, wanted.pop(member.name))
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        if isinstance(error, FileNotFoundError) and not path.exists():
            raise InputError(
                f"{path} does not exist; give a file written by `winosmith admin backup`"
            ) from (None)
        raise InputError(
            f"{path} can't be read as a backup ({error}); use another backup"
        ) from None
    if wanted:
        raise InputError(
            f"{path} is incomplete: {', '.join(wanted)} is missing; use another backup"
        )
    return contents


def _read_manifest(path: Path, tar: tarfile.TarFile, member: tarfile.TarInfo | None) -> Manifest:
    no_backup = InputError(
        f"{path} is not a backup of a site; give a file written by `winosmith admin backup`"
    )
    if member is None or member.name != MANIFEST or not 0 < member.size < MAX_MANIFEST_SIZE:
        raise no_backup
    file = tar.extractfile(member)
    if file is None:
        raise no_backup
    about: Any = parse_json(file.read().decode())
    try:
        if about["layout"] > LAYOUT:
            raise InputError(
                f"{path} was made by winosmith {about['winosmith']}, but this is {__version__}; "
                "install that version or a newer one"
            )
        names = {SECRET, SETTINGS, DUMPS[about["database"]]}
        files = {str(name): str(digest) for name, digest in about["files"].items()}
        contents = Manifest(about["database"], str(about["made"]), str(about["winosmith"]), files)
    except (KeyError, TypeError, AttributeError):
        raise no_backup from None
    if not names <= set(files) or not all(map(is_site_file, set(files) - names)):
        raise no_backup
    return contents


def _extract_member(
    path: Path, tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path, checksum: str
) -> None:
    if member.size > shutil.disk_usage(target.parent).free:
        raise InputError(f"{path} needs {member.size:,} bytes of disk space; free some space")
    source = tar.extractfile(member) or io.BytesIO()
    digest = hashlib.sha256()
    with _create_file(target) as file:
        while piece := source.read(CHUNK_BYTES):
            digest.update(piece)
            file.write(piece)
    if digest.hexdigest() != checksum:
        raise InputError(
            f"{path} is damaged: the checksum of {member.name} is wrong; use another backup"
        )


def copy_sqlite(source: Path, target: Path) -> None:
    if not source.exists():
        raise InputError(f"{source} does not exist; there is nothing to back up yet")
    _write_file(target, b"")
    try:
        with (
            closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True, timeout=60)) as live,
            closing(sqlite3.connect(target)) as copy,
        ):
            # Copying all pages in one step gives a single snapshot, and WAL mode blocks no writer.
            live.backup(copy, pages=-1)
            copy.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.DatabaseError as error:
        raise InputError(f"{source} can't be read: {error}; restore an earlier backup") from None
    check_sqlite(target)


def check_sqlite(path: Path) -> None:
    """Raise InputError if a database is damaged or does not belong to a site."""
    try:
        with closing(sqlite3.connect(path)) as database:
            result = database.execute("PRAGMA quick_check(1)").fetchone()[0]
            database.execute("SELECT count(*) FROM django_migrations")
    except sqlite3.DatabaseError as error:
        result = str(error)
    if result != "ok":
        raise InputError(f"the database is damaged ({result}); restore an earlier backup")


def dump_postgresql(url: str, target: Path) -> None:
    _write_file(target, b"")
    options = ("--format=custom", "--no-owner", "--no-privileges")
    _run_program(url, "pg_dump", *options, f"--file={target}")


def restore_postgresql(url: str, dump: Path) -> None:
    psycopg, place = require("psycopg", "postgres"), redact_url(url)
    try:
        with psycopg.connect(url) as connection:
            tables = connection.execute(
                "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
            ).fetchone()[0]
    except psycopg.OperationalError as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(f"{place} can't be reached: {reason}; check the address") from None
    if tables:
        raise InputError(
            f"{place} already has {tables} tables; restore into an empty database (createdb)"
        )
    options = ("--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction")
    _run_program(url, "pg_restore", *options, str(dump))
    with psycopg.connect(url) as connection:
        for statement in REVOCATIONS:
            connection.execute(statement)
        # A dump contains no statistics, without which the server chooses slow query plans.
        connection.execute("ANALYZE")


def _run_program(url: str, program: str, *arguments: str) -> None:
    """Run a PostgreSQL program, and pass the password only in its environment."""
    path = shutil.which(program)
    if path is None:
        homes = Path("/usr/lib/postgresql").glob(f"*/bin/{program}")
        newest = max(homes, key=lambda home: float(home.parts[4]), default=None)
        if newest is None:
            raise InputError(f"{program} is not installed; install PostgreSQL's client programs")
        path = str(newest)
    parts = urlsplit(url)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    if parts.username:
        bare = bare._replace(netloc=f"{parts.username}@{bare.netloc}")
    environment = dict(os.environ)
    if parts.password:
        environment["PGPASSWORD"] = unquote(parts.password)
    command = [path, f"--dbname={bare.geturl()}", "--no-password", *arguments]
    done = subprocess.run(  # noqa: S603 - no shell; the address is the admin's
        command, capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        reason = lines[0] if lines else f"exit code {done.returncode}"
        raise InputError(f"{program} failed on {redact_url(url)}: {reason}")
