"""Find leaks: fields that reveal the answer, and test problems in a solver's training data.

A *tell* maps each row to a property of a field, such as its last character, its parity or its order
in the twin, or to None if the row has no such property. Simpler tells are tested first.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from winosmith.blocks import find_blocks, find_lookalikes, normalize_tokens
from winosmith.dataset import Dataset
from winosmith.metrics._graded import find_clusters, iterate_columns
from winosmith.problem import Problem, Scalar
from winosmith.published import Digests, compute_item_digests
from winosmith.report import percent
from winosmith.results import HIDDEN, Result, computed
from winosmith.text import normalize, remove_invisible

Ints = NDArray[np.intp]
Tell = tuple[str, Sequence[Hashable]]
"""The name of a tell, and its value (or None) for each row."""

ALPHA = 0.001
"""Probability of reporting a leak in a clean data set, after Bonferroni correction over tells."""

MIN_ADVANTAGE = 0.05
"""Minimum advantage of a leak's accuracy over that of the most frequent answer (our choice)."""

SPACING = "option spacing", "sentence spacing"
"""The fields of leaks by spaces, invisible characters and Unicode forms in the texts."""

_PERFECT_WEIGHT = 0.05
"""Weight of the test for perfect tells in the Bonferroni correction, relative to the sign test."""

MIN_GROUPS = 30
"""Minimum number of blocks. With fewer, a tell that is always correct may not be significant."""


@dataclass(frozen=True, slots=True)
class Leak(Result):
    """A field that reveals the answer.

    Attributes:
        field: The name of the field ("id", "row number", "options", "wsc.source").
        tell: The property of the field that reveals the answer ("last character").
        accuracy: The cross-validated fraction of problems whose answer the tell predicts, 0–1.
        problems: The number of problems with the field and an answer.
        chance: The accuracy of always predicting the most frequent answer, 0–1.
        p_value: The p-value before correction for the number of tells.
        predictions: The tell's most frequent values, each with the 1-based number of the predicted
            option.
    """

    field: str
    tell: str
    accuracy: float
    problems: int
    chance: float
    p_value: float
    predictions: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        share = "100 %" if self.accuracy == 1 else percent(min(self.accuracy, 0.999))
        predictions = ", ".join(
            f"{value!r} means option {option}" for value, option in self.predictions
        )
        return (
            f"the {self.field}'{'' if self.field.endswith('s') else 's'} {self.tell} gives the "
            f"answer away in {share} of "
            f"{self.problems:,} problems (chance {percent(self.chance)}); {predictions}"
        )


def find_leaks(
    dataset: Dataset, seed: int = 0, on_field: Callable[[int], object] = lambda _: None
) -> tuple[Leak, ...] | None:
    """Find the fields that reveal the answer, each with its most predictive tell.

    A field is reported if its predictions are significantly better than chance (p < 0.001 after
    correction for all tells of all fields) and correct at least 5 percentage points more often than
    the most frequent answer. Problems whose answer is withheld are omitted.

    Args:
        dataset: The problems with answers.
        seed: The random seed of the folds.
        on_field: Called before each field with the number of fields already tested.

    Returns:
        The leaks, or None if fewer than 30 blocks (twins, families, copies and single problems)
        have an answer, which may be too few for significance.

    >>> from winosmith import Problem
    >>> data = Dataset(
    ...     Problem(f"{n}-{'xy'[answer]}", f"Cup {n} hit _.", (f"jug {n}", "it"), answer)
    ...     for n, answer in enumerate(np.random.default_rng(0).integers(0, 2, 60).tolist())
    ... )
    >>> print(find_leaks(data)[0])
    the id's last character gives the answer away in 100 % of 60 problems (chance 56.7 %); 'y' means option 2, 'x' means option 1
    """  # noqa: E501
    from scipy.special import bdtrc

    rows = np.array([row for row, a in enumerate(dataset.answers) if a is not None], dtype=np.intp)
    groups = find_clusters(dataset)[rows]
    if len(np.unique(groups)) < MIN_GROUPS:
        return None
    answers = np.array([cast(int, dataset.answers[row]) for row in rows])
    folds = np.random.default_rng([seed, FOLDS]).integers(0, FOLDS, len(dataset))[groups]
    tried = 1.0
    found: dict[str, list[Leak]] = {"options": []}
    places, n = np.bincount(answers), len(rows)
    place = int(places.argmax())
    share = float(places[place] / n)
    sizes = [len(dataset[row].options) for row in rows]
    chances = np.array([1 / size if size > place else 0.0 for size in sizes])
    chance = float(chances.mean())
    if share >= chance + MIN_ADVANTAGE:
        # A block counts once, with the fraction of its answers at this position.
        _, block_of, blocks = np.unique(groups, return_inverse=True, return_counts=True)
        weights = 1 / blocks[block_of]
        wins = int(weights[answers == place].sum() + 1e-9)
        of_blocks = float(weights @ chances) / len(blocks)
        p_value = min(1.0, len(places) * float(bdtrc(wins - 1, len(blocks), of_blocks)))
        meaning = (("any", place + 1),)
        found["options"].append(Leak("options", "order", share, n, chance, p_value, meaning))
    seen: dict[str, None] = {}
    for name, sign, of in _find_all_tells(dataset):
        tried += 1 + _PERFECT_WEIGHT
        if name not in seen:
            on_field(len(seen))
        seen[name] = None
        leak = _measure_leak(name, sign, [of[row] for row in rows], answers, groups, folds)
        if leak is not None and leak.accuracy >= leak.chance + MIN_ADVANTAGE:
            found.setdefault(name, []).append(leak)
    significant = ([leak for leak in of if leak.p_value * tried < ALPHA] for of in found.values())
    return tuple(
        max(found, key=lambda leak: (leak.accuracy - leak.chance) * leak.problems)
        for found in significant
        if found
    )


def _find_all_tells(dataset: Dataset) -> Iterator[tuple[str, str, Sequence[Hashable]]]:
    orders = []
    for problem in dataset:
        sentence = problem.sentence.casefold()
        places = [sentence.find(option.strip().casefold()) for option in problem.options]
        orders.append(None if -1 in places else _find_unique_min(*places))
    yield "options", "order in the sentence", orders
    texts = [[*map(_normalize_spaces, problem.options)] for problem in dataset]
    folded = [_find_unique_min(*map(str.casefold, own)) for own in texts]
    yield "options", "alphabetical order", folded
    lengths = [_find_unique_min(*(-len(text) for text in own)) for own in texts]
    yield "options", "greatest length", lengths
    spaces = [[*map(_count_unusual_spaces, problem.options)] for problem in dataset]
    yield SPACING[0], "irregularity", [_find_unique_min(*(-n for n in own)) for own in spaces]
    yield SPACING[0], "regularity", [_find_unique_min(*own) for own in spaces]
    yield SPACING[1], "irregularity", [_count_unusual_spaces(p.sentence) for p in dataset]
    for name, values in iterate_columns(dataset):
        for tell, of in _find_tells(values, dataset):
            yield name, tell, of


FOLDS = 4
MAX_LISTED_VALUES = 3
"""Maximum number of values to list for a tell."""


def _measure_leak(
    field: str, tell: str, values: Sequence[Hashable], answers: Ints, groups: Ints, folds: Ints
) -> Leak | None:
    """Measure how well a tell predicts the answer; return None if it has fewer than two values.

    Each of four folds is predicted from the other three, by the most frequent answer for each value
    of the tell. The folds contain whole blocks (twins, families, copies), because the answers in a
    block are not independent. Rows whose value is None are omitted.

    `answers` (from 0), `groups` (blocks) and `folds` (0 to 3) have the shape (n,).
    """
    distinct = [value for value in dict.fromkeys(values) if value is not None]
    if len(distinct) < 2:
        return None
    codes = {value: code for code, value in enumerate(distinct)}
    has = np.array([value is not None for value in values])
    coded = np.array([codes[value] for value in values if value is not None])
    answers, groups, folds = answers[has], groups[has], folds[has]
    shape = (len(codes), FOLDS, int(answers.max()) + 1)
    flat = np.ravel_multi_index((coded, folds, answers), shape)
    table = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
    counts = table.sum(axis=1)
    frequent = np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_LISTED_VALUES]
    return Leak(
        field,
        tell,
        accuracy=_compute_accuracy(table, coded, folds, answers),
        problems=len(answers),
        chance=float(np.bincount(answers).max() / len(answers)),
        p_value=min(
            _compute_p_value(table, coded, folds, answers, groups),
            _bound_perfect_p_value(counts, answers, groups),
        ),
        predictions=tuple(
            (str(distinct[code]), int(counts[code].argmax()) + 1) for code in frequent
        ),
    )


def _fit_answers(table: Ints, folds: Sequence[int]) -> tuple[Ints, int]:
    """Return the answer that folds predict for each value, and their most frequent answer.

    The most frequent answer breaks ties and is predicted for values that don't occur in the folds.
    """
    counts = 2 * table[:, list(folds)].sum(axis=1)
    most = int(counts.sum(axis=0).argmax())
    counts[:, most] += 1
    return counts.argmax(axis=1), most


def _compute_accuracy(table: Ints, codes: Ints, folds: Ints, answers: Ints) -> float:
    right = 0
    for fold in range(FOLDS):
        predicted, _ = _fit_answers(table, [other for other in range(FOLDS) if other != fold])
        tested = folds == fold
        right += int((predicted[codes[tested]] == answers[tested]).sum())
    return right / len(answers)


def _compute_p_value(table: Ints, codes: Ints, folds: Ints, answers: Ints, groups: Ints) -> float:
    """Return the p-value of a tell's predictions.

    The tell is tested twice: one fold predicts the three others, and those three predict that fold.
    A block in which the tell is correct more often than the most frequent answer is a win; a block
    in which it is correct less often is a loss. A sign test gives the probability of at least that
    many wins. See McNemar (1947). The result is twice the smaller of the two probabilities. A
    single test of all folds would be wrong, because folds are dependent. In 15 % of clean data
    sets, such a test was significant at the 10 % level.
    """
    from scipy.special import bdtrc

    p_values = []
    for fitted_on in ([0], [1, 2, 3]):
        predicted, most = _fit_answers(table, fitted_on)
        tested = ~np.isin(folds, fitted_on)
        right, usually = predicted[codes[tested]] == answers[tested], most == answers[tested]
        gains = np.bincount(groups[tested], right.astype(int) - usually)
        wins, losses = int((gains > 0).sum()), int((gains < 0).sum())
        p_values.append(float(bdtrc(wins - 1, wins + losses, 0.5)) if wins else 1.0)
    return min(1.0, 2 * min(p_values))


def _bound_perfect_p_value(counts: Ints, answers: Ints, groups: Ints) -> float:
    """Return a bound on the p-value of a tell that determines all answers, divided by its weight.

    The sign test needs about 50 single problems to find such a tell. If one answer of each block is
    permuted among the blocks, at most K^v of all orders are functions of the v values of the tell,
    where K is the number of answers. The result is 1 if the tell doesn't determine all answers.
    """
    from scipy.special import gammaln

    if ((counts > 0).sum(axis=1) > 1).any():
        return 1.0
    one_of_each = np.bincount(answers[np.unique(groups, return_index=True)[1]])
    orders = gammaln(one_of_each.sum() + 1) - gammaln(one_of_each + 1).sum()
    functions = len(counts) * np.log(counts.shape[1])
    return float(np.exp(min(0.0, functions - orders - np.log(_PERFECT_WEIGHT))))


MAX_CHARACTERS = 8
"""Number of characters at each end of a text that are tested separately."""

MAX_PARTS = 4
"""Number of punctuation-separated parts at each end of a text that are tested."""

MAX_BLOCKS, MIN_BLOCK_ROWS = 64, 25
"""A sorted field is divided into at most 64 blocks of at least 25 rows."""

_PART = re.compile(r"[^\W_]+")
_LAST_NUMBER = re.compile(r"(\d{1,15})\D*$")
_ARTICLE = re.compile(r"(?:the|an?) ")


def _find_tells(values: Sequence[Scalar], dataset: Dataset) -> Iterator[Tell]:
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        yield "presence", [value is not None for value in values]
    yield "value", values
    if all(isinstance(value, bool) for value in present):
        return
    if all(isinstance(value, int | float) for value in present):
        yield from _find_number_tells(values, dataset)
        return
    texts = [None if value is None else str(value) for value in values]
    yield "last character", [text and text[-1] for text in texts]
    yield "first character", [text and text[0] for text in texts]
    yield "length", [None if text is None else len(text) for text in texts]
    parts = [_PART.findall(text) if text else [] for text in texts]
    for at in range(MAX_PARTS):
        yield f"part {at + 1}", [found[at] if len(found) > at else None for found in parts]
    for at in range(1, MAX_PARTS + 1):
        which = "last part" if at == 1 else f"part {at} from the end"
        yield which, [found[-at] if len(found) >= at else None for found in parts]
    for at in range(1, MAX_CHARACTERS):
        yield f"character {at + 1}", [text and text[at : at + 1] for text in texts]
    for at in range(2, MAX_CHARACTERS + 1):
        yield f"character {at} from the end", [text and text[-at : 1 - at] for text in texts]
    options = [problem.options for problem in dataset]
    yield "likeness to an option", list(map(_find_similar_option, texts, options))
    yield "agreement with an option's initial", list(map(_find_option_by_initial, texts, options))
    found = (text and _LAST_NUMBER.search(text) for text in texts)
    numbers = [int(last[1]) if last else None for last in found]
    yield from ((f"{what} (last number)", of) for what, of in _find_number_tells(numbers, dataset))
    yield "order in the twin", _find_twin_order(texts, dataset)
    yield "place in sorted order", _assign_sorted_blocks(texts)


def _normalize_spaces(text: str) -> str:
    return " ".join(remove_invisible(text).split())


def _count_unusual_spaces(text: str) -> int:
    r"""Count the outer and repeated spaces, other white space, invisible and decomposed characters.

    >>> [*map(_count_unusual_spaces, ("a cup", "a cup ", "a\u00a0cup", "a\u200b  cu\u0301p"))]
    [0, 1, 1, 3]
    """
    regular = _normalize_spaces(normalize(text))
    return len(text) - len(regular) + sum(one.isspace() and one != " " for one in text)


def _find_unique_min(*values: Any) -> int | None:
    """Return the 1-based number of the option with the smallest value; None if options tie."""
    minimum = min(values)
    return values.index(minimum) + 1 if values.count(minimum) == 1 else None


def _find_number_tells(numbers: Sequence[Any], dataset: Dataset) -> Iterator[Tell]:
    for name, divisor in (("parity", 2), ("remainder by 3", 3), ("remainder by 4", 4)):
        yield name, [None if n is None else n % divisor for n in numbers]
    yield "last digit", [None if n is None else n % 10 for n in numbers]
    yield "order in the twin", _find_twin_order(numbers, dataset)
    yield "place in sorted order", _assign_sorted_blocks(numbers)


def _find_option_by_initial(text: str | None, options: Sequence[str]) -> int | None:
    """Return the 1-based number of the option with a text's initial; None unless it is unique."""
    first = (text or "").strip()[:1].casefold()
    initials = [option.strip()[:1].casefold() for option in options]
    return initials.index(first) + 1 if initials.count(first) == 1 else None


def _find_similar_option(text: str | None, options: Sequence[str]) -> int | None:
    if not text:
        return None
    text, options = _normalize(text), list(map(_normalize, options))
    equal = [index for index, option in enumerate(options) if option == text]
    contained = [
        index
        for index, option in enumerate(options)
        if f" {option} " in f" {text} " or f" {text} " in f" {option} "
    ]
    others = [index for index in range(len(options)) if index not in contained]
    return next((found[0] + 1 for found in (equal, contained, others) if len(found) == 1), None)


def _normalize(text: str) -> str:
    return _ARTICLE.sub("", " ".join(_PART.findall(text.casefold())), count=1)


def _find_twin_order(values: Sequence[Any], dataset: Dataset) -> list[str | None]:
    order: list[str | None] = [None] * len(values)
    for first, second in dataset.twins:
        mine, other = values[first], values[second]
        if mine is None or other is None or mine == other:
            continue
        before, after = (first, second) if mine < other else (second, first)
        order[before], order[after] = "first", "second"
    return order


def _assign_sorted_blocks(values: Sequence[Any]) -> list[int | None]:
    ordered = sorted(value for value in values if value is not None)
    blocks = min(MAX_BLOCKS, len(ordered) // MIN_BLOCK_ROWS)
    if blocks < 2:
        return [None] * len(values)
    edges = [ordered[len(ordered) * block // blocks] for block in range(1, blocks)]
    return [None if v is None else bisect_left(edges, v) for v in values]


@dataclass(frozen=True, slots=True)
class Overlap(Result):
    """The test problems that a solver may have seen during training.

    Attributes:
        rows: The reasons why test problems may have been seen, by row.
        n: The number of test problems.
        unknown: The names of training corpora that are not available for a comparison.
    """

    rows: Mapping[int, str] = field(metadata=HIDDEN)
    n: int
    unknown: tuple[str, ...] = ()

    @property
    @computed()
    def withheld(self) -> bool:
        """Whether "—" replaces accuracies because the solver may have seen test problems."""
        return bool(self.rows)

    @property
    @computed()
    def problems(self) -> int:
        """The number of test problems that the solver may have seen."""
        return len(self.rows)

    @property
    @computed()
    def reasons(self) -> dict[str, int]:
        """The number of problems for each reason, in descending order."""
        return dict(Counter(self.rows.values()).most_common())


def describe_overlap(solver: str, record: Mapping[str, Any]) -> list[str]:
    """Describe, in sentences without full stops, the test problems that a solver may have seen.

    Args:
        solver: The name of the solver.
        record: The record of an `Overlap`.

    >>> describe_overlap("mine", Overlap({0: "it contains a copy"}, 4).record())
    ['No accuracy is shown for mine: 1 of 4 problems may have been seen in training (1: \
it contains a copy)']
    """
    lines = []
    if record["withheld"]:
        reasons = "; ".join(f"{count:,}: {reason}" for reason, count in record["reasons"].items())
        lines.append(
            f"No accuracy is shown for {solver}: {record['problems']:,} of "
            f"{record['n']:,} problems may have been seen in training ({reasons})"
        )
    if record["unknown"]:
        corpora = " and ".join(record["unknown"])
        lines.append(
            f"{solver} was also trained on {corpora}, which is not available: "
            "it is unknown whether the corpus contains these problems"
        )
    return lines


def find_overlap(
    test: Dataset, training: Dataset | None = None, *, public: Collection[Digests] = ()
) -> Overlap:
    """Find the test problems that a solver may have seen during training.

    A problem may have been seen if the training set contains

    - its sentence, ignoring case; for a question, also its options, because many questions have the
      same text, such as "Which of these is true?";
    - part of its family: a root with the same id, unless both sets contain that id with different
      sentences, as in files whose ids are row numbers;
    - a look-alike: a problem with the same options and 70 % of the words in common, like the halves
      of a twin, and like most perturbed problems and their root.

    For a public set, only digests are compared. In this case, look-alikes are problems with the
    same options and the same words on one side of the blank. A family may have been seen if its
    root comes from the public set, or if its root is not in the test set and can't be compared.

    If a problem may have been seen, so may its family, twin and copies (`winosmith.blocks`). Seven
    of EvoGrad's roots are from WinoGrande's dev set, on which the paper's models were selected.

    Args:
        test: The data on which the solver is measured.
        training: The data on which the solver was trained; None if not available.
        public: The contents of the public sets on which the solver was trained.

    >>> from winosmith.testing import make_twins
    >>> data = make_twins(4)
    >>> find_overlap(data[:4], data[4:]).withheld, find_overlap(data[:5], data[5:]).reasons
    (False, {'a problem in the training set looks like it': 1})
    """
    found: dict[int, str] = {}
    if training is not None:
        found.update(_find_shared_families(test, training))
        seen = {_make_question_key(problem) for problem in training}
        for row, problem in enumerate(test):
            if _make_question_key(problem) in seen:
                found[row] = "the training set contains its sentence"
        for row in sorted(find_lookalikes(test.problems, training.problems)):
            found.setdefault(row, "a problem in the training set looks like it")
    for data in public:
        for row, problem in enumerate(test):
            whole, sides = compute_item_digests(problem)
            if not whole.isdisjoint(data.whole):
                found.setdefault(row, f"{data.name} contains its sentence")
            elif not sides.isdisjoint(data.sides):
                found.setdefault(row, f"a problem in {data.name} looks like it")
        for row, reason in _find_public_families(test, data):
            found.setdefault(row, reason)
    direct = set(found)
    for rows in find_blocks(test) if direct else ():
        if not direct.isdisjoint(rows):
            for row in rows:
                found.setdefault(row, "part of its family or its twin may have been seen")
    return Overlap(dict(sorted(found.items())), len(test))


def _make_question_key(problem: Problem) -> tuple[str, frozenset[str]]:
    options = problem.options if problem.blank is None else ()
    return normalize_tokens(problem.sentence), frozenset(map(normalize_tokens, options))


def _find_shared_families(test: Dataset, training: Dataset) -> Iterator[tuple[int, str]]:
    roots = {problem.id: normalize_tokens(problem.sentence) for problem in training}
    for root, rows in test.families.items():
        if root not in training.families:
            continue
        mine = next(
            (normalize_tokens(test[row].sentence) for row in rows if test[row].id == root), None
        )
        if mine is None or roots.get(root, mine) == mine:
            for row in rows:
                yield row, "the training set contains part of its family"


def _find_public_families(test: Dataset, public: Digests) -> Iterator[tuple[int, str]]:
    sources = {p.id: p.origin.source if p.origin else None for p in test}
    for root, rows in test.families.items():
        if root not in sources:
            reason = f"its root is not in the test set and may be from {public.name}"
        elif (sources[root] or "").casefold() == public.name.casefold():
            reason = f"its root comes from {public.name}"
        else:
            continue
        for row in rows:
            yield row, reason
