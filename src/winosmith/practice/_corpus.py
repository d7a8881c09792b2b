"""The practice corpus: thousands of twins of which it is known which hold an artifact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.practice._artifacts import ARTIFACTS, Artifact
from winosmith.practice._crowd import crowd, participants
from winosmith.practice._draft import Draft, pick
from winosmith.practice._repertoire import drafts
from winosmith.problem import Origin, Problem

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
    sound twins are balanced is said in `_draft`, what is planted in the others in `_artifacts`.

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
