"""`About`: what the people who release a benchmark say of it, read from release.toml.

The licences that it names are held to their own texts: what they ask of those who pass a work on,
and which of them one release can't hold together. The identifiers are SPDX's. That is a check for
oversights, no legal advice. The questions are those of a datasheet (Gebru et al. 2021, sections
3.1 to 3.7), in our words; `TEMPLATE` asks all of it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from winosmith.errors import RecipeError
from winosmith.options import Texts, declaration, from_table
from winosmith.records import read_toml

Text = Annotated[str, Field(min_length=1), StringConstraints(strip_whitespace=True)]
Stated = Annotated[str, StringConstraints(strip_whitespace=True)]
Listed = BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
Term = Literal["attribution", "share-alike", "non-commercial", "no-derivatives"]
Terms = Annotated[tuple[Term, ...], Listed, Field(strict=False)]
"""What a licence may ask for."""


def _check_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise ValueError("it must be letters, digits, '-', '_' and '.'")
    return name


def _check_version(version: str) -> str:
    if not re.fullmatch(r"\d+(\.\d+){1,2}([.-]?[A-Za-z0-9]+)*", version):
        raise ValueError("it must be one like 1.0.0")
    return version


def _check_date(date: str) -> str:
    try:
        datetime.date.fromisoformat(date)
    except ValueError:
        raise ValueError("it must be one like 2026-11-21") from None
    return date


def _check_language(code: str) -> str:
    if not re.fullmatch(r"[a-z]{2,3}(-\w+)*", code):
        raise ValueError("it must be a list of codes such as 'en'")
    return code


def _check_questions(answers: Mapping[str, str]) -> Mapping[str, str]:
    if unknown := [key for key in answers if key not in KEYS]:
        raise ValueError(f"unknown keys ({', '.join(unknown)}); the keys are {', '.join(KEYS)}")
    return answers


def _check_licence(licence: str) -> str:
    if terms_of(licence) is None and not licence.startswith("LicenseRef-"):
        raise ValueError(
            "it is not known; use an SPDX identifier such as CC-BY-4.0, or LicenseRef-… with the "
            "terms that it asks for: terms = ['attribution']"
        )
    return licence


Licence = Annotated[Text, AfterValidator(_check_licence)]


@declaration
class DataSource:
    """Where problems come from, and what may be done with them."""

    name: Text
    """As `origin.source` has it; "*" for problems of no other source that is named."""
    licence: Licence
    """An SPDX identifier, or LicenseRef-… with `terms`."""
    attribution: Stated = ""
    """Whom to name, and how."""
    url: Stated = ""
    """Address of the source."""
    terms: Terms = ()
    """What an unknown licence asks for; see `winosmith.release`."""
    permission: Stated = ""
    """Why it may be in a release whose licence does not fit: who allows it."""

    @property
    def asks(self) -> frozenset[str]:
        """What the licence asks for."""
        return frozenset(self.terms) | (terms_of(self.licence) or frozenset())


@declaration
class About:
    """What the people who release a benchmark say of it; an empty text is "not stated"."""

    name: Annotated[Text, AfterValidator(_check_name)]
    """Name of the benchmark, which begins the names of folders."""
    version: Annotated[Text, AfterValidator(_check_version)]
    """Version of the release; each is released once."""
    date: Annotated[
        Text,
        AfterValidator(_check_date),
        BeforeValidator(lambda day: f"{day:%Y-%m-%d}" if isinstance(day, datetime.date) else day),
    ]
    """Date of the release (ISO 8601), the only one in it."""
    title: Text
    """Title."""
    description: Text
    """Description, in words."""
    licence: Licence
    """Licence of the whole: an SPDX identifier, or LicenseRef-… with `terms`."""
    language: Annotated[
        tuple[Annotated[str, AfterValidator(_check_language)], ...],
        Field(strict=False, min_length=1),
        Listed,
    ]
    """Codes of the languages, such as "en"."""
    authors: Annotated[Texts, Field(min_length=1), Listed]
    """Who made it, as they wish to be named."""
    source: Annotated[tuple[DataSource, ...], Field(min_length=1)]
    """Where the problems come from."""
    homepage: Stated = ""
    citation: Stated = ""
    contact: Stated = ""
    intended_use: Stated = ""
    known_limits: Stated = ""
    terms: Terms = ()
    """What an unknown licence asks for."""
    judges: Literal["count", "pseudonyms"] = "count"
    """Whether to publish how many judged a problem ("count"), or who did, too ("pseudonyms")."""
    datasheet: Annotated[Mapping[str, str], AfterValidator(_check_questions)] = field(
        default_factory=dict
    )
    """Answers to the datasheet's questions, by their keys."""
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    """Reasons for withdrawing a problem, by its id."""
    restored: Annotated[Texts, Listed] = ()
    """Ids that were withdrawn and come back."""

    def __post_init__(self) -> None:
        names = [source.name for source in self.source]
        if len({*names}) < len(names):
            raise ValueError(f"two of the sources {names!r} have one name; join them")

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
    tables = table.get("source") or []
    if not isinstance(tables, list | tuple) or not all(isinstance(one, dict) for one in tables):
        raise RecipeError("source must be written as tables: [[source]]")
    try:
        sources = tuple(from_table(DataSource, one) for one in tables)
    except RecipeError as error:
        raise RecipeError(f"[[source]] {error}") from None
    return from_table(About, {**table, "source": sources})


SECTIONS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Motivation",
        (
            ("purpose", "Why was the data set made?"),
            ("creators", "Who made it, and on whose behalf?"),
            ("funding", "Who paid for it?"),
        ),
    ),
    (
        "Composition",
        (
            ("instances", "What does one record stand for?"),
            ("counts", "How many are there of each kind?"),
            ("sample", "Is it all there is, or a part of something larger?"),
            ("fields", "What does a record consist of?"),
            ("labels", "Is there a label or target for each record?"),
            ("missing", "Is anything missing from single records, and why?"),
            ("relations", "Are relations between records made explicit?"),
            ("splits", "Are there recommended splits?"),
            ("noise", "Are errors, noise or redundancies known?"),
            ("external", "Does it stand alone, or rely on things elsewhere?"),
            ("confidential", "Does it hold anything confidential?"),
            ("offensive", "Does it hold anything that may offend or frighten?"),
            ("subpopulations", "Does it tell groups of people apart?"),
            ("identifiable", "Can single people be recognised?"),
            ("sensitive", "Does it hold anything sensitive about people?"),
        ),
    ),
    (
        "Collection process",
        (
            ("acquired", "How was each record obtained?"),
            ("mechanisms", "By which tools and procedures, and how were those checked?"),
            ("sampling", "If it is a sample, how was it drawn?"),
            ("collectors", "Who took part in collecting, and how were they paid?"),
            ("timeframe", "Over what time was it collected?"),
            ("ethics", "Was there an ethical review?"),
            ("consent", "Were the people concerned told, and did they agree?"),
            ("revocation", "Can they take their consent back?"),
            ("impact", "Was the effect on the people concerned looked into?"),
        ),
    ),
    (
        "Preprocessing, cleaning, labelling",
        (
            ("preprocessing", "What was done to the records?"),
            ("raw", "Were the raw data kept?"),
            ("software", "Is the software that did it available?"),
        ),
    ),
    (
        "Uses",
        (
            ("used", "What has it been used for already?"),
            ("repository", "Where are papers or systems that use it listed?"),
            ("other_uses", "What else could it be used for?"),
            ("risks", "What about its making may matter for later uses?"),
            ("unsuitable", "What should it not be used for?"),
        ),
    ),
    (
        "Distribution",
        (
            ("distribution", "To whom is it given?"),
            ("how", "In what form, and under which address?"),
            ("when", "Since when?"),
            ("licence", "Under which licence and terms?"),
            ("third_parties", "Do others hold rights in parts of it?"),
            ("regulations", "Do export controls or other regulations apply?"),
        ),
    ),
    (
        "Maintenance",
        (
            ("maintainers", "Who looks after it?"),
            ("contact", "How can they be reached?"),
            ("erratum", "Is there an erratum?"),
            ("updates", "Will it be updated, and how is that made known?"),
            ("retention", "Are there limits to how long data about people are kept?"),
            ("old_versions", "Will older versions stay available?"),
            ("contributions", "How can others contribute?"),
        ),
    ),
)
"""Each section's title and its questions, by the key under which release.toml may answer."""

KEYS = tuple(key for _, questions in SECTIONS for key, _ in questions)
"""The keys of all questions."""


_HEAD = '''# What the people who release a benchmark say of it. The keys above the line of dashes
# are needed; what you leave out of the others is "not stated" in the cards.

name = "my-benchmark"            # letters, digits, '-', '_' and '.'; begins the names of folders
version = "1.0.0"                # a version is released once
date = "2026-11-21"              # the only date in the release
title = "My benchmark"
description = "Twins of sentences with one blank, to be filled by common sense."
licence = "CC-BY-4.0"            # of the whole; an SPDX identifier, or LicenseRef-… with terms
language = ["en"]
authors = ["The authors of my benchmark"]

# ---------------------------------------------------------------------------------------------
# homepage = "https://example.org/my-benchmark"
# citation = """
# @misc{mine2026, title = {My benchmark}, author = {…}, year = {2026}}
# """
# contact = "benchmark@example.org"
# intended_use = "To measure commonsense reasoning; not to train on dev or test."
# known_limits = "English alone; the contributors do not stand for everyone."
# terms = ["attribution"]        # of a LicenseRef-…: attribution, share-alike, non-commercial,
#                                # no-derivatives
# judges = "pseudonyms"          # publish who judged a problem, not only how many; needs votes
# restored = ["id"]              # withdrawn before, and back now

# Where the problems come from. The name is that of their origin.source; "*" stands for all
# others. Every problem must have a source here, with the licence that the problem itself states.
[[source]]
name = "*"
licence = "CC-BY-4.0"
attribution = "the contributors of my benchmark"
# url = "https://example.org"
# terms = ["attribution"]        # of a LicenseRef-…
# permission = "by letter of the owners, 2026-10-01"   # where the licence does not fit

# Why a problem is no longer there, by its id in the release before.
# [withdrawn]
# "my-benchmark-0123456789ab" = "its contributor asked for it"

# Answers to the questions of the datasheet; what the files tell is filled in beside them.
# [datasheet]
'''


def _template() -> str:
    lines = [_HEAD]
    for title, questions in SECTIONS:
        lines.append(f"# # {title}\n")
        lines += [f'# {key} = ""  # {question}\n' for key, question in questions]
    return "".join(lines)


TEMPLATE = _template()
"""A release.toml with every key; what is not needed is commented out."""

_BY, _SA, _NC, _ND = (frozenset({term}) for term in get_args(Term))

_PLAIN: dict[str, frozenset[str]] = {
    "CC0-1.0": frozenset(),
    "PDDL-1.0": frozenset(),
    "Unlicense": frozenset(),
    "0BSD": frozenset(),
    "MIT-0": frozenset(),
    "MIT": _BY,
    "ISC": _BY,
    "Apache-2.0": _BY,
    "BSD-2-Clause": _BY,
    "BSD-3-Clause": _BY,
    "ODC-By-1.0": _BY,
    "CDLA-Permissive-1.0": _BY,
    "CDLA-Permissive-2.0": _BY,
    "ODbL-1.0": _BY | _SA,
    "CDLA-Sharing-1.0": _BY | _SA,
    "MPL-2.0": _BY | _SA,
    "GPL-2.0-only": _BY | _SA,
    "GPL-2.0-or-later": _BY | _SA,
    "GPL-3.0-only": _BY | _SA,
    "GPL-3.0-or-later": _BY | _SA,
    "LGPL-3.0-only": _BY | _SA,
    "LGPL-3.0-or-later": _BY | _SA,
    "AGPL-3.0-only": _BY | _SA,
    "AGPL-3.0-or-later": _BY | _SA,
}

_CREATIVE = re.compile(r"CC-BY(-NC)?(-SA|-ND)?-([1234]\.[05])")
"""Creative Commons' licences but CC0, whose names spell their terms."""

_ALSO = {
    "CC-BY-SA-4.0": ("GPL-3.0-only", "GPL-3.0-or-later"),
    "GPL-2.0-or-later": ("GPL-3.0-only", "GPL-3.0-or-later"),
    "GPL-3.0-or-later": ("GPL-3.0-only", "AGPL-3.0-only", "AGPL-3.0-or-later"),
    "GPL-3.0-only": ("AGPL-3.0-only",),
}
"""Under which other licences a share-alike work may be passed on, by its own text or by Creative
Commons' list of compatible licences (2015)."""

_HUB = {"ODC-By-1.0": "odc-by", "ODbL-1.0": "odbl", "PDDL-1.0": "pddl", "GPL-2.0-only": "gpl-2.0",
        "GPL-2.0-or-later": "gpl-2.0", "GPL-3.0-only": "gpl-3.0", "GPL-3.0-or-later": "gpl-3.0",
        "LGPL-3.0-only": "lgpl-3.0", "LGPL-3.0-or-later": "lgpl-3.0", "AGPL-3.0-only": "agpl-3.0",
        "AGPL-3.0-or-later": "agpl-3.0", "CDLA-Permissive-1.0": "cdla-permissive-1.0",
        "CDLA-Permissive-2.0": "cdla-permissive-2.0",
        "CDLA-Sharing-1.0": "cdla-sharing-1.0"}  # fmt: skip

_HUB_SAME = ("CC0-1.0", "MIT", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MPL-2.0",
             "Unlicense", "CC-BY-2.0", "CC-BY-2.5", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0",
             "CC-BY-SA-4.0", "CC-BY-NC-2.0", "CC-BY-NC-3.0", "CC-BY-NC-4.0", "CC-BY-ND-4.0",
             "CC-BY-NC-ND-3.0", "CC-BY-NC-ND-4.0", "CC-BY-NC-SA-2.0", "CC-BY-NC-SA-3.0",
             "CC-BY-NC-SA-4.0")  # fmt: skip


def terms_of(licence: str) -> frozenset[str] | None:
    """Return what a licence asks for, or None for one that is not known here.

    >>> sorted(terms_of("CC-BY-NC-SA-4.0")), sorted(terms_of("CC0-1.0")), terms_of("Ours-1")
    (['attribution', 'non-commercial', 'share-alike'], [], None)
    """
    found = _CREATIVE.fullmatch(licence)
    if found is None:
        return _PLAIN.get(licence)
    return (
        _BY
        | (_NC if found[1] else frozenset())
        | (_SA if found[2] == "-SA" else frozenset())
        | (_ND if found[2] == "-ND" else frozenset())
    )


def conflict(
    inner: str, inner_terms: Collection[str], outer: str, outer_terms: Collection[str]
) -> str | None:
    """Return why works under one licence can't be passed on under another, or None.

    Of each, the terms are what it asks for.

    >>> conflict("ODbL-1.0", ["share-alike"], "CC-BY-4.0", ["attribution"])
    'ODbL-1.0 is share-alike: what holds it must be under ODbL-1.0 too, not CC-BY-4.0'
    """
    if inner == outer:
        return None
    if "no-derivatives" in inner_terms:
        return f"{inner} allows no adaptation: it can't be passed on under {outer}"
    if "share-alike" in inner_terms and outer not in _heirs(inner):
        return (
            f"{inner} is share-alike: what holds it must be under {_or(_heirs(inner))} too, not "
            f"{outer}"
        )
    for term, why in (
        ("non-commercial", "forbids commercial use"),
        ("attribution", "asks for attribution"),
    ):
        if term in inner_terms and term not in outer_terms:
            return f"{inner} {why}, and {outer} does not"
    return None


def _heirs(licence: str) -> list[str]:
    """Return the licences under which a share-alike work may be passed on."""
    heirs = [licence]
    found = _CREATIVE.fullmatch(licence)
    if found is not None:
        stem = licence.removesuffix(found[3])
        heirs += [f"{stem}{v}" for v in ("2.0", "2.5", "3.0", "4.0") if v > found[3] >= "2.0"]
    return heirs + [other for heir in heirs for other in _ALSO.get(heir, ())]


def _or(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def hub_licence(licence: str) -> str:
    """Return a licence's identifier on the Hugging Face hub; "other" where it has none.

    >>> hub_licence("CC-BY-4.0"), hub_licence("LicenseRef-ours")
    ('cc-by-4.0', 'other')
    """
    return licence.lower() if licence in _HUB_SAME else _HUB.get(licence, "other")
