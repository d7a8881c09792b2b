"""The judges' answers as a file of their own, in the form that `winosmith validate` reads."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from django.db.models import QuerySet

from winosmith.validate import write_votes
from winosmith.web.judge.votes import responses
from winosmith.web.problems.models import Problem
from winosmith.web.problems.public import public_problems
from winosmith.web.problems.records import numbers, rows

__all__ = ["VOTES", "votes"]

VOTES = {
    "votes.csv": "a plain table: problem_id, participant, choice …",
    "votes.jsonl": "JSON Lines, one answer a line",
}
"""File name → what it is."""


def votes(query: QuerySet[Problem], name: str) -> tuple[str, Iterator[bytes]]:
    """Return a digest of the file, and its bytes; judges are pseudonyms.

    Args:
        query: public problems, with the alias `place`.
        name: one of `VOTES`.
    """
    found = rows(numbers(query.order_by("place")), public_problems())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_votes((vote for chunk in found for vote in responses(chunk)), path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            # Kept open, the file lives on without its name until it is sent.
            kept = os.fdopen(os.dup(file.fileno()), "rb")
    return digest, _parts(kept)


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while part := file.read(1 << 16):
            yield part
