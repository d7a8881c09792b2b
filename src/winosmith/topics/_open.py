"""Opens a source of topics by where it is."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from winosmith.errors import InputError
from winosmith.topics._folder import FolderTopics
from winosmith.topics._http import HttpTopics
from winosmith.topics._jsonl import JsonlTopics
from winosmith.topics._shipped import shipped
from winosmith.topics._topic import Topics

__all__ = ["open_topics"]


@lru_cache(maxsize=8)
def open_topics(where: str | None, base: Path | None = None) -> Topics:
    """Return the source of topics that a setting names; opened once a process.

    Args:
        where: a folder of .txt and .md files, a .jsonl file, an https address, or None for the
            articles that ship.
        base: the folder from which a relative path starts; the working folder when None.

    Raises:
        InputError: there is no such folder or file, or it can't be used; the message says why.
    """
    if where is None:
        return shipped()
    if "://" in where:
        return HttpTopics(where)
    path = (base or Path()) / Path(where).expanduser()
    if path.is_dir():
        return FolderTopics.open(path)
    if path.is_file() and path.suffix.lower() in (".jsonl", ".ndjson"):
        return JsonlTopics.open(path)
    raise InputError(
        f"topics = {where!r} names no folder of texts, no .jsonl file and no https address "
        f"(looked for {path.absolute()})"
    )
