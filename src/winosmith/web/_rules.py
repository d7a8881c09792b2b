"""The settings of a site, declared once.

A field of `SiteRules` has a range, a default, a meaning and a label. They determine the form in the
browser, the keys of `site.toml` with their errors, the first `site.toml`, the admins' log, and the
page of the reference.
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
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field

from winosmith.errors import InputError, RecipeError
from winosmith.options import OrFalse, Texts, declaration, from_table, schema
from winosmith.records import parse_json
from winosmith.solver_rule import SolverRule

Rules = TypeVar("Rules", bound="SiteRules")


def _(text: str) -> str:
    """Mark a text for the catalogues; the pages translate it."""
    return text


BUILT_IN = (SolverRule("association", "association"), SolverRule("hunting", "hunting"))
"""The models of every site, which need no download: word association and knowledge hunting, trained
on the texts that ship with winosmith. `models = []` in `site.toml` switches them off."""

CHOSEN = "chosen.json"
"""File in the site's folder with the settings that admins changed in the browser."""

MAIL_PASSWORD = "WINOSMITH_MAIL_PASSWORD"  # noqa: S105 - its name
"""The environment variable with the mail server's password, if no file has it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Settings that are shown together.

    Attributes:
        name: The anchor of the group on the page.
        title: The heading.
        lead: The purpose of the settings, in one sentence.
    """

    name: str
    title: str
    lead: str


GROUPS = (
    Group("name", _("Name and contact"), _("People see these on the pages of the site.")),
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
        _("Training, gold questions, and the reasons for which votes wait for a moderator."),
    ),
    Group(
        "limits",
        _("Limits"),
        _("How much one person may send in an hour, and which words moderators read first."),
    ),
)
"""The groups of the form."""

SERVER = Group(
    "server",
    "On the server",
    "Only site.toml sets these: they name files, addresses and programs, or change what people "
    "agreed to.",
)
"""The group of settings that can't be changed in the browser."""


def _setting(group: str, **about: Any) -> Any:
    """Return the pydantic field of a setting, without its type, default and meaning.

    The first sentence of a setting's docstring is its label in the form; the rest is a hint.

    Args:
        group: The name of its group.
        about: `more` if the form shows it only behind "More"; `choices`, the label of each value;
            `example`, a value for `site.toml` if there is no default; and pydantic's arguments for
            its range.
    """
    shown = {name: about.pop(name, None) for name in ("more", "choices", "example")}
    return Field(json_schema_extra={"group": group, **shown}, **about)


_SIGNUP = {"open": _("everyone"), "invited": _("only people with an invitation")}
_REVIEW = {
    "none": _("nothing"),
    "flagged": _("anonymous or unusual sentences"),
    "all": _("everything"),
}

LONGEST = 1000
"""Maximum number of characters of a name, an address, or a word."""

MOST_WORDS = 10_000
"""Words that send a sentence to the moderators."""


def _require(holds: Callable[[Any], object], wanted: str) -> AfterValidator:
    def check(value: Any) -> Any:
        if not holds(value):
            raise ValueError(wanted)
        return value

    return AfterValidator(check)


_IS_ODD = _require(lambda number: number % 2, _("it must be odd, so that a majority exists"))
_IS_NOT_ONE = _require(lambda number: number != 1, _("it must be 2 or more, or 0 for never"))
_IS_MAIL_ADDRESS = _require(
    lambda text: "@" in text, "it must be a mail address, such as twins@example.org"
)
# The forms of BCP 47 (RFC 5646, section 2.1) that name a living language.
_IS_LANGUAGE_TAG = _require(
    re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*").fullmatch,
    _("it must be a language tag, such as en, de or pt-BR"),
)
_IS_SHORT_LIST = _require(
    lambda texts: len(texts) <= MOST_WORDS and all(len(text) <= LONGEST for text in texts),
    _("it must be at most 10,000 words of up to 1,000 characters"),
)


def _are_proxies(value: int | tuple[str, ...]) -> bool:
    try:
        return isinstance(value, int) or all(
            ip_network(name, strict=False).prefixlen for name in value
        )
    except ValueError:
        return False


_ARE_PROXIES = _require(
    _are_proxies, 'it must list addresses and networks, like ["127.0.0.1", "10.0.0.0/24"]'
)


@declaration
class Mail:
    """`[mail]`: the server that sends the site's mail.

    It sends new passwords to people who gave an address, and news to those who want it. Without
    this table the site sends no mail, and asks nobody for an address.
    """

    host: Annotated[str, Field(min_length=1, examples=["mail.example.org"])]
    """Name of the server."""
    sender: Annotated[str, _IS_MAIL_ADDRESS, Field(examples=["twins@example.org"])]
    """Address that the mails come from."""
    port: Annotated[int, Field(ge=1, le=65535)] = 587
    """Port: usually 587 for "starttls" and 465 for "tls"."""
    user: Annotated[str, Field(examples=["twins"])] = ""
    """Name with which the site logs in to the server; empty without a log-in."""
    password_file: Annotated[str, Field(examples=["mail-password"])] = ""
    """File with the password on its first line, relative to the site's folder. If it is empty, the
    environment variable WINOSMITH_MAIL_PASSWORD has the password, which is never a setting."""
    security: Literal["starttls", "tls", "none"] = "starttls"
    """Encryption of the connection; "none" for a server on the same machine."""

    def password(self, folder: Path) -> str:
        """Return the password; "" without a log-in.

        Raises:
            InputError: The file can't be read.
        """
        if not self.password_file:
            return os.environ.get(MAIL_PASSWORD, "")
        path = folder / self.password_file
        try:
            return path.read_text("utf-8").partition("\n")[0].strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: {error}; [mail] password_file names it") from None


Proxies = Annotated[int, Field(ge=0, le=9)] | Texts
Short = Annotated[str, AfterValidator(lambda text: text.strip().removeprefix("mailto:"))]


@declaration
class SiteRules:
    """The settings of a site; the numbers are WinoGrande's if its section 2 states them."""

    title: Annotated[str, _setting("name", min_length=1, max_length=LONGEST)] = "Winosmith"
    """Name of the site. Shown at the top of each page."""
    contact: Annotated[Short, _setting("name", max_length=LONGEST)] = ""
    """How to reach you. A mail address or the address of a page; shown with the consent text and
    below each page."""
    goal: Annotated[int, _setting("name", ge=0, le=1_000_000_000)] = 0
    """Number of valid problems that you want. Shown to contributors; 0 for no goal."""
    language: Annotated[
        str, _setting("name", more=True, min_length=1, max_length=LONGEST), _IS_LANGUAGE_TAG
    ] = "en"
    """Language of the sentences. The tag that browsers use, such as en, de or pt-BR. Screen readers
    and spelling checks go by it."""

    signup: Annotated[Literal["open", "invited"], _setting("people", choices=_SIGNUP)] = "open"
    """Who may sign up. An invitation is a link that you send."""
    open_judging: Annotated[bool, _setting("people")] = True
    """Everyone with an account may judge. If this is off, moderators make people judges."""
    anonymous: Annotated[bool, _setting("people")] = True
    """People without an account may write. They never judge."""
    review: Annotated[Literal["none", "flagged", "all"], _setting("people", choices=_REVIEW)] = (
        "flagged"
    )
    """What a moderator approves before it is judged. A sentence is unusual if a hint says so, or if
    it contains a word that you list under Limits."""

    judges: Annotated[int, _setting("judging", ge=1, le=99), _IS_ODD] = 3
    """Judges of a problem. An odd number, so that a majority exists."""
    local_first: Annotated[bool, _setting("judging")] = True
    """Judges answer from the words around the blank first. Then they read the whole sentence. This
    shows what word association gives away."""
    local_before: Annotated[int, _setting("judging", more=True, ge=0, le=50)] = 2
    """Words before the blank that judges see first. Used if they answer from the words around it
    first."""
    both_halves: Annotated[bool, _setting("judging", more=True)] = False
    """One person may judge both halves of a twin. A person who has seen one half reads the other as
    its opposite."""
    lease_minutes: Annotated[int, _setting("judging", more=True, ge=1, le=24 * 60)] = 20
    """Minutes that a problem waits for its judge. Afterwards another judge gets the problem."""
    wait_days: Annotated[int, _setting("judging", more=True, ge=0, le=3650)] = 14
    """Days that a valid half waits for the other half. The halves then become public together,
    since the answer of one reveals that of the other; 0 for no wait."""

    training_questions: Annotated[int, _setting("trust", ge=0, le=50)] = 5
    """Gold questions of the training. Before a judge's first vote; 0 for no training."""
    training_right: Annotated[int, _setting("trust", ge=0, le=50)] = 4
    """Correct answers that pass the training. At most the number of questions."""
    gold_every: Annotated[int, _setting("trust", ge=0, le=1000)] = 10
    """One problem in this many is a gold question. Judges don't see which; 0 for none."""
    hold_pace_seconds: Annotated[int, _setting("trust", more=True, ge=0, le=60)] = 3
    """Seconds for a problem below which a judge's votes wait. They wait for a moderator if half of
    the judge's last answers took less; 0 for never."""
    hold_gold_percent: Annotated[int, _setting("trust", more=True, ge=0, le=100)] = 70
    """Percent of gold questions correct below which votes wait. Taken over a judge's last gold
    questions; 0 for never."""
    hold_accounts: Annotated[int, _setting("trust", more=True, ge=0, le=1000), _IS_NOT_ONE] = 3
    """Accounts of one address on one problem from which votes wait. Within an hour; fewer accounts
    of one address are never a majority of a problem's votes. 2 or more; 0 for never, as for a class
    in one building."""

    writes_per_hour: Annotated[int, _setting("limits", more=True, ge=1, le=1_000_000)] = 60
    """Twins that one person may write in an hour. Without an account, the limit is for the whole
    network."""
    answers_per_hour: Annotated[int, _setting("limits", more=True, ge=1, le=1_000_000)] = 600
    """Judgements that one person may give in an hour."""
    perturbs_per_hour: Annotated[int, _setting("limits", more=True, ge=1, le=1_000_000)] = 120
    """Perturbations that one person may send in an hour. Without an account, the limit is for the
    whole network."""
    words_to_flag: Annotated[Texts, _setting("limits"), _IS_SHORT_LIST] = ()
    """Words that send a sentence to the moderators."""

    licence: Annotated[str, _setting("server")] = "CC-BY-4.0"
    """The licence under which contributors give their sentences. If it changes, everybody is asked
    again."""
    retention_days: Annotated[int, _setting("server", ge=1, le=36_500)] = 90
    """Number of days for which network digests, drafts and timings are kept."""
    topics: Annotated[OrFalse[str], _setting("server", example="/path/to/texts")] = None
    """A folder of texts, a JSON Lines file or an https address. By default the articles that ship
    with winosmith."""
    hold_pace_over: Annotated[int, _setting("server", ge=5, le=1000)] = 20
    """Number of a judge's last answers that `hold_pace_seconds` is taken over."""
    hold_gold_over: Annotated[int, _setting("server", ge=5, le=1000)] = 10
    """Number of a judge's last gold questions that `hold_gold_percent` is taken over."""
    held_most: Annotated[int, _setting("server", ge=0, le=1_000_000)] = 50
    """Number of one judge's votes that may wait for a moderator. Beyond that the judge gets no
    further problem."""
    model_seconds: Annotated[int, _setting("server", ge=1, le=3600)] = 20
    """Number of seconds that a model may take for one problem before it is shown as too slow."""
    upload_mb: Annotated[int, _setting("server", ge=1, le=10_000)] = 20
    """Size in megabytes of a file that an admin sends in the browser, at most. Commands read any
    size."""
    proxies: Annotated[Proxies, _setting("server"), _ARE_PROXIES] = 1
    """The proxies in front of a site with a public address: their number, or a list of their
    addresses and networks, like ["127.0.0.1", "10.0.0.0/24"]. Each adds the address that it sees to
    X-Forwarded-For; a judge's address is the first one from the right that is not a proxy's."""
    models: tuple[SolverRule, ...] = BUILT_IN
    """The models that predict perturbed sentences."""
    mail: Mail | None = None
    """The server that sends the site's mail."""

    def __post_init__(self) -> None:
        if 0 < self.training_questions < self.training_right:
            refusal = RecipeError(
                f"training_right is {self.training_right}; it must be at most training_questions, "
                f"which is {self.training_questions}; otherwise nobody could pass"
            )
            refusal.key = "training_right"
            refusal.wanted = _(
                "it must be at most the number of questions; otherwise nobody could pass"
            )
            raise refusal

    @classmethod
    def read(cls: type[Rules], path: Path) -> Rules:
        """Return the settings of a TOML file; without a file, the defaults.

        Raises:
            RecipeError: The file is not TOML, or has an unknown key or an invalid value.
        """
        table = read_settings(path)
        try:
            if "models" in table:
                table["models"] = _parse_models(table["models"])
            return from_table(cls, table)
        except RecipeError as error:
            raise RecipeError(f"{path}: {error}") from None

    def with_chosen(self: Rules, folder: Path, fixed: Collection[str]) -> Rules:
        """Return these settings with the current ones from the browser.

        Args:
            folder: The site's folder.
            fixed: The names of the settings in `site.toml`, which take precedence.

        Raises:
            RecipeError: The settings from the browser don't fit the others.
        """
        chosen = read_chosen(folder, type(self))
        keys = editable(type(self))
        values = {
            name: chosen.get(name, keys[name]["default"]) for name in keys if name not in fixed
        }
        try:
            return replace(self, **values)
        except RecipeError as error:
            raise RecipeError(
                f"{folder / CHOSEN}: {error}; correct it, or site.toml, which takes precedence"
            ) from None


def _parse_models(tables: Any) -> tuple[SolverRule, ...]:
    if not isinstance(tables, list):
        raise RecipeError(f"models is {tables!r}; it must be tables, [[models]], or [] for none")
    rules = tuple(map(SolverRule.of, tables))
    for rule in rules:
        if rule.options.get("sees") == "pronoun":
            raise RecipeError(
                f"the solver {rule.name}: sentences on a site have a blank and no pronoun; "
                "remove sees"
            )
    names = [rule.name for rule in rules]
    if twice := {name for name in names if names.count(name) > 1}:
        raise RecipeError(f"two models are named {min(twice)!r}; each needs its own name")
    return rules


def settings_of(group: Group, kind: type = SiteRules) -> dict[str, dict[str, Any]]:
    """Return the settings of a group: the JSON schema of each by its name."""
    found = schema(kind)["properties"]
    return {name: key for name, key in found.items() if key.get("group") == group.name}


def editable(kind: type = SiteRules) -> dict[str, dict[str, Any]]:
    """Return the settings that admins may change in the browser, by name.

    None of them names a file, an address or a program, or changes what people agreed to.
    """
    return {name: key for group in GROUPS for name, key in settings_of(group, kind).items()}


def label_and_hint(key: Mapping[str, Any]) -> tuple[str, str]:
    """Return the label and the hint of a setting, each in one line."""
    label, _stop, rest = describe_setting(key).partition(". ")
    return label.removesuffix("."), rest


def describe_setting(key: Mapping[str, Any]) -> str:
    """Return the meaning of a setting in one line."""
    return " ".join(key["description"].split())


def form_texts() -> Iterator[str]:
    """Yield the texts of the form that come from docstrings, for the catalogues."""
    return (text for key in editable().values() for text in label_and_hint(key) if text)


def read_settings(path: Path) -> dict[str, Any]:
    """Return the keys and values of `site.toml`; {} without the file.

    Raises:
        RecipeError: The file is not TOML.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: {error}; correct the file") from None


def read_chosen(folder: Path, kind: type = SiteRules) -> dict[str, Any]:
    """Return the settings that admins changed in the browser, by name.

    Raises:
        RecipeError: The file can't be read, or has other contents.
    """
    path = folder / CHOSEN
    try:
        found = parse_json(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise RecipeError(f"{path}: {error}; correct the file, or remove it") from None
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror}; let the server read it") from error
    if not isinstance(found, dict) or not found.keys() <= editable(kind).keys():
        raise RecipeError(f"{path} contains other keys than settings of the browser; remove it")
    return found


def settings_template(kind: type = SiteRules) -> str:
    """Return the first `site.toml`: each setting with its meaning and default, commented out.

    If only some words are allowed, each is listed with its label.
    """
    parts = [
        "# The settings of this site, with their defaults. Remove the # before a setting to\n"
        "# change it, and start the server again. Then the browser can't change it.\n"
    ]
    for group in (*GROUPS, SERVER):
        parts.append(f"# {group.title}\n# {'-' * len(group.title)}\n{_format_comment(group.lead)}")
        for name, key in settings_of(group, kind).items():
            value = key["example"] if key["default"] is None else key["default"]
            values = ", ".join(f'"{one}" ({key["choices"][one]})' for one in key.get("enum", ()))
            text = f"{describe_setting(key)} Values: {values}." if values else describe_setting(key)
            parts.append(f"{_format_comment(text)}# {name} = {json.dumps(value)}\n")
    parts.append(
        "# The models that predict perturbed sentences. If the file has any, the site has only\n"
        "# these. Tables are at the end of the file.\n"
        + "#\n".join(
            f'# [[models]]\n# name = "{rule.name}"\n# solver = "{rule.solver}"\n'
            for rule in BUILT_IN
        )
    )
    mail = schema(Mail)
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
