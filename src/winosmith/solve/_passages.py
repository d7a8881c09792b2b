"""A text collection, cut into the sentences that a search can return."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from winosmith.errors import FormatError
from winosmith.records import parsed

__all__ = ["passages", "text_files"]

_SUFFIXES = (".txt", ".jsonl", ".txt.gz", ".jsonl.gz")

_WRAPPED = 100
"""Characters; a shorter line goes on in the next, a longer one is a paragraph of its own."""

_LONGEST, _SHORTEST = 80, 4
"""Words of a passage; what is longer (tables, lists) is cut, what is shorter says nothing."""

_TITLES = "".join(rf"(?<!\b{title}\.)" for title in ("Mr", "Mrs", "Ms", "Dr", "Prof", "St"))
_END = re.compile(rf"(?:(?<=[.!?])|(?<=[.!?][\"'”’)])){_TITLES}\s+(?=[\"'“‘(]?[A-Z0-9])")


def text_files(collection: str | Path) -> list[Path]:
    """Return the texts of a collection: one file, or all below a folder, in the order of names.

    Texts are `.txt`, and `.jsonl` with a "text" in each line; both may be gzipped.

    Raises:
        FormatError: there is no such file or folder, or it holds no text.
    """
    collection = Path(collection)
    if collection.is_dir():
        found = sorted(path for path in collection.rglob("*") if _is_text(path))
    else:
        found = [collection] if _is_text(collection) else []
    if not found:
        what = "holds" if collection.exists() else "does not exist, so it holds"
        raise FormatError(f"{what} no text ({', '.join(_SUFFIXES)})", collection)
    return found


def _is_text(path: Path) -> bool:
    return path.name.lower().endswith(_SUFFIXES) and path.is_file()


def passages(path: Path) -> Iterator[str]:
    """Yield the sentences of a text, each of 4 to 80 words, its white space made single.

    What is not UTF-8 becomes the replacement character, so that one odd byte in a library of old
    books stops nothing.

    Raises:
        FormatError: the file can't be read, or a line of JSON Lines holds no text.
    """
    try:
        with _open(path) as file:
            blocks = _records(path, file) if ".jsonl" in path.name.lower() else _paragraphs(file)
            for block in blocks:
                yield from _sentences(block)
    except (OSError, EOFError) as error:
        raise FormatError(getattr(error, "strerror", None) or str(error), path) from error


def _open(path: Path) -> IO[str]:
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return path.open(encoding="utf-8", errors="replace")


def _records(path: Path, file: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            text = parsed(line)["text"]
        except (ValueError, KeyError, TypeError):
            text = None
        if not isinstance(text, str):
            raise FormatError('the line is no JSON object with a "text"', path, number)
        yield from _paragraphs(text.splitlines())


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    held: list[str] = []
    for line in lines:
        if line.strip():
            held.append(line)
        if held and (not line.strip() or len(line) > _WRAPPED or len(held) >= _WRAPPED):
            yield " ".join(held)
            held = []
    if held:
        yield " ".join(held)


def _sentences(paragraph: str) -> Iterator[str]:
    for sentence in _END.split(paragraph.replace("\0", " ")):
        words = sentence.split()
        for start in range(0, len(words), _LONGEST):
            part = words[start : start + _LONGEST]
            if len(part) >= _SHORTEST:
                yield " ".join(part)
