"""What licences ask for, and which of them one release can't combine.

The terms are those of the licences' own texts; the identifiers are SPDX's. The check finds
oversights and is not legal advice.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

Term = Literal["attribution", "share-alike", "non-commercial", "no-derivatives"]

_TERMS = {
    frozenset[str](): "CC0-1.0 PDDL-1.0 Unlicense 0BSD MIT-0",
    frozenset({"attribution"}): "MIT ISC Apache-2.0 BSD-2-Clause BSD-3-Clause ODC-By-1.0 "
    "CDLA-Permissive-1.0 CDLA-Permissive-2.0",
    frozenset({"attribution", "share-alike"}): "ODbL-1.0 CDLA-Sharing-1.0 MPL-2.0 GPL-2.0-only "
    "GPL-2.0-or-later GPL-3.0-only GPL-3.0-or-later LGPL-3.0-only LGPL-3.0-or-later "
    "AGPL-3.0-only AGPL-3.0-or-later",
}

_CREATIVE = re.compile(r"CC-BY(-NC)?(-SA|-ND)?-([1234]\.[05])")
"""Creative Commons' licences except CC0, whose names spell their terms."""

_COMPATIBLE = {
    "CC-BY-SA-4.0": ("GPL-3.0-only", "GPL-3.0-or-later"),
    "GPL-2.0-or-later": ("GPL-3.0-only", "GPL-3.0-or-later"),
    "GPL-3.0-or-later": ("GPL-3.0-only", "AGPL-3.0-only", "AGPL-3.0-or-later"),
    "GPL-3.0-only": ("AGPL-3.0-only",),
}
"""Other licences under which a share-alike work may be redistributed, by its own text or by
Creative Commons' list of compatible licences (2015)."""

_HUB = frozenset(
    "cc0-1.0 mit isc apache-2.0 bsd-2-clause bsd-3-clause mpl-2.0 unlicense cc-by-2.0 cc-by-2.5 "
    "cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 "
    "cc-by-nd-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 "
    "odc-by odbl pddl gpl-2.0 gpl-3.0 lgpl-3.0 agpl-3.0 cdla-permissive-1.0 cdla-permissive-2.0 "
    "cdla-sharing-1.0".split()
)
"""The identifiers of the Hugging Face hub."""


def terms_of(licence: str) -> frozenset[str] | None:
    """Return the terms of a licence, or None if it is unknown.

    >>> sorted(terms_of("CC-BY-NC-SA-4.0")), sorted(terms_of("CC0-1.0")), terms_of("Ours-1")
    (['attribution', 'non-commercial', 'share-alike'], [], None)
    """
    if found := _CREATIVE.fullmatch(licence):
        more = {"-SA": "share-alike", "-ND": "no-derivatives", "-NC": "non-commercial"}
        return frozenset({"attribution", *(more[part] for part in found.groups()[:2] if part)})
    return next((terms for terms, names in _TERMS.items() if licence in names.split()), None)


def conflict(
    inner: str, inner_terms: Collection[str], outer: str, outer_terms: Collection[str]
) -> str | None:
    """Return why works under one licence can't be redistributed under another, or None.

    >>> conflict("ODbL-1.0", ["share-alike"], "CC-BY-4.0", ["attribution"])
    'ODbL-1.0 is share-alike: a work that contains it must be under ODbL-1.0 too, not CC-BY-4.0'
    """
    if inner == outer:
        return None
    if "no-derivatives" in inner_terms:
        return f"{inner} allows no adaptation: it can't be redistributed under {outer}"
    if "share-alike" in inner_terms and outer not in (allowed := _share_alike(inner)):
        *first, last = allowed
        names = f"{', '.join(first)} or {last}" if first else last
        return (
            f"{inner} is share-alike: a work that contains it must be under {names} too, not "
            f"{outer}"
        )
    for term, why in (
        ("non-commercial", "forbids commercial use"),
        ("attribution", "asks for attribution"),
    ):
        if term in inner_terms and term not in outer_terms:
            return f"{inner} {why}, and {outer} does not"
    return None


def _share_alike(licence: str) -> list[str]:
    """Return the licences under which a share-alike work may be redistributed."""
    allowed = [licence]
    if found := _CREATIVE.fullmatch(licence):
        stem = licence.removesuffix(found[3])
        allowed += [f"{stem}{v}" for v in ("2.0", "2.5", "3.0", "4.0") if v > found[3] >= "2.0"]
    return allowed + [other for one in allowed for other in _COMPATIBLE.get(one, ())]


def hub_licence(licence: str) -> str:
    """Return the identifier of a licence on the Hugging Face hub, or "other".

    >>> hub_licence("CC-BY-4.0"), hub_licence("GPL-3.0-only"), hub_licence("LicenseRef-ours")
    ('cc-by-4.0', 'gpl-3.0', 'other')
    """
    name = re.sub(r"-(only|or-later)$", "", licence.lower())
    return next((one for one in (name, name.removesuffix("-1.0")) if one in _HUB), "other")
