"""Which frames and habits twins are written from, so that no two sentences are equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from winosmith.errors import DataError
from winosmith.practice._artifacts import ARTIFACTS, Artifact, Habit, habits, plant
from winosmith.practice._draft import Draft, draw, pick
from winosmith.practice._frames import Domain, fillers, frames

DOMAINS: tuple[Domain, ...] = ("social", "physical")

ATTEMPTS = 500
"""How often a twin is drawn anew when one of its sentences exists already."""

PATIENCE = 10
"""After how many of them a habit that seems used up is joined by another."""


class _Repertoire:
    """The habits of one kind of artifact in one domain: a few, and the others in reserve."""

    def __init__(self, all_of_them: Sequence[Habit], active: int, rng: np.random.Generator):
        order = rng.permutation(len(all_of_them)).tolist()
        self.habits: tuple[Habit, ...] = tuple(all_of_them[place] for place in order)
        self.active = active

    def pick(self, rng: np.random.Generator) -> Habit:
        return pick(self.habits[: self.active], rng)

    def widen(self) -> None:
        self.active += 1


def drafts(
    kinds: Iterable[Artifact | None], social: float, active: int, rng: np.random.Generator
) -> Iterator[Draft]:
    """Yield a draft for each kind of artifact (None: sound), no two with an equal sentence.

    Sound drafts come from all frames; planted ones from `active` habits of each kind in each
    domain, and from further ones only when these yield nothing new.

    Raises:
        DataError: no new sentence was found.
    """
    words = fillers()
    of_domain = {domain: tuple(f for f in frames() if f.domain == domain) for domain in DOMAINS}
    repertoires = {
        (domain, kind): _Repertoire(habits(kind, of_domain[domain], words), active, rng)
        for domain in DOMAINS
        for kind in ARTIFACTS
    }
    seen: set[str] = set()
    for kind in kinds:
        for attempt in range(1, ATTEMPTS + 1):
            domain: Domain = "social" if rng.random() < social else "physical"
            if kind is None:
                draft = draw(pick(of_domain[domain], rng), words, rng)
            else:
                repertoire = repertoires[domain, kind]
                habit = repertoire.pick(rng)
                draft = plant(kind, draw(habit.frame, words, rng), habit, words, rng)
                if attempt % PATIENCE == 0:
                    repertoire.widen()
            sentences = {draft.sentence(0), draft.sentence(1)}
            if not sentences & seen:
                break
        else:
            what = "a sound twin" if kind is None else f"a twin with the artifact {kind!r}"
            raise DataError(
                f"after {len(seen)} sentences, {what} was not found that repeats none; "
                "ask for fewer twins or for more kinds of artifact"
            )
        seen |= sentences
        yield draft
