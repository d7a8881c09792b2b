"""release.json: what a release says of itself for programs, and the digest that is its address."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from winosmith.records import canonical
from winosmith.release._content import Content
from winosmith.release._parts import configurations

__all__ = ["ADDRESS", "CHECKSUMS", "RECORD", "address", "checksum_lines", "digest_of", "record_of"]

RECORD, CHECKSUMS = "release.json", "checksums.txt"

ADDRESS = 12
"""Digits of the digest in a release's folder."""


def record_of(content: Content, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return release.json's object.

    Args:
        content: of the release.
        files: every file but release.json and checksums.txt, with its `sha256` and `bytes`.
    """
    record: dict[str, Any] = {
        "release": 1,
        "made_with": content.made_with,
        "signature": content.signature,
        "canary": content.canary,
        "ids": content.ids,
        "disjoint": list(content.disjoint),
        "counts": content.counts,
        "configurations": configurations(content.parts),
        "left_out": dict(content.left_out),
        **(content.copies.record() if content.copies.told() else {}),
        "previous": dict(content.previous) if content.previous else None,
        "changes": dict(content.changes),
        "about": content.about.record(),
        "build": dict(content.build),
        "files": {path: dict(files[path]) for path in sorted(files)},
    }
    return {"digest": digest_of(record), **record}


def digest_of(record: Mapping[str, Any]) -> str:
    """Return the digest over all files, by their checksums, and over what release.json says.

    Args:
        record: of release.json; what it says of its digest is left out.
    """
    rest = {key: value for key, value in sorted(record.items()) if key != "digest"}
    return hashlib.sha256(canonical(rest).encode()).hexdigest()


def address(record: Mapping[str, Any]) -> str:
    """Return the name of a release's folder: NAME-VERSION-DIGITS."""
    about = record["about"]
    return f"{about['name']}-{about['version']}-{record['digest'][:ADDRESS]}"


def checksum_lines(sums: Mapping[str, str]) -> Iterable[str]:
    """Yield the lines of checksums.txt, as sha256sum reads them."""
    for path in sorted(sums):
        yield f"{sums[path]}  {path}\n"
