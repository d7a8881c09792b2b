"""The full-text index: of public problems alone, kept in step by the database itself.

What is not public is not in it, so neither results, counts, order nor the time that a search
takes tell anything about it. SQLite has an external-content FTS5 table with triggers on the table
of problems, PostgreSQL a GIN index on an expression. Both know whole words in any case.
"""

from __future__ import annotations

from typing import Any

from django.db import connections
from django.db.models import BigIntegerField, F, QuerySet
from django.db.models.expressions import RawSQL

from winosmith.web.problems.models import Problem
from winosmith.web.read.terms import Term

__all__ = ["drop", "ensure", "matching"]

_TABLE = "read_search"
_TRIGGERS = ("insert", "update", "delete")


def _public(row: str) -> str:
    """Return the SQL of `winosmith.web.problems.public.PUBLIC` for a row."""
    return f"({row}.state = 'valid' AND NOT {row}.embargo AND NOT {row}.gold)"


_ADD = f"INSERT INTO {_TABLE}(rowid, sentence) SELECT new.id, new.sentence WHERE {_public('new')};"
_TAKE = (
    f"INSERT INTO {_TABLE}({_TABLE}, rowid, sentence) "
    f"SELECT 'delete', old.id, old.sentence WHERE {_public('old')};"
)
_SQLITE = (
    f"CREATE VIRTUAL TABLE IF NOT EXISTS {_TABLE} USING fts5(sentence, "
    "content='problems_problem', content_rowid='id', tokenize='unicode61 remove_diacritics 0')",
    f"CREATE TRIGGER IF NOT EXISTS {_TABLE}_insert AFTER INSERT ON problems_problem "
    f"BEGIN {_ADD} END",
    f"CREATE TRIGGER IF NOT EXISTS {_TABLE}_delete AFTER DELETE ON problems_problem "
    f"BEGIN {_TAKE} END",
    f"CREATE TRIGGER IF NOT EXISTS {_TABLE}_update "
    "AFTER UPDATE OF id, sentence, state, embargo, gold ON problems_problem "
    f"WHEN {_public('old')} <> {_public('new')} OR old.sentence <> new.sentence "
    f"OR old.id <> new.id BEGIN {_TAKE} {_ADD} END",
)
_REBUILD = (
    f"INSERT INTO {_TABLE}({_TABLE}) VALUES ('delete-all')",  # noqa: S608
    f"INSERT INTO {_TABLE}(rowid, sentence) "  # noqa: S608
    f"SELECT id, sentence FROM problems_problem p WHERE {_public('p')}",
)
_VECTOR = "to_tsvector('simple', problems_problem.sentence)"
_POSTGRESQL = (
    f"CREATE INDEX IF NOT EXISTS {_TABLE} ON problems_problem "
    f"USING gin ({_VECTOR}) WHERE {_public('problems_problem')}"
)


def ensure(alias: str = "default") -> None:
    """Make the index where it is missing, filled with what is public now.

    A migration that rebuilds the table of problems drops what hangs on it, so this runs after
    every migration.
    """
    with connections[alias].cursor() as cursor:
        if connections[alias].vendor == "postgresql":
            cursor.execute(_POSTGRESQL)
            return
        cursor.execute(
            "SELECT count(*) FROM sqlite_master WHERE name = %s OR type = 'trigger' AND name IN "
            "(%s, %s, %s)",
            [_TABLE, *(f"{_TABLE}_{name}" for name in _TRIGGERS)],
        )
        if cursor.fetchone()[0] == 1 + len(_TRIGGERS):
            return
        for statement in (*_SQLITE, *_REBUILD):
            cursor.execute(statement)


def drop(alias: str = "default") -> None:
    """Take the index away."""
    with connections[alias].cursor() as cursor:
        if connections[alias].vendor == "postgresql":
            cursor.execute(f"DROP INDEX IF EXISTS {_TABLE}")
            return
        for name in _TRIGGERS:
            cursor.execute(f"DROP TRIGGER IF EXISTS {_TABLE}_{name}")
        cursor.execute(f"DROP TABLE IF EXISTS {_TABLE}")


def matching(query: QuerySet[Problem], terms: list[Term]) -> QuerySet[Problem]:
    """Return those of public problems whose sentences hold every wanted term and no other.

    Args:
        query: public problems, without an order.
        terms: at least one; with unwanted ones alone nothing is found.

    Returns:
        A query with the alias `place`: the problem's number, as the index has it. Order and
        limit by it, never by `id`, so that a page of a common word takes no longer than any.
    """
    wanted = [term for term in terms if term.wanted]
    if not wanted:
        return query.alias(place=F("id")).none()
    unwanted = [term for term in terms if not term.wanted]
    found = _on_postgresql if connections[query.db].vendor == "postgresql" else _on_sqlite
    return found(query, wanted, unwanted)


def _on_sqlite(
    query: QuerySet[Problem], wanted: list[Term], unwanted: list[Term]
) -> QuerySet[Problem]:
    # Words are letters and digits alone, so none can end its quotation marks.
    said = " AND ".join(f'"{" ".join(term.words)}"' for term in wanted)
    said = "".join([f"({said})", *(f' NOT "{" ".join(term.words)}"' for term in unwanted)])
    # The plus keeps SQLite from asking the index again for every problem: it walks the index, in
    # the order of the page, and stops when the page is full.
    return query.extra(  # noqa: S610 - values are parameters
        tables=[_TABLE],
        where=[f"problems_problem.id = +{_TABLE}.rowid", f"{_TABLE} MATCH %s"],
        params=[said],
    ).alias(place=RawSQL(f"{_TABLE}.rowid", (), BigIntegerField()))  # noqa: S611


def _on_postgresql(
    query: QuerySet[Problem], wanted: list[Term], unwanted: list[Term]
) -> QuerySet[Problem]:
    parts: list[str] = []
    values: list[Any] = []
    for term in (*wanted, *unwanted):
        parts.append(f"{'' if term.wanted else '!!'}phraseto_tsquery('simple', %s)")
        values.append(" ".join(term.words))
    where = f"{_VECTOR} @@ ({' && '.join(parts)})"
    return query.extra(where=[where], params=values).alias(place=F("id"))  # noqa: S610
