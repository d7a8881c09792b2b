"""What licences ask of those who pass a work on, and which of them one release can't hold together.

Terms are those of the licences' own texts; the identifiers are SPDX's. This is a check for
oversights, no legal advice.
"""

from __future__ import annotations

import re
from collections.abc import Collection

__all__ = ["TERMS", "conflict", "hub_licence", "terms_of"]

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

    Args:
        inner: the licence of the works.
        inner_terms: what it asks for.
        outer: the licence of the whole.
        outer_terms: what that asks for.

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
