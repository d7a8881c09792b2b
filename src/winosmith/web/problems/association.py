"""The association meter: how far the words alone, without understanding, tell the answers.

What is learnt from are the public problems of the site and the twins that ship: how often a word
of an option stood in a sentence with another word, when that option was right and when it was not.
The worker learns for all processes, every ten minutes, into a file in the site's folder. So all of
them show the same reading, a server that starts again has it at once, and none holds more of it
than two numbers a word pair.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import compress
from pathlib import Path

import numpy as np
import numpy.typing as npt
from django.conf import settings

from winosmith import Problem, practice
from winosmith.outputs import write_aside
from winosmith.problem import BLANK
from winosmith.text import is_content, units
from winosmith.web.problems.lookalikes import AnyHalf
from winosmith.web.problems.states import public_problems

TELLING = 0.1
"""Nats by which a word must favour the right option to be named: odds of 1.1 to 1."""

MOST_WORDS = 3

EVERY = 600.0
"""Seconds after which the site learns again."""

MOST_LEARNT = 4_000
"""Problems of the site that are learnt from, the newest: a third of a second's work."""

CHUNK = 500
"""Problems that are read at once."""

SMOOTHING = 1.0
"""Laplace's: what is learnt from is small (Gururangan et al. 2018 add 100 to 300,000)."""

FILE = "association.npy"
"""In the site's folder."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How far word association gets one half right.

    Attributes:
        share: what it gives to the right option, 0–1: 0.5 where it can't tell the options apart,
            more where it gives the answer away. None while the half has no answer or not two
            options to choose from.
        words: the content words that give it away, the strongest first.
    """

    share: float | None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Meter:
    """What word association makes of the halves.

    Attributes:
        readings: one for each half, in their order; empty until the first learning is done.
        problems: how many problems were learnt from.
    """

    readings: tuple[Reading, ...] = ()
    problems: int = 0


def association(halves: Sequence[AnyHalf]) -> Meter:
    """Return how far word association alone gets each half right; halves may be unfinished."""
    pairs = _LEARNING.latest()
    if pairs is None:
        return Meter()
    return Meter(tuple(reading(half, pairs) for half in halves), pairs.problems)


def reading(half: AnyHalf, pairs: Pairs) -> Reading:
    """Return how far word pairs get a half right."""
    options = [_words(option) for option in half.options]
    if half.answer is None or len(options) < 2 or not all(options):
        return Reading(None)
    if not 0 <= half.answer < len(options):
        return Reading(None)
    sentence = _words(half.sentence)
    known = pairs.weights(
        {f"{own} {word}" for option in options for own in option for word in sentence}
    )
    scores = [sum(_weight(known, option, word) for word in sentence) for option in options]
    right = options[half.answer]
    wrong = [option for number, option in enumerate(options) if number != half.answer]
    gains = {
        word: _weight(known, right, word) - max(_weight(known, other, word) for other in wrong)
        for word in filter(is_content, units(half.sentence))
    }
    telling = sorted((word for word in gains if gains[word] >= TELLING), key=lambda w: -gains[w])
    return Reading(softmax(scores)[half.answer], tuple(telling[:MOST_WORDS]))


def _words(text: str) -> list[str]:
    """Return the distinct words as `WordAssociation` has them, in alphabetical order."""
    return sorted(set(units(text)) - {BLANK})


def _weight(known: Mapping[str, float], option: Sequence[str], word: str) -> float:
    return sum((known.get(f"{own} {word}", 0.0) for own in option), 0.0)


def softmax(scores: Sequence[float]) -> list[float]:
    """Return probabilities: scores are log-probabilities up to a constant (metrics.calibration).

    >>> [round(share, 3) for share in softmax([0.0, math.log(3)])]
    [0.25, 0.75]
    """
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    return [power / sum(powers) for power in powers]


class Pairs:
    """The weights of word pairs: PMI with the right answer, in nats.

    Args:
        table: (2, pairs + 1) of uint64, as the file has it: the digests of the pairs in ascending
            order over the bits of their weights. The first column has no pair, but 0 over the
            number of problems.
    """

    def __init__(self, table: npt.NDArray[np.uint64]) -> None:
        self.table = table

    @property
    def problems(self) -> int:
        """How many were learnt from."""
        return int(self.table[1, 0])

    @classmethod
    def learnt_from(cls, problems: Iterable[Problem]) -> Pairs:
        """Count the word pairs of solved problems, which are read one by one."""
        from winosmith.solve import WordAssociation

        read = 0

        def counted() -> Iterator[Problem]:
            nonlocal read
            for problem in problems:
                read += 1
                yield problem

        known = WordAssociation.of_pairs(counted(), smoothing=SMOOTHING).weights
        digests = np.fromiter(map(_digest, known), np.uint64, len(known))
        weights = np.fromiter((weight for (weight,) in known.values()), np.float64, len(known))
        order = np.argsort(digests)
        table = np.zeros((2, len(known) + 1), np.uint64)
        table[0, 1:], table[1, 1:] = digests[order], weights[order].view(np.uint64)
        table[1, 0] = read
        return cls(table)

    @classmethod
    def read(cls, path: Path) -> Pairs:
        """Return what `save` has written.

        Raises:
            OSError: there is no such file.
            EOFError: it is empty.
            ValueError: it is not whole, or something else.
        """
        table = np.load(path, allow_pickle=False)
        if table.dtype != np.uint64 or table.ndim != 2 or len(table) != 2 or not table.size:
            raise ValueError(f"{path}: not the weights of pairs")
        return cls(table)

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        with write_aside(path, "wb") as file:
            np.save(file, self.table, allow_pickle=False)

    def weights(self, pairs: Collection[str]) -> dict[str, float]:
        """Return the weights of those pairs that are known.

        Args:
            pairs: as `WordAssociation` has them: an option's word and another, in lower case.
        """
        asked = np.fromiter(map(_digest, pairs), np.uint64, len(pairs))
        places = np.searchsorted(self.table[0], asked).clip(max=self.table.shape[1] - 1)
        known = self.table[0, places] == asked
        weights = self.table[1, places].view(np.float64)
        return dict(zip(compress(pairs, known), weights[known].tolist(), strict=True))


def learn() -> Pairs:
    """Learn from the public problems of the site and the twins that ship, now.

    Problems under embargo and attention questions are omitted: the words that are named would
    tell of them.
    """
    newest = public_problems().exclude(answer=None).order_by("-pk")[:MOST_LEARNT]
    rows = newest.values_list("ref", "sentence", "options", "answer")

    def problems() -> Iterator[Problem]:
        """Give one after another: a worker that holds all at once never gives the room back."""
        yield from practice.handwritten()
        for ref, text, options, answer in rows.iterator(chunk_size=CHUNK):
            yield Problem(f"site:{ref}", text, tuple(options), answer)

    return Pairs.learnt_from(problems())


def relearn() -> None:
    """Write what the site has learnt by now, for all its processes."""
    learn().save(settings.SITE.folder / FILE)


class Learning:
    """The pairs of the file, read again when it is another one."""

    def __init__(self) -> None:
        self.pairs: Pairs | None = None
        self.seen: tuple[int, int] | None = None

    def latest(self) -> Pairs | None:
        """Return what was learnt last; None before the first time."""
        path = settings.SITE.folder / FILE
        stamp = _stamp(path)
        if stamp != self.seen:
            self.seen = stamp
            with suppress(OSError, ValueError, EOFError):  # it is written again soon
                self.pairs = Pairs.read(path)
        return self.pairs


_LEARNING = Learning()


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_mtime_ns


def _digest(pair: str) -> int:
    """Return 8 bytes of a digest; that two of a million pairs share one has a chance of 3e-8."""
    return int.from_bytes(blake2b(pair.encode(), digest_size=8).digest(), "little")
