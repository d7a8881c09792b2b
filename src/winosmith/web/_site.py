"""A site: its folder, its key, its settings, its database."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from winosmith.errors import InputError
from winosmith.extras import require
from winosmith.web._rules import SiteRules

FOLDER, DATABASE, ADDRESS = "WINOSMITH_SITE", "WINOSMITH_DATABASE", "WINOSMITH_PUBLIC_URL"
"""How a site travels to worker processes: by the environment, as Django's settings expect."""

LEAST_KEY = 50
"""Characters; Django warns of anything shorter."""


@dataclass(frozen=True, slots=True)
class Database:
    """Where a site's data are.

    Attributes:
        url: of a PostgreSQL server; None for the file in the site's folder.
        path: the SQLite file, absolute; also set, and unused, with PostgreSQL.
    """

    url: str | None
    path: Path

    @property
    def name(self) -> str:
        """The name of the file, or of the database on the server; never a password."""
        return urlsplit(self.url).path.lstrip("/") if self.url else self.path.name

    @property
    def shown(self) -> str:
        """Where the data are, as a person may read it: an absolute path, or an address."""
        if self.url is None:
            return str(self.path)
        parts = urlsplit(self.url)
        host = parts.hostname or "local socket"
        return f"postgresql://{host}{f':{parts.port}' if parts.port else ''}/{self.name}"


@dataclass(frozen=True, slots=True)
class Site:
    """One site on this machine.

    Attributes:
        folder: absolute.
        secret: the key that signs sessions and makes pseudonyms; 50 random characters or more.
        rules: the settings of `site.toml`.
        database: where the data are.
        public_url: the address under which people reach it ("https://twins.example.org"); None
            on loopback.
    """

    folder: Path
    secret: str
    rules: SiteRules
    database: Database
    public_url: str | None = None

    @classmethod
    def open(
        cls, folder: str | Path, *, database: str | None = None, public_url: str | None = None
    ) -> Site:
        """Return the site of a folder, made when it is not there; the key is generated once.

        Raises:
            InputError: the folder can't be used, the key is readable by others, or an address is
                none.
            RecipeError: `site.toml` can't be used.
        """
        place = Path(folder).resolve()
        if place.exists() and not place.is_dir():
            raise InputError(f"{place} is a file; a site needs a folder")
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        if database is not None and not database.startswith(("postgresql://", "postgres://")):
            raise InputError(
                f"--database {database!r} is no postgresql:// address; leave it out for SQLite"
            )
        if public_url is not None:
            public_url = _checked_url(public_url)
        return cls(
            place,
            _secret(place / "secret"),
            SiteRules.read(place / "site.toml"),
            Database(database, place / "site.sqlite3"),
            public_url,
        )

    @classmethod
    def from_environment(cls) -> Site:
        """Return the site that this process serves.

        Raises:
            InputError: the process was started without one.
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
        """Return what tells a worker process which site it serves."""
        return {
            FOLDER: str(self.folder),
            DATABASE: self.database.url or "",
            ADDRESS: self.public_url or "",
            "DJANGO_SETTINGS_MODULE": "winosmith.web.settings",
        }

    def activate(self) -> None:
        """Set Django up for this site, once a process; nothing is read or written yet.

        Raises:
            MissingExtraError: the extra `web` (or `postgres`) is not installed.
            InputError: this process serves another site already.
        """
        django = require("django", "web")
        if self.database.url:
            require("psycopg", "postgres")
        from django.conf import settings

        if settings.configured and str(self.folder) != str(settings.SITE.folder):
            raise InputError(f"this process serves {settings.SITE.folder} already")
        os.environ.update(self.environment())
        django.setup()

    def may_listen_on(self, host: str) -> None:
        """Refuse an address that others reach without a public https address.

        Raises:
            InputError: the host is not on loopback and there is no `public_url`.
        """
        if not _is_loopback(host) and self.public_url is None:
            raise InputError(
                f"{host} can be reached from other machines; tell under which address people "
                "come, with --public-url https://…, and put a reverse proxy with a certificate "
                "in front (docs/how-to/serve.md)"
            )


def _secret(path: Path) -> str:
    """Return the site's key; it is generated at first, for its owner's eyes alone."""
    if not path.exists():
        _generate(path)
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise InputError(f"{path} can be read by others than its owner; run: chmod 600 {path}")
    key = path.read_text("ascii").strip()
    if len(key) < LEAST_KEY:
        raise InputError(f"{path} holds no key; restore it from the backup")
    return key


def _generate(path: Path) -> None:
    """Write a new key aside and link it into place: whole or not at all, and never over another."""
    aside = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(48) + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(aside, path)
    except FileExistsError:
        pass  # another process was quicker: its key is the site's
    finally:
        aside.unlink()


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    local = parts.scheme == "http" and _is_loopback(parts.hostname or "")
    if not parts.hostname or not (parts.scheme == "https" or local) or parts.path.strip("/"):
        raise InputError(f"--public-url {url!r} must read like https://twins.example.org")
    return f"{parts.scheme}://{parts.netloc}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
