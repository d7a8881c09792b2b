"""`About`: what the people who release a benchmark say of it, read from release.toml."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from winosmith.errors import RecipeError
from winosmith.records import read_toml
from winosmith.release._licences import TERMS, terms_of
from winosmith.release._questions import KEYS

__all__ = ["About", "DataSource", "about_of", "read_about"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"\d+(\.\d+){1,2}([.-]?[A-Za-z0-9]+)*")
_NEEDED = ("name", "version", "date", "title", "description", "licence", "language", "authors")


@dataclass(frozen=True)
class DataSource:
    """Where problems come from, and what may be done with them.

    Attributes:
        name: as `origin.source` has it; "*" for problems of no other source that is named.
        licence: an SPDX identifier, or LicenseRef-… with `terms`.
        attribution: whom to name, and how.
        url: where the source is.
        terms: what an unknown licence asks for; see `winosmith.release`.
        permission: why it may be in a release whose licence does not fit: whose word it is.
    """

    name: str
    licence: str
    attribution: str = ""
    url: str = ""
    terms: tuple[str, ...] = ()
    permission: str = ""

    @property
    def asks(self) -> frozenset[str]:
        """What the licence asks for."""
        return frozenset(self.terms) | (terms_of(self.licence) or frozenset())


@dataclass(frozen=True)
class About:
    """What the people who release a benchmark say of it; an empty text is "not stated".

    Attributes:
        name, version, date: of the release; the date is ISO 8601's and the only one in it.
        title, description: in words.
        licence: of the whole, an SPDX identifier or LicenseRef-… with `terms`.
        language: codes such as "en".
        authors: who made it, as they wish to be named.
        source: where the problems come from.
        homepage, citation, contact, intended_use, known_limits: texts.
        terms: what an unknown licence asks for.
        judges: "count", or "pseudonyms" to publish who judged a problem too.
        datasheet: answers to the datasheet's questions, by their keys.
        withdrawn: the reason for withdrawing a problem, by its id.
        restored: ids that were withdrawn and come back.
    """

    name: str
    version: str
    date: str
    title: str
    description: str
    licence: str
    language: tuple[str, ...]
    authors: tuple[str, ...]
    source: tuple[DataSource, ...]
    homepage: str = ""
    citation: str = ""
    contact: str = ""
    intended_use: str = ""
    known_limits: str = ""
    terms: tuple[str, ...] = ()
    judges: str = "count"
    datasheet: Mapping[str, str] = field(default_factory=dict)
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    restored: tuple[str, ...] = ()

    @property
    def asks(self) -> frozenset[str]:
        """What the licence asks for."""
        return frozenset(self.terms) | (terms_of(self.licence) or frozenset())

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it: the table that `about_of` takes."""
        record = {key: value for key, value in asdict(self).items() if value not in ("", (), {})}
        lists = {k: list(v) for k, v in record.items() if isinstance(v, tuple)}
        sources = [
            {k: list(v) if isinstance(v, tuple) else v for k, v in table.items() if v}
            for table in record["source"]
        ]
        return {**record, **lists, "source": sources}


def read_about(path: str | Path, *, version: str | None = None) -> About:
    """Read a release.toml.

    Args:
        path: the file; `winosmith release --template` prints one.
        version: in place of the file's.

    Raises:
        RecipeError: a key is unknown, missing or not as it should be.
    """
    table = read_toml(path)
    try:
        return about_of({**table, **({"version": version} if version else {})})
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}") from None


def about_of(table: Mapping[str, Any]) -> About:
    """Return what a table says.

    Raises:
        RecipeError: a key is unknown, missing or not as it should be.
    """
    given = {key: _plain(key, value) for key, value in table.items()}
    _known(given, About, "")
    missing = [key for key in (*_NEEDED, "source") if not given.get(key)]
    if missing:
        raise RecipeError(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; "
            "`winosmith release --template` shows every key"
        )
    about = About(**{**given, "source": tuple(_sources(given["source"]))})
    _check(about)
    return about


def _plain(key: str, value: Any) -> Any:
    """Return a value of a table as `About` holds it; raise RecipeError when it has another form."""
    if isinstance(value, datetime.date) and key == "date":
        return value.isoformat()[:10]
    kinds = {known.name: str(known.type) for known in fields(About)}
    kind = kinds.get(key, "")
    if kind.startswith("tuple[str"):
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            raise RecipeError(f"{key} must be a list of texts, not {value!r}")
        return tuple(value)
    if kind.startswith("Mapping"):
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise RecipeError(f"{key} must be a table of texts, not {value!r}")
        return dict(value)
    if kind == "str" and not isinstance(value, str):
        raise RecipeError(f"{key} must be a text, not {value!r}")
    return value.strip() if isinstance(value, str) else value


def _sources(tables: Any) -> list[DataSource]:
    if not isinstance(tables, list | tuple) or not all(isinstance(t, dict) for t in tables):
        raise RecipeError("source must be written as tables: [[source]]")
    made = []
    for table in tables:
        _known(table, DataSource, "source.")
        for key in ("name", "licence"):
            if not isinstance(table.get(key), str) or not table[key].strip():
                raise RecipeError(f"a source has no {key}; each needs a name and a licence")
        terms = _plain("terms", table.get("terms", ()))
        texts = {k: v for k, v in table.items() if k != "terms"}
        for key, value in texts.items():
            if not isinstance(value, str):
                raise RecipeError(f"source.{key} must be a text, not {value!r}")
        made.append(DataSource(**texts, terms=terms))
    names = [source.name for source in made]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RecipeError(f"the source {twice!r} stands there twice; give it one table")
    return made


def _known(table: Mapping[str, Any], kind: type, prefix: str) -> None:
    names = [known.name for known in fields(kind)]
    for key in table:
        if key not in names:
            raise RecipeError(f"{prefix}{key} is unknown; the keys are {', '.join(names)}")


def _check(about: About) -> None:
    if not _NAME.fullmatch(about.name):
        raise RecipeError(f"name is {about.name!r}; letters, digits, '-', '_' and '.' make one")
    if not _VERSION.fullmatch(about.version):
        raise RecipeError(f"version is {about.version!r}; one like 1.0.0 is needed")
    try:
        datetime.date.fromisoformat(about.date)
    except ValueError:
        raise RecipeError(f"date is {about.date!r}; one like 2026-11-21 is needed") from None
    if about.judges not in ("count", "pseudonyms"):
        raise RecipeError(f"judges is {about.judges!r}; it is 'count' or 'pseudonyms'")
    bad = next(
        (code for code in about.language if not re.fullmatch(r"[a-z]{2,3}(-\w+)*", code)), ""
    )
    if bad:
        raise RecipeError(f"language has {bad!r}; codes such as 'en' are needed")
    unknown = next((key for key in about.datasheet if key not in KEYS), None)
    if unknown is not None:
        raise RecipeError(f"datasheet.{unknown} is unknown; the keys are {', '.join(KEYS)}")
    for what, licence, terms in (
        ("licence", about.licence, about.terms),
        *((f"the licence of source {s.name!r}", s.licence, s.terms) for s in about.source),
    ):
        _check_licence(what, licence, terms)


def _check_licence(what: str, licence: str, terms: tuple[str, ...]) -> None:
    odd = next((term for term in terms if term not in TERMS), None)
    if odd is not None:
        raise RecipeError(f"terms has {odd!r}; they are {', '.join(TERMS)}")
    if terms_of(licence) is None and not licence.startswith("LicenseRef-"):
        raise RecipeError(
            f"{what} is {licence!r}, which is not known; use an SPDX identifier such as CC-BY-4.0, "
            "or LicenseRef-… with the terms that it asks for: terms = ['attribution']"
        )
