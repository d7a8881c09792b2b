"""`FullTextIndex`: a user's own texts, searched by SQLite's full-text index."""

from __future__ import annotations

import hashlib
import sqlite3
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from winosmith.errors import OutputError
from winosmith.outputs import sha256
from winosmith.solve._passages import passages, text_files

__all__ = ["FullTextIndex"]

_SCHEME = "1"
"""Changes with whatever changes the passages or how they are indexed."""

_BATCH = 10_000
"""Passages that are written at once; what an interrupt loses at most."""

_TABLES = """
CREATE TABLE IF NOT EXISTS texts (digest TEXT PRIMARY KEY, passages INTEGER, complete INTEGER);
CREATE VIRTUAL TABLE IF NOT EXISTS passages USING fts5(text, tokenize='porter unicode61');
CREATE TABLE IF NOT EXISTS finished (yes INTEGER);
"""

Progress = Callable[[int, int, int], None]
"""Called with the texts done, all texts, and the passages so far."""


@dataclass(frozen=True)
class FullTextIndex:
    """Finds the sentences of a text collection that hold some phrases, in any inflection.

    The best match comes first (Okapi BM25), of equals the one that stands first.

    Attributes:
        path: the index; one file.
        digest: of the texts' contents, and of how they are indexed.
    """

    path: Path
    digest: str

    @classmethod
    def of(
        cls, collection: str | Path, folder: str | Path, on_progress: Progress | None = None
    ) -> FullTextIndex:
        """Return the index of a text collection, built in `folder` when it is not there yet.

        It is found again by what the texts hold, whatever they are called, and equal texts are
        read once. Building can be stopped at any time; the next call goes on.

        Args:
            collection: a text, or a folder of texts: `.txt` or `.jsonl` with a "text" in each
                line, gzipped or not.
            folder: where indexes are kept; made when it is missing.
            on_progress: called after each batch of passages, and after each text.

        Raises:
            FormatError: the collection holds no text, or one can't be read (file, line).
            OutputError: the index can't be written, or another process is building it.
        """
        texts: dict[str, Path] = {}
        for path in text_files(collection):
            texts.setdefault(sha256(path), path)
        whole = hashlib.sha256("\n".join((_SCHEME, *sorted(texts))).encode()).hexdigest()
        index = cls(Path(folder) / f"{whole[:16]}.sqlite", whole)
        index.path.parent.mkdir(parents=True, exist_ok=True)
        with _told(index.path), closing(sqlite3.connect(index.path, timeout=5)) as db:
            db.isolation_level = None
            db.executescript(_TABLES)
            if not db.execute("SELECT * FROM finished").fetchone():
                _build(db, texts, on_progress)
        return index

    @cached_property
    def _db(self) -> sqlite3.Connection:
        read_only = f"{self.path.resolve().as_uri()}?mode=ro"
        db = sqlite3.connect(read_only, uri=True, check_same_thread=False)
        weakref.finalize(self, db.close)
        return db

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "digest": self.digest}

    def __len__(self) -> int:
        """Return the number of passages."""
        with _told(self.path):
            found = self._db.execute("SELECT coalesce(sum(passages), 0) FROM texts").fetchone()
        return int(found[0])

    def search(self, phrases: Sequence[str], limit: int) -> list[str]:
        """Return at most `limit` sentences that hold all the phrases, word by word.

        Words are compared without case and inflection; whatever a phrase holds is taken for
        words, never for an operator. Phrases without a word are left out.

        Raises:
            OutputError: the index was damaged or removed.
        """
        quoted = [f'"{_plain(phrase)}"' for phrase in phrases if _plain(phrase)]
        if not quoted:
            return []
        ask = "SELECT text FROM passages WHERE passages MATCH ? ORDER BY rank, rowid LIMIT ?"
        with _told(self.path):
            return [row[0] for row in self._db.execute(ask, (" AND ".join(quoted), limit))]


def _plain(phrase: str) -> str:
    """Return a phrase's words alone: letters and digits of any script, single-spaced."""
    kept = "".join(c if c.isalnum() or ord(c) > 127 else " " for c in phrase)
    return " ".join(kept.split())


def _build(db: sqlite3.Connection, texts: dict[str, Path], on_progress: Progress | None) -> None:
    total = 0
    for number, (digest, path) in enumerate(texts.items()):
        done, complete = db.execute(
            "SELECT coalesce(max(passages), 0), coalesce(max(complete), 0) FROM texts"
            " WHERE digest = ?",
            (digest,),
        ).fetchone()
        total += done
        if complete:
            continue
        unread = islice(passages(path), done, None)
        while batch := list(islice(unread, _BATCH)):
            _add(db, digest, done, batch)
            done += len(batch)
            total += len(batch)
            if on_progress:
                on_progress(number, len(texts), total)
        with _transaction(db):
            db.execute("INSERT OR REPLACE INTO texts VALUES (?, ?, 1)", (digest, done))
        if on_progress:
            on_progress(number + 1, len(texts), total)
    with _transaction(db):
        db.execute("INSERT INTO passages (passages) VALUES ('optimize')")
        db.execute("INSERT INTO finished VALUES (1)")


def _add(db: sqlite3.Connection, digest: str, done: int, batch: list[str]) -> None:
    """Write one batch, and how far the text is read with it, or neither."""
    with _transaction(db):
        held = db.execute("SELECT passages FROM texts WHERE digest = ?", (digest,)).fetchone()
        if (held[0] if held else 0) != done:
            raise OutputError("another process is building this index; wait for it, then repeat")
        db.executemany("INSERT INTO passages (text) VALUES (?)", ((text,) for text in batch))
        db.execute("INSERT OR REPLACE INTO texts VALUES (?, ?, 0)", (digest, done + len(batch)))


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn an error of SQLite's into one that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        hints = {
            "database is locked": "another process is building this index; wait for it",
            "no such module: fts5": "this Python's SQLite has no full-text search (FTS5)",
            "database or disk is full": "the disk is full; free some space and repeat",
        }
        hint = hints.get(str(error), f"the index can't be used ({error}); remove it, then repeat")
        raise OutputError(f"{path}: {hint}") from error
