"""The judges' answers as a file of their own, in the form that `winosmith validate` reads."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from django.db.models import QuerySet

from winosmith.validate import write_votes
from winosmith.web.judge.votes import responses
from winosmith.web.problems.models import Problem
from winosmith.web.problems.public import public_problems
from winosmith.web.problems.records import numbers, rows
from winosmith.web.read.aside import Aside

__all__ = ["VOTES", "votes"]

VOTES = {
    "votes.csv": "a plain table: problem_id, participant, choice …",
    "votes.jsonl": "JSON Lines, one answer a line",
}
"""File name → what it is."""


def votes(query: QuerySet[Problem], name: str) -> tuple[str, Aside]:
    """Return a digest of the file, and its bytes, to be closed; judges are pseudonyms.

    Args:
        query: public problems, with the alias `place`.
        name: one of `VOTES`.
    """
    found = rows(numbers(query.order_by("place")), public_problems())
    folder = Path(tempfile.mkdtemp(prefix="votes-"))
    try:
        path = folder / name
        write_votes((vote for chunk in found for vote in responses(chunk)), path)
        file = path.open("rb")  # open, it lives on without its name until it is sent
    finally:
        shutil.rmtree(folder)
    return hashlib.file_digest(file, "sha256").hexdigest(), Aside(b"", file)
