"""The settings of a site, each declared once.

Each field of `SiteRules` has a range, a default, a description and a label. The form in the
browser, the keys of `site.toml` and their errors, the initial `site.toml`, the admins' log and the
reference page are all derived from these.
"""

from __future__ import annotations

import json
import os
import re
import textwrap
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field

from winosmith.errors import InputError, RecipeError
from winosmith.options import OrFalse, Texts, build_schema, declaration, from_table
from winosmith.records import parse_json
from winosmith.solver_rule import SolverRule


def _(text: str) -> str:
    """Mark a message for translation by the pages."""
    return text


BUILT_IN = (SolverRule("association", "association"), SolverRule("hunting", "hunting"))
"""The default models, which need no download: word association and knowledge hunting, trained on
the texts that ship with winosmith. `models = []` in `site.toml` switches them off."""

CHOSEN = "chosen.json"
"""File in the site's folder with the settings that admins changed in the browser."""

MAIL_PASSWORD = "WINOSMITH_MAIL_PASSWORD"  # noqa: S105 - its name
"""Environment variable with the mail server's password, for sites without a password file."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of settings that are shown together.

    Attributes:
        name: The group's anchor on the page.
        lead: The purpose of the settings, in one sentence.
    """

    name: str
    title: str
    lead: str


GROUPS = (
    Group("name", _("Name and contact"), _("These appear on the pages of the site.")),
    Group(
        "people",
        _("Who takes part"),
        _("Who may sign up, write and judge, and what moderators read first."),
    ),
    Group(
        "judging",
        _("How problems are judged"),
        _("How many people judge a problem, and what each of them sees."),
    ),
    Group(
        "trust",
        _("How judges are checked"),
        _("Training, gold questions, and when votes wait for a moderator."),
    ),
    Group(
        "limits",
        _("Limits"),
        _("How much one person may submit in an hour, and which words are flagged for moderators."),
    ),
)

SERVER = Group(
    "server",
    "On the server",
    "These can be set only in site.toml, because they name files, addresses and programs, or "
    "change what people agreed to.",
)
"""The settings that can't be changed in the browser."""


def _setting(group: str, **options: Any) -> Any:
    """Declare the group, the range and the form options of a setting.

    The first sentence of a setting's docstring is its label in the form; the rest is a hint. The
    form shows a setting with `more` only behind "More". `choices` contains the label of each value,
    and `example` a value if there is no default. The other options are pydantic's range arguments.
    """
    shown = {name: options.pop(name, None) for name in ("more", "choices", "example")}
    return Field(json_schema_extra={"group": group, **shown}, **options)


_SIGNUP = {"open": _("everyone"), "invited": _("only people with an invitation")}
_REVIEW = {
    "none": _("none"),
    "flagged": _("anonymous or unusual sentences"),
    "all": _("all"),
}

MAX_LENGTH = 1000
"""Maximum number of characters in a name, an address, or a word."""

MAX_LIST_LENGTH = 10_000
"""Maximum number of words in `SiteRules.words_to_flag`."""


def _make_validator(is_valid: Callable[[Any], object], message: str) -> AfterValidator:
    def validate(value: Any) -> Any:
        if not is_valid(value):
            raise ValueError(message)
        return value

    return AfterValidator(validate)


_MUST_BE_ODD = _make_validator(
    lambda number: number % 2, _("it must be odd, so that a majority exists")
)
_MUST_NOT_BE_ONE = _make_validator(
    lambda number: number != 1, _("it must be 2 or more, or 0 for never")
)
_IS_MAIL_ADDRESS = _make_validator(
    lambda text: "@" in text, "it must be an email address, such as twins@example.org"
)
_IS_CONTACT = _make_validator(
    re.compile(r"$|.*(\S@\S|https?://\S)", re.DOTALL).match,
    _("it must contain an email address or a web address (https://…)"),
)
# The tags of BCP 47 (RFC 5646, section 2.1) for a language in use.
_IS_LANGUAGE_TAG = _make_validator(
    re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*").fullmatch,
    _("it must be a language tag, such as en, de or pt-BR"),
)
_IS_SHORT_LIST = _make_validator(
    lambda texts: len(texts) <= MAX_LIST_LENGTH and all(len(text) <= MAX_LENGTH for text in texts),
    _("it must be at most 10,000 words of up to 1,000 characters"),
)


def _is_proxy_setting(value: int | tuple[str, ...]) -> bool:
    try:
        return isinstance(value, int) or all(ip_network(name, False).prefixlen for name in value)
    except ValueError:
        return False


_IS_PROXY_SETTING = _make_validator(
    _is_proxy_setting, 'it must list addresses and networks, like ["127.0.0.1", "10.0.0.0/24"]'
)


@declaration
class Mail:
    """`[mail]`: the server that sends the site's mail.

    The server sends links for new passwords to people who gave an address. Without this table, the
    site sends no mail and does not ask for addresses.
    """

    host: Annotated[str, Field(min_length=1, examples=["mail.example.org"])]
    """Name of the server."""
    sender: Annotated[str, _IS_MAIL_ADDRESS, Field(examples=["twins@example.org"])]
    """Sender address of the mails."""
    port: Annotated[int, Field(ge=1, le=65535)] = 587
    """Port of the mail server, usually 587 for "starttls" and 465 for "tls"."""
    user: Annotated[str, Field(examples=["twins"])] = ""
    """User name for logging in to the server; empty for no log-in."""
    password_file: Annotated[str, Field(examples=["mail-password"])] = ""
    """File with the password on its first line, relative to the site's folder. If this is empty,
    the password is read from the environment variable WINOSMITH_MAIL_PASSWORD."""
    security: Literal["starttls", "tls", "none"] = "starttls"
    """Encryption of the connection; "none" for a server on the same machine."""

    def read_password(self, folder: Path) -> str:
        if not self.password_file:
            return os.environ.get(MAIL_PASSWORD, "")
        path = folder / self.password_file
        try:
            return path.read_text("utf-8").partition("\n")[0].strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: {error}; correct password_file under [mail]") from None


Proxies = Annotated[int, Field(ge=0, le=9)] | Texts
Short = Annotated[str, AfterValidator(lambda text: text.strip().removeprefix("mailto:"))]


@declaration
class SiteRules:
    """The settings of a site; values in section 2 of the WinoGrande paper are the defaults."""

    title: Annotated[str, _setting("name", min_length=1, max_length=MAX_LENGTH)] = "Winosmith"
    """Name of the site. Shown at the top of each page."""
    contact: Annotated[Short, _setting("name", max_length=MAX_LENGTH), _IS_CONTACT] = ""
    """How to reach you. An email address or the URL of a page; shown with the consent form and
    below each page."""
    language: Annotated[
        str, _setting("name", more=True, min_length=1, max_length=MAX_LENGTH), _IS_LANGUAGE_TAG
    ] = "en"
    """Language of the sentences. A language tag, such as en, de or pt-BR. Screen readers and
    spelling checkers use it."""

    signup: Annotated[Literal["open", "invited"], _setting("people", choices=_SIGNUP)] = "open"
    """Who may sign up. An invitation is a link that you send."""
    open_judging: Annotated[bool, _setting("people")] = True
    """Everyone with an account may judge. If this is off, moderators appoint the judges."""
    anonymous: Annotated[bool, _setting("people")] = True
    """People without an account may write. They never judge."""
    review: Annotated[Literal["none", "flagged", "all"], _setting("people", choices=_REVIEW)] = (
        "flagged"
    )
    """Sentences that a moderator must approve before they are judged. A sentence is unusual if a
    check finds something in it, such as a near-duplicate, a person's name or contact data, or if it
    contains a word that you list under Limits."""

    judges: Annotated[int, _setting("judging", ge=1, le=99), _MUST_BE_ODD] = 3
    """Number of judges per problem. An odd number, so that a majority exists."""
    local_first: Annotated[bool, _setting("judging")] = True
    """Judges first answer from the words around the blank. Then they read the whole sentence. This
    shows whether word association gives the answer away."""
    local_before: Annotated[int, _setting("judging", more=True, ge=0, le=50)] = 2
    """Number of words before the blank that judges see first. Applies only if judges first answer
    from the words around the blank."""
    both_halves: Annotated[bool, _setting("judging", more=True)] = False
    """One person may judge both halves of a twin. A person who has seen one half may read the other
    half as its opposite."""
    lease_minutes: Annotated[int, _setting("judging", more=True, ge=1, le=24 * 60)] = 20
    """Minutes for which a problem is reserved for a judge. Then it can be assigned again."""
    wait_days: Annotated[int, _setting("judging", more=True, ge=0, le=3650)] = 14
    """Days that a valid half waits for the other half. The halves become public together, because
    the answer of one reveals the answer of the other; 0 for no wait."""

    training_questions: Annotated[int, _setting("trust", ge=0, le=50)] = 5
    """Number of gold questions in the training. Judges answer them before their first vote; 0 for
    no training."""
    training_right: Annotated[int, _setting("trust", ge=0, le=50)] = 4
    """Number of correct answers that judges need to pass the training. At most the number of
    questions."""
    gold_every: Annotated[int, _setting("trust", ge=0, le=1000)] = 10
    """One gold question in every … problems. With 10, one problem in ten, on average, is a gold
    question, and judges don't see which one. With 1, judges get all gold questions first; 0 for
    none."""
    hold_pace_seconds: Annotated[int, _setting("trust", more=True, ge=0, le=60)] = 3
    """Minimum number of seconds per problem. If half of a judge's last answers took less time, the
    judge's votes wait for a moderator; 0 for no minimum."""
    hold_gold_percent: Annotated[int, _setting("trust", more=True, ge=0, le=100)] = 70
    """Minimum percentage of correct answers to gold questions. If a judge's last answers are below
    it, the judge's votes wait for a moderator; 0 for no minimum."""
    hold_accounts: Annotated[int, _setting("trust", more=True, ge=0, le=1000), _MUST_NOT_BE_ONE] = 3
    """Hold votes if this many accounts at one IP address judge the same problem. Accounts are
    counted within an hour. Fewer accounts at one address never get a majority of a problem's
    votes. 2 or more; 0 for never, for example for a class in one building."""

    writes_per_hour: Annotated[int, _setting("limits", more=True, ge=1, le=1_000_000)] = 60
    """Number of twins that one person may write in an hour. For people without an account, the
    limit applies to the whole network."""
    answers_per_hour: Annotated[int, _setting("limits", more=True, ge=1, le=1_000_000)] = 600
    """Number of judgements that one person may make in an hour."""
    perturbs_per_hour: Annotated[int, _setting("limits", more=True, ge=1, le=1_000_000)] = 120
    """Number of perturbations that one person may submit in an hour. For people without an account,
    the limit applies to the whole network."""
    words_to_flag: Annotated[Texts, _setting("limits"), _IS_SHORT_LIST] = ()
    """Words that send a sentence to the moderators."""

    licence: Annotated[str, _setting("server")] = "CC-BY-4.0"
    """Licence under which contributors publish their sentences. If it changes, everybody is asked
    to agree again."""
    retention_days: Annotated[int, _setting("server", ge=1, le=36_500)] = 90
    """Number of days for which network digests, drafts and timings are stored."""
    topics: Annotated[OrFalse[str], _setting("server", example="/path/to/texts")] = None
    """Source of the topics: a folder of texts, a JSON Lines file or an https URL. By default, the
    articles that ship with winosmith."""
    hold_pace_over: Annotated[int, _setting("server", ge=5, le=1000)] = 20
    """Number of a judge's most recent answers that are compared with `hold_pace_seconds`."""
    hold_gold_over: Annotated[int, _setting("server", ge=5, le=1000)] = 10
    """Number of a judge's most recent gold questions that are compared with `hold_gold_percent`."""
    held_most: Annotated[int, _setting("server", ge=0, le=1_000_000)] = 50
    """Number of a judge's votes that may wait for a moderator. A judge who reaches this number gets
    no more problems."""
    model_seconds: Annotated[int, _setting("server", ge=1, le=3600)] = 20
    """Number of seconds after which a model that has not answered is shown as too slow."""
    upload_mb: Annotated[int, _setting("server", ge=1, le=10_000)] = 20
    """Maximum size in megabytes of a file that an admin uploads in the browser. Commands read files
    of any size."""
    proxies: Annotated[Proxies, _setting("server"), _IS_PROXY_SETTING] = 1
    """The proxies in front of a site with a public address: their number, or a list of their
    addresses and networks, like ["127.0.0.1", "10.0.0.0/24"]. Each proxy appends its client's
    address to X-Forwarded-For; the rightmost address that is not a proxy's is the judge's."""
    models: tuple[SolverRule, ...] = BUILT_IN
    """The models that predict perturbed sentences."""
    mail: Mail | None = None
    """The server that sends the site's mail."""

    def __post_init__(self) -> None:
        if 0 < self.training_questions < self.training_right:
            refusal = RecipeError(
                f"training_right is {self.training_right}, more than training_questions "
                f"({self.training_questions}), so nobody could pass; lower training_right"
            )
            refusal.key = "training_right"
            refusal.wanted = _(
                "it must be at most the number of training questions, or nobody could pass"
            )
            raise refusal

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the settings in a TOML file, or the defaults if the file does not exist."""
        table = read_settings(path)
        try:
            if "models" in table:
                table["models"] = _parse_models(table["models"])
            return from_table(cls, table)
        except RecipeError as error:
            raise RecipeError(f"{path}: {error}") from None

    def with_saved_settings(self, folder: Path, fixed: Collection[str]) -> Self:
        """Return these settings, overridden by those that admins saved in the browser.

        The settings named in `fixed`, which are in `site.toml`, are not overridden.
        """
        saved = read_saved(folder)
        values = {
            name: saved.get(name, key["default"])
            for name, key in get_editable().items()
            if name not in fixed
        }
        try:
            return replace(self, **values)
        except RecipeError as error:
            raise RecipeError(
                f"{folder / CHOSEN}: {error}; correct it, or site.toml, which takes precedence"
            ) from None


def _parse_models(tables: Any) -> tuple[SolverRule, ...]:
    if not isinstance(tables, list):
        raise RecipeError(
            f"models is {tables!r}; it must be a list of tables ([[models]]), or [] for none"
        )
    rules = tuple(map(SolverRule.parse, tables))
    for rule in rules:
        if rule.options.get("sees") == "pronoun":
            raise RecipeError(
                f"the solver {rule.name} sets 'sees' to 'pronoun', but sentences on a site have a "
                "blank, not a pronoun; remove this setting"
            )
    names = [rule.name for rule in rules]
    if twice := {name for name in names if names.count(name) > 1}:
        raise RecipeError(f"two models are named {min(twice)!r}; rename one")
    return rules


def get_settings(group: Group) -> dict[str, dict[str, Any]]:
    """Return the JSON schemas of a group's settings, by name."""
    found = build_schema(SiteRules)["properties"]
    return {name: key for name, key in found.items() if key.get("group") == group.name}


def get_editable() -> dict[str, dict[str, Any]]:
    """Return the JSON schemas of the settings that admins may change in the browser, by name.

    None of these settings names a file, an address or a program, or changes what people agreed to.
    """
    return {name: key for group in GROUPS for name, key in get_settings(group).items()}


def split_label(key: Mapping[str, Any]) -> tuple[str, str]:
    """Split a setting's description into its label and its hint."""
    label, _stop, rest = describe_setting(key).partition(". ")
    return label.removesuffix("."), rest


def describe_setting(key: Mapping[str, Any]) -> str:
    return " ".join(key["description"].split())


def iter_form_texts() -> Iterator[str]:
    """Yield the form's labels and hints, which are docstrings, for translation."""
    return (text for key in get_editable().values() for text in split_label(key) if text)


def read_settings(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: {error}; correct the file") from None


def read_saved(folder: Path) -> dict[str, Any]:
    """Return the settings that admins saved in the browser, by name."""
    path = folder / CHOSEN
    try:
        found = parse_json(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise RecipeError(f"{path}: {error}; correct the file, or remove it") from None
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror}; make it readable by the server") from error
    if not isinstance(found, dict) or not found.keys() <= get_editable().keys():
        raise RecipeError(f"{path} contains keys that can't be set in the browser; remove the file")
    return found


def render_settings() -> str:
    """Return the initial `site.toml`, in which all settings are described and commented out."""
    parts = [
        "# The settings of this site, with their defaults. Remove the # before a setting to\n"
        "# change it, and start the server again. A setting that is set here can't be\n"
        "# changed in the browser.\n"
    ]
    for group in (*GROUPS, SERVER):
        parts.append(f"# {group.title}\n# {'-' * len(group.title)}\n{_format_comment(group.lead)}")
        for name, key in get_settings(group).items():
            value = key["example"] if key["default"] is None else key["default"]
            values = ", ".join(f'"{one}" ({key["choices"][one]})' for one in key.get("enum", ()))
            text = f"{describe_setting(key)} Values: {values}." if values else describe_setting(key)
            parts.append(f"{_format_comment(text)}# {name} = {json.dumps(value)}\n")
    parts.append(
        "# The models that predict perturbed sentences. If this file lists any, they replace the\n"
        "# defaults below. Keep these tables at the end of the file.\n"
        + "#\n".join(
            f'# [[models]]\n# name = "{rule.name}"\n# solver = "{rule.solver}"\n'
            for rule in BUILT_IN
        )
    )
    mail = build_schema(Mail)
    parts.append(
        _format_comment("T" + describe_setting(mail).removeprefix("`[mail]`: t"))
        + "# [mail]\n"
        + "".join(
            f"# {name} = {json.dumps(key.get('examples', [key.get('default')])[0])}\n"
            for name, key in mail["properties"].items()
        )
    )
    return "\n".join(parts)


def _format_comment(text: str) -> str:
    return textwrap.fill(text, 99, initial_indent="# ", subsequent_indent="# ") + "\n"
