"""`About`: what the people who release a benchmark say of it, read from release.toml.

The licences that it names are held to their own texts: what they ask of those who pass a work on,
and which of them one release can't hold together. The identifiers are SPDX's. That is a check for
oversights, no legal advice. The questions are those of a datasheet (Gebru et al. 2021, sections
3.1 to 3.7), in our words; `TEMPLATE` asks all of it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from winosmith.errors import RecipeError
from winosmith.records import read_toml

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
    tables = table.get("source") or []
    if not isinstance(tables, list | tuple) or not all(isinstance(one, dict) for one in tables):
        raise RecipeError("source must be written as tables: [[source]]")
    sources = tuple(_constructed(DataSource, one, ("name", "licence"), "source.") for one in tables)
    about = _constructed(About, {**table, "source": sources}, (*_NEEDED, "source"))
    _check(about)
    return about


_Kind = TypeVar("_Kind", About, DataSource)


def _constructed(
    kind: type[_Kind], table: Mapping[str, Any], needed: Iterable[str], prefix: str = ""
) -> _Kind:
    """Construct a dataclass from a table; raise RecipeError for a key that does not fit."""
    types = {known.name: str(known.type) for known in fields(kind)}
    unknown = next((key for key in table if key not in types), None)
    if unknown is not None:
        raise RecipeError(f"{prefix}{unknown} is unknown; the keys are {', '.join(types)}")
    values = {key: _plain(prefix + key, types[key], value) for key, value in table.items()}
    missing = [prefix + key for key in needed if not values.get(key)]
    if missing:
        raise RecipeError(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; "
            "`winosmith release --template` shows every key"
        )
    return kind(**values)


def _plain(key: str, kind: str, value: Any) -> Any:
    """Return a value of a table as a field of this type; raise RecipeError if it is of another."""
    if key == "date" and isinstance(value, datetime.date):
        return value.isoformat()[:10]
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


def _check(about: About) -> None:
    try:
        datetime.date.fromisoformat(about.date)
    except ValueError:
        raise RecipeError(f"date is {about.date!r}; one like 2026-11-21 is needed") from None
    names = [source.name for source in about.source]
    whole = ("licence", about.licence, about.terms)
    each = ((f"the licence of source {s.name!r}", s.licence, s.terms) for s in about.source)
    licences = (whole, *each)
    codes = [code for code in about.language if not re.fullmatch(r"[a-z]{2,3}(-\w+)*", code)]
    terms = [term for _, _, of in licences for term in of if term not in TERMS]
    asked = [key for key in about.datasheet if key not in KEYS]
    unknown = [
        f"{what} is {licence!r}, which is not known; use an SPDX identifier such as CC-BY-4.0, "
        "or LicenseRef-… with the terms that it asks for: terms = ['attribution']"
        for what, licence, _ in licences
        if terms_of(licence) is None and not licence.startswith("LicenseRef-")
    ]
    faults = (
        (not _NAME.fullmatch(about.name),
         f"name is {about.name!r}; letters, digits, '-', '_' and '.' make one"),
        (not _VERSION.fullmatch(about.version),
         f"version is {about.version!r}; one like 1.0.0 is needed"),
        (about.judges not in ("count", "pseudonyms"),
         f"judges is {about.judges!r}; it is 'count' or 'pseudonyms'"),
        (codes, f"language has {', '.join(map(repr, codes))}; codes such as 'en' are needed"),
        (asked, f"datasheet has unknown keys ({', '.join(asked)}); the keys are {', '.join(KEYS)}"),
        (len({*names}) < len(names), f"two of the sources {names!r} have one name; join them"),
        (terms, f"terms has {', '.join(map(repr, terms))}; they are {', '.join(TERMS)}"),
        (unknown, "".join(unknown[:1])),
    )  # fmt: skip
    fault = next((told for is_wrong, told in faults if is_wrong), None)
    if fault is not None:
        raise RecipeError(fault)


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

TERMS = ("attribution", "share-alike", "non-commercial", "no-derivatives")
"""What a licence may ask for."""

_BY, _SA, _NC, _ND = (frozenset({term}) for term in TERMS)

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
