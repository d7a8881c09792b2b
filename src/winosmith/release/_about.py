"""Read `About`, the makers' description of a benchmark, from release.toml.

The datasheet's questions in `TEMPLATE` are reworded from Gebru et al. (2021, sections 3.1 to 3.7).
Licence terms are taken from the licences' texts, and identifiers from SPDX. The licence check finds
oversights. It is not legal advice.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Mapping
from dataclasses import field
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from winosmith.errors import RecipeError
from winosmith.options import Texts, declaration, from_table, match_pattern
from winosmith.records import read_toml

Term = Literal["attribution", "share-alike", "non-commercial", "no-derivatives"]

_TERMS = {
    frozenset[str](): "CC0-1.0 PDDL-1.0 Unlicense 0BSD MIT-0",
    frozenset({"attribution"}): "MIT ISC Apache-2.0 BSD-2-Clause BSD-3-Clause ODC-By-1.0 "
    "CDLA-Permissive-1.0 CDLA-Permissive-2.0",
    frozenset({"attribution", "share-alike"}): "ODbL-1.0 CDLA-Sharing-1.0 MPL-2.0 GPL-2.0-only "
    "GPL-2.0-or-later GPL-3.0-only GPL-3.0-or-later LGPL-3.0-only LGPL-3.0-or-later "
    "AGPL-3.0-only AGPL-3.0-or-later",
}

_CREATIVE_COMMONS = re.compile(r"CC-BY(-NC)?(-SA|-ND)?-([1234]\.[05])")
"""The Creative Commons licences whose names contain their terms: all except CC0."""

_COMPATIBLE = {
    "CC-BY-SA-4.0": ("GPL-3.0-only", "GPL-3.0-or-later"),
    "GPL-2.0-or-later": ("GPL-3.0-only", "GPL-3.0-or-later"),
    "GPL-3.0-or-later": ("GPL-3.0-only", "AGPL-3.0-only", "AGPL-3.0-or-later"),
    "GPL-3.0-only": ("AGPL-3.0-only",),
}
"""Other licences under which a share-alike work may be redistributed, according to its licence or
to Creative Commons' list of compatible licences (2015)."""

_HUB_LICENCES = frozenset(
    "cc0-1.0 mit isc apache-2.0 bsd-2-clause bsd-3-clause mpl-2.0 unlicense cc-by-2.0 cc-by-2.5 "
    "cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 "
    "cc-by-nd-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 "
    "odc-by odbl pddl gpl-2.0 gpl-3.0 lgpl-3.0 agpl-3.0 cdla-permissive-1.0 cdla-permissive-2.0 "
    "cdla-sharing-1.0".split()
)
"""The identifiers of licences on the Hugging Face hub."""


def get_licence_terms(licence: str) -> frozenset[str] | None:
    """Return the terms of a licence, or None if it is unknown.

    >>> sorted(get_licence_terms("CC-BY-NC-SA-4.0")), get_licence_terms("Ours-1")
    (['attribution', 'non-commercial', 'share-alike'], None)
    """
    if found := _CREATIVE_COMMONS.fullmatch(licence):
        more = {"-SA": "share-alike", "-ND": "no-derivatives", "-NC": "non-commercial"}
        return frozenset({"attribution", *(more[part] for part in found.groups()[:2] if part)})
    return next((terms for terms, names in _TERMS.items() if licence in names.split()), None)


def explain_conflict(
    inner: str, inner_terms: Collection[str], outer: str, outer_terms: Collection[str]
) -> str | None:
    """Explain why a work under `inner` can't be redistributed under `outer`; None if it can.

    >>> explain_conflict("ODbL-1.0", ["share-alike"], "CC-BY-4.0", ["attribution"])
    'ODbL-1.0 is share-alike: a work that contains it must be under ODbL-1.0 too, not CC-BY-4.0'
    """
    if inner == outer:
        return None
    if "no-derivatives" in inner_terms:
        return f"{inner} allows no adaptation: it can't be redistributed under {outer}"
    if "share-alike" in inner_terms:
        allowed = [inner]
        if found := _CREATIVE_COMMONS.fullmatch(inner):
            stem, version = inner.removesuffix(found[3]), found[3]
            later = [v for v in ("2.0", "2.5", "3.0", "4.0") if v > version >= "2.0"]
            allowed += [f"{stem}{v}" for v in later]
        allowed += [other for name in allowed for other in _COMPATIBLE.get(name, ())]
        if outer not in allowed:
            names = ", ".join(allowed[:-1]) + " or " * (len(allowed) > 1) + allowed[-1]
            return (
                f"{inner} is share-alike: a work that contains it must be under {names} too, not "
                f"{outer}"
            )
    for term, why in (
        ("non-commercial", "forbids commercial use"),
        ("attribution", "asks for attribution"),
    ):
        if term in inner_terms and term not in outer_terms:
            return f"{inner} {why}, but {outer} does not"
    return None


def get_hub_licence(licence: str) -> str:
    """Return the identifier of a licence on the Hugging Face hub, or "other".

    >>> get_hub_licence("GPL-3.0-only"), get_hub_licence("LicenseRef-ours")
    ('gpl-3.0', 'other')
    """
    name = re.sub(r"-(only|or-later)$", "", licence.lower())
    return next((one for one in (name, name.removesuffix("-1.0")) if one in _HUB_LICENCES), "other")


TEMPLATE = files("winosmith.release").joinpath("templates/release.toml").read_text("utf-8")
"""Template of release.toml with every key; the optional keys are commented out."""

SECTIONS = {
    title: dict(re.findall(r'# (\w+) = ""  # (.*)\n', questions))
    for title, questions in re.findall(r"# # (.*)\n((?:# \w+ = .*\n)+)", TEMPLATE)
}
"""Map each section title of the datasheet to its questions, which are listed by answer key."""

QUESTION_KEYS = tuple(key for questions in SECTIONS.values() for key in questions)

Text = Annotated[str, Field(min_length=1), StringConstraints(strip_whitespace=True)]
Stated = Annotated[str, StringConstraints(strip_whitespace=True)]
Listed = BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
Terms = Annotated[tuple[Term, ...], Listed, Field(strict=False)]


def _check_date(date: str) -> str:
    try:
        datetime.date.fromisoformat(date)
    except ValueError:
        raise ValueError("it must be a date such as 2026-11-21") from None
    return date


def _check_questions(answers: Mapping[str, str]) -> Mapping[str, str]:
    if unknown := [key for key in answers if key not in QUESTION_KEYS]:
        raise ValueError(
            f"unknown keys ({', '.join(unknown)}); the keys are {', '.join(QUESTION_KEYS)}"
        )
    return answers


def _check_licence(licence: str) -> str:
    if get_licence_terms(licence) is None and not licence.startswith("LicenseRef-"):
        raise ValueError(
            "it is unknown; use an SPDX identifier such as CC-BY-4.0, or LicenseRef-… with its "
            "terms: terms = ['attribution']"
        )
    return licence


Licence = Annotated[Text, AfterValidator(_check_licence)]


@declaration
class DataSource:
    """A source of problems, and its licence."""

    name: Text
    """The problems' `origin.source`; "*" for all sources without an entry of their own."""
    licence: Licence
    """An SPDX identifier, or LicenseRef-… with `terms`."""
    attribution: Stated = ""
    """Whom to credit, and how."""
    url: Stated = ""
    """URL of the source."""
    terms: Terms = ()
    """Terms of the licence, if it is a LicenseRef-…."""
    permission: Stated = ""
    """The owner's permission for a release under a conflicting licence."""

    @property
    def title(self) -> str:
        """Name in the list of licences, or "All other sources" for "*"."""
        return "All other sources" if self.name == "*" else self.name

    @property
    def licence_terms(self) -> frozenset[str]:
        """The stated terms of the licence, and the terms known from its identifier."""
        return frozenset(self.terms) | (get_licence_terms(self.licence) or frozenset())


@declaration
class About:
    """The makers' description of a benchmark; cards show "not stated" for empty texts."""

    name: Annotated[
        Text, match_pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]*", "letters, digits, '-', '_' and '.'")
    ]
    """Name of the benchmark, and prefix of the names of its folders."""
    version: Annotated[
        Text, match_pattern(r"\d+(\.\d+){1,2}([.-]?[A-Za-z0-9]+)*", "a version such as 1.0.0")
    ]
    """Version of the release; each version can be released only once."""
    date: Annotated[
        Text,
        AfterValidator(_check_date),
        BeforeValidator(lambda day: f"{day:%Y-%m-%d}" if isinstance(day, datetime.date) else day),
    ]
    """Date of the release (ISO 8601); this is the only date that a release records."""
    title: Text
    """Title."""
    description: Text
    """Description."""
    licence: Licence
    """Licence of the whole benchmark: an SPDX identifier, or LicenseRef-… with `terms`."""
    language: Annotated[
        tuple[
            Annotated[str, match_pattern(r"[a-z]{2,3}(-\w+)*", "a list of codes such as 'en'")], ...
        ],
        Field(strict=False, min_length=1),
        Listed,
    ]
    """Codes of the languages, such as "en"."""
    authors: Annotated[Texts, Field(min_length=1), Listed]
    """Names of the creators (people and organisations), as they wish to be credited."""
    source: Annotated[tuple[DataSource, ...], Field(min_length=1)]
    """Sources of the problems."""
    organisations: Annotated[Texts, Listed] = ()
    """Names of the authors that are organisations."""
    keywords: Annotated[Texts, Listed] = ()
    """Keywords; by default they are derived from the problems."""
    synthetic: bool | None = None
    """Whether a program generated problems; winosmith detects only problems that it generated."""
    homepage: Stated = ""
    citation: Stated = ""
    contact: Stated = ""
    intended_use: Stated = ""
    known_limits: Stated = ""
    terms: Terms = ()
    """Terms of the licence, if it is a LicenseRef-…."""
    judges: Literal["count", "pseudonyms"] = "count"
    """Whether to publish only the number of each problem's judges, or also their pseudonyms."""
    datasheet: Annotated[Mapping[str, str], AfterValidator(_check_questions)] = field(
        default_factory=dict
    )
    """Answers to the datasheet's questions, by question key."""
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    """Reasons for withdrawing problems, by problem id."""
    restored: Annotated[Texts, Listed] = ()
    """Ids of previously withdrawn problems that are published again."""

    def __post_init__(self) -> None:
        names = [source.name for source in self.source]
        if len({*names}) < len(names):
            raise ValueError(f"two of the sources {names!r} have the same name; merge them")
        if unknown := sorted({*self.organisations} - {*self.authors}):
            raise ValueError(f"the organisations {unknown!r} are not in authors; add them")

    @property
    def licence_terms(self) -> frozenset[str]:
        """The stated terms of the licence, and the terms known from its identifier."""
        return frozenset(self.terms) | (get_licence_terms(self.licence) or frozenset())

    @property
    def full_name(self) -> str:
        """Name and version of the benchmark."""
        return f"{self.name} {self.version}"

    @property
    def licence_reference(self) -> str:
        """The URL of the licence's text at SPDX, or the licence itself if it is a LicenseRef-…."""
        known = get_licence_terms(self.licence) is not None
        return f"https://spdx.org/licenses/{self.licence}.html" if known else self.licence

    @property
    def creators(self) -> list[dict[str, str]]:
        """The authors as schema.org records of persons and organisations."""
        kinds = {True: "sc:Organization", False: "sc:Person"}
        return [{"@type": kinds[a in self.organisations], "name": a} for a in self.authors]


def read_about(path: str | Path, *, version: str | None = None) -> About:
    """Read the description of a benchmark from a release.toml file.

    Args:
        path: path of the file; `winosmith release --template` prints a template.
        version: version of the release; replaces the version in the file.

    Raises:
        RecipeError: a key is unknown or missing, or its value is not valid.
    """
    table = read_toml(path)
    try:
        return parse_about({**table, **({"version": version} if version else {})})
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}") from None


def parse_about(table: Mapping[str, Any]) -> About:
    """Parse the description of a benchmark from a table of release.toml.

    Raises:
        RecipeError: a key is unknown or missing, or its value is not valid.
    """
    return from_table(About, table)
