"""The practice corpora: twins whose artifacts are known, votes of a crowd, and twins by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import product
from typing import Annotated

import numpy as np
from pydantic import Field

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.options import Count, Fraction, checked
from winosmith.practice._artifacts import (
    ARTIFACTS,
    Artifact,
    Domain,
    Draft,
    Habit,
    draw_draft,
    find_habits,
    pick_item,
    plant,
    read_fillers,
    read_frames,
)
from winosmith.problem import Origin, Problem
from winosmith.records import parse_json, problem_of
from winosmith.response import Response

Rng = np.random.Generator

STRENGTH = 0.5
"""The default fraction of planted twins; AFLite took 0.7 of WinoGrande (section 3)."""


HABITS = 3
"""The default number of habits of each artifact in each domain."""


@dataclass(frozen=True, slots=True)
class PracticeCorpus:
    """Twins, what is planted in them, and the votes of a simulated crowd.

    Attributes:
        dataset: the problems, halves next to each other in random order.
        planted: the artifact of each planted problem, by its id; both halves of a twin are
            planted or neither is. The others are sound.
        votes: votes of `simulate_votes`, with its default rates.
    """

    dataset: Dataset
    planted: Mapping[str, Artifact] = field(repr=False)
    votes: tuple[Response, ...] = field(repr=False)


@checked
def corpus(
    twins: Annotated[int, Field(ge=0)] = 3_000,
    *,
    seed: int = 0,
    strength: Fraction = STRENGTH,
    artifacts: Annotated[tuple[Artifact, ...], Field(strict=False)] = ARTIFACTS,
    habits: Count = HABITS,
    social: Fraction = 0.5,
    symmetric: bool = False,
) -> PracticeCorpus:
    """Write practice twins.

    The twins are rendered from handwritten frames in the social and the physical domain, keep
    every rule of `winosmith.validate.structure`, and no two of their sentences are equal. The
    module `_artifacts` describes the balance of sound twins and the artifacts of the others.

    Args:
        twins: how many; each gives two problems.
        seed: the same arguments and seed give the same corpus.
        strength: the fraction of twins with an artifact, 0–1. Each of them has one, and in both
            halves; the rest are sound.
        artifacts: the kinds to plant, in equal shares.
        habits: how many habits each kind is written from in each domain, 1 or more; the fewer,
            the easier it is to find. One that is used up is joined by another.
        social: the fraction of twins in the social domain, 0–1, in expectation.
        symmetric: turn the answers of each sound twin round, both or neither, by the toss of a fair
            coin. The problems stay word for word; what is planted stays as it is. Given all
            sentences and all other answers, a sound twin's are then as likely the other way round,
            so that nothing can be learnt of it, not even its frame by heart. Half of the sound
            answers are wrong to a reader: for what a filter takes by mistake, not for people.

    Raises:
        RecipeError: a number out of range, or an unknown artifact.
        DataError: no artifact to plant, or more twins than the frames give distinct sentences for.

    >>> made = corpus(100, strength=0.25, artifacts=["polarity"])
    >>> len(made.dataset.twins), len(made.planted)
    (100, 50)
    """
    if strength > 0 and not artifacts:
        raise DataError("a strength above 0 needs an artifact to plant; give one, or strength=0")
    rng = np.random.default_rng([seed, 0])
    planted_twins = round(twins * strength)
    equal = [artifacts[number % len(artifacts)] for number in range(planted_twins)]
    kinds = [
        equal[place] if place < planted_twins else None for place in rng.permutation(twins).tolist()
    ]
    written = tuple(draw_drafts(kinds, social, habits, rng))
    names = make_participants(POOL)
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
                sentence=draft.sentence(half),
                options=draft.listed(),
                answer=draft.answer(half) ^ is_flipped,
                twin_id=twin_id,
                origin=origin,
            )
            for half, half_id in zip((1, 0) if swapped else (0, 1), half_ids, strict=True)
        )
        if kind is not None:
            planted.update(dict.fromkeys(half_ids, kind))
    dataset = Dataset(problems, "practice")
    return PracticeCorpus(dataset, planted, simulate_votes(dataset, seed=seed))


DOMAINS: tuple[Domain, ...] = ("social", "physical")


ATTEMPTS = 500
"""How often a twin is drawn again when one of its sentences exists already."""


PATIENCE = 10
"""After how many of them a habit that seems used up is joined by another."""


def draw_drafts(
    kinds: Iterable[Artifact | None], social: float, active: int, rng: Rng
) -> Iterator[Draft]:
    """Yield a draft for each kind of artifact (None: sound), no two with an equal sentence.

    Sound drafts come from all frames; planted ones from `active` habits of each kind in each
    domain, and from further ones only when these yield nothing new.

    Raises:
        DataError: no new sentence was found.
    """
    words = read_fillers()
    of_domain = {
        domain: tuple(f for f in read_frames() if f.domain == domain) for domain in DOMAINS
    }
    repertoires: dict[tuple[Domain, Artifact], tuple[Habit, ...]] = {}
    for domain, kind_of in product(DOMAINS, ARTIFACTS):
        own = find_habits(kind_of, of_domain[domain], words)
        repertoires[domain, kind_of] = tuple(own[at] for at in rng.permutation(len(own)).tolist())
    in_use = dict.fromkeys(repertoires, active)
    seen: set[str] = set()
    for kind in kinds:
        for attempt in range(1, ATTEMPTS + 1):
            domain = "social" if rng.random() < social else "physical"
            if kind is None:
                draft = draw_draft(pick_item(of_domain[domain], rng), words, rng)
            else:
                habit = pick_item(repertoires[domain, kind][: in_use[domain, kind]], rng)
                draft = plant(kind, draw_draft(habit.frame, words, rng), habit, words, rng)
                in_use[domain, kind] += attempt % PATIENCE == 0
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
def read_handwritten() -> Dataset:
    """Return 72 twins written by hand, half of them social and half physical.

    They are original, keep every rule of `winosmith.validate.structure`, and may be used under
    the licence of winosmith (Apache-2.0).

    >>> twins = read_handwritten()
    >>> len(twins.twins), {problem.origin.domain for problem in twins} == {"social", "physical"}
    (72, True)
    """
    lines = resources.files("winosmith.practice").joinpath("handwritten.jsonl").read_text("utf-8")
    return Dataset((problem_of(parse_json(line)) for line in lines.splitlines()), "handwritten")


NOTICES = 0.75
"""How likely a judge marks a problem that is ambiguous, or answerable by association."""

IMAGINES = 0.05
"""How likely a judge marks one that is not."""

GUESSES = 0.4
"""How likely a judge who can't tell the answer from the local context chooses an option."""

POOL = 40
"""How many people there are; each twin is written by one of them."""

EVENNESS = 12.0
"""a + b of the beta distribution of the judges' error rates: the higher, the more alike."""

MEDIAN_SECONDS, SPREAD_SECONDS = 18.3, 0.4
"""Time taken: log-normal; 18.3 s is the mean of a human test (Davis et al. 2016)."""


def make_participants(pool: int) -> tuple[str, ...]:
    """Return the pseudonyms of a pool of people.

    >>> make_participants(3)
    ('p01', 'p02', 'p03')
    """
    digits = max(2, len(str(pool)))
    return tuple(f"p{number:0{digits}}" for number in range(1, pool + 1))


@checked
def simulate_votes(
    dataset: Dataset,
    *,
    judges: Count = 3,
    pool: int = POOL,
    seed: int = 0,
    error_rate: Fraction = 0.08,
    ambiguous_rate: Fraction = 0.17,
    associative_rate: Fraction = 0.17,
) -> tuple[Response, ...]:
    """Return the votes of a simulated crowd, each judge's local vote before the one on the whole.

    A share of the problems is ambiguous: judges mark most of them so and choose at random. Another
    share is answerable by association: judges find its answer from the local context, and mark
    most of them so. Who judges is drawn from the pool: never the author of the problem or of its
    other half, and nobody judges both halves. Judges err at rates of their own, drawn from a beta
    distribution. The crowd knows nothing of what is planted in a practice corpus. With the default
    rates about 68 % of the problems are valid, the paper's share (WinoGrande, section 2).

    Args:
        dataset: problems with answers.
        judges: how many distinct people judge a problem.
        pool: how many people there are; see `make_participants`.
        seed: the same arguments and seed give the same votes.
        error_rate: the mean fraction of clear problems that a judge gets wrong, 0–1.
        ambiguous_rate: the fraction of ambiguous problems, 0–1.
        associative_rate: the fraction of problems answerable by association, 0–1.

    Raises:
        RecipeError: a number out of range.
        DataError: a withheld answer, or too few people.
    """
    if None in dataset.answers:
        withheld = dataset.ids[dataset.answers.index(None)]
        raise DataError(f"the answer of {withheld!r} is withheld; a simulated crowd needs it")
    rng = np.random.default_rng([seed, 2])
    people = make_participants(pool)
    errors = [float(error_rate)] * pool  # where all err alike
    if error_rate not in (0, 1):
        errors = rng.beta(error_rate * EVENNESS, (1 - error_rate) * EVENNESS, size=pool).tolist()
    error_of = dict(zip(people, errors, strict=True))
    votes: list[list[Response]] = [[] for _ in dataset]
    for rows in dataset.groups:
        chosen = _draw_judges([dataset[row] for row in rows], judges, people, rng)
        for place, row in enumerate(rows):
            mine = chosen[place * judges : (place + 1) * judges]
            ambiguous = rng.random() < ambiguous_rate
            associative = rng.random() < associative_rate
            for judge in mine:
                votes[row] += _draw_votes(
                    dataset[row], judge, error_of[judge], ambiguous, associative, rng
                )
    return tuple(vote for of_one in votes for vote in of_one)


def _draw_judges(
    halves: list[Problem], judges: int, people: tuple[str, ...], rng: Rng
) -> list[str]:
    authors = {half.origin.author for half in halves if half.origin}
    order = rng.permutation(len(people)).tolist()
    able = [people[place] for place in order if people[place] not in authors]
    needed = judges * len(halves)
    if len(able) < needed:
        raise DataError(
            f"{needed} judges who did not write it are needed for the twin of {halves[0].id!r}; "
            f"the pool of {len(people)} has {len(able)}: enlarge it or ask for fewer judges"
        )
    return able[:needed]


def _draw_votes(
    problem: Problem, judge: str, error: float, ambiguous: bool, associative: bool, rng: Rng
) -> Iterator[Response]:
    if associative:
        local: int | None = _draw_choice(problem, 1 - error, rng)
    else:
        local = _draw_guess(problem, rng) if rng.random() < GUESSES else None
    yield Response(problem.id, judge, "local", local, seconds=_draw_seconds(rng))
    yield Response(
        problem.id,
        judge,
        "validate",
        _draw_guess(problem, rng) if ambiguous else _draw_choice(problem, 1 - error, rng),
        ambiguous=rng.random() < (NOTICES if ambiguous else IMAGINES),
        associative=rng.random() < (NOTICES if associative else IMAGINES),
        shown=tuple(rng.permutation(len(problem.options)).tolist()),
        seconds=_draw_seconds(rng),
    )


def _draw_choice(problem: Problem, right: float, rng: Rng) -> int:
    answer = problem.answer or 0
    if rng.random() < right:
        return answer
    others = [option for option in range(len(problem.options)) if option != answer]
    return others[int(rng.random() * len(others))]


def _draw_guess(problem: Problem, rng: Rng) -> int:
    return int(rng.random() * len(problem.options))


def _draw_seconds(rng: Rng) -> float:
    return round(MEDIAN_SECONDS * float(np.exp(SPREAD_SECONDS * rng.standard_normal())), 1)
