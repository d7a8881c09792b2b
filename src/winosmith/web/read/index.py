"""The full-text index of public problems alone.

What is not public is not in it, so neither results, counts, order nor the time that a search
takes tell anything about it.
"""

from __future__ import annotations

from django.db import connections
from django.db.models import BigIntegerField, F, QuerySet
from django.db.models.expressions import RawSQL

from winosmith.web.problems.models import Problem
from winosmith.web.read.fulltext import FullText
from winosmith.web.read.terms import Term

__all__ = ["drop", "ensure", "matching"]

_INDEX = FullText("read_search", "public")

ensure, drop = _INDEX.ensure, _INDEX.drop


def matching(query: QuerySet[Problem], terms: list[Term]) -> QuerySet[Problem]:
    """Return those of public problems whose sentences hold every wanted term and no other.

    Args:
        query: public problems, without an order.
        terms: at least one; with unwanted ones alone nothing is found.

    Returns:
        A query with the alias `place`: the problem's number, as the index has it. Order and
        limit by it, never by `id`, so that a page of a common word takes no longer than any.
    """
    if not any(term.wanted for term in terms):
        return query.alias(place=F("id")).none()
    if connections[query.db].vendor == "postgresql":
        few = _INDEX.rare(terms, query.db)
        if few is not None:
            return query.filter(pk__in=few).alias(place=F("id"))
        where, values = _INDEX.condition(terms)
        return query.extra(where=[where], params=values).alias(place=F("id"))  # noqa: S610
    # The plus keeps SQLite from asking the index again for every problem: it walks the index, in
    # the order of the page, and stops when the page is full.
    table = _INDEX.table
    return query.extra(  # noqa: S610 - values are parameters
        tables=[table],
        where=[f"problems_problem.id = +{table}.rowid", f"{table} MATCH %s"],
        params=[_INDEX.said(terms)],
    ).alias(place=RawSQL(f"{table}.rowid", (), BigIntegerField()))  # noqa: S611
