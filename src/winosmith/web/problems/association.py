"""The association meter: how far the words alone, without understanding, tell the answers.

What is learnt from are the public problems of the site and the twins that ship: how often a word
of an option stood in a sentence with another word, when that option was right and when it was not
(`winosmith.solve.WordAssociation`, pairs). It is learnt anew every ten minutes, in a thread of its
own, so that nobody waits for it.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import connection

from winosmith import Problem, practice
from winosmith.problem import BLANK
from winosmith.text import content_words, tokens
from winosmith.web.problems.halves import AnyHalf
from winosmith.web.problems.public import public_problems

if TYPE_CHECKING:
    from winosmith.solve import WordAssociation

__all__ = ["Learnt", "Meter", "Reading", "association", "learn", "reading"]

EVERY = 600.0
"""Seconds between two times of learning in a process."""

MOST_LEARNT = 4_000
"""Problems of the site that are learnt from, the newest: a third of a second's work."""

CHUNK = 500
"""Problems that are read at once."""

PATIENCE = 0.05
"""Seconds that a request waits for the first learning; later ones it does not wait for."""

SMOOTHING = 1.0
"""Laplace's: what is learnt from is small (Gururangan et al. 2018 add 100 to 300,000)."""

TELLING = 0.1
"""Nats by which a word must favour the right option to be named: odds of 1.1 to 1."""

MOST_WORDS = 3


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


@dataclass(frozen=True, slots=True)
class Learnt:
    """What was learnt, from how many problems."""

    solver: WordAssociation
    problems: int


def association(halves: Sequence[AnyHalf]) -> Meter:
    """Return how far word association alone gets each half right; halves may be unfinished."""
    learnt = _LEARNER.latest()
    if learnt is None:
        return Meter()
    return Meter(tuple(reading(half, learnt.solver) for half in halves), learnt.problems)


def reading(half: AnyHalf, solver: WordAssociation) -> Reading:
    """Return how far a solver of word pairs gets a half right."""
    options = [_words(option) for option in half.options]
    if half.answer is None or len(options) < 2 or not all(options):
        return Reading(None)
    if not 0 <= half.answer < len(options):
        return Reading(None)
    sentence = _words(half.sentence)
    scores = [sum(_weight(solver, option, word) for word in sentence) for option in options]
    right = options[half.answer]
    wrong = [option for number, option in enumerate(options) if number != half.answer]
    gains = {
        word: _weight(solver, right, word) - max(_weight(solver, other, word) for other in wrong)
        for word in content_words(half.sentence)
    }
    telling = sorted((word for word in gains if gains[word] >= TELLING), key=lambda w: -gains[w])
    return Reading(_share(scores, half.answer), tuple(telling[:MOST_WORDS]))


def learn() -> Learnt:
    """Learn from the public problems of the site and the twins that ship, now.

    Problems under embargo and attention questions are left out: the words that are named would
    tell of them.
    """
    from winosmith.solve import WordAssociation

    newest = public_problems().exclude(answer=None).order_by("-pk")[:MOST_LEARNT]
    rows = newest.values_list("ref", "sentence", "options", "answer")
    learnt = 0

    def problems() -> Iterator[Problem]:
        """Give one after another: a worker that holds all at once never gives the room back."""
        nonlocal learnt
        yield from (shipped := practice.handwritten())
        learnt = len(shipped)
        for ref, text, options, answer in rows.iterator(chunk_size=CHUNK):
            yield Problem(f"site:{ref}", text, tuple(options), answer)
            learnt += 1

    solver = WordAssociation.of_pairs(problems(), smoothing=SMOOTHING)
    return Learnt(solver, learnt)


class _Learner:
    """Keeps what was learnt last, and learns anew in a thread when that is old."""

    def __init__(self) -> None:
        self.learnt: Learnt | None = None
        self.due = 0.0
        self.thread: threading.Thread | None = None
        self.turn = threading.Lock()

    def latest(self) -> Learnt | None:
        """Return what was learnt last; None when the first learning is not done in time."""
        with self.turn:
            working = self.thread is not None and self.thread.is_alive()
            if not working and time.monotonic() >= self.due:
                self.due = time.monotonic() + EVERY
                self.thread = threading.Thread(target=self.work, name="association", daemon=True)
                self.thread.start()
        if self.learnt is None and self.thread is not None:
            self.thread.join(PATIENCE)
        return self.learnt

    def work(self) -> None:
        """Learn; what fails is logged, and what was learnt before stays.

        The thread's own connection to the database is closed after it.
        """
        try:
            self.learnt = learn()
        except Exception:  # noqa: BLE001 - whatever it is, people go on writing
            _LOG.exception("the association meter could not learn")
        finally:
            connection.close()


_LEARNER = _Learner()
_LOG = logging.getLogger(__name__)


def _words(text: str) -> list[str]:
    """Return the distinct words as `WordAssociation` has them, in alphabetical order."""
    return sorted({token.lower() for token in tokens(text)} - {BLANK})


def _weight(solver: WordAssociation, option: Sequence[str], word: str) -> float:
    return sum((solver.weights.get(f"{own} {word}", (0.0,))[0] for own in option), 0.0)


def _share(scores: Sequence[float], answer: int) -> float:
    """Return the answer's share of the options' exponentiated scores."""
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    return powers[answer] / sum(powers)
