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
"""Environment variables by which processes find their site, for Django's settings."""

MIN_KEY_LENGTH = 50
"""Minimum number of characters of the key; Django warns about shorter ones."""


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
        """The name of the file, or of the database on the server; never a password."""
        return urlsplit(self.url).path.lstrip("/") if self.url else self.path.name

    @property
    def shown(self) -> str:
        """The place of the data without a password: an absolute path, or an address."""
        if self.url is None:
            return str(self.path)
        parts = urlsplit(self.url)
        host = parts.hostname or "local socket"
        return f"postgresql://{host}{f':{parts.port}' if parts.port else ''}/{self.name}"


@dataclass(frozen=True, slots=True)
class Site:
    """One site on this machine.

    Attributes:
        folder: The absolute path of the folder.
        secret: The key for sessions and pseudonyms; at least 50 random characters.
        rules: The settings of `site.toml`, and those that admins changed in the browser.
        fixed: The names of the settings in `site.toml`.
        database: The database.
        public_url: The address of the site ("https://twins.example.org"); None on loopback.
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
        """Return the site of a folder; create the folder and the key if they are missing.

        Raises:
            InputError: The folder can't be used, the key is readable by others or missing next to
                a database, or an address is not valid.
            RecipeError: `site.toml`, or the settings from the browser, are not valid.
        """
        place = Path(folder).resolve()
        if place.exists() and not place.is_dir():
            raise InputError(f"{place} is a file; a site needs a folder")
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        if database is not None and not database.startswith(("postgresql://", "postgres://")):
            raise InputError(
                f"{database!r} is not a postgresql:// address; omit `database=` for SQLite"
            )
        if public_url is not None:
            public_url = _check_url(public_url)
        fixed = frozenset(read_settings(place / "site.toml"))
        where = Database(database, place / "site.sqlite3")
        return cls(
            place,
            _read_or_create_key(place / "secret", where),
            SiteRules.read(place / "site.toml").with_chosen(place, fixed),
            where,
            public_url,
            fixed,
        )

    @classmethod
    def from_environment(cls) -> Site:
        """Return the site that the environment of this process names.

        Raises:
            InputError: The environment names no site.
        """
        folder = os.environ.get(FOLDER)
        if not folder:
            raise InputError(f"{FOLDER} names no site; start the platform by `winosmith serve DIR`")
        return cls.open(
            folder,
            database=os.environ.get(DATABASE) or None,
            public_url=os.environ.get(ADDRESS) or None,
        )

    def environment(self) -> dict[str, str]:
        """Return the environment variables by which a process finds this site."""
        return {
            FOLDER: str(self.folder),
            DATABASE: self.database.url or "",
            ADDRESS: self.public_url or "",
            "DJANGO_SETTINGS_MODULE": "winosmith.web.settings",
        }

    def activate(self) -> None:
        """Set up Django for this site, once per process, without reading or writing its data.

        Raises:
            MissingExtraError: The extra `web` (or `postgres`) is not installed.
            InputError: This process already serves another site.
        """
        django = require("django", "web")
        if self.database.url:
            require("psycopg", "postgres")
        from django.conf import settings

        if settings.configured and str(self.folder) != str(settings.SITE.folder):
            raise InputError(f"this process already serves {settings.SITE.folder}")
        os.environ.update(self.environment())
        django.setup()

    def may_listen_on(self, host: str) -> None:
        """Reject a host that others can reach if the site has no public https address.

        Raises:
            InputError: The host is not on loopback, and there is no `public_url`.
        """
        if not _is_loopback(host) and self.public_url is None:
            raise InputError(
                f"{host} can be reached from other machines; give the site's public address as "
                "`public_url='https://…'`, and put a reverse proxy with a certificate in front of "
                "it (docs/how-to/serve.md)"
            )


def _read_or_create_key(path: Path, database: Database) -> str:
    """Return the site's key; create one for a new site, readable only by its owner.

    A missing key of an existing site is never replaced. `hosting.prepare` checks whether the key
    belongs to a PostgreSQL database.
    """
    if not path.exists():
        if database.url is None and database.path.exists() and not path.exists():
            raise InputError(
                f"{path} is missing, but {database.path.name} exists: a new key would change every "
                "pseudonym, and lose the ids of markets; put the file back from a backup "
                f"(tar -xOf BACKUP {path.name}), or restore the whole backup: "
                "winosmith admin restore BACKUP NEW-DIR"
            )
        _create_key(path)
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise InputError(f"{path} is readable by other users; run: chmod 600 {path}")
    key = path.read_text("ascii").strip()
    if len(key) < MIN_KEY_LENGTH:
        raise InputError(f"{path} contains no key; restore it from the backup")
    return key


def _create_key(path: Path) -> None:
    """Write a new key to a temporary file, and link it into place atomically, if there is none."""
    aside = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(48) + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(aside, path)
    except FileExistsError:
        pass  # another process was faster; the site uses its key
    finally:
        aside.unlink()


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
"""Folder in the site's folder for recipes of the admins."""

ROUNDS = "rounds"
"""Folder in the site's folder for files of rounds, with a folder for each."""

DONE = Path("results", "round.json")
"""The last file that a round writes."""

BACKUPS = "backups"
"""Folder in the site's folder for backups that admins requested in the browser."""

ERASURES = "erased.jsonl"
"""File in the site's folder with the log of erasures, which outlives the database."""

RECIPE_NAME = re.compile(r"[\w-]{1,60}")
"""The name of a recipe's file, without ".toml"."""

_NAME = re.compile(
    rf"{re.escape(CHOSEN)}|{re.escape(ERASURES)}|{RECIPES}/{RECIPE_NAME.pattern}\.toml|{ROUNDS}(/\w[\w.-]{{0,99}}){{2,9}}"
)


def is_site_file(name: str) -> bool:
    """Return whether `site_files` may yield a name; such a name stays inside the folder."""
    return _NAME.fullmatch(name) is not None


def site_files(folder: Path) -> Iterator[str]:
    """Yield the settings of admins, the log of erasures, recipes, and files of finished rounds.

    An unfinished round is omitted: on the restored site, it starts again from the beginning.

    Args:
        folder: The site's folder.

    Yields:
        Names relative to the folder, with "/".
    """
    for name in (CHOSEN, ERASURES):
        if (folder / name).is_file():
            yield name
    rounds = (place for place in sorted((folder / ROUNDS).glob("*")) if (place / DONE).is_file())
    for place in (folder / RECIPES, *rounds):
        for path in sorted(place.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and not path.is_symlink() and is_site_file(name):
                yield name
