"""Replies that were received before, in an SQLite file that several processes may share."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from winosmith.chat._answers import ChatError, Messages, Reply
from winosmith.records import canonical

_WAIT = 60.0
"""Seconds to wait for another process that writes."""

_TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"


def request_key(
    base_url: str, model: str, parameters: Mapping[str, Any], messages: Messages, draw: int
) -> str:
    """Return the key of a request: a SHA-256 of all that determines the reply, and of its draw.

    The server's address belongs to it: many local servers answer under any model's name.
    """
    asked = {
        "base_url": base_url,
        "model": model,
        "parameters": json.loads(json.dumps(parameters, sort_keys=True)),
        "messages": [list(message) for message in messages],
        "draw": draw,
    }
    return hashlib.sha256(canonical(asked).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Cache:
    """Replies by the keys of their requests; neither prompts nor API keys are stored.

    Each operation opens the file anew, so threads, forks and processes may share a cache.

    Attributes:
        folder: made when it is missing, for this user alone (mode 0700).
    """

    folder: Path

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return self.folder / "replies.sqlite"

    def find(self, keys: Iterable[str]) -> dict[str, Reply]:
        """Return the replies that are there, by their keys."""
        if not self.path.exists():
            return {}
        with self._opened() as db:
            rows = (
                (key, db.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone())
                for key in dict.fromkeys(keys)
            )
            return {key: _reply(row[0]) for key, row in rows if row}

    def keep(self, key: str, reply: Reply) -> Reply:
        """Store a reply, and return what is stored: the first of two that came at once."""
        with self._opened() as db:
            db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (key, _text(reply)))
            row = db.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return _reply(row[0])

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction; raise ChatError when it can't be used."""
        try:
            if not self.path.exists():
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(self.path, timeout=_WAIT)) as db, db:
                db.execute("PRAGMA synchronous = FULL")  # each reply may have cost money
                # A writer from the first statement on, in the file's own mode: SQLite waits for
                # others here, but neither for a change to WAL nor for a reader to become a writer.
                db.execute("BEGIN IMMEDIATE")
                db.execute(_TABLE)
                yield db
        except (sqlite3.Error, OSError, ValueError, TypeError) as error:
            raise ChatError(
                f"{self.path}: the kept replies can't be used ({error}); make room, change its "
                "rights, or name another folder"
            ) from error


def _text(reply: Reply) -> str:
    stated = {name: value for name, value in asdict(reply).items() if value not in (None, "", ())}
    return json.dumps(stated)


def _reply(text: str) -> Reply:
    held = json.loads(text)
    first = tuple((str(token), float(logprob)) for token, logprob in held.pop("first_token", ()))
    return Reply(**{"text": "", **held}, first_token=first)
