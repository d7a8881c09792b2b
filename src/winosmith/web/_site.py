"""A site: its folder and the files in it, its key, its database."""

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
"""How a site travels to worker processes: by the environment, as Django's settings expect."""

LEAST_KEY = 50
"""Characters; Django warns of anything shorter."""


@dataclass(frozen=True, slots=True)
class Database:
    """Where a site's data are.

    Attributes:
        url: url of a PostgreSQL server; None for the file in the site's folder.
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
        rules: the settings of `site.toml`, and what admins chose in the browser.
        fixed: the names of those that `site.toml` sets.
        database: where the data are.
        public_url: the address under which people reach it ("https://twins.example.org"); None
            on loopback.
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
        """Return the site of a folder, made when it is not there; the key is generated once.

        Raises:
            InputError: the folder can't be used, the key is readable by others or missing next to
                a database, or an address is none.
            RecipeError: `site.toml`, or what was chosen in the browser, can't be used.
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
            public_url = _checked_url(public_url)
        fixed = frozenset(read_settings(place / "site.toml"))
        where = Database(database, place / "site.sqlite3")
        return cls(
            place,
            _secret(place / "secret", where),
            SiteRules.read(place / "site.toml").with_chosen(place, fixed),
            where,
            public_url,
            fixed,
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
                "come, with `public_url='https://…'`, and put a reverse proxy with a certificate "
                "in front (docs/how-to/serve.md)"
            )


def _secret(path: Path, database: Database) -> str:
    """Return the site's key; a new site gets one, for its owner's eyes alone.

    A missing key of a site is never replaced. Whether the key is that of a PostgreSQL database is
    known once that is open (`hosting.prepare`).
    """
    if not path.exists():
        if database.url is None and database.path.exists() and not path.exists():
            raise InputError(
                f"{path} is missing, but {database.path.name} exists: a new key would change every "
                "pseudonym, and lose the ids of markets; put the file back from a backup "
                f"(tar -xOf BACKUP {path.name}), or restore the whole backup: "
                "winosmith admin restore BACKUP NEW-DIR"
            )
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
    path = parts.path.strip("/") if parts.hostname else ""
    if path or not parts.hostname or not (parts.scheme == "https" or local):
        why = f", for a site can't be served under a path ({parts.path})" if path else ""
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
"""In the site's folder: what its admins put there."""

ROUNDS = "rounds"
"""In the site's folder: what the rounds keep there, a folder each."""

DONE = Path("results", "round.json")
"""Written when all else of a round is there."""

BACKUPS = "backups"
"""In the site's folder: those that admins asked for in the browser."""

ERASURES = "erased.jsonl"
"""In the site's folder: the log of erasures, which outlives the database that it is about."""

RECIPE_NAME = re.compile(r"[\w-]{1,60}")
"""Of a recipe's file, before ".toml"."""

_NAME = re.compile(
    rf"{re.escape(CHOSEN)}|{re.escape(ERASURES)}|{RECIPES}/{RECIPE_NAME.pattern}\.toml|{ROUNDS}(/\w[\w.-]{{0,99}}){{2,9}}"
)


def is_site_file(name: str) -> bool:
    """Return whether a name is one that `site_files` may yield: it leads nowhere else."""
    return _NAME.fullmatch(name) is not None


def site_files(folder: Path) -> Iterator[str]:
    """Yield what was chosen on a site, its log of erasures, recipes, and files of finished rounds.

    A round that is under way is omitted: it continues from its beginning wherever it is restored.

    Args:
        folder: the site's.

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
