"""Probes: models that learn the key from a part of each item, and the words that they use.

A probe is fitted on four fifths of the blocks and predicts the remaining fifth, so it never sees an
item that it predicts. The probe is compared with the same model fitted to permuted keys
(`_battery.permute_keys`). There are two kinds:

- *word probes* are naive Bayes models of words and pairs of adjacent words. They are as accurate as
  a logistic regression with the same features, in a tenth of the time;
- *vector probes* are conditional logits of an embedder's vectors of each option and question.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from winosmith.audit._battery import MIN_DRAWS, permute_keys
from winosmith.audit._cues import View
from winosmith.audit._items import Floats, Ints, Items, ReportDone
from winosmith.debias import CrossLogit
from winosmith.embed import TextEmbedder
from winosmith.errors import DataError, InputError
from winosmith.metrics import MAX_P, find_critical_value
from winosmith.parallel import use_one_thread
from winosmith.report import percent, probability
from winosmith.results import HIDDEN, Result, shown
from winosmith.text import FUNCTION_WORDS, split_pieces

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DRAWS = 200
"""Default number of draws for a probe's null distribution; p is at least 1/201."""

_FOLDS = 5
_SMOOTHING = 3.0
"""Number of pseudo-items at chance added to each feature: the best of 1, 3 and 10 on OpenBookQA."""

_MAX_CELLS = 4_000_000
"""Maximum number of features (or options) times draws held in memory at the same time."""

_FEATURES_PER_SORT = 8_000_000
"""Number of option features to sort at a time."""

MAX_QUESTION_WORDS = 40
"""Maximum number of content words at the end of a question that are paired with an option's words.
A long passage ends with its question; pairing all words would take gigabytes."""

PARTS = {
    "options": "only the options",
    "question": "only the question",
    "both": "question and options",
}
"""Description of the parts of an item that probes see."""

_C = 1.0
"""Inverse strength of the penalty on the weights of unit vectors."""

_SIMILARITY_WEIGHT = np.float32(3)
"""Weight of the similarity of question and option, relative to a unit vector. On OpenBookQA and
ARC, this feature is as accurate as all products of both vectors, which double the cost."""

_MAX_POSITION_COLUMNS = 512
"""Maximum number of columns that predict the key's position from a question's vector: number of
principal axes times number of positions."""

_MAX_SCORES = 40_000_000
"""Maximum number of options times draws in one chunk: 320 MB for each of three arrays."""

_MAX_WORDS, _MAX_EXAMPLES = 12, 8
"""Maximum numbers of words and of example items in the report."""


@dataclass(frozen=True, slots=True)
class Word(Result):
    """A word or pair of words that predicts the correct option, or the incorrect options.

    Attributes:
        text: the word or pair of words, with its position if that matters ("bees, at the
            start").
        options: number of options with this feature; copies are counted once.
        right: the fraction of these options that are correct, 0–1.
        expected: the fraction expected by chance.
        z: the difference between the two fractions, in standard deviations.
    """

    text: str = field(metadata=shown("word"))
    options: int = field(metadata=shown("options with the word"))
    right: float = field(metadata=shown("correct", ".1%"))
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
        right: the fraction of items for which the probe is correct, 0–1.
        expected: the mean accuracy with permuted keys.
        high: the chance limit, which the accuracy with permuted keys exceeds with a probability of
            at most 5 %. `right` exceeds it exactly if p is at most 0.05.
        p: the fraction of draws with at least this accuracy, with the data set counted as one draw.
        draws: number of draws.
        words: the most predictive features, for and against the key; vector probes have none.
        solved: rows of the items that the probe solves, in descending order of the margin.
        examples: rows of the first solved items, with the most predictive words of each key.
        scores: score of each option in the order of `Items`; higher is more likely correct.
    """

    by: str = field(metadata=shown("by"))
    sees: str = field(metadata=shown("sees"))
    right: float = field(metadata=shown("correct", percent))
    expected: float = field(metadata=shown("expected", percent))
    high: float = field(metadata=shown("chance limit", percent))
    p: float = field(metadata=shown("p", probability))
    draws: int
    words: Words
    solved: tuple[int, ...] = field(metadata={"json": len})
    examples: Examples = field(metadata=HIDDEN)
    scores: Floats = field(metadata=HIDDEN)

    @property
    def model(self) -> str:
        """Description of the model, such as "model of words that sees only the options"."""
        return f"model of {self.by} that sees {PARTS[self.sees]}"


def fit_probes(
    items: Items, embedder: TextEmbedder | None = None, *, draws: int = DRAWS, seed: int = 0,
    report_done: ReportDone = lambda _: None,
) -> tuple[Probe, ...]:  # fmt: skip
    """Fit probes to the options, to the question, and to both.

    A probe that sees only the question can predict only the position of the key.

    Args:
        items: items of one split.
        embedder: embedder of texts; its vectors are probed instead of words.
        draws: number of draws of the null.
        seed: random seed of folds and draws.
        report_done: called repeatedly with the number of completed draws of all probes.
    """

    def make_reporter(index: int) -> ReportDone:
        return lambda done: report_done(index * draws + done)

    if embedder is None:
        return tuple(
            fit_probe(items, sees, draws=draws, seed=seed, report_done=make_reporter(at))
            for at, sees in enumerate(PARTS)
        )
    options = _embed_texts(embedder, [text for p in items.problems for text in p.options])
    questions = _embed_texts(embedder, [problem.sentence for problem in items.problems])
    return tuple(
        _fit_vector_probe(items, sees, options, questions, draws, seed, make_reporter(at))
        for at, sees in enumerate(PARTS)
    )


def fit_probe(
    items: Items,
    sees: str,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    report_done: ReportDone = lambda _: None,
) -> Probe:
    """Fit a word probe to a part of the items: "options", "question" or "both"."""
    names, matrix = extract_features(items, sees)
    folds = _assign_folds(items, seed)

    def fit_scores(keys: Ints) -> Floats:
        return _cross_fit(items, matrix, folds, keys)

    batch_size = _MAX_CELLS // max(matrix.shape)
    found = _measure_probe(items, "words", sees, fit_scores, batch_size, draws, seed, report_done)
    own = items.find_correct_options(items.unit_key)
    weights = np.repeat(items.weights, items.counts)
    chance = 1 / np.repeat(items.counts, items.counts)
    right = np.zeros(len(weights))
    right[own] = items.weights
    totals, expected = matrix.T @ weights, matrix.T @ (weights * chance)
    spread = np.sqrt(matrix.T @ (weights * chance * (1 - chance)))
    correct = matrix.T @ right
    z = np.divide(correct - expected, spread, out=np.zeros(len(totals)), where=spread > 0)
    words = []
    for at in np.argsort(-abs(z), kind="stable")[:_MAX_WORDS]:
        if at < len(names) and z[at]:
            text, count = _describe_feature(names[at]), round(float(totals[at]))
            share, usual = float(correct[at] / totals[at]), float(expected[at] / totals[at])
            words.append(Word(text, count, share, usual, float(z[at])))
    key_of = dict(zip(items.rows.tolist(), own.tolist(), strict=True))
    examples = []
    for row in found.solved[:_MAX_EXAMPLES]:
        has = matrix[key_of[row]].indices.tolist()
        best = sorted(has, key=lambda at: (-z[at], at))[:3]
        examples.append((row, tuple(_describe_feature(names[at]) for at in best if z[at] > 0)))
    return replace(found, words=tuple(words), examples=tuple(examples))


def _measure_probe(
    items: Items, by: str, sees: str, fit_scores: Callable[[Ints], Floats], batch_size: int,
    draws: int, seed: int, report_done: ReportDone,
) -> Probe:  # fmt: skip
    if draws < MIN_DRAWS:
        raise InputError(f"{draws} draws can't yield a p-value of {MAX_P}; use {MIN_DRAWS} or more")
    own = items.find_correct_options(items.unit_key)
    scores = fit_scores(own[:, None])
    right = float(_compute_accuracy(items, scores, own[:, None])[0])
    deal = permute_keys(items, draws, np.random.default_rng([seed, 1]))
    null: list[float] = []
    places = range(max(1, min(draws, batch_size)))
    while keys := [items.find_correct_options(key) for _, key in zip(places, deal, strict=False)]:
        drawn = np.column_stack(keys)
        null += _compute_accuracy(items, fit_scores(drawn), drawn).tolist()
        report_done(len(null))
    others = scores[:, 0].copy()
    others[own] = -np.inf
    lead = scores[own, 0] - np.maximum.reduceat(others, items.starts)
    order = np.argsort(-lead, kind="stable")
    solved = tuple(int(items.rows[at]) for at in order if lead[at] > 0)
    return Probe(
        by=by,
        sees=sees,
        right=right,
        expected=float(np.mean(null)),
        high=find_critical_value(null),
        p=(1 + sum(other >= right for other in null)) / (1 + len(null)),
        draws=len(null),
        words=(),
        solved=solved,
        examples=tuple((row, ()) for row in solved[:_MAX_EXAMPLES]),
        scores=scores[:, 0],
    )


def _embed_texts(embedder: TextEmbedder, texts: Sequence[str]) -> Singles:
    distinct, at = np.unique([text.strip() for text in texts], return_inverse=True)
    made: Singles = np.array(embedder.embed_texts(distinct.tolist()), np.float32)
    if made.ndim != 2 or len(made) != len(distinct) or not np.isfinite(made).all():
        raise DataError(
            f"the embedder returned an array of shape {made.shape} for {len(distinct):,} texts; it "
            "must return one vector of finite numbers for each text"
        )
    lengths = np.linalg.norm(made, axis=1, keepdims=True)
    made /= np.where(lengths > 0, lengths, np.float32(1))
    return made[at]


def _stack_rows(items: Items, sees: str, options: Singles, questions: Singles) -> Singles:
    """Build the design matrix of a conditional logit, (options, columns).

    For "options", the columns are the option's vector. For "both", a column with the cosine of
    question and option is added. For "question", each position has a block of columns.
    """
    if sees == "options":
        return options
    if sees == "both":
        asked = np.repeat(questions, items.counts, axis=0)
        return np.hstack(
            [options, _SIMILARITY_WEIGHT * (options * asked).sum(axis=1, keepdims=True)]
        )
    most = int(items.counts.max())
    width = min(questions.shape[1], max(1, _MAX_POSITION_COLUMNS // most))
    with use_one_thread():
        axes = np.linalg.eigh(questions.T.astype(float) @ questions)[1][:, -width:]
        inputs = np.hstack([np.ones((len(questions), 1)), questions @ axes]).astype(np.float32)
    at = np.arange(len(options)) - np.repeat(items.starts, items.counts)
    rows = np.zeros((len(options), most, width + 1), np.float32)
    rows[np.arange(len(options)), at] = np.repeat(inputs, items.counts, axis=0)
    return rows.reshape(len(options), -1)


def _fit_vector_probe(
    items: Items, sees: str, options: Singles, questions: Singles, draws: int, seed: int,
    report_done: ReportDone,
) -> Probe:  # fmt: skip
    rows, firsts = _stack_rows(items, sees, options, questions), items.originals
    first = np.unique(firsts)
    learnt = np.flatnonzero(np.repeat(firsts == np.arange(len(items)), items.counts))
    starts = np.searchsorted(learnt, items.starts[first])
    model = CrossLogit(rows[learnt], _assign_folds(items, seed)[first], C=_C, starts=starts)
    originals = np.arange(int(items.counts.sum()))  # of each option
    for at in np.flatnonzero(firsts != np.arange(len(items))).tolist():
        place = {text: here for here, text in enumerate(items.texts[firsts[at]])}
        own = slice(items.starts[at], items.starts[at] + items.counts[at])
        in_original = np.array([place[text] for text in items.texts[at]])
        originals[own] = items.starts[firsts[at]] + in_original
    same = np.searchsorted(learnt, originals)

    def fit_scores(keys: Ints) -> Floats:
        scores, long = model.score_rows(keys[first] - items.starts[first, None])
        behind = np.repeat(np.maximum.reduceat(scores, starts), items.counts[first], axis=0)
        behind -= scores
        # a lead within the rounding error is a tie
        np.add(scores, behind, out=scores, where=behind <= model.bound_rounding_errors(long))
        largest = np.abs(scores).max(axis=0)
        return (scores / np.where(largest > 0, largest, 1)).round(9)[same]

    return _measure_probe(
        items, "vectors", sees, fit_scores, _MAX_SCORES // len(learnt), draws, seed, report_done
    )


def _split_words(view: View, text: str) -> Sequence[str]:
    """Split a text into lower-case words, or into character pairs in scripts without spaces."""
    return split_pieces(text.lower()) if view.script == "unspaced" else view.split_words(text)


_WORD, _NEXT, _POSITIONED, _JOINT = range(4)
"""Kinds of features: a word, two adjacent words, a word of the question with a position, and a word
of the question with a word of the option."""

_SEPARATORS = ("", " ", " → option ", " ~ ")
"""Separator between the two parts of each kind of feature."""

_PART_BITS = 29
"""Number of bits of each part of a feature; two additional bits are its kind."""


class _WordNumbers(dict[str, int]):
    def __missing__(self, word: str) -> int:
        self[word] = len(self)
        return self[word]

    def encode(self, words: Iterable[str]) -> Ints:
        return np.fromiter(map(self.__getitem__, words), np.int64)


def _pack_codes(kind: int, first: Ints, second: Ints | int = 0) -> Ints:
    return (first << _PART_BITS | second) << 2 | kind


def _iter_option_features(view: View, numbers: _WordNumbers) -> Iterator[Ints]:
    for option in view.options:
        words = numbers.encode(["^", *_split_words(view, option), "$"])
        alone, pairs = _pack_codes(_WORD, words[1:-1]), _pack_codes(_NEXT, words[:-1], words[1:])
        yield np.unique(np.concatenate([alone, pairs]))


def _iter_question_features(view: View, numbers: _WordNumbers) -> Iterator[Ints]:
    words = np.unique(numbers.encode(["", *_split_words(view, view.question)]))
    for place in range(len(view.options)):
        yield _pack_codes(_POSITIONED, words, place + 1)


def _iter_joint_features(view: View, numbers: _WordNumbers) -> Iterator[Ints]:
    words = list(dict.fromkeys(reversed(_split_words(view, view.question))))
    content = [word for word in words if word not in FUNCTION_WORDS]
    content = (content or words)[:MAX_QUESTION_WORDS]
    asked = numbers.encode(content)[:, None]
    for option, features in zip(view.options, _iter_option_features(view, numbers), strict=True):
        said = np.unique(numbers.encode(_split_words(view, option)))
        yield np.concatenate([features, _pack_codes(_JOINT, asked, said).ravel()])


_FEATURES: dict[str, Callable[[View, _WordNumbers], Iterator[Ints]]] = {
    "options": _iter_option_features,
    "question": _iter_question_features,
    "both": _iter_joint_features,
}


def extract_features(items: Items, sees: str) -> tuple[list[str], csr_matrix]:
    """Return the features that occur in two or more blocks, and their (options, features) matrix.

    Features are encoded as integers at first, because most pairs of words occur only once.
    """
    from scipy.sparse import csr_matrix

    numbers, seen = _WordNumbers(), _FEATURES[sees]
    held, sizes = array("q"), array("q")
    for view in items.iter_views():
        for found in seen(view, numbers):
            held.frombytes(found.tobytes())
            sizes.append(len(found))
    codes = np.frombuffer(held, np.int64)
    option = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    block = np.repeat(items.block, items.counts).astype(np.int32)
    kept: list[Ints] = []
    rows: list[NDArray[np.int32]] = []
    repeats: list[Ints] = []
    for part in _partition_positions(codes):
        order = part[np.argsort(codes[part], kind="stable")]
        same = np.diff(codes[order]) == 0  # most occur once
        order = order[np.append(same, False) | np.append(False, same)] if len(order) else order
        first = np.flatnonzero(np.diff(codes[order], prepend=-1))
        times, row = np.diff(first, append=len(order)), option[order]
        of = block[row]
        several = np.minimum.reduceat(of, first) != np.maximum.reduceat(of, first)
        kept.append(codes[order[first[several]]])
        rows.append(row[np.repeat(several, times)])
        repeats.append(times[several])
    del codes, held, option, part, order, same, row, of  # free memory for the next steps
    words = list(numbers)
    texts = [_unpack_code(code, words) for part in kept for code in part.tolist()]
    by_name = sorted(range(len(texts)), key=texts.__getitem__)
    place = np.empty(len(texts), np.int32)
    place[by_name] = np.arange(len(texts))
    there = (np.concatenate(rows), np.repeat(place, np.concatenate(repeats)))
    shape = (len(sizes), max(1, len(texts)))
    matrix = csr_matrix((np.ones(len(there[0]), np.int8), there), shape=shape)
    matrix.sort_indices()
    matrix.data = np.ones(matrix.nnz)
    return [texts[at] for at in by_name], matrix


def _partition_positions(codes: Ints) -> Iterator[Ints]:
    """Yield the positions of codes in parts, with all positions of a feature in the same part."""
    parts = 1 + 2 * (len(codes) // (2 * _FEATURES_PER_SORT))  # odd: the last bits are the kind
    for part in range(parts):
        found = [
            first + np.flatnonzero(codes[first : first + _FEATURES_PER_SORT] % parts == part)
            for first in range(0, len(codes), _FEATURES_PER_SORT)
        ]
        yield np.concatenate(found)


def _unpack_code(code: int, words: Sequence[str]) -> str:
    kind, other = code & 3, code >> 2 & (1 << _PART_BITS) - 1
    one = words[code >> 2 + _PART_BITS]
    if kind == _WORD:
        return one
    return f"{one}{_SEPARATORS[kind]}{other if kind == _POSITIONED else words[other]}"


def _assign_folds(items: Items, seed: int) -> Ints:
    dealt = np.random.default_rng([seed, 2]).permutation(items.block_count) % _FOLDS
    return np.asarray(dealt[items.block])


def cross_fit_scores(
    items: Items, matrix: csr_matrix, training_weights: Floats, seed: int
) -> Floats:
    """Score each option, (options,), by a model that was not fitted to the option's block.

    Items whose training weight, (n,), is 0 are predicted by the model fitted to all others.
    """
    folds = np.where(training_weights > 0, _assign_folds(items, seed), _FOLDS)
    return _cross_fit(
        items, matrix, folds, items.find_correct_options(items.unit_key)[:, None], training_weights
    )[:, 0]


def _cross_fit(
    items: Items, matrix: csr_matrix, folds: Ints, keys: Ints, factor: Floats | float = 1.0
) -> Floats:
    """Score the options, (options, columns), by models that were not fitted to the option's block.

    `keys`, (n, columns), are the indices of the correct options. In `folds`, (n,), items that are
    only predicted have the number `_FOLDS`.
    """
    item_weights = items.weights * factor
    weights = np.repeat(item_weights, items.counts)
    expected = weights / np.repeat(items.counts, items.counts)
    right = np.zeros((len(weights), keys.shape[1]))
    right[keys, np.arange(keys.shape[1])] = item_weights[:, None]
    fold = np.repeat(folds, items.counts)
    scores = np.zeros(right.shape)
    for held in np.unique(folds):
        # weights of 0, because a subset of the matrix would be a copy
        train = ((fold != held) & (fold != _FOLDS)).astype(float)
        test = np.flatnonzero(fold == held)
        scores[test] = matrix[test] @ _fit_weights(
            matrix.T @ (weights * train),
            matrix.T @ (expected * train),
            matrix.T @ (right * train[:, None]),
        )
    return scores.round(9)


def _fit_weights(totals: Floats, expected: Floats, correct: Floats) -> Floats:
    """Return the weight of each feature: the log odds of being correct, relative to chance."""
    occurs = totals > 0
    chance = np.where(occurs, expected / np.where(occurs, totals, 1), 0.5)[:, None]
    found = correct + _SMOOTHING * chance
    found /= totals[:, None] + _SMOOTHING - found
    found *= (1 - chance) / chance
    return np.asarray(np.log(found, out=found))


def _compute_accuracy(items: Items, scores: Floats, keys: Ints) -> Floats:
    """Return each column's accuracy; a key that ties with n − 1 other options counts 1 / n.

    Accuracies are rounded, so that the summation order doesn't matter.
    """
    top = np.maximum.reduceat(scores, items.starts, axis=0)
    best = scores == np.repeat(top, items.counts, axis=0)
    picked = np.add.reduceat(best.astype(float), items.starts, axis=0)
    hit = best[keys, np.arange(keys.shape[1])]
    share: Floats = (hit / picked).mean(axis=0).round(12)
    return share


def _describe_feature(feature: str) -> str:
    """Describe a feature for the report.

    >>> [_describe_feature(one) for one in ("^ bees", "the ground", "ground $", " → option 2")]
    ['bees, at the start', 'the ground', 'ground, at the end', 'option 2']
    >>> _describe_feature("attach ~ glue"), _describe_feature("denied → option 1")
    ('glue, if the question has attach', 'option 1, if the question has denied')
    """
    one, between, other = feature.partition(" ~ " if " ~ " in feature else " → ")
    if between:
        return f"{other}, if the question has {one}" if one else other
    if feature.startswith("^ "):
        return f"{feature[2:]}, at the start"
    return f"{feature[:-2]}, at the end" if feature.endswith(" $") else feature
