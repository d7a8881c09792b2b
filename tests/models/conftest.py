"""Problems that a tiny encoder can learn, and problems that nothing can."""

from __future__ import annotations

import random

import pytest

from winosmith import Dataset, Problem


def _problems(count: int, learnable: bool, seed: int) -> Dataset:
    rng = random.Random(seed)
    made = []
    for number in range(count):
        options = ["amber", "basket"]
        rng.shuffle(options)
        place = rng.choice(["garden", "tunnel", "kettle", "marble"])
        answer = options.index("amber") if learnable else rng.randrange(2)
        sentence = f"they say that beside the {place} {number} the _ stood."
        made.append(Problem(f"{seed}-{number}", sentence, (options[0], options[1]), answer))
    return Dataset(made)


@pytest.fixture(scope="session")
def learnable() -> tuple[Dataset, Dataset]:
    """Return problems to train on and to measure on where amber is always right."""
    return _problems(160, True, 0), _problems(60, True, 1)


@pytest.fixture(scope="session")
def hopeless() -> tuple[Dataset, Dataset]:
    """Return problems to train on and to measure on whose answers are coin flips."""
    return _problems(160, False, 2), _problems(60, False, 3)
