"""A version's sentence beside its parent's: what was put in, and what was taken out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from winosmith.problem import BLANK

__all__ = ["Change", "changes"]


class Change(NamedTuple):
    """A run of a sentence.

    Attributes:
        text: its words, and the spaces between them.
        mark: "" for what the parent has too, "added", or "removed" for what only the parent has.
    """

    text: str
    mark: str = ""

    @property
    def blank(self) -> bool:
        """Whether it is the blank."""
        return self.text == BLANK


def changes(before: str | None, sentence: str) -> list[Change]:
    """Return a sentence in runs, those that only its parent has among them.

    Args:
        before: the parent's sentence; None where nothing is to be compared.
        sentence: the version's.

    >>> [(c.text, c.mark) for c in changes("The cup hit the _ .", "The mug hit the old _ .")]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('The ', ''), ('cup ', 'removed'), ('mug ', 'added'), ('hit the ', ''), ('old ', 'added'),
     ('_', ''), (' .', '')]
    """
    new = sentence.split()
    old = new if before is None else before.split()
    marked: list[tuple[str, str]] = []
    for same, ops in groupby(Levenshtein.opcodes(old, new), key=lambda op: op.tag == "equal"):
        first, *rest = ops
        last = rest[-1] if rest else first
        if not same:
            marked += [(word, "removed") for word in old[first.src_start : last.src_end]]
        mark = "" if same else "added"
        marked += [(word, mark) for word in new[first.dest_start : last.dest_end]]
    return list(_runs(marked))


def _runs(marked: Sequence[tuple[str, str]]) -> Iterator[Change]:
    """Yield neighbours of one mark together; every word but the last has its space."""
    last = len(marked) - 1
    parts = [
        (text, mark)
        for at, (word, mark) in enumerate(marked)
        for text in _around_blank(word if at == last else f"{word} ")
    ]
    for (mark, blank), run in groupby(parts, key=lambda part: (part[1], part[0] == BLANK)):
        texts = [text for text, _ in run]
        yield from [Change(BLANK, mark)] * len(texts) if blank else [Change("".join(texts), mark)]


def _around_blank(word: str) -> list[str]:
    before, blank, after = word.partition(BLANK)
    return [text for text in (before, blank, after) if text]
