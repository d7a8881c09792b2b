"""The practice corpora: twins of which it is known which hold an artifact, and twins by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.practice._artifacts import ARTIFACTS, Artifact, Habit, habits, plant
from winosmith.practice._crowd import crowd, participants
from winosmith.practice._frames import Domain, Draft, draw, fillers, frames, pick
from winosmith.problem import Origin, Problem
from winosmith.records import problem_of

STRENGTH = 0.5
"""The default share of planted twins; AFLite took 0.7 of WinoGrande (section 3)."""


HABITS = 3
"""The default number of habits of each artifact in each domain."""


@dataclass(frozen=True, slots=True)
class PracticeCorpus:
    """Twins, what is planted in them, and the votes of a simulated crowd.

    Attributes:
        dataset: the problems, halves next to each other in random order.
        planted: the artifact of each planted problem, by its id; both halves of a twin are
            planted or neither is. The others are sound.
        votes: of `crowd`, with its default rates.
    """

    dataset: Dataset
    planted: Mapping[str, Artifact]
    votes: tuple[Response, ...]


def corpus(
    twins: int = 3_000,
    *,
    seed: int = 0,
    strength: float = STRENGTH,
    artifacts: Sequence[Artifact] = ARTIFACTS,
    habits: int = HABITS,
    social: float = 0.5,
    judges: int = 3,
    pool: int = 40,
    symmetric: bool = False,
) -> PracticeCorpus:
    """Write practice twins.

    The twins are rendered from handwritten frames in the social and the physical domain, keep
    every rule of `winosmith.validate.structure`, and no two of their sentences are equal. How
    sound twins are balanced is said in `_frames`, what is planted in the others in `_artifacts`.

    Args:
        twins: how many; each gives two problems.
        seed: the same arguments and seed give the same corpus.
        strength: the share of twins with an artifact, 0–1. Each of them has one, and in both
            halves; the rest are sound.
        artifacts: the kinds to plant, in equal shares.
        habits: how many habits each kind is written from in each domain, 1 or more; the fewer,
            the easier it is to find. One that is used up is joined by another.
        social: the share of twins in the social domain, 0–1, in expectation.
        judges: how many judges vote on a problem.
        pool: how many people there are; each twin is written by one of them.
        symmetric: turn the answers of each sound twin round, both or neither, by the toss of a fair
            coin. The problems stay word for word; what is planted stays as it is. Given all
            sentences and all other answers, a sound twin's are then as likely the other way round,
            so that nothing can be learnt of it, not even its frame by heart. Half of the sound
            answers are wrong to a reader: for what a filter takes by mistake, not for people.

    Raises:
        DataError: a number out of range, an unknown artifact, or more twins than the frames give
            distinct sentences for.

    >>> made = corpus(100, strength=0.25, artifacts=["polarity"])
    >>> len(made.dataset.twins), len(made.planted)
    (100, 50)
    """
    _check(twins, strength, artifacts, habits, social)
    rng = np.random.default_rng([seed, 0])
    kinds = _kinds(twins, strength, artifacts, rng)
    written = tuple(drafts(kinds, social, habits, rng))
    names = participants(pool)
    authors = [pick(names, rng) for _ in written]
    halves_swapped = rng.random(twins) < 0.5
    ids = _ids(twins, seed)
    tossed = np.random.default_rng([seed, 4]).random(twins) < 0.5
    problems: list[Problem] = []
    planted: dict[str, Artifact] = {}
    for draft, kind, author, swapped, (twin_id, *half_ids), coin in zip(
        written, kinds, authors, halves_swapped, ids, tossed, strict=True
    ):
        order = (1, 0) if swapped else (0, 1)
        turned = bool(symmetric and kind is None and coin)
        problems += _halves(draft, order, author, twin_id, half_ids, turned)
        if kind is not None:
            planted.update(dict.fromkeys(half_ids, kind))
    dataset = Dataset(problems, "practice")
    votes = crowd(dataset, judges=judges, pool=pool, seed=seed)
    return PracticeCorpus(dataset, planted, votes)


def _check(
    twins: int, strength: float, artifacts: Sequence[Artifact], habits: int, social: float
) -> None:
    if twins < 0:
        raise DataError(f"twins must be 0 or more, not {twins}")
    if habits < 1:
        raise DataError(f"habits must be 1 or more, not {habits}")
    for name, share in (("strength", strength), ("social", social)):
        if not 0 <= share <= 1:
            raise DataError(f"{name} must be a share from 0 to 1, not {share}")
    unknown = [kind for kind in artifacts if kind not in ARTIFACTS]
    if unknown:
        raise DataError(f"there is no artifact {unknown[0]!r}; there are {', '.join(ARTIFACTS)}")
    if strength > 0 and not artifacts:
        raise DataError("a strength above 0 needs an artifact to plant; give one, or strength=0")


def _kinds(
    twins: int, strength: float, artifacts: Sequence[Artifact], rng: np.random.Generator
) -> list[Artifact | None]:
    """Return what is planted in each twin: equal shares of each kind, in random order."""
    planted = round(twins * strength)
    kinds = [artifacts[number % len(artifacts)] for number in range(planted)]
    return [kinds[place] if place < planted else None for place in rng.permutation(twins).tolist()]


def _ids(twins: int, seed: int) -> list[list[str]]:
    """Return an id for each twin and for its two halves, from a generator of their own."""
    drawn = np.random.default_rng([seed, 1]).integers(2**63, size=(twins, 3))
    return [[f"{number:016x}" for number in row] for row in drawn.tolist()]


def _halves(
    draft: Draft,
    order: tuple[int, int],
    author: str,
    twin_id: str,
    ids: Sequence[str],
    turned: bool,
) -> Iterator[Problem]:
    """Yield the problems of a twin, each with the answer of the other half if `turned`."""
    origin = Origin(
        source="practice",
        author=author,
        domain=draft.frame.domain,
        anchor=draft.fill[draft.frame.slots[0]],
        licence="Apache-2.0",
    )
    for half, half_id in zip(order, ids, strict=True):
        yield Problem(
            id=half_id,
            sentence=draft.sentence(half),
            options=draft.listed(),
            answer=draft.answer(half) ^ turned,
            twin_id=twin_id,
            origin=origin,
        )


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


@cache
def handwritten() -> Dataset:
    """Return 72 twins written by hand, half of them social and half physical.

    They are original, keep every rule of `winosmith.validate.structure`, and may be used under
    the licence of winosmith (Apache-2.0).

    >>> twins = handwritten()
    >>> len(twins.twins), {problem.origin.domain for problem in twins} == {"social", "physical"}
    (72, True)
    """
    lines = resources.files("winosmith.practice").joinpath("handwritten.jsonl").read_text("utf-8")
    return Dataset((problem_of(json.loads(line)) for line in lines.splitlines()), "handwritten")
