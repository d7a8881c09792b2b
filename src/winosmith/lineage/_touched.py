"""Which token positions were touched on the way from a root: what lineage depth counts.

EvoGrad (section 3.1) writes an insertion as the substitution of the empty string, and a deletion
as a substitution by it. So positions never go away: a deleted token leaves an empty position where
it was, and a token that is inserted there later fills it again. "A depth increment corresponds
solely to the perturbation of a token distinct from those previously perturbed":

    the cup was full       →  the mug was full      cup is touched                    depth 1
    the mug was full       →  the jug was full      the same position                 depth 1
    the jug was full       →  the was full          its position is empty now         depth 1
    the was full           →  the pot was full      the empty position is filled      depth 1
    the pot was full       →  the pot was so full   a new position                    depth 2
    the pot was so full    →  the pot was full      which is empty now                depth 2

Where several positions are empty between two tokens, the first of them is filled. Depth never
falls: a change that is undone was made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from winosmith.problem import Edit

__all__ = ["Touched", "untouched"]


@dataclass(frozen=True, slots=True)
class Touched:
    """The positions of one sentence that were touched since its root.

    Attributes:
        tokens: 1 for each token whose position was touched, else 0; (n,).
        empty: how many empty positions, all touched, lie before each token and after the last;
            (n + 1,).
        count: how many positions were touched, the empty ones included: the lineage depth.
    """

    tokens: bytes
    empty: tuple[int, ...]
    count: int

    def after(self, edits: Iterable[Edit]) -> Touched:
        """Return what is touched after edits that fit the tokens, one after another."""
        tokens, empty, count = bytearray(self.tokens), list(self.empty), self.count
        for edit in edits:
            at = edit.at
            if edit.op == "insert":
                left = max(0, empty[at] - 1)
                count += not empty[at]
                tokens.insert(at, 1)
                empty[at : at + 1] = [0, left]
                continue
            count += not tokens[at]
            if edit.op == "substitute":
                tokens[at] = 1
            else:
                del tokens[at]
                empty[at : at + 2] = [empty[at] + 1 + empty[at + 1]]
        return Touched(bytes(tokens), tuple(empty), count)


def untouched(tokens: int) -> Touched:
    """Return the positions of a root with that many tokens.

    >>> untouched(3).after([Edit("delete", 1, "cup"), Edit("insert", 1, new="mug")]).count
    1
    """
    return Touched(bytes(tokens), (0,) * (tokens + 1), 0)
