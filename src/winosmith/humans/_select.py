"""Select the reliable subset of a data set, with a reason for every omitted problem.

Schemas are selected by the agreement on both halves, and one half is drawn at random. See Davis et
al. (2016, section 4.4): "the choice of half used should be made at random". Choosing the half with
more agreement would select partly by chance.

The agreement on the chosen problems is too optimistic for new people, because the same answers were
used to choose the problems. Cross-fitting corrects the bias: people are divided into folds. For
each fold, problems are chosen by the other people's answers, and agreement is measured on the
fold's answers. See Chernozhukov et al. (2018).

After a round, the used problems are published, and the others are put under embargo (section 6).
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field

from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError, InputError
from winosmith.humans import _tally
from winosmith.humans._sheet import make_text_key
from winosmith.humans._tally import (
    SHOWN_INTERVAL,
    Level,
    Tally,
    format_levels,
    measure_accuracy,
    tally,
)
from winosmith.metrics import Proportion, find_clusters
from winosmith.options import Count, Fraction, OrFalse, TwoOrMore, checked, declaration
from winosmith.problem import Extra
from winosmith.report import format_value, percent
from winosmith.response import Response
from winosmith.results import HIDDEN, Result, computed, shown

Floats = npt.NDArray[np.float64]
Chosen = npt.NDArray[np.bool_]


@declaration
class Rules:
    """The constraints on a reliable subset."""

    size: OrFalse[Count] = None
    """Number of problems to choose; by default as many as possible."""
    floor: Fraction = 0.8
    """Minimum fraction of people who gave a problem's intended answer. The lowest in the 2016
    challenge were 84 % and 89 % (Davis et al. 2016, section 5)."""
    subjects: Count = 3
    """Minimum number of people who answered a problem."""
    per_text: Count = 3
    """Maximum number of problems about the same text (3 in the 2016 challenge)."""
    both_halves: bool = True
    """Require that both halves of a schema are suitable. With or without this rule, only one half,
    drawn at random, is chosen (section 4.4)."""


def find_unsuitable_problems(dataset: Dataset, counts: Tally, rules: Rules) -> dict[int, str]:
    reasons = {}
    for row, problem in enumerate(dataset):
        people, right = int(counts.subjects[row]), int(counts.intended[row])
        if problem.answer is None:
            reasons[row] = "its answer is withheld"
        elif people < rules.subjects:
            reasons[row] = f"{people} people answered it; {rules.subjects} are required"
        elif right / people < rules.floor:
            most = counts.find_majority(row)
            chose = ""
            if most is not None and most != problem.answer:
                chose = f", and more chose {problem.options[most]!r}"
            reasons[row] = (
                f"{right} of {people} gave the intended answer "
                f"({percent(right / people, 0)}){chose}; {percent(rules.floor, 0)} are required"
            )
    if not rules.both_halves:
        return reasons
    halves = {
        row: f"its other half, {dataset[other].id!r}, is removed: {reasons[other]}"
        for pair in dataset.twins
        for row, other in (pair, pair[::-1])
        if other in reasons
    }
    lonely = {
        row: "its other half is not in the data, so it can't be checked"
        for row in dataset.singles
        if dataset[row].twin_id is not None
    }
    return lonely | halves | reasons


def _count_reasons(reasons: Mapping[str, str]) -> str:
    """Count the omitted problems by reason, without the details of single problems."""

    def generalise(reason: str) -> str:
        if "gave the intended answer" in reason:
            is_other = reason.startswith("its other")
            return "its other half is not sound" if is_other else "too few gave the intended answer"
        is_chosen = reason.startswith("the other half of")
        return "the other half is chosen" if is_chosen else reason

    counts = Counter(map(generalise, reasons.values())).most_common()
    return "; ".join(f"{count}: {reason}" for reason, count in counts)


def _format_halves(schemas: Mapping[tuple[Level, Level], int]) -> str:
    return "; ".join(f"{a} of {m} and {b} of {n}: {k}" for ((a, m), (b, n)), k in schemas.items())


@dataclass(frozen=True)
class Selection(Result):
    """A reliable subset.

    Attributes:
        filtered: the chosen problems, and the omitted problems with the reasons.
        rows: rows of the chosen problems, in the order of the data set.
        suitable_count: number of suitable problems.
        right: number of intended answers to the chosen problems.
        answers: number of all answers to the chosen problems.
        levels: (intended answers, answers) → number of chosen problems, the best first.
        schemas: (intended answers, answers) for the better half and for the other half → number of
            schemas with a chosen half, the best first.
    """

    filtered: Filtered = field(metadata=HIDDEN)
    rows: tuple[int, ...] = field(metadata=HIDDEN)
    suitable_count: int = field(metadata=shown("sound problems"))
    right: int = field(metadata=shown("intended answers"))
    answers: int = field(metadata=shown("all answers"))
    levels: dict[Level, int] = field(
        metadata=shown(
            "problems by intended answers",
            format_levels,
            json=lambda levels: [[*level, count] for level, count in levels.items()],
        )
    )
    schemas: dict[tuple[Level, Level], int] = field(
        metadata=shown(
            "schemas by both halves",
            _format_halves,
            json=lambda pairs: [[*a, *b, count] for (a, b), count in pairs.items()],
        )
    )

    @property
    @computed(**shown("chosen problems", len))
    def chosen(self) -> tuple[str, ...]:
        """The ids of the chosen problems."""
        return self.filtered.kept.ids

    @property
    @computed(**shown("agreement (optimistic)", ".2%"))
    def naive_accuracy(self) -> float:
        """The accuracy on the chosen problems, 0–1; it is too optimistic, see `cross_fit`."""
        return self.right / self.answers if self.answers else 0.0

    @property
    @computed(key="left_out", **shown("omitted problems", _count_reasons))
    def omission_reasons(self) -> dict[str, str]:
        """The reason for omitting each problem that was not chosen, by problem id."""
        return {left.problem.id: left.reason for left in self.filtered.dropped}


def select(dataset: Dataset, counts: Tally, rules: Rules | None = None, seed: int = 0) -> Selection:
    """Choose the reliable subset of a data set, based on people's answers.

    Args:
        dataset: the problems with the intended answers.
        counts: counts of people's answers, from `tally` or `read_tally`.
        rules: the constraints.
        seed: random seed for choosing halves and breaking ties. The draws don't depend on the order
            of the problems or of their options.

    Raises:
        InputError: the requested size exceeds the number of problems that the rules allow.
        DataError: the counts belong to another data set.

    >>> from winosmith import Problem
    >>> data = Dataset(
    ...     Problem(str(i), f"The cup hit jug {i} and _ broke.", ("cup", "jug"), 0)
    ...     for i in range(3)
    ... )
    >>> found = select(data, Tally(np.array([9, 9, 9]), np.array([9, 4, 8])))
    >>> found.rows, found.right, found.answers
    ((0, 2), 17, 18)
    >>> found.filtered.dropped[0].reason
    '4 of 9 gave the intended answer (44 %); 80 % are required'
    """
    if len(counts.subjects) != len(dataset):
        raise DataError(
            f"there are counts for {len(counts.subjects)} problems; the data set has {len(dataset)}"
        )
    rules = rules or Rules()
    reasons = find_unsuitable_problems(dataset, counts, rules)

    def compute_digest(row: int) -> tuple[bytes, str]:
        p = dataset[row]
        shown = "\0".join((str(seed), p.sentence, p.pronoun or "", *sorted(p.options)))
        return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).digest(), p.id

    # Shuffled, because the order of the solver's columns decides between choices with equal sums.
    suitable = sorted(set(range(len(dataset))) - reasons.keys(), key=compute_digest)
    ranks = np.arange(1, len(suitable) + 1) / max(1, len(suitable))
    bounds = make_limits(dataset, suitable, rules)
    agreement = counts.compute_agreement()
    for pair in map(list, dataset.twins):  # the halves of a schema count alike
        if not reasons.keys() & pair:
            agreement[pair] = agreement[pair].mean()
    chosen = choose(agreement[suitable], bounds, rules.size, ranks)
    reasons |= _explain_omissions(suitable, chosen, bounds, rules)
    rows = tuple(sorted(row for row, taken in zip(suitable, chosen, strict=True) if taken))
    level = list(zip(counts.intended.tolist(), counts.subjects.tolist(), strict=True))
    return Selection(
        dataset.drop(reasons, "reliable subset"),
        rows,
        len(suitable),
        int(counts.intended[list(rows)].sum()),
        int(counts.subjects[list(rows)].sum()),
        _tally.make_histogram(level[row] for row in rows),
        _tally.make_pair_histogram(
            (level[first], level[second])
            for first, second in dataset.twins
            if not {first, second}.isdisjoint(rows)
        ),
    )


def _explain_omissions(
    suitable: Sequence[int], chosen: npt.NDArray[np.bool_], limits: Sequence[Limit], rules: Rules
) -> dict[int, str]:
    reasons = {}
    for at, row in enumerate(suitable):
        if chosen[at]:
            continue
        with_it = chosen.copy()
        with_it[at] = True
        broken = dict.fromkeys(
            limit.reason
            for limit in limits
            if limit.weights[at] > 0 and limit.weights @ with_it > limit.maximum
        )
        full = f"the set of {rules.size} is full of problems with the same or higher agreement"
        reasons[row] = "; ".join(broken) or full
    return reasons


@dataclass(frozen=True, slots=True)
class Limit:
    """A linear constraint on the choice x of suitable problems: `weights` · x ≤ `maximum`.

    Attributes:
        weights: coefficients, (n,).
        reason: the reason for omitting a problem that would violate the constraint.
    """

    weights: Floats
    maximum: float
    reason: str


def make_limits(dataset: Dataset, suitable: Sequence[int], rules: Rules) -> list[Limit]:
    """Return all constraints on the choice except the size."""
    problems, limits = [dataset[row] for row in suitable], []
    for values, most, reason in (
        ([p.twin_id for p in problems], 1, "the other half of {!r} is chosen"),
        (
            [*map(make_text_key, problems)],
            rules.per_text,
            f"{rules.per_text} questions on the same text are chosen",
        ),
    ):
        for value, count in Counter(values).items():
            if value is not None and count > most:
                members = np.array([mine == value for mine in values], np.float64)
                limits.append(Limit(members, most, reason.format(value)))
    return limits


_ROUNDING = 1e-7
"""Tolerance for the total agreement when breaking ties; HiGHS's tolerance is 1e-6 per row."""

_TIME_LIMIT = 60.0
"""Time limit for one integer program, in seconds."""


def choose(agreement: Floats, limits: Sequence[Limit], size: int | None, ranks: Floats) -> Chosen:
    """Choose problems; return a mask of the chosen problems, (n,).

    If `size` is None, as many problems as possible are chosen. `agreement`, (n,), 0–1, must be
    equal for both halves of a schema. `ranks`, (n,), 0–1, are random numbers that choose halves of
    schemas and break ties.

    Three integer programs are solved to optimality by scipy's `milp` (HiGHS). They maximize first
    the number of problems, then the total agreement, then the sum of ranks. See Huangfu & Hall
    (2018).
    """
    if not len(agreement):
        if size:
            raise InputError(f"can't choose {size} problems: none is suitable; relax the rules")
        return np.zeros(0, bool)
    every = np.ones(len(agreement))
    most = int(_maximize_choice(every, limits).sum())
    if size is not None and size > most:
        raise InputError(
            f"can't choose {size} problems: the constraints allow {most} of {len(agreement)} "
            f"suitable ones; choose {most}, or relax a constraint"
        )
    wanted = float(size or most)
    exactly = [Limit(every, wanted, ""), Limit(-every, -wanted, "")]
    best = _maximize_choice(agreement, [*limits, *exactly])
    reached = Limit(-agreement, _ROUNDING - float(agreement @ best), "")
    return _maximize_choice(ranks, [*limits, *exactly, reached])


def _maximize_choice(values: Floats, limits: Sequence[Limit]) -> Chosen:
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    rows = csr_array(np.array([limit.weights for limit in limits]).reshape(-1, len(values)))
    constraints = [LinearConstraint(rows, ub=[limit.maximum for limit in limits])] if limits else []
    found = milp(
        -values,
        integrality=np.ones(len(values)),
        bounds=Bounds(0, 1),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "time_limit": _TIME_LIMIT},
    )
    if found.status != 0:
        raise InputError(f"no optimal choice was found in {_TIME_LIMIT:g} s; change a rule")
    return np.asarray(found.x) > 0.5


MIN_PEOPLE = 4
"""Minimum number of people for cross-fitting."""


@dataclass(frozen=True, slots=True)
class CrossFit(Result):
    """Agreement estimated by cross-fitting, from people whose answers did not affect the choice.

    Attributes:
        agreement: fraction of intended answers, with an interval for new people and problems.
        folds: number of folds.
        sizes: number of problems that were chosen for each fold.
        kept_fraction: mean fraction of the final set that is also in a fold's set, 0–1; a low value
            means that the choice depends strongly on who was asked.
    """

    agreement: Proportion = field(
        metadata=shown(
            "agreement among held-out people",
            lambda of: format_value(of.value, ".2%"),
            SHOWN_INTERVAL,
            json="flat",
        )
    )
    folds: int = field(metadata=shown("folds"))
    sizes: tuple[int, ...] = field(
        metadata=shown("problems per fold", lambda of: ", ".join(map(str, of)))
    )
    kept_fraction: float = field(
        metadata={"key": "kept"} | shown("also chosen without a fold", ".0%")
    )


@checked
def cross_fit(
    dataset: Dataset,
    responses: Iterable[Response],
    rules: Rules | None = None,
    *,
    folds: Annotated[
        TwoOrMore,
        Field(description="Number of folds to divide people into for cross-fitting."),
    ] = 10,
    seed: int = 0,
    on_fold: Callable[[int, int], None] | None = None,
) -> CrossFit:
    """Estimate how often new people agree with the keys of the problems that the rules select.

    Each fold's set is based on fewer people than the final set, so the estimate is slightly
    pessimistic; more folds reduce this bias. If a fold's people allow fewer problems than the
    requested size, its set has as many as possible.

    Args:
        dataset: the problems with the intended answers.
        responses: the responses; only those with the purpose "test" are used.
        rules: the rules of `select`; the required number of subjects is reduced in proportion to
            the people of a fold.
        folds: number of folds, at most the number of people.
        seed: random seed for making folds and breaking ties.
        on_fold: called after each fold with the number of finished folds and the total number.

    Raises:
        DataError: there are fewer than 4 people, or none of the held-out people answered a chosen
            problem.
        RecipeError: there are fewer than 2 folds.
    """
    rules = rules or Rules()
    test_responses = [response for response in responses if response.purpose == "test"]
    people = sorted({response.participant for response in test_responses})
    if len(people) < MIN_PEOPLE:
        raise DataError(f"{len(people)} people answered; cross-fitting needs at least {MIN_PEOPLE}")
    whole = set(select(dataset, tally(dataset, test_responses), rules, seed).rows)
    held_out: list[Response] = []
    sizes, shared = [], []
    answered: dict[str, set[str]] = {}
    for response in test_responses:
        answered.setdefault(response.participant, set()).add(response.problem_id)
    luck = dict(zip(people, np.random.default_rng(seed).permutation(len(people)), strict=True))
    order = sorted(people, key=lambda who: (min(answered[who]), len(answered[who]), luck[who]))
    folds = min(folds, len(people))
    for number in range(folds):
        fold = frozenset(order[number::folds])
        rest = [response for response in test_responses if response.participant not in fold]
        fraction = 1 - len(fold) / len(people)
        fewer = replace(rules, subjects=max(1, int(rules.subjects * fraction)))
        counts = tally(dataset, rest)
        try:
            rows = select(dataset, counts, fewer, seed).rows
        except InputError:
            rows = select(dataset, counts, replace(fewer, size=None), seed).rows
        ids = {dataset[row].id for row in rows}
        held_out += [r for r in test_responses if r.participant in fold and r.problem_id in ids]
        sizes.append(len(rows))
        shared.append(len(whole & set(rows)) / max(1, len(whole)))
        if on_fold is not None:
            on_fold(number + 1, folds)
    if not held_out:
        raise DataError("none of the held-out people answered a chosen problem; use fewer folds")
    right = np.full((len(people), len(dataset)), np.nan)
    places = {who: place for place, who in enumerate(people)}
    for response in held_out:
        row = dataset.row(response.problem_id)
        right[places[response.participant], row] = response.choice == dataset[row].answer
    agreement = measure_accuracy(right, find_clusters(dataset))
    return CrossFit(agreement, folds, tuple(sizes), float(np.mean(shared)))


CANARY = "winosmith.canary"
"""The key of the canary string in `Problem.extra`."""

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "winosmith canary")


@dataclass(frozen=True, slots=True)
class PublicationPlan:
    """The problems to publish after a round, and those to withhold.

    Attributes:
        released: the used problems and their other halves, without embargo, in the order of the
            data set.
        withheld: all other problems, under embargo, in the order of the data set.
        alternates: number of released problems that were not used in the round.
        canary: the canary string in every problem.
    """

    released: Dataset
    withheld: Dataset
    alternates: int
    canary: str


def publish(dataset: Dataset, used: Iterable[str]) -> PublicationPlan:
    """Release a round's problems and their other halves, and put all other problems under embargo.

    Embargoed problems may be used in a later round. Every problem gets a canary string, so that
    model developers can exclude these texts, and anyone can test whether a model knows the string.

    Args:
        dataset: all problems, used and unused.
        used: ids of the problems used in the round.

    Raises:
        DataError: `used` is empty, or has an unknown id.

    >>> from winosmith import Problem
    >>> data = Dataset(
    ...     Problem(f"{i}{h}", f"The cup hit jug {i} and _ {verb}.", ("cup", "jug"), a, str(i))
    ...     for i in (1, 2) for a, (h, verb) in enumerate((("a", "bounced"), ("b", "broke")))
    ... )
    >>> after = publish(data, ["1a"])
    >>> after.released.ids, after.withheld.ids, after.withheld[0].embargo
    (('1a', '1b'), ('2a', '2b'), True)
    """
    rows = {dataset.row(problem_id) for problem_id in used}
    if not rows:
        raise DataError("the list of used problems is empty; give at least one id")
    public = {row for group in dataset.groups if rows & set(group) for row in group}
    canary = make_canary(dataset)
    return PublicationPlan(
        _add_canary(dataset, sorted(public), canary, embargo=False),
        _add_canary(dataset, sorted(set(range(len(dataset))) - public), canary, embargo=True),
        len(public - rows),
        canary,
    )


def make_canary(dataset: Dataset) -> str:
    """Return a data set's canary string, which depends only on the problems."""
    return f"winosmith canary {uuid.uuid5(_NAMESPACE, dataset.digest)}"


def _add_canary(dataset: Dataset, rows: Iterable[int], canary: str, *, embargo: bool) -> Dataset:
    problems = []
    for row in rows:
        extra = Extra({**dataset[row].extra, CANARY: canary})
        problems.append(replace(dataset[row], embargo=embargo, extra=extra))
    return Dataset(problems, dataset.name)
