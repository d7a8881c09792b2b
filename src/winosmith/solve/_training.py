"""What every solver asks of the problems that it learns from."""

from __future__ import annotations

from collections.abc import Sequence

from winosmith.dataset import Dataset
from winosmith.errors import DataError

__all__ = ["first_three", "known_answers"]


def known_answers(train: Dataset) -> list[int]:
    """Return the answers of the problems that a solver learns from.

    Raises:
        DataError: there are no problems, or an answer is withheld.
    """
    if not train:
        raise DataError("there are no problems to learn from")
    withheld = [problem.id for problem in train if problem.answer is None]
    if withheld:
        raise DataError(
            f"{len(withheld):,} of the {len(train):,} problems to learn from have no answer "
            f"({first_three(withheld)})"
        )
    return [answer for answer in train.answers if answer is not None]


def first_three(ids: Sequence[str]) -> str:
    """Return the first three ids, for a message."""
    return ", ".join(map(repr, ids[:3])) + (", …" if len(ids) > 3 else "")
