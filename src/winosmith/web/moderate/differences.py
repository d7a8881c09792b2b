"""Two halves side by side: which words of one differ from the other's."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import NamedTuple

__all__ = ["Piece", "pieces"]


class Piece(NamedTuple):
    """A run of a sentence.

    Attributes:
        text: as it stands; "_" for the blank.
        differs: the other half has something else here, or nothing.
    """

    text: str
    differs: bool = False

    @property
    def blank(self) -> bool:
        """Whether it is the blank."""
        return self.text == "_"


def pieces(sentence: str, other: str = "") -> list[Piece]:
    """Return a sentence in runs; without another one, nothing differs.

    >>> [(p.text, p.differs) for p in pieces("The _ is big.", "The _ is small.")]
    [('The ', False), ('_', False), (' is ', False), ('big.', True)]
    """
    mine, theirs = sentence.split(" "), (other or sentence).split(" ")
    runs: list[Piece] = []
    for op, start, end, *_rest in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        for word in mine[start:end]:
            _add(runs, word, op != "equal")
            _add(runs, " ", differs=False)
    return runs[:-1] if len(runs) > 1 and runs[-1].text == " " else _trimmed(runs)


def _add(runs: list[Piece], word: str, differs: bool) -> None:
    """Append a word, its blank apart, joined to the run before where that is of its kind."""
    before, blank, after = word.partition("_")
    for text in (before, blank, after):
        if not text:
            continue
        last = runs[-1] if runs else None
        if last and not last.blank and text != "_" and last.differs == differs:
            runs[-1] = Piece(last.text + text, differs)
        else:
            runs.append(Piece(text, differs))


def _trimmed(runs: list[Piece]) -> list[Piece]:
    """Return the runs without the space that was added after the last word."""
    return [*runs[:-1], runs[-1]._replace(text=runs[-1].text.removesuffix(" "))] if runs else []
