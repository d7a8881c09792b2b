"""What somebody changed, for the eye: stretches that stay, go or come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

from winosmith.text import tokens

Kind = Literal["", "del", "ins"]


class Piece(NamedTuple):
    """A stretch of text: it stays, is taken out ("del"), or is put in ("ins")."""

    text: str
    kind: Kind


def pieces(before: str, after: str) -> list[Piece]:
    """Return how one sentence became another, by the same tokens that depths count.

    Those that are not taken out make up the new sentence, but for white space.

    >>> [(piece.kind, piece.text) for piece in pieces("The cup is full.", "The mug is so full.")]
    [('', 'The '), ('del', 'cup'), ('', ' '), ('ins', 'mug'), ('', ' is '), ('ins', 'so'), ('', ' full.')]
    """  # noqa: E501
    found = _found(before, after)
    joined = ((kind, "".join(text for text, _ in run)) for kind, run in groupby(found, _kind))
    return [Piece(text, kind) for kind, text in joined if text]


def _kind(piece: Piece) -> Kind:
    return piece.kind


def _found(before: str, after: str) -> Iterator[Piece]:
    old, new = _spans(before), _spans(after)
    cut = [
        [text[start:end] for start, end in spans] for text, spans in ((before, old), (after, new))
    ]
    for same, ops in groupby(Levenshtein.opcodes(*cut), key=lambda op: op.tag == "equal"):
        first, *more = ops  # neighbours that differ are one change
        last = more[-1] if more else first
        gone = "" if same else _stretch(before, old[first.src_start : last.src_end])
        here = _stretch(after, new[first.dest_start : last.dest_end])
        if here and first.dest_start:
            yield Piece(after[new[first.dest_start - 1][1] : new[first.dest_start][0]], "")
        if gone:
            if not here and first.src_start:
                yield Piece(before[old[first.src_start - 1][1] : old[first.src_start][0]], "")
            yield Piece(gone, "del")
            if here or not first.dest_start:
                yield Piece(" ", "")
        if here:
            yield Piece(here, "" if same else "ins")


def _stretch(text: str, spans: Sequence[tuple[int, int]]) -> str:
    return text[spans[0][0] : spans[-1][1]] if spans else ""


@lru_cache(maxsize=1024)
def _spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return where each token stands: tokens are pieces of the text, in its order."""
    spans, at = [], 0
    for token in tokens(text):
        start = text.index(token, at)
        at = start + len(token)
        spans.append((start, at))
    return tuple(spans)
