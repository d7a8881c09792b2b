"""Problems that a tiny encoder can learn, and problems with random answers."""

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
    """Return training and dev problems whose answer is always amber."""
    return _problems(160, True, 0), _problems(60, True, 1)


@pytest.fixture(scope="session")
def hopeless() -> tuple[Dataset, Dataset]:
    """Return training and dev problems whose answers are random."""
    return _problems(160, False, 2), _problems(60, False, 3)


@dataclass
class Steps:
    """The steps that training reported; pass it as `on_step`.

    Attributes:
        stop: Number of steps after which Ctrl-C is simulated, once; 0 for never.
        told: The reported numbers of finished steps.
    """

    stop: int = 0
    told: list[int] = field(default_factory=list)

    def __call__(self, done: int, of: int, note: str) -> None:
        """Record a step."""
        self.told.append(done)
        if len(self.told) == self.stop:
            raise KeyboardInterrupt
