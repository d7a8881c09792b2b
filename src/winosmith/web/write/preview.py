"""The preview: each half with each option in its blank, and where the halves differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

from winosmith.problem import BLANK
from winosmith.text import words
from winosmith.web.write.fields import Typed

__all__ = ["Filled", "Piece", "preview"]


class Piece(NamedTuple):
    """A stretch of a sentence: plain, the filled blank, or where the halves differ."""

    text: str
    kind: Literal["", "filled", "differs"]


@dataclass(frozen=True, slots=True)
class Filled:
    """One half with one option in its blank.

    Attributes:
        right: whether the contributor says that this is how it must be read.
        pieces: in order; together they are the sentence.
    """

    option: str
    right: bool
    pieces: tuple[Piece, ...]


def preview(typed: Typed) -> list[tuple[Filled, ...]]:
    """Return for each half its readings, one for each option; none for a half without a blank."""
    first, second = (words(sentence) for sentence in typed.sentences)
    differs: tuple[set[int], set[int]] = set(), set()
    if first and second:
        for op in Levenshtein.opcodes(first, second):
            if op.tag != "equal":
                differs[0].update(range(op.src_start, op.src_end))
                differs[1].update(range(op.dest_start, op.dest_end))
    return [
        tuple(
            Filled(option, answer == number, _pieces(half, marked, option))
            for number, option in enumerate(typed.options)
            if option and sum(word.count(BLANK) for word in half) == 1
        )
        for half, marked, answer in zip((first, second), differs, typed.answers, strict=True)
    ]


def _pieces(half: list[str], marked: set[int], option: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []

    def add(text: str, kind: Literal["", "filled", "differs"]) -> None:
        if text and pieces and pieces[-1].kind == kind:
            pieces[-1] = Piece(pieces[-1].text + text, kind)
        elif text:
            pieces.append(Piece(text, kind))

    for place, word in enumerate(half):
        kind: Literal["", "differs"] = "differs" if place in marked else ""
        if place:
            add(" ", kind if place - 1 in marked else "")
        before, blank, after = word.partition(BLANK)
        add(before, kind)
        if blank:
            add(option, "filled")
        add(after, kind)
    return tuple(pieces)
