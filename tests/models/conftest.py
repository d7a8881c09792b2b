"""Problems that a tiny encoder can learn, and problems that nothing can."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from winosmith import Dataset, Problem


def _problems(count: int, learnable: bool, seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        options = ("amber", "basket") if rng.random() < 0.5 else ("basket", "amber")
        place = ("garden", "tunnel", "kettle", "marble")[rng.integers(4)]
        answer = options.index("amber") if learnable else int(rng.integers(2))
        sentence = f"they say that beside the {place} {number} the _ stood."
        made.append(Problem(f"{seed}-{number}", sentence, options, answer))
    return Dataset(made)


@pytest.fixture(scope="session")
def learnable() -> tuple[Dataset, Dataset]:
    """Return problems to train on and to measure on where amber is always right."""
    return _problems(160, True, 0), _problems(60, True, 1)


@pytest.fixture(scope="session")
def hopeless() -> tuple[Dataset, Dataset]:
    """Return problems to train on and to measure on whose answers are coin flips."""
    return _problems(160, False, 2), _problems(60, False, 3)


@dataclass
class Steps:
    """The steps of which training told.

    Attributes:
        stop: after how many Ctrl-C comes, once; 0 for never.
    """

    stop: int = 0
    told: list[int] = field(default_factory=list)

    def __call__(self, done: int, of: int, note: str) -> None:
        """Take a step, as `on_step`."""
        self.told.append(done)
        if len(self.told) == self.stop:
            raise KeyboardInterrupt
