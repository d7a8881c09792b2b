"""A site: its folder and what stands there, its key, its settings, its database."""

from __future__ import annotations

import os
import re
import secrets
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields, replace
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from winosmith.errors import InputError, RecipeError, require
from winosmith.records import parsed
from winosmith.solver_rule import SolverRule

BUILT_IN = (SolverRule("association", "association"), SolverRule("hunting", "hunting"))
"""What every site has without a download: word association and knowledge hunting, learnt from what
ships with winosmith. `models = []` in `site.toml` switches them off."""


Review = Literal["none", "flagged", "all"]
Signup = Literal["open", "invited"]


MAIL_PASSWORD = "WINOSMITH_MAIL_PASSWORD"  # noqa: S105 - its name
"""The variable of the environment with the mail server's password, where no file has it."""

Security = Literal["starttls", "tls", "none"]


@dataclass(frozen=True, slots=True)
class Mail:
    """The server that takes the site's mail: the table `[mail]`.

    Attributes:
        host: its name.
        sender: the address that the mails come from.
        port: 587 for "starttls", 465 for "tls", as servers have it.
        user: who logs in there; "" for nobody.
        password_file: with the password on its first line, beside `site.toml` or absolute; "":
            the environment's WINOSMITH_MAIL_PASSWORD. It stands in no setting.
        security: "starttls", "tls" or "none", for a server on the same machine.

    Raises:
        RecipeError: a value is missing, or is none of these.
    """

    host: str = ""
    sender: str = ""
    port: int = 587
    user: str = ""
    password_file: str = ""
    security: Security = "starttls"

    def __post_init__(self) -> None:
        for name in ("host", "sender", "user", "password_file"):
            if not isinstance(getattr(self, name), str):
                raise RecipeError(f"[mail] {name} is a text, not {getattr(self, name)!r}")
        if not self.host or "@" not in self.sender:
            raise RecipeError("[mail] needs host, and sender: the address that mails come from")
        if type(self.port) is not int or not 1 <= self.port <= 65535:
            raise RecipeError(f"[mail] port is a number from 1 to 65535, not {self.port!r}")
        if self.security not in get_args(Security):
            raise RecipeError(f"[mail] security is one of {', '.join(get_args(Security))}")

    @classmethod
    def of(cls, table: Any) -> Mail:
        """Return what a table of TOML says."""
        known = {field.name for field in fields(cls)}
        if not isinstance(table, dict) or set(table) - known:
            raise RecipeError(f"mail is a table, [mail], with some of {', '.join(sorted(known))}")
        return cls(**table)

    def password(self, folder: Path) -> str:
        """Return the password; "" where nobody logs in.

        Raises:
            InputError: the file can't be read.
        """
        if not self.password_file:
            return os.environ.get(MAIL_PASSWORD, "")
        path = folder / self.password_file
        try:
            return path.read_text("utf-8").partition("\n")[0].strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: {error}; [mail] password_file names it") from None


class Unfit(RecipeError):  # noqa: N818
    """A value that a setting can't have; `name` is the setting's."""

    def __init__(self, name: str, told: str):
        self.name = name
        super().__init__(told)


@dataclass(frozen=True, slots=True)
class SiteRules:
    """What a site asks of its people; the numbers are WinoGrande's where section 2 states them.

    Attributes:
        title: the name of the site, at the top of each page.
        contact: how to reach who runs it; shown with the consent text. A mail address may be given
            as a link, and is shown as people know it.
        licence: under which contributors give their sentences.
        language: in which the sentences are written, as browsers name it ("en", "de-AT"): pages in
            another language tell screen readers and spelling checks so.
        judges: how many distinct people judge a problem; odd, so that a majority exists.
        both_halves: one person may judge both halves of a twin. Off: whoever has seen one half
            reads the other as its opposite.
        local_first: the judge answers from the local context alone before reading the whole.
        wait_days: how long a half that was decided waits for the other half to be, so that a twin
            becomes public as a whole; 0 for not at all.
        lease_minutes: how long a problem waits for the judge who took it.
        local_before: the words before the blank that the local context shows.
        signup: "open", or "invited": accounts come by invitation alone.
        open_judging: everyone with an account may judge; off, a moderator makes people judges.
        review: what a moderator must let through before it is judged: "none", "flagged" (what the
            hints or an anonymous writer make worth a look), or "all".
        anonymous: people without an account may write; they never judge.
        gold_every: one problem in so many that a judge sees has a known answer; 0 for none.
        training_questions: with a known answer, before somebody's first vote; 0 for no training.
        training_right: of these, how many must be right; no more than there are.
        hold_pace_seconds: a judge's votes wait for a moderator when half of their last answers
            took less than this many seconds a problem; 0 switches it off.
        hold_pace_over: the last answers that this is taken over.
        hold_gold_percent: votes wait when fewer of a judge's last gold questions are right, in
            percent; 0 switches it off.
        hold_gold_over: the last gold questions that this is taken over.
        hold_accounts: votes wait when so many accounts of one address judge the same problem
            within an hour, and fewer of them are never a majority of its votes; 0 switches both
            off, as for a class behind one address.
        held_most: how many votes of one judge may wait for a moderator; they get no further
            problem beyond that.
        writes_per_hour: how much one person, or one network without an account, may write.
        answers_per_hour: how many judgements one person may give.
        retention_days: how long network digests, drafts and timings are kept.
        goal: how many valid problems the site wants, shown to contributors; 0 for none.
        topics: a folder of texts, a JSONL file or an https address; None for the topics that ship.
        words_to_flag: words that send a sentence to the moderators.
        perturbs_per_hour: how many perturbations one person, or one network without an account,
            may send.
        models: the models that perturbations are sent to; see `SolverRule`.
        model_seconds: how long a model may take for one problem before it is shown as too slow.
        upload_mb: how large a file may be that an admin sends in the browser, in megabytes.
        mail: the server that takes the site's mail; None: it sends none.
        proxies: the proxies in front of a site with a public address: how many, or their addresses
            and networks. Each must add the address that it sees to X-Forwarded-For.

    Raises:
        Unfit: a number out of its range, an unknown word, or two that do not go together.
    """

    title: str = "Winosmith"
    contact: str = ""
    licence: str = "CC-BY-4.0"
    language: str = "en"
    judges: int = 3
    both_halves: bool = False
    local_first: bool = True
    wait_days: int = 14
    lease_minutes: int = 20
    local_before: int = 2
    signup: Signup = "open"
    open_judging: bool = True
    review: Review = "flagged"
    anonymous: bool = True
    gold_every: int = 10
    training_questions: int = 5
    training_right: int = 4
    hold_pace_seconds: int = 3
    hold_pace_over: int = 20
    hold_gold_percent: int = 70
    hold_gold_over: int = 10
    hold_accounts: int = 3
    held_most: int = 50
    writes_per_hour: int = 60
    answers_per_hour: int = 600
    retention_days: int = 90
    goal: int = 0
    topics: str | None = None
    words_to_flag: tuple[str, ...] = ()
    perturbs_per_hour: int = 120
    models: tuple[SolverRule, ...] = BUILT_IN
    model_seconds: int = 20
    upload_mb: int = 20
    mail: Mail | None = None
    proxies: int | tuple[str, ...] = 1

    def __post_init__(self) -> None:
        for name in ("title", "contact", "licence"):
            if not isinstance(getattr(self, name), str):
                raise Unfit(name, f"{name} is a text, not {getattr(self, name)!r}")
        object.__setattr__(self, "contact", self.contact.strip().removeprefix("mailto:"))
        for name, least, most in RANGES:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise Unfit(name, f"{name} is a whole number from {least} to {most}, not {value!r}")
        if self.judges % 2 == 0:
            told = f"judges must be odd, so that a majority exists; not {self.judges}"
            raise Unfit("judges", told)
        if self.training_right > self.training_questions:
            raise Unfit(
                "training_right",
                f"training_right is {self.training_right}, more than the "
                f"{self.training_questions} of training_questions; nobody could pass",
            )
        if self.hold_accounts == 1:
            told = "hold_accounts is 2 or more, or 0 to switch it off; not 1"
            raise Unfit("hold_accounts", told)
        for name, words in (("signup", get_args(Signup)), ("review", get_args(Review))):
            if getattr(self, name) not in words:
                raise Unfit(
                    name, f"{name} is one of {', '.join(words)}; not {getattr(self, name)!r}"
                )
        for name in ("both_halves", "local_first", "open_judging", "anonymous"):
            if not isinstance(getattr(self, name), bool):
                raise Unfit(name, f"{name} is true or false, not {getattr(self, name)!r}")
        if not isinstance(self.language, str) or not _LANGUAGE.fullmatch(self.language):
            raise Unfit("language", f"language reads like en or de-AT, not {self.language!r}")
        if not _are_proxies(self.proxies):
            raise Unfit(
                "proxies",
                f"proxies is a number from 0 to {MOST_PROXIES}, or a list of addresses and "
                f'networks like ["127.0.0.1", "10.0.0.0/24"], not {self.proxies!r}',
            )
        names = [rule.name for rule in self.models]
        if twice := {name for name in names if names.count(name) > 1}:
            told = f"two models are named {min(twice)!r}; each needs its own name"
            raise Unfit("models", told)

    @classmethod
    def read(cls, path: Path) -> SiteRules:
        """Return the settings of a TOML file; without a file, those that are built in.

        Raises:
            RecipeError: the file is no TOML, has an unknown key, or a value out of its range.
        """
        found = _told(path)
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(found) - known):
            raise RecipeError(
                f"{path}: unknown setting {unknown[0]!r}; known are {', '.join(sorted(known))}"
            )
        values = _tuples(found)
        try:
            if "models" in values:
                values["models"] = _models(values["models"])
            if "mail" in values:
                values["mail"] = Mail.of(values["mail"])
            return cls(**values)
        except RecipeError as error:
            raise RecipeError(f"{path}: {error}") from None

    def with_chosen(self, folder: Path, fixed: Collection[str]) -> SiteRules:
        """Return these settings with what admins chose in the browser since.

        Args:
            folder: the site's.
            fixed: what `site.toml` sets, which nothing else changes.

        Raises:
            RecipeError: what was chosen does not go with the rest.
        """
        usual = SiteRules()
        chosen = read_chosen(folder)
        values = {
            name: chosen.get(name, getattr(usual, name)) for name in CHOOSABLE if name not in fixed
        }
        try:
            return replace(self, **values)
        except RecipeError as error:
            raise RecipeError(
                f"{folder / CHOSEN}: {error}; correct it, or site.toml, which goes before it"
            ) from None


CHOSEN = "chosen.json"
"""In the site's folder: the settings that admins chose in the browser."""

CHOOSABLE = (
    "title", "contact", "language", "goal",
    "signup", "open_judging", "anonymous", "review",
    "judges", "local_first", "local_before", "both_halves", "lease_minutes", "wait_days",
    "training_questions", "training_right", "gold_every",
    "hold_pace_seconds", "hold_gold_percent", "hold_accounts",
    "writes_per_hour", "answers_per_hour", "perturbs_per_hour", "words_to_flag",
)  # fmt: skip
"""The settings that may be changed in a browser: none names a file, an address or a program, nor
changes what people agreed to (the licence, how long things are kept)."""


def read_chosen(folder: Path) -> dict[str, Any]:
    """Return what admins chose in the browser, by the names of `SiteRules`.

    Raises:
        RecipeError: the file can't be read, or holds something else.
    """
    path = folder / CHOSEN
    try:
        found = parsed(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise RecipeError(f"{path}: {error}; correct the file, or remove it") from None
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror}; let the server read it") from error
    if not isinstance(found, dict) or not found.keys() <= set(CHOOSABLE):
        raise RecipeError(f"{path} holds other things than settings for the browser; remove it")
    return _tuples(found)


def fixed_settings(folder: Path) -> frozenset[str]:
    """Return the names of the settings that `site.toml` sets.

    Raises:
        RecipeError: it is no TOML.
    """
    return frozenset(_told(folder / "site.toml"))


def _told(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: {error}; correct the file") from None


def _tuples(found: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}


def _models(tables: Any) -> tuple[SolverRule, ...]:
    if not isinstance(tables, tuple):
        raise RecipeError("models is a list of tables, [[models]], or [] for none")
    rules = tuple(map(SolverRule.of, tables))
    for rule in rules:
        if rule.options.get("sees") == "pronoun":
            raise RecipeError(
                f"the solver {rule.name}: what people write on a site has a blank and no pronoun, "
                "so none can be seen; leave sees out"
            )
    return rules


MOST_PROXIES = 9


def _are_proxies(value: Any) -> bool:
    """Tell whether a value is a number of proxies, or names some, and not everybody."""
    if isinstance(value, int) and not isinstance(value, bool):
        return 0 <= value <= MOST_PROXIES
    if not isinstance(value, tuple) or not all(isinstance(name, str) for name in value):
        return False
    try:
        return all(ip_network(name, strict=False).prefixlen for name in value)
    except ValueError:
        return False


_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
"""The forms of BCP 47 (RFC 5646, section 2.1) that name a living language."""

RANGES = (
    ("judges", 1, 99),
    ("wait_days", 0, 3650),
    ("lease_minutes", 1, 24 * 60),
    ("local_before", 0, 50),
    ("gold_every", 0, 1000),
    ("training_questions", 0, 50),
    ("training_right", 0, 50),
    ("hold_pace_seconds", 0, 60),
    ("hold_pace_over", 5, 1000),
    ("hold_gold_percent", 0, 100),
    ("hold_gold_over", 5, 1000),
    ("hold_accounts", 0, 1000),
    ("held_most", 0, 1_000_000),
    ("writes_per_hour", 1, 1_000_000),
    ("answers_per_hour", 1, 1_000_000),
    ("retention_days", 1, 36_500),
    ("goal", 0, 1_000_000_000),
    ("perturbs_per_hour", 1, 1_000_000),
    ("model_seconds", 1, 3600),
    ("upload_mb", 1, 10_000),
)


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
        fixed = fixed_settings(place)
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
    """Tell whether a name is one that `site_files` may yield: it leads nowhere else."""
    return _NAME.fullmatch(name) is not None


def site_files(folder: Path) -> Iterator[str]:
    """Yield what was chosen on a site, its log of erasures, recipes, and files of finished rounds.

    A round that is under way is left out: it goes on from its beginning wherever it is restored.

    Args:
        folder: the site's.

    Yields:
        Names relative to the folder, with "/".
    """
    for name in (CHOSEN, ERASURES):
        if (folder / name).is_file():
            yield name
    for place in (folder / RECIPES, *_finished(folder / ROUNDS)):
        for path in sorted(place.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and not path.is_symlink() and is_site_file(name):
                yield name


def _finished(rounds: Path) -> Iterator[Path]:
    for place in sorted(rounds.glob("*")):
        if (place / DONE).is_file():
            yield place
