"""Baselines: chance, the most frequent position, the local context, and word association."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from winosmith import metrics, seen
from winosmith.dataset import Dataset
from winosmith.errors import InputError, check_choice
from winosmith.problem import BLANK, Problem
from winosmith.seen import Sees, check_pronouns, check_sees_value, check_two_options
from winosmith.solve._solver import Scores, Solver, get_answers
from winosmith.text import split_units


@dataclass(frozen=True, slots=True)
class Random:
    """Gives every option a random score, uniformly distributed between 0 and 1.

    An option's score depends only on the seed, the problem's id and the option. The sentence and
    the order of problems or options do not matter.

    Attributes:
        seed: random seed.

    >>> problem = Problem("a", "A _ b.", ("x", "y"))
    >>> Random(1).score([problem]) == Random(1).score([problem])
    True
    """

    seed: int = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the scores, for a signature."""
        return {"solver": "random", "seed": self.seed, "sees": "blank"}

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return a random score for each option."""

        def draw(problem: Problem, option: str) -> float:
            key = json.dumps([self.seed, problem.id, option]).encode()
            return int.from_bytes(hashlib.sha256(key).digest()[:6], "big") / 2.0**48

        return [tuple(draw(problem, option) for option in problem.options) for problem in problems]


@dataclass(frozen=True, slots=True)
class Majority:
    """Scores an option by the fraction of solved problems whose answer is at its position.

    Attributes:
        shares: fraction of answers at each position, 0–1. It is 0 for all later positions.

    >>> half = Problem("a", "A _ b.", ("x", "y"), 1)
    >>> Majority.trained_on(Dataset([half])).score([half.blind()])
    [(0.0, 1.0)]
    """

    shares: tuple[float, ...]

    @classmethod
    def trained_on(cls, train: Dataset) -> Majority:
        """Count the answers at each position in solved problems, and return the solver.

        Raises:
            DataError: there are no problems, or an answer is withheld.
        """
        counts = Counter(get_answers(train))
        places = max(len(problem.options) for problem in train)
        return cls(tuple(counts[place] / len(train) for place in range(places)))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the scores, for a signature."""
        return {"solver": "majority", "shares": list(self.shares), "sees": "blank"}

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the fraction of answers at each option's position."""
        most = max((len(problem.options) for problem in problems), default=0)
        shares = self.shares + (0.0,) * (most - len(self.shares))
        return [shares[: len(problem.options)] for problem in problems]


WORDS_BEFORE = 2
"""Number of words to keep before the blank: w[t-2:] (WinoGrande, section 4.1)."""


def cut_to_local_context(
    problems: Sequence[Problem], width: int = WORDS_BEFORE
) -> tuple[Problem, ...]:
    """Return the problems with their sentences cut to the local context.

    To reproduce the baseline in WinoGrande's table 3, also train the solver on shortened problems.

    Raises:
        DataError: a problem is a question.
        ProblemError: a sentence has no spaces between words, and therefore no local context.

    >>> whole = Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"))
    >>> cut_to_local_context([whole])[0].sentence
    'and the _ broke.'
    """
    seen.check_blanks(problems, "the local context")
    return tuple(seen.cut_to_local_context(problem, width, whole=False) for problem in problems)


@dataclass(frozen=True, slots=True)
class LocalContext:
    """Shows a solver only the end of the sentence, from two words before the blank.

    If the solver still answers a problem correctly, the whole sentence is not needed. An artifact
    or the words around the blank reveal the answer.

    Attributes:
        solver: any solver.
        before: number of words to keep before the blank.
    """

    solver: Solver
    before: int = WORDS_BEFORE

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the scores, for a signature."""
        return {**getattr(self.solver, "parameters", {}), "local_context": self.before}

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the solver's scores for the shortened problems."""
        return self.solver.score(cut_to_local_context(problems, self.before))


Features = Literal["words", "pairs"]
"""The features to count, over lower-cased tokens without the blank. In a text without spaces
between words, the tokens are letters and pairs of letters (see `text.split_units`).

- `words`: the words of the sentence, by whether the first-mentioned option is correct. The PMI
  filter counts them in the same way by default (WinoGrande, section 3;
  `metrics.find_first_mentioned_options`). The option mentioned first scores Σ PMI(y = 1; w) over
  the words of the sentence, and the other one Σ PMI(y = 2; w). Problems must have two options,
  whose order does not matter.
- `pairs`: a word of an option with a word of the sentence, by whether the option is correct. An
  option scores Σ PMI(correct; v, w) over its distinct pairs. Problems may have any number of
  options.
"""


ADVICE = (
    "word association with features='words' supports only two options; choose "
    "`features='pairs'`, or wrap the solver in solve.TwoWay in Python"
)


@dataclass(frozen=True, slots=True)
class WordAssociation:
    """Scores options by the pointwise mutual information of words with the correct answers.

    Unknown words and pairs have no effect. If there are no associations, the accuracy is at chance.

    Attributes:
        features: the features to count; see `Features`.
        weights: maps a word, or a pair ("cup broke"), to its PMI in nats. A word has two values,
            for the option mentioned first and for the other option; a pair has one.
        smoothing: number added to each count, above 0.
        sees: "pronoun" counts the pronoun as an additional word of the sentence; "blank" does not.

    >>> halves = [
    ...     Problem("a", "A cup hit a jug, the _ broke.", ("cup", "jug"), 1),
    ...     Problem("b", "A cup hit a jug, the _ was unhurt.", ("cup", "jug"), 0),
    ... ]
    >>> solver = WordAssociation.trained_on(Dataset(halves), smoothing=1)
    >>> [scores.index(max(scores)) for scores in solver.score(halves)]
    [1, 0]
    """

    features: Features
    weights: Mapping[str, tuple[float, ...]] = field(repr=False)
    smoothing: float = metrics.PMI_SMOOTHING
    sees: Sees = "blank"

    @classmethod
    def trained_on(
        cls,
        train: Dataset,
        *,
        features: Features = "words",
        smoothing: float = metrics.PMI_SMOOTHING,
        sees: Sees = "blank",
    ) -> WordAssociation:
        """Learn word counts from problems with answers, and return the solver.

        Args:
            train: solved problems. For `words`, they must have two options.
            features: the features to count.
            smoothing: number added to each count (100 in Gururangan et al. 2018).
            sees: "pronoun" counts the pronoun as an additional word of the sentence.

        Raises:
            DataError: there are no problems, an answer is withheld, a problem has too many options
                for `features`, or a required pronoun is unknown.
            InputError: `features` or `sees` is unknown, or `smoothing` is out of range.
        """
        check_choice("features", features, Features)
        if not 0 < smoothing < float("inf"):
            raise InputError(f"smoothing is {smoothing}; choose a number above 0")
        check_sees_value(sees)
        answers = get_answers(train)
        train = Dataset(_add_pronouns(train, sees))
        if features == "pairs":
            return cls("pairs", _weigh_pairs(train, smoothing), smoothing, sees)
        check_two_options(train, ADVICE)
        counts, known = metrics.count_words(train)
        labels = np.array(answers) != metrics.find_first_mentioned_options(train)
        information = metrics.compute_pmi_with_answers(counts, labels.astype(np.intp), smoothing)
        rows = zip(*information.tolist(), strict=True)
        return cls(features, dict(zip(known, rows, strict=True)), smoothing, sees)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the scores, for a signature, except the training data."""
        return {
            "solver": "association",
            "features": self.features,
            "smoothing": self.smoothing,
            "sees": self.sees,
        }

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the summed PMI of each option.

        With `pairs`, sums are rounded to nine decimals, because many options are tied, and rounding
        errors would choose between them.

        Raises:
            DataError: a problem has more than two options (with `words`), or a required pronoun is
                unknown.
        """
        problems = _add_pronouns(problems, self.sees)
        if self.features == "pairs":
            return [
                tuple(
                    round(math.fsum(self.weights.get(pair, (0.0,))[0] for pair in pairs), 9)
                    for pairs in _list_pairs_by_option(p)
                )
                for p in problems
            ]
        check_two_options(problems, ADVICE)
        scores = []
        for problem in problems:
            words = _split_words(problem.sentence)
            known = [self.weights[word] for word in words if word in self.weights]
            first, second = (sum((weight[place] for weight in known), 0.0) for place in (0, 1))
            is_swapped = metrics.find_first_mentioned(problem)
            scores.append((second, first) if is_swapped else (first, second))
        return scores


def _add_pronouns(problems: Sequence[Problem], sees: Sees) -> Sequence[Problem]:
    if sees == "blank":
        return problems
    check_pronouns(problems)
    return [
        replace(p, sentence=p.replace_blank(f"{BLANK} {(p.pronoun or '').strip()} "))
        for p in problems
    ]


def _split_words(text: str) -> list[str]:
    return [unit for unit in split_units(text) if unit != BLANK]


def _weigh_pairs(train: Dataset, smoothing: float) -> dict[str, tuple[float, ...]]:
    """Return the PMI of each pair with the correct option."""
    counts: dict[str, list[int]] = {}
    for problem in train:
        for option, pairs in enumerate(_list_pairs_by_option(problem)):
            for pair in pairs:
                counts.setdefault(pair, [0, 0])[option != problem.answer] += 1
    table = np.ascontiguousarray(np.array([*counts.values()]).reshape(-1, 2).T)
    weights = metrics.compute_pmi(table, smoothing)[0].tolist()
    return {pair: (weight,) for pair, weight in zip(counts, weights, strict=True)}


def _list_pairs_by_option(problem: Problem) -> Iterator[list[str]]:
    sentence = sorted(set(_split_words(problem.sentence)))
    for option in problem.options:
        yield [f"{own} {word}" for own in sorted(set(_split_words(option))) for word in sentence]
