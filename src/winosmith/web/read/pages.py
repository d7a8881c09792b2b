"""Pages of a long list by where the last one ended, which stays quick on every page."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from django.db.models import QuerySet
from django.http import QueryDict

from winosmith.web.people.models import keyed
from winosmith.web.problems.models import Problem

SIZE = 20
"""Problems on a page."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page.

    Attributes:
        problems: the newest first.
        newer: the query of the page before; "" when this is the first.
        older: the query of the next page; "" when this is the last.
    """

    problems: list[Problem]
    newer: str
    older: str


SEALED = 32
"""Hex digits of a row's number that was sealed."""


def sealed(number: int) -> str:
    """Return a row's number as 32 hex digits that only this site reads.

    Rows are numbered through, the hidden ones as well: a bare number would tell how many there are.
    """
    nonce = keyed("page", str(number))[:16]
    return f"{nonce}{number ^ int(keyed('page number', nonce)[:16], 16):016x}"


def unsealed(text: str) -> int | None:
    """Return the number that was sealed; None when this site did not seal it."""
    if len(text) != SEALED:
        return None
    try:
        number = int(text[16:], 16) ^ int(keyed("page number", text[:16])[:16], 16)
    except ValueError:
        return None
    return number if hmac.compare_digest(sealed(number).encode(), text.encode()) else None


def page(query: QuerySet[Problem], asked: QueryDict) -> Page:
    """Return the page that `after` (older than) or `before` (newer than) asks for.

    A mark that is none of this site's leads to the first page.

    Args:
        query: problems with the alias `place` (`Filters.apply`).
        asked: the query of the request.
    """
    after, before = unsealed(asked.get("after", "")), unsealed(asked.get("before", ""))
    if before is not None and after is None:
        found = list(query.filter(place__gt=before).order_by("place")[: SIZE + 1])
        more = len(found) > SIZE
        rows = found[:SIZE][::-1]
        return Page(rows, _link(asked, rows, "before", more), _link(asked, rows, "after", True))
    if after is not None:
        query = query.filter(place__lt=after)
    found = list(query.order_by("-place")[: SIZE + 1])
    rows, more = found[:SIZE], len(found) > SIZE
    newer = _link(asked, rows, "before", after is not None)
    return Page(rows, newer, _link(asked, rows, "after", more))


def _link(asked: QueryDict, rows: list[Problem], key: str, more: bool) -> str:
    """Return the query that leads on from the first or last row; "" where nothing is."""
    if not more or not rows:
        return ""
    kept = asked.copy()
    for name in ("after", "before"):
        kept.pop(name, None)
    kept[key] = sealed((rows[0] if key == "before" else rows[-1]).pk)
    return kept.urlencode()
