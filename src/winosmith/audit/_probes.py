"""Probes: models that learn the key from a part of each item, and the words that they use.

A probe is fitted on four fifths of the blocks and predicts the last fifth, so it never sees an item
that it predicts. It is compared with the same model of permuted positions of the keys
(`_null.permuted`). There are two kinds:

- of *words*, a naive Bayes model over words and pairs of neighbouring words. On the shared sets it
  is as accurate as a logistic regression over the same features, in a tenth of the time;
- of *vectors*, a conditional logit over an embedder's vectors of each option and question.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from winosmith.audit._cues import View
from winosmith.audit._items import Floats, Ints, Items, Tell
from winosmith.audit._null import permuted
from winosmith.debias import CrossLogit
from winosmith.embed import TextEmbedder
from winosmith.errors import DataError
from winosmith.metrics import null_interval, null_interval_label
from winosmith.parallel import one_thread
from winosmith.report import percent, probability, span
from winosmith.results import HIDDEN, Result, computed, shown
from winosmith.text import FUNCTION_WORDS, pieces

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DRAWS = 200
"""Number of draws of a probe's null; p is at least 1/201."""

_FOLDS = 5
_SMOOTHING = 3.0
"""Number of items of chance added to each feature: the best of 1, 3 and 10 on OpenBookQA."""

_CELLS = 4_000_000
"""Features, or options, times draws that are in memory at once."""

_SORTED = 8_000_000
"""Number of features of options that are sorted at once."""

ASKED = 40
"""Number of content words of a question, from its end, that are paired with an option's: of a long
passage, those of the question at its end. All of them would be gigabytes."""

SEEN = {
    "options": "only the options",
    "question": "only the question",
    "both": "question and options",
}
"""The parts of an item that probes see, in words."""

_C = 1.0
"""Inverse strength of the penalty on weights of vectors of length 1."""

_ALIKE = np.float32(3)
"""The weight of the similarity of question and option, next to a vector of length 1. On OpenBookQA
and ARC it is as accurate as all products of both vectors, which double the cost."""

_PLACED = 512
"""The most columns that predict a position from a question's vector: its main axes, times the
positions."""

_SCORES = 40_000_000
"""Options times draws that are scored at once: 320 MB for each of three arrays."""

_TOLD, _EXAMPLES = 12, 8
"""Numbers of words and of items in the report."""


@dataclass(frozen=True, slots=True)
class Word(Result):
    """A feature that predicts the correct option, or the incorrect ones.

    Attributes:
        text: the word or pair of words, with its place if that matters ("bees, at the
            start").
        options: number of options with it; copies count once.
        right: the fraction of these that are correct, 0–1.
        expected: the fraction by chance.
        z: the difference in standard deviations.
    """

    text: str = field(metadata=shown("word"))
    options: int = field(metadata=shown("options with it"))
    right: float = field(metadata=shown("of these correct", ".1%"))
    expected: float = field(metadata=shown("expected", ".1%"))
    z: float = field(metadata=HIDDEN)


Singles = NDArray[np.float32]
Words = tuple[Word, ...]
Examples = tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Probe(Result):
    """The accuracy of a probe.

    Attributes:
        by: "words", or "vectors" of an embedder.
        sees: "options", "question" or "both".
        right: the fraction of items for which it is correct, 0–1.
        expected: the mean with permuted keys.
        low, high: the interval of these draws (`metrics.null_interval`).
        p: the fraction of the draws, with the set itself as one, in which it is as accurate.
        draws: their number.
        words: the most predictive features, for and against; vectors have none.
        solved: rows of the items that it solves, those with the largest margin first.
        examples: rows of the first of them, each with the most predictive words of its key.
        scores: each option's, in the order of `Items`; larger is likelier.
    """

    by: str = field(metadata=shown("by"))
    sees: str = field(metadata=shown("sees"))
    right: float = field(metadata=shown("correct", percent))
    expected: float = field(metadata=shown("expected", percent))
    low: float = field(metadata=HIDDEN)
    high: float = field(metadata=HIDDEN)
    p: float = field(metadata=shown("p", probability))
    draws: int
    words: Words
    solved: tuple[int, ...] = field(metadata={"json": len})
    examples: Examples = field(metadata=HIDDEN)
    scores: Floats = field(metadata=HIDDEN)

    @property
    def model(self) -> str:
        """Its model in words."""
        return f"model of {self.by} that sees {SEEN[self.sees]}"

    @property
    @computed(**shown("null", span))
    def interval(self) -> tuple[float, float]:
        """The interval of the draws."""
        return self.low, self.high

    @property
    @computed()
    def interval_label(self) -> str:
        """The name of the interval."""
        return null_interval_label(self.draws)


def probes(
    items: Items, embedder: TextEmbedder | None = None, *, draws: int = DRAWS, seed: int = 0,
    tell: Tell = lambda _: None,
) -> tuple[Probe, ...]:  # fmt: skip
    """Probe only the options, only the question (which can predict the position), and both.

    Args:
        items: items of one split.
        embedder: embedder of texts; its vectors are probed instead of words.
        draws: draws of the null.
        seed: random seed of folds and draws.
        tell: called now and then with the number of finished draws of all three.
    """

    def telling(at: int) -> Tell:
        return lambda done: tell(at * draws + done)

    if embedder is None:
        return tuple(
            probe(items, sees, draws=draws, seed=seed, tell=telling(at))
            for at, sees in enumerate(SEEN)
        )
    options = _embedded(embedder, [text for p in items.problems for text in p.options])
    questions = _embedded(embedder, [problem.sentence for problem in items.problems])
    return tuple(
        _vector_probe(items, sees, _rows(items, sees, options, questions), draws, seed, telling(at))
        for at, sees in enumerate(SEEN)
    )


def probe(
    items: Items, sees: str, *, draws: int = DRAWS, seed: int = 0, tell: Tell = lambda _: None
) -> Probe:
    """Probe the words of a part of the items: "options", "question" or "both"."""
    names, matrix = features(items, sees)
    folds = _folds(items, seed)

    def scored(keys: Ints) -> Floats:
        return _cross_fitted(items, matrix, folds, keys)

    at_once = _CELLS // max(matrix.shape)
    found = _probed(items, "words", sees, scored, at_once, draws, seed, tell)
    own = items.keyed(items.unit_key)
    tables = _tables(items, matrix, own)
    examples = _examples(items, names, matrix, tables[3], own, found.solved)
    return replace(found, words=_words(names, *tables), examples=examples)


def _probed(
    items: Items, by: str, sees: str, scored: Callable[[Ints], Floats], at_once: int, draws: int,
    seed: int, tell: Tell,
) -> Probe:  # fmt: skip
    """Return the accuracy on the keys, and on keys with permuted positions.

    Args:
        items: items of one split.
        by: see `Probe`.
        sees: see `Probe`.
        scored: (n, columns) numbers of correct options → (options, columns) scores by models that
            learnt from these, except for the block that they predict.
        at_once: number of columns.
        draws: draws of the null.
        seed: random seed of the draws.
        tell: called with the number of finished draws.
    """
    own = items.keyed(items.unit_key)
    scores = scored(own[:, None])
    right = float(_right(items, scores, own[:, None])[0])
    deal = permuted(items, draws, np.random.default_rng([seed, 1]))
    null: list[float] = []
    places = range(max(1, min(draws, at_once)))
    while keys := [items.keyed(key) for _, key in zip(places, deal, strict=False)]:
        drawn = np.column_stack(keys)
        null += _right(items, scored(drawn), drawn).tolist()
        tell(len(null))
    solved = _solved(items, scores[:, 0], own)
    low, high = null_interval(null)
    return Probe(
        by=by,
        sees=sees,
        right=right,
        expected=float(np.mean(null)),
        low=low,
        high=high,
        p=(1 + sum(other >= right - 1e-12 for other in null)) / (1 + len(null)),
        draws=len(null),
        words=(),
        solved=solved,
        examples=tuple((row, ()) for row in solved[:_EXAMPLES]),
        scores=scores[:, 0],
    )


def _embedded(embedder: TextEmbedder, texts: Sequence[str]) -> Singles:
    """Return the vector of each text, of length 1; equal texts are embedded once."""
    different, at = np.unique([text.strip() for text in texts], return_inverse=True)
    made: Singles = np.array(embedder.embed_texts(different.tolist()), np.float32)
    if made.ndim != 2 or len(made) != len(different) or not np.isfinite(made).all():
        raise DataError(
            f"the embedder gives an array of shape {made.shape} for {len(different):,} texts; one "
            "vector of finite numbers for each is needed"
        )
    lengths = np.linalg.norm(made, axis=1, keepdims=True)
    made /= np.where(lengths > 0, lengths, np.float32(1))
    return made[at]


def _rows(items: Items, sees: str, options: Singles, questions: Singles) -> Singles:
    """Return the rows of a conditional logit, (options, columns).

    For question and option, these are the option's vector and the cosine of both; for the question,
    a block of columns for each position.
    """
    if sees == "options":
        return options
    if sees == "both":
        asked = np.repeat(questions, items.counts, axis=0)
        return np.hstack([options, _ALIKE * (options * asked).sum(axis=1, keepdims=True)])
    most = int(items.counts.max())
    width = min(questions.shape[1], max(1, _PLACED // most))
    with one_thread():
        axes = np.linalg.eigh(questions.T.astype(float) @ questions)[1][:, -width:]
        told = np.hstack([np.ones((len(questions), 1)), questions @ axes]).astype(np.float32)
    at = np.arange(len(options)) - np.repeat(items.starts, items.counts)
    rows = np.zeros((len(options), most, width + 1), np.float32)
    rows[np.arange(len(options)), at] = np.repeat(told, items.counts, axis=0)
    return rows.reshape(len(options), -1)


def _vector_probe(
    items: Items, sees: str, rows: Singles, draws: int, seed: int, tell: Tell
) -> Probe:
    """Probe vectors by conditional logits with shared weights; copies count once in training."""
    firsts = items.firsts
    first = np.unique(firsts)
    learnt = np.flatnonzero(np.repeat(firsts == np.arange(len(items)), items.counts))
    starts = np.searchsorted(learnt, items.starts[first])
    model = CrossLogit(rows[learnt], _folds(items, seed)[first], C=_C, starts=starts)
    same = np.searchsorted(learnt, _same_option(items))

    def scored(keys: Ints) -> Floats:
        scores, long = model.score_rows(keys[first] - items.starts[first, None])
        behind = np.repeat(np.maximum.reduceat(scores, starts), items.counts[first], axis=0)
        behind -= scores
        # rounding alone makes no leader
        np.add(scores, behind, out=scores, where=behind <= model.rounding_error(long))
        largest = np.abs(scores).max(axis=0)
        return (scores / np.where(largest > 0, largest, 1)).round(9)[same]

    return _probed(items, "vectors", sees, scored, _SCORES // len(learnt), draws, seed, tell)


def _same_option(items: Items) -> Ints:
    """Return the number of each option; for a copy, that of the same option of the first item."""
    found = np.arange(int(items.counts.sum()))
    for at in np.flatnonzero(items.firsts != np.arange(len(items))).tolist():
        first = int(items.firsts[at])
        place = {text: here for here, text in enumerate(items.texts[first])}
        own = slice(items.starts[at], items.starts[at] + items.counts[at])
        found[own] = items.starts[first] + np.array([place[text] for text in items.texts[at]])
    return found


def _cut(view: View, text: str) -> Sequence[str]:
    """Return the words in lower case; pairs of letters if there are no spaces between words."""
    return pieces(text.lower()) if view.script == "unspaced" else view.cut(text)


_WORD, _NEXT, _PLACED_BY, _BESIDE = range(4)
"""Kinds of features: a word, two in a row, a question's word and a position, one of its words and
one of the option."""

_JOINS = ("", " ", " → option ", " ~ ")
"""The text between both parts of a feature, by its kind, in reports."""

_HALF = 29
"""Bits of each part of a feature; two more are its kind."""


class _Numbers(dict[str, int]):
    """Numbers of words, in the order of their first use."""

    def __missing__(self, word: str) -> int:
        self[word] = len(self)
        return self[word]

    def of(self, words: Iterable[str]) -> Ints:
        return np.fromiter(map(self.__getitem__, words), np.int64)


def _codes(kind: int, one: Ints, other: Ints | int = 0) -> Ints:
    """Return features as numbers; the arrays may have several rows."""
    return (one << _HALF | other) << 2 | kind


def _of_options(view: View, numbers: _Numbers) -> Iterator[Ints]:
    for option in view.options:
        words = numbers.of(["^", *_cut(view, option), "$"])
        alone, pairs = _codes(_WORD, words[1:-1]), _codes(_NEXT, words[:-1], words[1:])
        yield np.unique(np.concatenate([alone, pairs]))


def _of_question(view: View, numbers: _Numbers) -> Iterator[Ints]:
    words = np.unique(numbers.of(["", *_cut(view, view.question)]))
    for place in range(len(view.options)):
        yield _codes(_PLACED_BY, words, place + 1)


def _of_both(view: View, numbers: _Numbers) -> Iterator[Ints]:
    words = list(dict.fromkeys(reversed(_cut(view, view.question))))
    content = [word for word in words if word not in FUNCTION_WORDS][:ASKED] or words[:ASKED]
    asked = numbers.of(content)[:, None]
    for option, features in zip(view.options, _of_options(view, numbers), strict=True):
        said = np.unique(numbers.of(_cut(view, option)))
        yield np.concatenate([features, _codes(_BESIDE, asked, said).ravel()])


_FEATURES: dict[str, Callable[[View, _Numbers], Iterator[Ints]]] = {
    "options": _of_options,
    "question": _of_question,
    "both": _of_both,
}


def features(items: Items, sees: str) -> tuple[list[str], csr_matrix]:
    """Return the features in at least two blocks, and which options have them.

    They are numbers until these are known, since most pairs of words occur only once.
    """
    from scipy.sparse import csr_matrix

    numbers, seen = _Numbers(), _FEATURES[sees]
    held, sizes = array("q"), array("q")
    for view in items.views():
        for found in seen(view, numbers):
            held.frombytes(found.tobytes())
            sizes.append(len(found))
    codes = np.frombuffer(held, np.int64)
    option = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    block = np.repeat(items.block, items.counts).astype(np.int32)
    kept: list[Ints] = []
    rows: list[NDArray[np.int32]] = []
    repeats: list[Ints] = []
    for part in _parted(codes):
        order = part[np.argsort(codes[part], kind="stable")]
        same = np.diff(codes[order]) == 0  # most are there once
        order = order[np.append(same, False) | np.append(False, same)] if len(order) else order
        first = np.flatnonzero(np.diff(codes[order], prepend=-1))
        times, row = np.diff(first, append=len(order)), option[order]
        of = block[row]
        several = np.minimum.reduceat(of, first) != np.maximum.reduceat(of, first)
        kept.append(codes[order[first[several]]])
        rows.append(row[np.repeat(several, times)])
        repeats.append(times[several])
    del codes, held, option, part, order, same, row, of  # what follows takes as much again
    words = list(numbers)
    texts = [_text(code, words) for part in kept for code in part.tolist()]
    by_name = sorted(range(len(texts)), key=texts.__getitem__)
    place = np.empty(len(texts), np.int32)
    place[by_name] = np.arange(len(texts))
    there = (np.concatenate(rows), np.repeat(place, np.concatenate(repeats)))
    shape = (len(sizes), max(1, len(texts)))
    matrix = csr_matrix((np.ones(len(there[0]), np.int8), there), shape=shape)
    matrix.sort_indices()
    matrix.data = np.ones(matrix.nnz)
    return [texts[at] for at in by_name], matrix


def _parted(codes: Ints) -> Iterator[Ints]:
    """Yield the places of features, those with one remainder at a time."""
    parts = 1 + 2 * (len(codes) // (2 * _SORTED))  # odd: the last bits are the kind
    for part in range(parts):
        yield np.concatenate(
            [
                first + np.flatnonzero(codes[first : first + _SORTED] % parts == part)
                for first in range(0, len(codes), _SORTED)
            ]
        )


def _text(code: int, words: Sequence[str]) -> str:
    """Return a feature as text."""
    kind, other = code & 3, code >> 2 & (1 << _HALF) - 1
    one = words[code >> 2 + _HALF]
    if kind == _WORD:
        return one
    return f"{one}{_JOINS[kind]}{other if kind == _PLACED_BY else words[other]}"


def _folds(items: Items, seed: int) -> Ints:
    """Return the fold of each item, (n,): whole blocks, as many in each."""
    dealt = np.random.default_rng([seed, 2]).permutation(items.blocks) % _FOLDS
    folds: Ints = dealt[items.block]
    return folds


def guessed(items: Items, matrix: csr_matrix, learnt: Floats, seed: int) -> Floats:
    """Return each option's score by models that did not see its block, (options,).

    Args:
        items: whose options they are.
        matrix: (options, features).
        learnt: (n,) the weight of each item in training; items without weight are predicted by the
            model of all others.
        seed: random seed of the folds.
    """
    folds = np.where(learnt > 0, _folds(items, seed), _FOLDS)
    return _cross_fitted(items, matrix, folds, items.keyed(items.unit_key)[:, None], learnt)[:, 0]


def _cross_fitted(
    items: Items, matrix: csr_matrix, folds: Ints, keys: Ints, counted: Floats | float = 1.0
) -> Floats:
    """Return each option's score by models that did not see its block, (options, columns).

    Args:
        items: whose options they are.
        matrix: (options, features).
        folds: (n,) folds of the items; `_FOLDS` for those that are only predicted.
        keys: (n, columns) the numbers of the correct options.
        counted: (n,) a factor of each item's weight.
    """
    item_weights = items.weights * counted
    weights = np.repeat(item_weights, items.counts)
    expected = weights / np.repeat(items.counts, items.counts)
    right = np.zeros((len(weights), keys.shape[1]))
    right[keys, np.arange(keys.shape[1])] = item_weights[:, None]
    fold = np.repeat(folds, items.counts)
    scores = np.zeros(right.shape)
    for held in np.unique(folds):
        train = ((fold != held) & (fold != _FOLDS)).astype(float)  # zeros: a part is a copy
        test = np.flatnonzero(fold == held)
        scores[test] = matrix[test] @ _fitted(
            matrix.T @ (weights * train),
            matrix.T @ (expected * train),
            matrix.T @ (right * train[:, None]),
        )
    return scores.round(9)


def _fitted(on: Floats, expected: Floats, right: Floats) -> Floats:
    """Return each feature's weight: the logarithm of the odds of being correct, relative to chance.

    Args:
        on: (features,) number of options with each.
        expected: (features,) number of them that are correct by chance.
        right: (features, columns) number that are correct.
    """
    known = on > 0
    chance = np.where(known, expected / np.where(known, on, 1), 0.5)[:, None]
    found = right + _SMOOTHING * chance
    found /= on[:, None] + _SMOOTHING - found
    found *= (1 - chance) / chance
    weights: Floats = np.log(found, out=found)
    return weights


def _right(items: Items, scores: Floats, keys: Ints) -> Floats:
    """Return the accuracy of each column, with equal options sharing the pick."""
    top = np.maximum.reduceat(scores, items.starts, axis=0)
    best = scores == np.repeat(top, items.counts, axis=0)
    picked = np.add.reduceat(best.astype(float), items.starts, axis=0)
    hit = best[keys, np.arange(keys.shape[1])]
    share: Floats = (hit / picked).mean(axis=0)
    return share


def _tables(items: Items, matrix: csr_matrix, own: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the options with each feature, those correct by chance, the correct ones, and z."""
    weights = np.repeat(items.weights, items.counts)
    chance = 1 / np.repeat(items.counts, items.counts)
    right = np.zeros(len(weights))
    right[own] = items.weights
    on, expected = matrix.T @ weights, matrix.T @ (weights * chance)
    spread = np.sqrt(matrix.T @ (weights * chance * (1 - chance)))
    found = matrix.T @ right
    return (
        on,
        expected,
        found,
        np.divide(found - expected, spread, out=np.zeros(len(on)), where=spread > 0),
    )


def _plainly(feature: str) -> str:
    """Return a feature as it is reported.

    >>> _plainly("^ bees"), _plainly("the ground"), _plainly("ground $"), _plainly(" → option 2")
    ('bees, at the start', 'the ground', 'ground, at the end', 'option 2')
    >>> _plainly("attach ~ glue"), _plainly("denied → option 1")
    ('glue, if the question has attach', 'option 1, if the question has denied')
    """
    one, between, other = feature.partition(" ~ " if " ~ " in feature else " → ")
    if between:
        return f"{other}, if the question has {one}" if one else other
    if feature.startswith("^ "):
        return f"{feature[2:]}, at the start"
    return f"{feature[:-2]}, at the end" if feature.endswith(" $") else feature


def _words(names: list[str], on: Floats, expected: Floats, found: Floats, z: Floats) -> Words:
    """Return the features whose options are correct more or less often than by chance, by z."""
    told = [at for at in np.argsort(-abs(z), kind="stable")[:_TOLD] if at < len(names) and z[at]]
    return tuple(
        Word(
            _plainly(names[at]), round(float(on[at])), float(found[at] / on[at]),
            float(expected[at] / on[at]), float(z[at]),
        )
        for at in told
    )  # fmt: skip


def _examples(items: Items, names: list[str], matrix: csr_matrix, z: Floats, own: Ints,
              solved: Sequence[int]) -> Examples:  # fmt: skip
    """Return the first solved items, by row, with the most predictive features of the key."""
    at_row = {int(row): at for at, row in enumerate(items.rows)}
    found = []
    for row in solved[:_EXAMPLES]:
        has = matrix[own[at_row[row]]].indices
        best = sorted(has.tolist(), key=lambda at: (-z[at], at))[:3]
        found.append((row, tuple(_plainly(names[at]) for at in best if z[at] > 0)))
    return tuple(found)


def _solved(items: Items, scores: Floats, own: Ints) -> tuple[int, ...]:
    """Return the rows of the items whose correct option has the best score, by its margin."""
    others = scores.copy()
    others[own] = -np.inf
    lead = scores[own] - np.maximum.reduceat(others, items.starts)
    order = np.argsort(-lead, kind="stable")
    return tuple(int(items.rows[at]) for at in order if lead[at] > 0)
