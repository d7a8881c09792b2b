"""Practice corpora: twins with known artifacts, simulated votes, and handwritten twins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import chain, product
from typing import Annotated

import numpy as np
from pydantic import Field

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.options import Count, Fraction, checked
from winosmith.practice._artifacts import (
    ARTIFACTS,
    DOMAINS,
    Artifact,
    Domain,
    Draft,
    Habit,
    draw_draft,
    find_habits,
    pick_item,
    plant_artifact,
    read_fillers,
    read_frames,
)
from winosmith.problem import Origin, Problem
from winosmith.records import parse_json, parse_problem
from winosmith.response import Response

Rng = np.random.Generator

DEFAULT_STRENGTH = 0.5
"""Default fraction of twins with artifacts. (AFLite removed 0.7 of WinoGrande; section 3.)"""

DEFAULT_HABITS = 3
"""Default number of habits of each artifact in each domain."""


@dataclass(frozen=True, slots=True)
class PracticeCorpus:
    """Twins, their planted artifacts, and simulated votes.

    Attributes:
        dataset: The problems; the halves of a twin are adjacent, in random order.
        planted: The artifact of each planted problem, by id; a twin has an artifact in both halves
            or in neither. All other problems are sound.
        votes: The votes from `simulate_votes` with its default rates.
    """

    dataset: Dataset
    planted: Mapping[str, Artifact] = field(repr=False)
    votes: tuple[Response, ...] = field(repr=False)


@checked
def generate_corpus(
    twins: Annotated[int, Field(ge=0)] = 3_000,
    *,
    seed: int = 0,
    strength: Fraction = DEFAULT_STRENGTH,
    artifacts: Annotated[tuple[Artifact, ...], Field(strict=False)] = ARTIFACTS,
    habits: Count = DEFAULT_HABITS,
    social: Fraction = 0.5,
    symmetric: bool = False,
) -> PracticeCorpus:
    """Generate a corpus of practice twins, some with planted artifacts.

    The twins are made from handwritten frames in the social and the physical domain. They have
    distinct sentences, and meet all rules of `winosmith.validate.filter_by_structure`. The
    `_artifacts` module describes how sound twins are balanced, and the artifacts of the other
    twins.

    Args:
        twins: The number of twins; each has two problems.
        seed: The random seed.
        strength: The fraction of twins with an artifact, 0–1. Each such twin has one artifact in
            both halves; the other twins are sound.
        artifacts: The kinds of artifacts to plant, equally often.
        habits: The number of habits for each kind in each domain, 1 or more. Artifacts with fewer
            habits are easier to detect. More habits are used if no new sentences are left.
        social: The expected fraction of twins in the social domain, 0–1.
        symmetric: Whether to flip both answers of each sound twin with probability 1/2. Sentences
            and planted twins stay the same. A sound twin's answers are then independent of
            everything else, so that nothing can be learned from the answers, not even by memorizing
            frames. Because half of the sound twins then have incorrect answers, use this only to
            measure a filter's false removals, not with people.

    Raises:
        RecipeError: A number is out of range, or an artifact is unknown.
        DataError: There is no artifact to plant, or there are too few distinct sentences.

    >>> made = generate_corpus(100, strength=0.25, artifacts=["polarity"])
    >>> len(made.dataset.twins), len(made.planted)
    (100, 50)
    """
    if strength > 0 and not artifacts:
        raise DataError("a strength above 0 needs an artifact; give one, or set strength to 0")
    rng = np.random.default_rng([seed, 0])
    planted_twins = round(twins * strength)
    equal = [artifacts[number % len(artifacts)] for number in range(planted_twins)]
    kinds = [
        equal[place] if place < planted_twins else None for place in rng.permutation(twins).tolist()
    ]
    written = tuple(draw_drafts(kinds, social, habits, rng))
    names = make_pseudonyms(DEFAULT_POOL)
    authors = [pick_item(names, rng) for _ in written]
    halves_swapped = rng.random(twins) < 0.5
    numbers = np.random.default_rng([seed, 1]).integers(2**63, size=(twins, 3)).tolist()
    tossed = np.random.default_rng([seed, 4]).random(twins) < 0.5
    problems: list[Problem] = []
    planted: dict[str, Artifact] = {}
    for draft, kind, author, swapped, row, coin in zip(
        written, kinds, authors, halves_swapped, numbers, tossed, strict=True
    ):
        twin_id, *half_ids = (f"{number:016x}" for number in row)
        is_flipped = bool(symmetric and kind is None and coin)
        origin = Origin(
            source="practice",
            author=author,
            domain=draft.frame.domain,
            anchor=draft.fill[draft.frame.slots[0]],
            licence="Apache-2.0",
        )
        problems += (
            Problem(
                id=half_id,
                sentence=draft.make_sentence(half),
                options=draft.get_listed_options(),
                answer=draft.get_answer(half) ^ is_flipped,
                twin_id=twin_id,
                origin=origin,
            )
            for half, half_id in zip((1, 0) if swapped else (0, 1), half_ids, strict=True)
        )
        if kind is not None:
            planted.update(dict.fromkeys(half_ids, kind))
    dataset = Dataset(problems, "practice")
    return PracticeCorpus(dataset, planted, simulate_votes(dataset, seed=seed))


MAX_DRAWS = 500
"""Maximum number of attempts to draw a twin with new sentences."""

DRAWS_PER_HABIT = 10
"""Number of draws without new sentences after which a habit is added."""


def draw_drafts(
    kinds: Iterable[Artifact | None], social: float, habit_count: int, rng: Rng
) -> Iterator[Draft]:
    """Yield a draft with new sentences for each artifact kind (None for a sound twin).

    Sound drafts come from all frames. Planted drafts come from `habit_count` habits of each kind in
    each domain. More habits are used only if these give no new sentences.
    """
    words = read_fillers()
    frames = {domain: tuple(f for f in read_frames() if f.domain == domain) for domain in DOMAINS}
    repertoires: dict[tuple[Domain, Artifact], tuple[Habit, ...]] = {}
    for domain, artifact in product(DOMAINS, ARTIFACTS):
        own = find_habits(artifact, frames[domain], words)
        repertoires[domain, artifact] = tuple(own[at] for at in rng.permutation(len(own)).tolist())
    in_use = dict.fromkeys(repertoires, habit_count)
    seen: set[str] = set()
    for kind in kinds:
        for attempt in range(1, MAX_DRAWS + 1):
            domain = "social" if rng.random() < social else "physical"
            if kind is None:
                draft = draw_draft(pick_item(frames[domain], rng), words, rng)
            else:
                habit = pick_item(repertoires[domain, kind][: in_use[domain, kind]], rng)
                draft = plant_artifact(kind, draw_draft(habit.frame, words, rng), habit, words, rng)
                in_use[domain, kind] += attempt % DRAWS_PER_HABIT == 0
            sentences = {draft.make_sentence(0), draft.make_sentence(1)}
            if not sentences & seen:
                break
        else:
            what = "a sound twin" if kind is None else f"a twin with the artifact {kind!r}"
            raise DataError(
                f"after {len(seen)} sentences, no new sentences were found for {what}; use fewer "
                "twins or more kinds of artifacts"
            )
        seen |= sentences
        yield draft


@cache
def read_handwritten() -> Dataset:
    """Return 72 handwritten twins, half of them social and half physical.

    The twins were written for winosmith (Apache-2.0), and meet all rules of
    `validate.filter_by_structure`.

    >>> twins = read_handwritten()
    >>> len(twins.twins), {problem.origin.domain for problem in twins} == {"social", "physical"}
    (72, True)
    """
    lines = resources.files("winosmith.practice").joinpath("handwritten.jsonl").read_text("utf-8")
    return Dataset((parse_problem(parse_json(line)) for line in lines.splitlines()), "handwritten")


MARK_PROBABILITY = 0.75
"""Probability that a judge marks a problem that is ambiguous or answerable by association."""

FALSE_MARK_PROBABILITY = 0.05
"""Probability that a judge wrongly marks any other problem."""

LOCAL_GUESS_PROBABILITY = 0.4
"""Probability that a judge chooses an option if the local context does not reveal the answer."""

DEFAULT_POOL = 40
"""Default number of people in the pool of authors and judges."""

ERROR_CONCENTRATION = 12.0
"""The sum a + b of the beta distribution of the judges' error rates. A higher sum makes the rates
more alike."""

MEDIAN_SECONDS, SPREAD_SECONDS = 18.3, 0.4
"""Median and log standard deviation of the log-normal time to answer. 18.3 s is the mean in a human
test; see Davis et al. (2016)."""


def make_pseudonyms(pool: int) -> tuple[str, ...]:
    """Return pseudonyms for a number of people.

    >>> make_pseudonyms(3)
    ('p01', 'p02', 'p03')
    """
    digits = max(2, len(str(pool)))
    return tuple(f"p{number:0{digits}}" for number in range(1, pool + 1))


@checked
def simulate_votes(
    dataset: Dataset,
    *,
    judges: Count = 3,
    pool: int = DEFAULT_POOL,
    seed: int = 0,
    error_rate: Fraction = 0.08,
    ambiguous_rate: Fraction = 0.17,
    associative_rate: Fraction = 0.17,
) -> tuple[Response, ...]:
    """Simulate votes: each judge votes on the local context, then on the problem.

    A random fraction of problems is ambiguous: judges choose at random, and mark most of these
    problems. Independently, a random fraction is answerable by association: judges find the answer
    in the local context, and mark most of these problems. Judges are drawn from the pool, excluding
    the twin's authors. Nobody judges both halves. The error rate of each judge is drawn from a beta
    distribution. Votes don't depend on the artifacts of a practice corpus. With the default rates,
    about 68 % of the problems are valid, as in WinoGrande (section 2).

    Args:
        dataset: The problems, all with answers.
        judges: The number of judges per problem.
        pool: The number of people; see `make_pseudonyms`.
        seed: The random seed.
        error_rate: The mean probability that a judge answers a clear problem incorrectly, 0–1.
        ambiguous_rate: The fraction of ambiguous problems, 0–1.
        associative_rate: The fraction of problems that are answerable by association, 0–1.

    Raises:
        RecipeError: A number is out of range.
        DataError: An answer is withheld, or there are too few people.
    """
    if None in dataset.answers:
        withheld = dataset.ids[dataset.answers.index(None)]
        raise DataError(f"the answer of {withheld!r} is withheld; simulated votes need it")
    rng = np.random.default_rng([seed, 2])
    people = make_pseudonyms(pool)
    errors = [float(error_rate)] * pool
    if error_rate not in (0, 1):  # a beta distribution needs positive parameters
        a, b = error_rate * ERROR_CONCENTRATION, (1 - error_rate) * ERROR_CONCENTRATION
        errors = rng.beta(a, b, size=pool).tolist()
    error_of = dict(zip(people, errors, strict=True))
    votes: list[list[Response]] = [[] for _ in dataset]
    for rows in dataset.groups:
        origins = [dataset[row].origin for row in rows]
        authors = {origin.author for origin in origins if origin}
        order = rng.permutation(len(people)).tolist()
        eligible = [people[place] for place in order if people[place] not in authors]
        if len(eligible) < judges * len(rows):
            raise DataError(
                f"the twin of {dataset.ids[rows[0]]!r} needs {judges * len(rows)} judges who are "
                f"not its author, but the pool of {len(people)} has only {len(eligible)}; enlarge "
                "the pool or use fewer judges"
            )
        for place, row in enumerate(rows):
            mine = eligible[place * judges : (place + 1) * judges]
            ambiguous = rng.random() < ambiguous_rate
            associative = rng.random() < associative_rate
            for judge in mine:
                votes[row] += _draw_votes(
                    dataset[row], judge, error_of[judge], ambiguous, associative, rng
                )
    return tuple(chain(*votes))


def _draw_votes(
    problem: Problem, judge: str, error: float, ambiguous: bool, associative: bool, rng: Rng
) -> Iterator[Response]:
    if associative:
        local: int | None = _draw_choice(problem, 1 - error, rng)
    else:
        local = _draw_guess(problem, rng) if rng.random() < LOCAL_GUESS_PROBABILITY else None
    yield Response(problem.id, judge, "local", local, seconds=_draw_seconds(rng))
    yield Response(
        problem.id,
        judge,
        "validate",
        _draw_guess(problem, rng) if ambiguous else _draw_choice(problem, 1 - error, rng),
        ambiguous=rng.random() < (MARK_PROBABILITY if ambiguous else FALSE_MARK_PROBABILITY),
        associative=rng.random() < (MARK_PROBABILITY if associative else FALSE_MARK_PROBABILITY),
        shown=tuple(rng.permutation(len(problem.options)).tolist()),
        seconds=_draw_seconds(rng),
    )


def _draw_choice(problem: Problem, accuracy: float, rng: Rng) -> int:
    answer = problem.answer or 0
    if rng.random() < accuracy:
        return answer
    others = [option for option in range(len(problem.options)) if option != answer]
    return others[int(rng.random() * len(others))]


def _draw_guess(problem: Problem, rng: Rng) -> int:
    return int(rng.random() * len(problem.options))


def _draw_seconds(rng: Rng) -> float:
    return round(MEDIAN_SECONDS * float(np.exp(SPREAD_SECONDS * rng.standard_normal())), 1)
