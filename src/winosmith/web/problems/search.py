"""Full-text search for problems: the search terms and the database index.

In SQLite, an index is an external-content FTS5 table with triggers on the table of problems; in
PostgreSQL, it is a GIN index on an expression. The database keeps the index up to date. Both kinds
match whole words, ignoring case but not accents.

The site has two indexes: this one of public problems for everybody, and one of all problems for
moderators (`winosmith.web.moderate.queue`). Problems that are not public are not in the public
index, so results, counts, order and response times reveal nothing about them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.db import connections, transaction
from django.db.models import BigIntegerField, F, QuerySet
from django.db.models.expressions import RawSQL

from winosmith.web.problems.models import Problem

MAX_TERMS = 20
"""Maximum number of terms in a search; further terms are ignored."""

_PARTS = re.compile(r'(-?)(?:"([^"]*)"?|(\S+))')
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of problems, with the queries of the neighbouring pages.

    Attributes:
        newer: The query of the previous page; "" for the first page.
        older: The query of the next page; "" for the last page.
    """

    problems: list[Problem]
    newer: str
    older: str


@dataclass(frozen=True, slots=True)
class Term:
    """Consecutive words that are required or excluded.

    Attributes:
        words: The words in lower case, with only letters and digits.
        is_required: Whether the words are required; otherwise they are excluded.
    """

    words: tuple[str, ...]
    is_required: bool = True


def parse_terms(text: str) -> list[Term]:
    """Split a search text into required and excluded terms.

    >>> [(" ".join(term.words), term.is_required) for term in parse_terms('cup "the jug" -broke')]
    [('cup', True), ('the jug', True), ('broke', False)]
    >>> parse_terms("doesn't _ ...")
    [Term(words=('doesn', 't'), is_required=True)]
    """
    terms = []
    for minus, phrase, word in _PARTS.findall(text):
        words = tuple(_WORD.findall((phrase or word).lower()))
        if words:
            terms.append(Term(words, is_required=not minus))
    return terms[:MAX_TERMS]


RARE = 1000
"""Maximum number of results that are all read and sorted; with more results, a scan is fast."""

_TRIGGERS = ("insert", "update", "delete")
_VECTOR = "to_tsvector('simple', problems_problem.sentence)"


class FullTextIndex:
    """A full-text index of sentences, in SQLite or PostgreSQL.

    Args:
        table: The name of the index, and the prefix of its triggers' names.
        only: The boolean column of the indexed problems; "" for all problems.
    """

    def __init__(self, table: str, only: str = ""):
        self.table, self._only = table, only

    def create_if_missing(self, alias: str = "default") -> None:
        """Create and fill the index if it doesn't exist.

        This method runs after every migration, because a migration that rebuilds the table of
        problems drops the index.
        """
        with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
            if connections[alias].vendor == "postgresql":
                cursor.execute(
                    f"CREATE INDEX IF NOT EXISTS {self.table} ON problems_problem "
                    f"USING gin ({_VECTOR}){self._build_where('problems_problem')}"
                )
                return
            cursor.execute(
                "SELECT count(*) FROM sqlite_master WHERE name = %s "
                "OR type = 'trigger' AND name IN (%s, %s, %s)",
                [self.table, *(f"{self.table}_{name}" for name in _TRIGGERS)],
            )
            if cursor.fetchone()[0] < 1 + len(_TRIGGERS):
                for statement in self._build_sqlite_statements():
                    cursor.execute(statement)

    def build_match_argument(self, terms: Iterable[Term]) -> str:
        """Build the argument of SQLite's MATCH; at least one term must be required.

        Words contain only letters and digits, so they can't close the quotation marks.
        """
        wanted, unwanted = _split_terms(terms)
        text = "(" + " AND ".join(f'"{words}"' for words in wanted) + ")"
        return text + "".join(f' NOT "{words}"' for words in unwanted)

    def filter(self, query: QuerySet[Problem], terms: Sequence[Term]) -> QuerySet[Problem]:
        """Return the problems that match, unordered; without required terms, nothing matches.

        To find the newest matches, a database must choose between scanning all problems and reading
        the index, and its statistics on rare words are too poor for this choice: among a million
        problems PostgreSQL took three seconds to find that there was no match. Therefore, up to
        `RARE` matches are looked up first.
        """
        wanted, unwanted = _split_terms(terms)
        if not wanted:
            return query.none()
        values = [*wanted, *unwanted]
        if connections[query.db].vendor == "postgresql":
            parts = ["phraseto_tsquery('simple', %s)"] * len(wanted)
            parts += ["!!phraseto_tsquery('simple', %s)"] * len(unwanted)
            condition = f"{_VECTOR} @@ ({' && '.join(parts)})"
            also = f" AND {self._only}" if self._only else ""
            keys = f"SELECT id FROM problems_problem WHERE {condition}{also}"  # noqa: S608
        else:
            keys = f"SELECT rowid FROM {self.table} WHERE {self.table} MATCH %s"  # noqa: S608
            condition = f"EXISTS ({keys} AND rowid = problems_problem.id)"
            values = [self.build_match_argument(terms)]
        with connections[query.db].cursor() as cursor:
            cursor.execute(f"{keys} LIMIT {RARE + 1}", values)
            found = [number for (number,) in cursor.fetchall()]
        if len(found) <= RARE:
            return query.filter(pk__in=found)
        return query.extra(where=[condition], params=values)  # noqa: S610

    def _build_where(self, row: str) -> str:
        return f" WHERE {row}.{self._only}" if self._only else ""

    def _build_sqlite_statements(self) -> Sequence[str]:
        table = self.table
        add = (
            f"INSERT INTO {table}(rowid, sentence) "
            f"SELECT new.id, new.sentence{self._build_where('new')};"
        )
        take = (
            f"INSERT INTO {table}({table}, rowid, sentence) "
            f"SELECT 'delete', old.id, old.sentence{self._build_where('old')};"
        )
        trigger = f"CREATE TRIGGER IF NOT EXISTS {table}"
        changed = "old.id <> new.id OR old.sentence <> new.sentence"
        if self._only:
            changed += f" OR old.{self._only} <> new.{self._only}"
        return (
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5(sentence, "
            "content='problems_problem', content_rowid='id', "
            "tokenize='unicode61 remove_diacritics 0')",
            f"{trigger}_insert AFTER INSERT ON problems_problem BEGIN {add} END",
            f"{trigger}_delete AFTER DELETE ON problems_problem BEGIN {take} END",
            f"{trigger}_update AFTER UPDATE ON problems_problem "
            f"WHEN {changed} BEGIN {take} {add} END",
            f"INSERT INTO {table}({table}) VALUES ('delete-all')",  # noqa: S608
            f"INSERT INTO {table}(rowid, sentence) "  # noqa: S608
            f"SELECT id, sentence FROM problems_problem p{self._build_where('p')}",
        )


def _split_terms(terms: Iterable[Term]) -> tuple[list[str], list[str]]:
    phrases: dict[bool, list[str]] = {True: [], False: []}
    for term in terms:
        phrases[term.is_required].append(" ".join(term.words))
    return phrases[True], phrases[False]


_INDEX = FullTextIndex("read_search", "public")

index_creators: list[Callable[[str], None]] = [_INDEX.create_if_missing]
"""Functions that create missing search indexes in a database after each migration."""


def filter_by_terms(query: QuerySet[Problem], terms: list[Term]) -> QuerySet[Problem]:
    """Return the public problems whose sentences contain all required and no excluded terms.

    `query` contains the public problems, unordered. Without required terms, nothing is found.

    The result has the alias `place`, the problem's key in the index. Sort and paginate by `place`,
    not by `id`, so that pages for common words are fast, too.
    """
    has_required = any(term.is_required for term in terms)
    if not has_required or connections[query.db].vendor == "postgresql":
        return _INDEX.filter(query, terms).alias(place=F("id"))
    # Because of the plus, SQLite does not query the index for every problem. It scans the index in
    # the order of the page and stops when the page is full.
    table = _INDEX.table
    return query.extra(  # noqa: S610 - values are parameters
        tables=[table],
        where=[f"problems_problem.id = +{table}.rowid", f"{table} MATCH %s"],
        params=[_INDEX.build_match_argument(terms)],
    ).alias(place=RawSQL(f"{table}.rowid", (), BigIntegerField()))  # noqa: S611
