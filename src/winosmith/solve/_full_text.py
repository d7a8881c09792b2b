"""`FullTextIndex`: an SQLite full-text index of the sentences in a user's texts."""

from __future__ import annotations

import gzip
import hashlib
import re
import sqlite3
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

from winosmith.errors import FormatError, OutputError
from winosmith.outputs import sha256
from winosmith.records import parse_json

_INDEX_VERSION = "1"
"""Version of the passage format and of the index."""

_BATCH_SIZE = 10_000

_TABLE = "CREATE VIRTUAL TABLE passages USING fts5(text, tokenize='porter unicode61')"

Progress = Callable[[int, int, int], None]
"""A callback that receives the number of finished texts, the total number of texts, and the number
of passages so far."""


@dataclass(frozen=True)
class FullTextIndex:
    """Finds the sentences of a text collection that contain given phrases, in any inflection.

    The best match comes first (Okapi BM25). Tied matches are in the order of the texts.

    Attributes:
        path: path of the index file.
        digest: digest of the texts' contents and of the indexing scheme.
    """

    path: Path
    digest: str

    @classmethod
    def open(
        cls,
        collection: str | Path | None,
        folder: str | Path,
        on_progress: Progress | None = None,
    ) -> FullTextIndex:
        """Return the index of a text collection, and build it in `folder` if it is missing.

        An index is identified by the contents of the texts, not by their names. Equal texts are
        indexed once. If a build is interrupted, the next call starts it again.

        Args:
            collection: a text, or a folder of texts. Texts are `.txt`, or `.jsonl` with a "text" in
                each line, and may be gzipped. None means winosmith's own articles.
            folder: folder of the indexes, created if missing.
            on_progress: called after each batch of passages, and after each text.

        Raises:
            FormatError: the collection has no text, or contains an unreadable text.
            OutputError: the index can't be written.
        """
        if collection is None:
            with resources.as_file(resources.files("winosmith").joinpath("topics.jsonl")) as ships:
                return cls.open(ships, folder, on_progress)
        texts: dict[str, Path] = {}
        for path in list_texts(collection):
            texts.setdefault(sha256(path), path)
        whole = hashlib.sha256("\n".join((_INDEX_VERSION, *sorted(texts))).encode()).hexdigest()
        index = cls(Path(folder) / f"{whole[:16]}.sqlite", whole)
        index.path.parent.mkdir(parents=True, exist_ok=True)
        if not index.path.exists():
            with _convert_errors(index.path):
                _build_index(index.path, [*texts.values()], on_progress)
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
        with _convert_errors(self.path):
            return int(self._db.execute("SELECT count(*) FROM passages").fetchone()[0])

    def search(self, phrases: Sequence[str], limit: int) -> list[str]:
        """Return at most `limit` sentences that contain all phrases.

        Case and inflection are ignored. Operators in a phrase are treated as words. Phrases without
        words are ignored.

        Raises:
            OutputError: the index was damaged or removed.
        """
        cleaned = ("".join(c if c.isalnum() or ord(c) > 127 else " " for c in p) for p in phrases)
        quoted = [f'"{" ".join(words)}"' for words in map(str.split, cleaned) if words]
        if not quoted:
            return []
        ask = "SELECT text FROM passages WHERE passages MATCH ? ORDER BY rank, rowid LIMIT ?"
        with _convert_errors(self.path):
            return [row[0] for row in self._db.execute(ask, (" AND ".join(quoted), limit))]


def _build_index(path: Path, texts: Sequence[Path], on_progress: Progress | None) -> None:
    """Write the index under a temporary name, then rename it."""
    report_progress = on_progress or (lambda text, texts, passages: None)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        draft, total = Path(folder) / path.name, 0
        with closing(sqlite3.connect(draft)) as db, db:
            db.execute(_TABLE)
            for number, text in enumerate(texts):
                unread = read_passages(text)
                while batch := [(passage,) for passage in islice(unread, _BATCH_SIZE)]:
                    db.executemany("INSERT INTO passages (text) VALUES (?)", batch)
                    total += len(batch)
                    report_progress(number, len(texts), total)
                report_progress(number + 1, len(texts), total)
            db.execute("INSERT INTO passages (passages) VALUES ('optimize')")
        draft.replace(path)


@contextmanager
def _convert_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        hints = {
            "no such module: fts5": "this Python's SQLite has no full-text search (FTS5)",
            "database or disk is full": "the disk is full; free some space and try again",
        }
        hint = hints.get(str(error), f"the index can't be used ({error}); remove it and try again")
        raise OutputError(f"{path}: {hint}") from error


_SUFFIXES = (".txt", ".jsonl", ".txt.gz", ".jsonl.gz")

_WRAP_LIMIT = 100
"""Minimum number of characters of a line that counts as a paragraph. Shorter lines are joined."""

_MAX_WORDS, _MIN_WORDS = 80, 4
"""Maximum and minimum number of words in a passage. Longer sentences are cut, and shorter ones
omitted."""

_TITLES = "".join(rf"(?<!\b{title}\.)" for title in ("Mr", "Mrs", "Ms", "Dr", "Prof", "St"))
_END = re.compile(rf"(?:(?<=[.!?])|(?<=[.!?][\"'”’)])){_TITLES}\s+(?=[\"'“‘(]?[A-Z0-9])")


def list_texts(collection: str | Path) -> list[Path]:
    collection = Path(collection)
    candidates = collection.rglob("*") if collection.is_dir() else [collection]
    named = (path for path in candidates if path.name.lower().endswith(_SUFFIXES))
    found = sorted(path for path in named if path.is_file())
    if not found:
        what = "has" if collection.exists() else "does not exist, so it has"
        raise FormatError(f"{what} no text ({', '.join(_SUFFIXES)})", collection)
    return found


def read_passages(path: Path) -> Iterator[str]:
    """Yield the sentences of a text file, cut into passages of 4 to 80 words.

    Bytes that are not UTF-8 become the replacement character.
    """
    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8", errors="replace") as file:
            is_json = ".jsonl" in path.name.lower()
            blocks = _read_json_texts(path, file) if is_json else _join_wrapped_lines(file)
            for block in blocks:
                yield from _split_sentences(block)
    except (OSError, EOFError) as error:
        raise FormatError(getattr(error, "strerror", None) or str(error), path) from error


def _read_json_texts(path: Path, file: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            text = parse_json(line)["text"]
        except (ValueError, KeyError, TypeError):
            text = None
        if not isinstance(text, str):
            raise FormatError('the line is not a JSON object with a "text"', path, number)
        yield from _join_wrapped_lines(text.splitlines())


def _join_wrapped_lines(lines: Iterable[str]) -> Iterator[str]:
    block: list[str] = []
    for line in lines:
        if line.strip():
            block.append(line)
        if block and (not line.strip() or len(line) > _WRAP_LIMIT or len(block) >= _WRAP_LIMIT):
            yield " ".join(block)
            block = []
    if block:
        yield " ".join(block)


def _split_sentences(paragraph: str) -> Iterator[str]:
    for sentence in _END.split(paragraph.replace("\0", " ")):
        words = sentence.split()
        for start in range(0, len(words), _MAX_WORDS):
            part = words[start : start + _MAX_WORDS]
            if len(part) >= _MIN_WORDS:
                yield " ".join(part)
