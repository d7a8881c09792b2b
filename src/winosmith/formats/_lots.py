"""A right answer beside wrong ones, in columns of their own: their order is drawn by lot."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from winosmith.errors import ProblemError
from winosmith.formats._choices import listed, lists, several, spoken, written
from winosmith.formats._columns import Plan, empty, plainly


def by_lot(
    question: str, right: Any, wrong: Sequence[Any], taken: Plan
) -> tuple[tuple[str, ...], int]:
    """Return the right choice among the wrong ones, in an order that the texts decide."""
    others = wrong if len(wrong) > 1 else _wrong_ones(wrong[0], taken.wrong[0])
    if isinstance(right, list | tuple) and len(right) > 1 and not spoken(right):
        raise several(right)
    own = spoken(right) or (list(right) if isinstance(right, list | tuple) else [right])
    if isinstance(right, str) and plainly(taken.answer or "").endswith("s"):
        own = [*_wrong_ones(right, taken.answer or "")]
        if len(own) > 1:
            raise several(own)
    texts = [written(own[-1] if own else None)]
    texts += [written(one) for one in others if not empty(one)]
    if not texts[0].strip():
        raise ProblemError(f"the row has no {taken.answer!r}")

    def lot(text: str) -> bytes:
        return hashlib.sha256(f"{question}\n{text}".encode("utf-8", "surrogatepass")).digest()

    options = tuple(sorted(texts, key=lot))
    return options, options.index(texts[0])


def _wrong_ones(cell: Any, name: str) -> Sequence[Any]:
    """Return the wrong choices of one cell: a list, a chat's last turn, or texts with ; between."""
    if turns := spoken(cell):
        return turns[-1:]
    several = plainly(name).endswith("s")  # "Incorrect Answers", as TruthfulQA's table has them
    if isinstance(cell, str) and not several:  # one text, though steps of it are numbered
        try:
            return listed(cell, name).options if cell.lstrip()[:1] in ("[", "{") else [cell]
        except ProblemError:  # "[Name], …"
            return [cell]
    if not isinstance(cell, str) or lists(cell):
        return listed(cell, name).options
    return [text.strip() for text in cell.split(";")]
