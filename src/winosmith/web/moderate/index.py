"""The moderators' full-text index: of all sentences, whatever their state.

The index of public problems is another (`winosmith.web.read.index`), so that nothing of what is
not public can be felt there. SQLite keeps this one by triggers, PostgreSQL by itself.
"""

from __future__ import annotations

from django.db import connections
from django.db.models import QuerySet

from winosmith.web.problems.models import Problem
from winosmith.web.read.terms import Term

__all__ = ["drop", "ensure", "hinted", "matching"]

_TABLE, _ID = "moderate_search", "problems_problem.id"

RARE = 2000
"""Sentences with a word below which they are read and sorted."""

_TAKE = (
    f"INSERT INTO {_TABLE}({_TABLE}, rowid, sentence) "  # noqa: S608 - names of our own
    "VALUES ('delete', old.id, old.sentence);"
)
_ADD = f"INSERT INTO {_TABLE}(rowid, sentence) VALUES (new.id, new.sentence);"  # noqa: S608
_SQLITE = (
    f"CREATE VIRTUAL TABLE IF NOT EXISTS {_TABLE} USING fts5(sentence, "
    "content='problems_problem', content_rowid='id', tokenize='unicode61 remove_diacritics 0')",
    f"CREATE TRIGGER IF NOT EXISTS {_TABLE}_insert AFTER INSERT ON problems_problem "
    f"BEGIN {_ADD} END",
    f"CREATE TRIGGER IF NOT EXISTS {_TABLE}_delete AFTER DELETE ON problems_problem "
    f"BEGIN {_TAKE} END",
    f"CREATE TRIGGER IF NOT EXISTS {_TABLE}_update AFTER UPDATE OF id, sentence "
    f"ON problems_problem BEGIN {_TAKE} {_ADD} END",
    f"INSERT INTO {_TABLE}({_TABLE}) VALUES ('rebuild')",  # noqa: S608
)
_VECTOR = "to_tsvector('simple', problems_problem.sentence)"
_POSTGRESQL = (f"CREATE INDEX IF NOT EXISTS {_TABLE} ON problems_problem USING gin ({_VECTOR})",)
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
_NAMES = ("_insert", "_delete", "_update")


def ensure(alias: str = "default") -> None:
    """Make the indexes of the queue where they are missing.

    A migration that rebuilds the table of problems drops what hangs on it, so this runs after
    every migration.
    """
    connection = connections[alias]
    with connection.cursor() as cursor:
        missing: tuple[str, ...] = _POSTGRESQL
        if connection.vendor == "sqlite":
            cursor.execute(
                "SELECT count(*) FROM sqlite_master WHERE name IN (%s, %s, %s, %s)",
                [_TABLE, *(_TABLE + name for name in _NAMES)],
            )
            missing = () if cursor.fetchone()[0] == 1 + len(_NAMES) else _SQLITE
        for statement in (*_QUEUE, *missing):
            cursor.execute(statement)


def drop(alias: str = "default") -> None:
    """Take the indexes away."""
    connection = connections[alias]
    with connection.cursor() as cursor:
        for name in _QUEUE_NAMES:
            cursor.execute(f"DROP INDEX IF EXISTS {name}")
        if connection.vendor == "postgresql":
            cursor.execute(f"DROP INDEX IF EXISTS {_TABLE}")
            return
        for name in _NAMES:
            cursor.execute(f"DROP TRIGGER IF EXISTS {_TABLE}{name}")
        cursor.execute(f"DROP TABLE IF EXISTS {_TABLE}")


def hinted(query: QuerySet[Problem]) -> QuerySet[Problem]:
    """Return those of problems that have a hint, in the words of the index on them."""
    return query.extra(where=["problems_problem.hints <> '[]'"])


def matching(query: QuerySet[Problem], terms: list[Term]) -> QuerySet[Problem]:
    """Return those problems whose sentences hold every wanted term and no unwanted one."""
    wanted = [" ".join(term.words) for term in terms if term.wanted]
    unwanted = [" ".join(term.words) for term in terms if not term.wanted]
    if not wanted:
        return query.none()
    if connections[query.db].vendor == "postgresql":
        parts = ["phraseto_tsquery('simple', %s)"] * len(wanted)
        parts += ["!!phraseto_tsquery('simple', %s)"] * len(unwanted)
        said = f"{_VECTOR} @@ ({' && '.join(parts)})"
        return query.extra(where=[said], params=[*wanted, *unwanted])  # noqa: S610
    # Words are letters and digits alone, so none can end its quotation marks.
    text = "(" + " AND ".join(f'"{words}"' for words in wanted) + ")"
    text += "".join(f' NOT "{words}"' for words in unwanted)
    rows = f"SELECT rowid FROM {_TABLE} WHERE {_TABLE} MATCH %s"  # noqa: S608
    with connections[query.db].cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({rows} LIMIT {RARE})", [text])  # noqa: S608
        common = cursor.fetchone()[0] == RARE
    # Of a common word the list is walked and each row looked up; of a rare one the rows are read.
    found = f"EXISTS ({rows} AND rowid = {_ID})" if common else f"{_ID} IN ({rows})"
    return query.extra(where=[found], params=[text])  # noqa: S610
