"""A site: its folder with its files, its key, and its database."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from winosmith.errors import InputError, require
from winosmith.web._rules import CHOSEN, SiteRules, read_settings

FOLDER, DATABASE, ADDRESS = "WINOSMITH_SITE", "WINOSMITH_DATABASE", "WINOSMITH_PUBLIC_URL"
"""Environment variables that specify the site of a process; Django's settings read them."""

MIN_KEY_LENGTH = 50
"""Minimum number of characters in the key; Django warns about shorter keys."""


@dataclass(frozen=True, slots=True)
class Database:
    """The database of a site.

    Attributes:
        url: The URL of a PostgreSQL database; None for the SQLite file in the site's folder.
        path: The absolute path of the SQLite file; unused with PostgreSQL.
    """

    url: str | None
    path: Path

    @property
    def name(self) -> str:
        return urlsplit(self.url).path.lstrip("/") if self.url else self.path.name

    @property
    def location(self) -> str:
        """Absolute path of the file, or URL of the database without user and password."""
        return str(self.path) if self.url is None else redact_url(self.url)


def redact_url(url: str) -> str:
    """Return the URL of a PostgreSQL database without user, password and options."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"postgresql://{parts.hostname or 'local socket'}{port}/{parts.path.lstrip('/')}"


@dataclass(frozen=True, slots=True)
class Site:
    """A site on this machine.

    Attributes:
        folder: The absolute path of the folder.
        secret: The key for sessions and pseudonyms; at least 50 random characters.
        rules: The settings from `site.toml`, and those that admins changed in the browser.
        public_url: The public URL of the site ("https://twins.example.org"); None on loopback.
        fixed: The names of the settings in `site.toml`.
    """

    folder: Path
    secret: str
    rules: SiteRules
    database: Database
    public_url: str | None = None
    fixed: frozenset[str] = frozenset()

    @classmethod
    def open(
        cls, folder: str | Path, *, database: str | None = None, public_url: str | None = None
    ) -> Site:
        """Open the site in a folder; create the folder and the key if they are missing."""
        path = Path(folder).resolve()
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is a file; a site needs a folder")
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if database is not None and not database.startswith(("postgresql://", "postgres://")):
            raise InputError(
                f"{database!r} is not a postgresql:// address; omit `database=` for SQLite"
            )
        if public_url is not None:
            public_url = _check_url(public_url)
        fixed = frozenset(read_settings(path / "site.toml"))
        location = Database(database, path / "site.sqlite3")
        return cls(
            path,
            _read_or_create_key(path / "secret", location),
            SiteRules.read(path / "site.toml").with_saved_settings(path, fixed),
            location,
            public_url,
            fixed,
        )

    @classmethod
    def from_environment(cls) -> Site:
        folder = os.environ.get(FOLDER)
        if not folder:
            raise InputError(f"{FOLDER} is not set; start the platform with `winosmith serve DIR`")
        return cls.open(
            folder,
            database=os.environ.get(DATABASE) or None,
            public_url=os.environ.get(ADDRESS) or None,
        )

    def get_environment(self) -> dict[str, str]:
        """Return the environment variables that make a process use this site."""
        return {
            FOLDER: str(self.folder),
            DATABASE: self.database.url or "",
            ADDRESS: self.public_url or "",
            "DJANGO_SETTINGS_MODULE": "winosmith.web.settings",
        }

    def activate(self) -> None:
        """Set up Django for this site, once per process, without reading or writing its data."""
        django = require("django", "web")
        if self.database.url:
            require("psycopg", "postgres")
        from django.conf import settings

        if settings.configured and str(self.folder) != str(settings.SITE.folder):
            raise InputError(f"this process already serves {settings.SITE.folder}")
        os.environ.update(self.get_environment())
        django.setup()

    def check_host(self, host: str) -> None:
        if not _is_loopback(host) and self.public_url is None:
            raise InputError(
                f"{host} can be reached from other machines; give the site's public address as "
                "`public_url='https://…'`, and put a reverse proxy with a certificate in front of "
                "it (docs/how-to/serve.md)"
            )


def _read_or_create_key(path: Path, database: Database) -> str:
    """Return the site's key; create a key for a new site, readable only by its owner.

    If the SQLite database exists without its key, no key is created. `hosting.prepare` checks the
    key against the database.
    """
    if not path.exists():
        # Check again, because another process may have created both in the meantime.
        if database.url is None and database.path.exists() and not path.exists():
            raise InputError(
                f"{path} is missing, but {database.path.name} exists: a new key would change every "
                "pseudonym, and lose the ids of crowd markets; restore the file from a backup "
                f"(tar -xOf BACKUP {path.name}), or restore the whole backup: "
                "winosmith admin restore BACKUP NEW-DIR"
            )
        aside = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(48) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(aside, path)
        except FileExistsError:
            pass  # another process was faster; the site uses the key of that process
        finally:
            aside.unlink()
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise InputError(f"{path} is readable by other users; run: chmod 600 {path}")
    key = path.read_text("ascii").strip()
    if len(key) < MIN_KEY_LENGTH:
        raise InputError(f"{path} contains no key; restore it from a backup")
    return key


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    local = parts.scheme == "http" and _is_loopback(parts.hostname or "")
    path = parts.path.strip("/") if parts.hostname else ""
    if path or not parts.hostname or not (parts.scheme == "https" or local):
        why = f", because a site can't be served under a path ({parts.path})" if path else ""
        raise InputError(
            f"the public address {url!r} can't be used{why}; give one like "
            "`public_url='https://twins.example.org'`"
        )
    return f"{parts.scheme}://{parts.netloc}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


RECIPES = "recipes"
"""Subfolder of the site's folder for the admins' recipes."""

ROUNDS = "rounds"
"""Subfolder of the site's folder with one folder for each round."""

DONE = Path("results", "round.json")
"""The last file that a round writes."""

BACKUPS = "backups"
"""Subfolder of the site's folder for backups that admins request in the browser."""

ERASURES = "erased.jsonl"
"""File in the site's folder with the erasure log, which outlives the database."""

RECIPE_NAME = re.compile(r"[\w-]{1,60}")
"""Pattern of a recipe's file name, without ".toml"."""

_NAME = re.compile(
    rf"{re.escape(CHOSEN)}|{re.escape(ERASURES)}|{RECIPES}/{RECIPE_NAME.pattern}\.toml|{ROUNDS}(/\w[\w.-]{{0,99}}){{2,9}}"
)


def is_site_file(name: str) -> bool:
    """Return whether `iter_site_files` can yield a name. Such a path never leaves the folder."""
    return _NAME.fullmatch(name) is not None


def iter_site_files(folder: Path) -> Iterator[str]:
    """Yield the names of the files that belong in a backup, relative to the folder, with "/".

    These are the settings from the browser, the erasure log, recipes, and files of finished rounds.
    An unfinished round is omitted: on the restored site, it starts from the beginning.
    """
    for name in (CHOSEN, ERASURES):
        if (folder / name).is_file():
            yield name
    rounds = (path for path in sorted((folder / ROUNDS).glob("*")) if (path / DONE).is_file())
    for subfolder in (folder / RECIPES, *rounds):
        for path in sorted(subfolder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and not path.is_symlink() and is_site_file(name):
                yield name
