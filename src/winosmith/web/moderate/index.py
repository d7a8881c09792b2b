"""The moderators' full-text index: of all sentences, whatever their state.

The index of public problems is another (`winosmith.web.read.index`), so that nothing of what is
not public can be felt there.
"""

from __future__ import annotations

from django.db import connections
from django.db.models import QuerySet

from winosmith.web.problems.models import Problem
from winosmith.web.read.index import FullText, Term

__all__ = ["drop", "ensure", "hinted", "matching"]

_INDEX = FullText("moderate_search")

_QUEUE = (
    "CREATE INDEX IF NOT EXISTS moderate_waiting ON problems_problem (state, created, id)",
    "CREATE INDEX IF NOT EXISTS moderate_age ON problems_problem (created, id)",
    "CREATE INDEX IF NOT EXISTS moderate_hinted ON problems_problem (created, id) "
    "WHERE hints <> '[]'",
    "CREATE INDEX IF NOT EXISTS moderate_gold ON problems_problem (created, id) WHERE gold",
    "CREATE INDEX IF NOT EXISTS moderate_embargo ON problems_problem (created, id) WHERE embargo",
    "CREATE INDEX IF NOT EXISTS moderate_domain ON problems_twin (lower(domain))",
)
_QUEUE_NAMES = tuple(f"moderate_{n}" for n in "waiting age hinted gold embargo domain".split())


def ensure(alias: str = "default") -> None:
    """Make the indexes of the queue where they are missing.

    A migration that rebuilds the table of problems drops what hangs on it, so this runs after
    every migration.
    """
    _INDEX.ensure(alias)
    with connections[alias].cursor() as cursor:
        for statement in _QUEUE:
            cursor.execute(statement)


def drop(alias: str = "default") -> None:
    """Take the indexes away."""
    _INDEX.drop(alias)
    with connections[alias].cursor() as cursor:
        for name in _QUEUE_NAMES:
            cursor.execute(f"DROP INDEX IF EXISTS {name}")


def hinted(query: QuerySet[Problem]) -> QuerySet[Problem]:
    """Return those of problems that have a hint, in the words of the index on them."""
    return query.extra(where=["problems_problem.hints <> '[]'"])


def matching(query: QuerySet[Problem], terms: list[Term]) -> QuerySet[Problem]:
    """Return those problems whose sentences hold every wanted term and no unwanted one."""
    if not any(term.wanted for term in terms):
        return query.none()
    few = _INDEX.rare(terms, query.db)
    if few is not None:
        return query.filter(pk__in=few)
    if connections[query.db].vendor == "postgresql":
        said, values = _INDEX.condition(terms)
    else:
        rows, values = _INDEX.rows(terms)
        said = f"EXISTS ({rows} AND rowid = problems_problem.id)"
    return query.extra(where=[said], params=values)  # noqa: S610
