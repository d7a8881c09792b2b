"""The association meter: how well pairs of words predict the answers.

From the site's public problems and the handwritten twins, it learns how often a word of an option
occurs with another word of the sentence if that option is correct, and if it is not. Every ten
minutes, the worker trains the meter and writes a file in the site's folder, which all processes
read. Therefore, all processes show the same reading, a restarted server doesn't have to train, and
each process stores only two numbers per word pair.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import compress, count
from pathlib import Path

import numpy as np
import numpy.typing as npt
from django.conf import settings

from winosmith import Problem, practice
from winosmith.outputs import atomic_write
from winosmith.problem import BLANK
from winosmith.text import is_content, split_units
from winosmith.web.pages import read_file_stamp
from winosmith.web.problems.lookalikes import AnyHalf
from winosmith.web.problems.states import get_public_problems

MIN_GAIN = 0.1
"""Minimum number of nats by which a listed word favours the correct option: odds of 1.1 to 1."""

MAX_WORDS_SHOWN = 3

INTERVAL = 600.0
"""Seconds between trainings."""

MAX_TRAINING = 4_000
"""Maximum number of training problems, of which the newest are used.

Training takes a third of a second.
"""

CHUNK = 500
"""Number of problems read at a time."""

SMOOTHING = 1.0
"""Laplace smoothing, which is small because there are few data.

Gururangan et al. (2018) add 100, for much larger data sets.
"""

FILE = "association.npy"
"""Path of the weights file, relative to the site's folder."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of the association meter: how well word pairs predict a half's answer.

    Attributes:
        share: The probability of the correct option, 0–1. It is 0.5 if the words don't distinguish
            two options, and more if they give the answer away; None if the half has no answer or
            fewer than two options.
        words: The content words that give the answer away, strongest first.
        is_known: Whether any of the word pairs occurred in the training.
    """

    share: float | None
    words: tuple[str, ...] = ()
    is_known: bool = False


def measure_association(halves: Sequence[AnyHalf]) -> tuple[list[Reading], int]:
    """Measure how well word pairs predict the answer of each half; halves may be unfinished.

    Return one reading per half, and the number of training problems. Before the first training,
    there are no readings.
    """
    pairs = _PAIRS_FILE.load_latest()
    if pairs is None:
        return [], 0
    return [measure_half(half, pairs) for half in halves], pairs.problem_count


def measure_half(half: AnyHalf, pairs: PairWeights) -> Reading:
    options = [_get_unique_words(option) for option in half.options]
    is_complete = len(options) > 1 and all(options)
    if half.answer is None or not is_complete or not 0 <= half.answer < len(options):
        return Reading(None)
    sentence = _get_unique_words(half.sentence)
    known = pairs.get_weights(
        {f"{own} {word}" for option in options for own in option for word in sentence}
    )
    scores = [sum(_sum_weights(known, option, word) for word in sentence) for option in options]
    right = options[half.answer]
    wrong = [option for number, option in enumerate(options) if number != half.answer]
    gains = {
        word: _sum_weights(known, right, word)
        - max(_sum_weights(known, other, word) for other in wrong)
        for word in filter(is_content, split_units(half.sentence))
    }
    strong = sorted((word for word in gains if gains[word] >= MIN_GAIN), key=lambda w: -gains[w])
    return Reading(softmax(scores)[half.answer], tuple(strong[:MAX_WORDS_SHOWN]), bool(known))


def _get_unique_words(text: str) -> list[str]:
    return sorted(set(split_units(text)) - {BLANK})


def _sum_weights(weights: Mapping[str, float], option: Sequence[str], word: str) -> float:
    return sum((weights.get(f"{own} {word}", 0.0) for own in option), 0.0)


def softmax(scores: Sequence[float]) -> list[float]:
    """Convert scores, which are log-probabilities up to a constant, to probabilities.

    >>> [round(share, 3) for share in softmax([0.0, math.log(3)])]
    [0.25, 0.75]
    """
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    return [power / sum(powers) for power in powers]


class PairWeights:
    """The weights of word pairs: PMI with the correct answer, in nats.

    Args:
        table: A (2, pairs + 1) array of uint64, as in the file. The first row contains 0 and then
            the digests of the pairs in ascending order. The second row contains the number of
            problems and then the bits of the pairs' weights.
    """

    def __init__(self, table: npt.NDArray[np.uint64]) -> None:
        self.table = table

    @property
    def problem_count(self) -> int:
        return int(self.table[1, 0])

    @classmethod
    def from_problems(cls, problems: Iterable[Problem]) -> PairWeights:
        """Compute the weights from problems with answers, reading one problem at a time."""
        from winosmith.solve import WordAssociation

        numbers = count()
        read = (problem for problem, _number in zip(problems, numbers, strict=False))
        known = WordAssociation.trained_on_pairs(read, smoothing=SMOOTHING).weights
        digests = np.fromiter(map(_hash_pair, known), np.uint64, len(known))
        weights = np.fromiter((weight for (weight,) in known.values()), np.float64, len(known))
        order = np.argsort(digests)
        table = np.zeros((2, len(known) + 1), np.uint64)
        table[0, 1:], table[1, 1:] = digests[order], weights[order].view(np.uint64)
        table[1, 0] = next(numbers)
        return cls(table)

    @classmethod
    def read(cls, path: Path) -> PairWeights:
        """Read the pairs that `save` has written.

        Raises:
            OSError: There is no such file.
            EOFError: The file is empty.
            ValueError: The file is incomplete, or of another kind.
        """
        table = np.load(path, allow_pickle=False)
        if table.dtype != np.uint64 or table.ndim != 2 or len(table) != 2 or not table.size:
            raise ValueError(f"{path}: not a file of word-pair weights")
        return cls(table)

    def save(self, path: Path) -> None:
        with atomic_write(path, "wb") as file:
            np.save(file, self.table, allow_pickle=False)

    def get_weights(self, pairs: Collection[str]) -> dict[str, float]:
        """Return the weights of the given pairs, except for unknown pairs.

        A pair is an option's word and another word in lower case, as in `WordAssociation`.
        """
        asked = np.fromiter(map(_hash_pair, pairs), np.uint64, len(pairs))
        places = np.searchsorted(self.table[0], asked).clip(max=self.table.shape[1] - 1)
        known = self.table[0, places] == asked
        weights = self.table[1, places].view(np.float64)
        return dict(zip(compress(pairs, known), weights[known].tolist(), strict=True))


def train_pairs() -> PairWeights:
    """Compute word-pair weights from the site's public problems and the handwritten twins.

    Problems under embargo and gold questions are omitted, because the words that the meter lists
    would reveal them.
    """
    newest = get_public_problems().exclude(answer=None).order_by("-pk")[:MAX_TRAINING]
    rows = newest.values_list("ref", "sentence", "options", "answer")

    def problems() -> Iterator[Problem]:
        """Yield the training problems one at a time, because a list would use more memory."""
        yield from practice.read_handwritten()
        for ref, text, options, answer in rows.iterator(chunk_size=CHUNK):
            yield Problem(f"site:{ref}", text, tuple(options), answer)

    return PairWeights.from_problems(problems())


def train_and_save_pairs() -> None:
    train_pairs().save(settings.SITE.folder / FILE)


class PairsFile:
    """The weights file, which is read again whenever it changes."""

    def __init__(self) -> None:
        self.pairs: PairWeights | None = None
        self.seen: tuple[int, int] | None = None

    def load_latest(self) -> PairWeights | None:
        """Return the pairs from the last training; None before the first training."""
        path = settings.SITE.folder / FILE
        stamp = read_file_stamp(path)
        if stamp != self.seen:
            self.seen = stamp
            with suppress(OSError, ValueError, EOFError):  # the file is written again soon
                self.pairs = PairWeights.read(path)
        return self.pairs


_PAIRS_FILE = PairsFile()


def _hash_pair(pair: str) -> int:
    """Hash a pair to 8 bytes; the collision probability among a million pairs is 3e-8."""
    return int.from_bytes(blake2b(pair.encode(), digest_size=8).digest(), "little")
