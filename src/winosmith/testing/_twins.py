"""Twins that mean nothing."""

from __future__ import annotations

import random

from winosmith.dataset import Dataset
from winosmith.problem import Problem

__all__ = ["made_twins"]

_WORDS = tuple(
    "amber basket candle drawer engine feather garden hammer island jacket kettle ladder marble "
    "needle orchard pencil quarry ribbon saddle tunnel umbrella velvet window yarn zipper".split()
)


def made_twins(count: int, *, singles: int = 0, seed: int = 0) -> Dataset:
    """Return `count` twins and then `singles` problems whose half is gone, all distinct.

    The sentences have 18 words and obey the rules of structure, but mean nothing. Which half
    comes first, and which option is right there, is random.

    >>> data = made_twins(3, singles=1)
    >>> len(data), len(data.twins), len(data.singles)
    (7, 3, 1)
    """
    rng = random.Random(seed)  # noqa: S311 - makes test data, not secrets
    problems: list[Problem] = []
    for number in range(count + singles):
        first, second, place, left, right = rng.sample(_WORDS, 5)
        first, second = f"{first}{number}", f"{second}{number}"  # no other twin has these options
        answer = rng.randrange(2)
        start = f"They all say that the {first} stood beside the {second} near the {place}"
        for half, word in enumerate((left, right)[: 2 if number < count else 1]):
            problems.append(
                Problem(
                    id=f"{number}-{half}",
                    sentence=f"{start} because the _ was {word}.",
                    options=(first, second),
                    answer=answer ^ half,
                    twin_id=f"t{number}",
                )
            )
    return Dataset(problems, "made")
