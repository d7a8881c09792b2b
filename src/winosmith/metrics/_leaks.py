"""What leaks: the answer, by fields that give it away, and the test, into a solver's training.

A *tell* gives each row a small value, or None if the field says nothing: its last character, its
parity, its order in a twin. Simple things come first.
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

from winosmith.blocks import blocks, find_lookalikes, plain
from winosmith.dataset import Dataset
from winosmith.metrics._graded import clusters, columns
from winosmith.problem import Problem, Scalar
from winosmith.published import Contents, traces
from winosmith.report import percent, shown
from winosmith.results import HIDDEN, Result, computed

Ints = NDArray[np.intp]
Tell = tuple[str, Sequence[Hashable]]
"""What is looked at, in words, and its value for each row; None if there is none."""


ALPHA = 0.001
"""The chance to report any leak at all in a clean data set, by Bonferroni over all tells."""

FLOOR = 0.05
"""A leak must be right this much more often than the most frequent answer; ours."""

LEAST_GROUPS = 30
"""With fewer, even a tell that is always right passes no corrected test."""


@dataclass(frozen=True, slots=True)
class Leak(Result):
    """A field that gives the answer away.

    Attributes:
        field: its name ("id", "row number", "options", "wsc.source").
        tell: what of it does ("last character").
        accuracy: the fraction of problems whose answer it predicts from other problems, 0–1.
        problems: the number of problems that have it and an answer.
        chance: the share that always saying the most frequent answer gets right, 0–1.
        p_value: of that being chance, before the correction for all that was tried.
        says: the most frequent values of the tell, each with the option (from 1) it stands for.
    """

    field: str
    tell: str
    accuracy: float
    problems: int
    chance: float
    p_value: float
    says: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        """Return the leak in words."""
        share = "100 %" if self.accuracy == 1 else percent(min(self.accuracy, 0.999))
        says = ", ".join(f"{value!r} says option {option}" for value, option in self.says)
        return (
            f"the {self.field}'{'' if self.field.endswith('s') else 's'} {self.tell} gives the "
            f"answer away in {share} of "
            f"{self.problems:,} problems (chance {percent(self.chance)}); {says}"
        )


def leaks(
    dataset: Dataset, seed: int = 0, tell: Callable[[int], object] = lambda _: None
) -> tuple[Leak, ...] | None:
    """Return, for each field that gives the answer away, the tell that predicts most answers.

    A field is reported when what it predicts is not chance, at 0.001 after the correction for all
    tells of all fields, and it is right at least 5 points more often than the most frequent
    answer. Problems whose answer is withheld are omitted.

    Args:
        dataset: problems with answers.
        seed: of the random folds.
        tell: is called with how many fields have been tried; options are the first.

    Returns:
        The leaks, or None when it can't be told: fewer than 30 blocks (twins, families, copies,
        and problems alone) have an answer, too few for any result to be significant.

    >>> from winosmith import Problem
    >>> data = Dataset(
    ...     Problem(f"{n}-{'xy'[answer]}", f"Cup {n} hit _.", (f"jug {n}", "it"), answer)
    ...     for n, answer in enumerate(np.random.default_rng(0).integers(0, 2, 60).tolist())
    ... )
    >>> print(leaks(data)[0])
    the id's last character gives the answer away in 100 % of 60 problems (chance 56.7 %); 'y' says option 2, 'x' says option 1
    """  # noqa: E501
    rows = np.array([row for row, a in enumerate(dataset.answers) if a is not None], dtype=np.intp)
    groups = clusters(dataset)[rows]
    if len(np.unique(groups)) < LEAST_GROUPS:
        return None
    answers = np.array([cast(int, dataset.answers[row]) for row in rows])
    folds = np.random.default_rng([seed, FOLDS]).integers(0, FOLDS, len(dataset))[groups]
    tried = 1
    found: dict[str, list[Leak]] = {"options": list(_skew(dataset))}
    seen: dict[str, None] = {}
    for name, sign, of in _all_tells(dataset):
        tried += 1
        if name not in seen:
            tell(len(seen))
        seen[name] = None
        leak = _leak(name, sign, [of[row] for row in rows], answers, groups, folds)
        if leak is not None and leak.accuracy >= leak.chance + FLOOR:
            found.setdefault(name, []).append(leak)
    telling = ([leak for leak in of if leak.p_value * tried < ALPHA] for of in found.values())
    return tuple(max(of, key=_gain) for of in telling if of)


def _gain(leak: Leak) -> float:
    return (leak.accuracy - leak.chance) * leak.problems


def _all_tells(dataset: Dataset) -> Iterator[tuple[str, str, Sequence[Hashable]]]:
    for tell, of in _tells_of_options(dataset):
        yield "options", tell, of
    for name, values in columns(dataset):
        for tell, of in _tells(values, dataset):
            yield name, tell, of


def _skew(dataset: Dataset) -> Iterator[Leak]:
    """Yield the leak that the order of the options is when the right one has a usual place."""
    from scipy.special import bdtrc

    answered = [problem for problem in dataset if problem.answer is not None]
    places = np.bincount([cast(int, problem.answer) for problem in answered])
    place = int(places.argmax())
    share = float(places[place] / len(answered))
    chance = sum(1 / len(p.options) for p in answered if len(p.options) > place) / len(answered)
    p_value = min(1.0, len(places) * float(bdtrc(places[place] - 1, len(answered), chance)))
    if share >= chance + FLOOR:
        yield Leak("options", "order", share, len(answered), chance, p_value, (("any", place + 1),))


FOLDS = 4
SHOWN = 3
"""How many values of a tell are spelt out."""


def _leak(
    field: str, tell: str, of: Sequence[Hashable], answers: Ints, groups: Ints, folds: Ints
) -> Leak | None:
    """Return how well a tell predicts, or None when it has fewer than two values.

    It is fitted by putting each of its values down for the answer that goes with it most often in
    some folds, and measured on the others: the accuracy is that of four, each predicted from the
    other three. The folds are of whole blocks (twins, families, copies), since what ties answers
    together is not independent.

    Args:
        field: the name of the field.
        tell: what is looked at in it.
        of: the tell's value for each row; rows with None are omitted.
        answers: (n,) the 0-based answer of each row.
        groups: (n,) the number of each row's group.
        folds: (n,) the fold of each row, the same for a whole group, 0 to 3.
    """
    codes = {value: code for code, value in enumerate(dict.fromkeys(of)) if value is not None}
    if len(codes) < 2:
        return None
    codes = {value: code for code, value in enumerate(codes)}
    has = np.array([value is not None for value in of])
    coded = np.array([codes[value] for value in of if value is not None])
    answers, groups, folds = answers[has], groups[has], folds[has]
    table = _table(coded, folds, answers, len(codes))
    return Leak(
        field,
        tell,
        accuracy=_accuracy(table, coded, folds, answers),
        problems=len(answers),
        chance=float(np.bincount(answers).max() / len(answers)),
        p_value=_p_value(table, coded, folds, answers, groups),
        says=_says(list(codes), table.sum(axis=1)),
    )


def _table(coded: Ints, folds: Ints, answers: Ints, values: int) -> Ints:
    """Return how often each value goes with each answer in each fold: (values, folds, answers)."""
    shape = (values, FOLDS, int(answers.max()) + 1)
    flat = np.ravel_multi_index((coded, folds, answers), shape)
    return cast(Ints, np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape))


def _fitted(table: Ints, folds: Sequence[int]) -> tuple[Ints, int]:
    """Return the answer that each value is put down for, and the most frequent answer.

    The most frequent answer is also said for a value that these folds lack, and breaks ties.
    """
    counts = 2 * table[:, list(folds)].sum(axis=1)
    most = int(counts.sum(axis=0).argmax())
    counts[:, most] += 1
    return counts.argmax(axis=1), most


def _accuracy(table: Ints, coded: Ints, folds: Ints, answers: Ints) -> float:
    right = 0
    for fold in range(FOLDS):
        said, _ = _fitted(table, [other for other in range(FOLDS) if other != fold])
        here = folds == fold
        right += int((said[coded[here]] == answers[here]).sum())
    return right / len(answers)


def _p_value(table: Ints, coded: Ints, folds: Ints, answers: Ints, groups: Ints) -> float:
    """Return the probability of what a tell predicts being chance.

    It is asked twice: one fold predicts the three others, and three predict the one. A group in
    which the tell is right more often than always saying the most frequent answer is a win, the
    reverse a loss, and a sign test (McNemar 1947) gives the probability of so many wins; twice the
    smaller probability is kept. Pooling all folds in one test would not do: they depend on each
    other, and of clean data sets 15 % failed such a test at 10 %.
    """
    p_values = []
    for fitted_on in ([0], [1, 2, 3]):
        said, most = _fitted(table, fitted_on)
        there = ~np.isin(folds, fitted_on)
        right, usually = said[coded[there]] == answers[there], most == answers[there]
        p_values.append(_sign_test(np.bincount(groups[there], right.astype(int) - usually)))
    return min(1.0, 2 * min(p_values))


def _sign_test(gains: NDArray[Any]) -> float:
    """Return the probability of so many gains, or more, when each is a fair coin."""
    from scipy.special import bdtrc

    wins, losses = int((gains > 0).sum()), int((gains < 0).sum())
    return float(bdtrc(wins - 1, wins + losses, 0.5)) if wins else 1.0


def _says(values: Sequence[Hashable], counts: Ints) -> tuple[tuple[str, int], ...]:
    frequent = np.argsort(-counts.sum(axis=1), kind="stable")[:SHOWN]
    return tuple((str(values[code]), int(counts[code].argmax()) + 1) for code in frequent)


PLACES = 8
"""How many characters, from either end of a text, are looked at one by one."""

PARTS = 4
"""How many parts between punctuation, from either end of a text, are looked at."""

BLOCKS, BLOCK_ROWS = 64, 25
"""A field in order is cut into 64 blocks, or fewer, so that each has 25 rows or more."""

_PART = re.compile(r"[^\W_]+")
_LAST_NUMBER = re.compile(r"(\d{1,15})\D*$")
_ARTICLE = re.compile(r"(?:the|an?) ")


def _tells(values: Sequence[Scalar], dataset: Dataset) -> Iterator[Tell]:
    """Yield what can be looked at in a field."""
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        yield "presence", [value is not None for value in values]
    yield "value", values
    if all(isinstance(value, bool) for value in present):
        return
    if all(isinstance(value, int | float) for value in present):
        yield from _of_numbers(values, dataset)
        return
    texts = [None if value is None else str(value) for value in values]
    yield from _of_texts(texts)
    yield "likeness to an option", _likeness(texts, dataset)
    numbers = [_last_number(text) for text in texts]
    yield from ((f"{what} (last number)", of) for what, of in _of_numbers(numbers, dataset))
    yield "order in the twin", _order_in_twin(texts, dataset)
    yield "place in sorted order", _blocks(texts)


def _tells_of_options(dataset: Dataset) -> Iterator[Tell]:
    """Yield what the order of the options could tell: the option that stands out, by its index."""
    yield "order in the sentence", [_least(*_places(problem)) for problem in dataset]
    yield "alphabetical order", [_least(*map(str.casefold, p.options)) for p in dataset]
    yield "lengths", [_least(*(-len(option) for option in p.options)) for p in dataset]


def _places(problem: Problem) -> list[int | None]:
    sentence = problem.sentence.casefold()
    found = (sentence.find(option.strip().casefold()) for option in problem.options)
    return [None if at < 0 else at for at in found]


def _least(*values: Any) -> int | None:
    """Return the index of the one least value; None when it is shared or a value is missing."""
    if None in values:
        return None
    least = min(values)
    return values.index(least) if values.count(least) == 1 else None


def _of_texts(texts: Sequence[str | None]) -> Iterator[Tell]:
    yield "last character", [text and text[-1] for text in texts]
    yield "first character", [text and text[0] for text in texts]
    yield "length", [None if text is None else len(text) for text in texts]
    parts = [_PART.findall(text) if text else [] for text in texts]
    for at in range(PARTS):
        yield f"part {at + 1}", [found[at] if len(found) > at else None for found in parts]
    for at in range(1, PARTS + 1):
        which = "last part" if at == 1 else f"part {at} from the end"
        yield which, [found[-at] if len(found) >= at else None for found in parts]
    for at in range(1, PLACES):
        yield f"character {at + 1}", [text and text[at : at + 1] for text in texts]
    for at in range(2, PLACES + 1):
        yield f"character {at} from the end", [text and text[-at : 1 - at] for text in texts]


def _of_numbers(numbers: Sequence[Any], dataset: Dataset) -> Iterator[Tell]:
    for name, divisor in (("parity", 2), ("remainder by 3", 3), ("remainder by 4", 4)):
        yield name, [None if n is None else n % divisor for n in numbers]
    yield "last digit", [None if n is None else n % 10 for n in numbers]
    yield "order in the twin", _order_in_twin(numbers, dataset)
    yield "place in sorted order", _blocks(numbers)


def _last_number(text: str | None) -> int | None:
    found = _LAST_NUMBER.search(text) if text else None
    return int(found[1]) if found else None


def _likeness(texts: Sequence[str | None], dataset: Dataset) -> list[int | None]:
    """Return the index of the one option that the text equals, or else holds or is held by."""
    return [
        _like(_bare(text), [_bare(option) for option in problem.options]) if text else None
        for text, problem in zip(texts, dataset, strict=True)
    ]


def _like(text: str, options: Sequence[str]) -> int | None:
    equal = [index for index, option in enumerate(options) if option == text]
    held = [
        index
        for index, option in enumerate(options)
        if f" {option} " in f" {text} " or f" {text} " in f" {option} "
    ]
    return next((found[0] for found in (equal, held) if len(found) == 1), None)


def _bare(text: str) -> str:
    """Return the words in lower case, without punctuation and a leading article."""
    return _ARTICLE.sub("", " ".join(_PART.findall(text.casefold())), count=1)


def _order_in_twin(values: Sequence[Any], dataset: Dataset) -> list[str | None]:
    """Return whether the value comes before or after that of the other half."""
    order: list[str | None] = [None] * len(values)
    for first, second in dataset.twins:
        mine, other = values[first], values[second]
        if mine is None or other is None or mine == other:
            continue
        before, after = (first, second) if mine < other else (second, first)
        order[before], order[after] = "first", "second"
    return order


def _blocks(values: Sequence[Any]) -> list[int | None]:
    """Return the number of the block that the value falls into when all are sorted."""
    ordered = sorted(value for value in values if value is not None)
    blocks = min(BLOCKS, len(ordered) // BLOCK_ROWS)
    if blocks < 2:
        return [None] * len(values)
    edges = [ordered[len(ordered) * block // blocks] for block in range(1, blocks)]
    return [None if v is None else bisect_left(edges, v) for v in values]


@dataclass(frozen=True, slots=True)
class Overlap(Result):
    """What a test set may share with what a solver was trained on.

    Attributes:
        rows: of the test problems that may have been seen, each with the reason.
        n: how many test problems there are.
        unknown: names of corpora that nobody here can compare with: whether the solver saw the
            test there is unknown.
    """

    rows: Mapping[int, str] = field(metadata=HIDDEN)
    n: int
    unknown: tuple[str, ...] = ()

    @property
    @computed()
    def withheld(self) -> bool:
        """Whether an accuracy would be measured on what may have been seen: it is shown as "—"."""
        return bool(self.rows)

    @property
    @computed()
    def problems(self) -> int:
        """The number of test problems that may have been seen."""
        return len(self.rows)

    @property
    @computed()
    def reasons(self) -> dict[str, int]:
        """The reasons, each with the number of its problems, the most frequent first."""
        return dict(Counter(self.rows.values()).most_common())


def overlap_sentences(solver: str, record: Mapping[str, Any]) -> list[str]:
    """Return sentences, without points, on what a solver may have seen; none if nothing.

    Args:
        solver: its name.
        record: of an `Overlap`.

    >>> overlap_sentences("mine", Overlap({0: "the training set holds its sentence"}, 4).record())
    ['Of mine no accuracy is told: 1 of 4 problems may have been seen in training (1: the training \
set holds its sentence)']
    """
    lines = []
    if record["withheld"]:
        reasons = "; ".join(f"{count:,}: {reason}" for reason, count in record["reasons"].items())
        lines.append(
            f"Of {shown(solver)} no accuracy is told: {record['problems']:,} of {record['n']:,} "
            f"problems may have been seen in training ({reasons})"
        )
    if record["unknown"]:
        corpora = " and ".join(map(shown, record["unknown"]))
        lines.append(
            f"{shown(solver)} was trained on {corpora} too, which is not here: whether it saw "
            "these problems there is unknown"
        )
    return lines


def overlap(
    test: Dataset, training: Dataset | None = None, *, public: Collection[Contents] = ()
) -> Overlap:
    """Return which test problems a solver may have seen in training.

    A test problem may have been seen when the training set holds

    - its sentence, whatever the case; of a question its options, too, as many questions ask
      "Which of these is true?" of others;
    - something of its family: a root by that id, unless both sets hold it and the sentences
      differ, as where files number their rows;
    - a problem that looks like it: the same options, and 70 % of the words in common, as the
      halves of a twin have and most perturbed problems with their root.

    Of a public set only its digests need be here. There a problem looks like another one when
    options and all words on one side of the blank are the same. A family whose root the test does
    not hold, so that nothing can be compared, may have been seen; so may one whose root's source is
    stated to be the set itself.

    What holds of one problem holds of its family, its twin and its copies (`winosmith.blocks`).
    Seven of EvoGrad's roots are of WinoGrande's dev part, which the paper's models were chosen by.

    Args:
        test: what the solver is measured on.
        training: what it was trained on; None when it is not here.
        public: what public sets hold that it was trained on.

    >>> from winosmith.testing import made_twins
    >>> data = made_twins(4)
    >>> overlap(data[:4], data[4:]).withheld, overlap(data[:5], data[5:]).reasons
    (False, {'a problem of the training set looks like it': 1})
    """
    found: dict[int, str] = {}
    if training is not None:
        found.update(_same_family(test, training))
        found.update(_same_sentence(test, training))
        for row in sorted(find_lookalikes(test.problems, training.problems)):
            found.setdefault(row, "a problem of the training set looks like it")
    for held in public:
        for row, reason in (*_held(test, held), *_of_families(test, held)):
            found.setdefault(row, reason)
    direct = set(found)
    for rows in blocks(test) if direct else ():
        if not direct.isdisjoint(rows):
            for row in rows:
                found.setdefault(row, "something of its family or twin may have been seen")
    return Overlap(dict(sorted(found.items())), len(test))


def _same_sentence(test: Dataset, training: Dataset) -> Iterator[tuple[int, str]]:
    seen = {_asked(problem) for problem in training}
    for row, problem in enumerate(test):
        if _asked(problem) in seen:
            yield row, "the training set holds its sentence"


def _asked(problem: Problem) -> tuple[str, frozenset[str]]:
    """Return what holds an answer: a sentence; of a question, which may be "Why?", options too."""
    options = problem.options if problem.blank is None else ()
    return plain(problem.sentence), frozenset(map(plain, options))


def _same_family(test: Dataset, training: Dataset) -> Iterator[tuple[int, str]]:
    roots = {problem.id: plain(problem.sentence) for problem in training}
    for root, rows in test.families.items():
        if root not in training.families:
            continue
        mine = next((plain(test[row].sentence) for row in rows if test[row].id == root), None)
        if mine is None or roots.get(root, mine) == mine:
            for row in rows:
                yield row, "the training set holds something of its family"


def _held(test: Dataset, held: Contents) -> Iterator[tuple[int, str]]:
    """Yield the rows of which a public set holds the sentence, or one side and the options."""
    for row, problem in enumerate(test):
        whole, sides = traces(problem)
        if not whole.isdisjoint(held.whole):
            yield row, f"{held.name} holds its sentence"
        elif not sides.isdisjoint(held.sides):
            yield row, f"a problem of {held.name} looks like it"


def _of_families(test: Dataset, held: Contents) -> Iterator[tuple[int, str]]:
    """Yield the rows of families whose roots are of a public set, or may be."""
    sources = {p.id: p.origin.source if p.origin else None for p in test}
    for root, rows in test.families.items():
        if root not in sources:
            reason = f"its root is not in the test, and may be of {held.name}"
        elif (sources[root] or "").casefold() == held.name.casefold():
            reason = f"its root comes from {held.name}"
        else:
            continue
        for row in rows:
            yield row, reason
