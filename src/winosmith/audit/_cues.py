"""Cues: rules that select an option without reading the item.

A cue scores each option of an item and selects the option with the highest score; tied options
share the selection. Its input is a `View`: the question, the options, and frequencies in the data
set, but never the key. Add a cue of your own with `[*CUES, Cue("mine", score)]`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from math import log
from statistics import median
from sys import intern
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from winosmith import formats
from winosmith.blocks import normalize_tokens
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import Problem
from winosmith.recast import ALL_OF_THE_ABOVE, NONE_OF_THE_ABOVE, SEVERAL_OPTIONS
from winosmith.text import FUNCTION_WORDS, Writing, detect_script

Ties = NDArray[np.uint8]
Words = tuple[str, ...]

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w)")

NEGATIONS = frozenset("no not none never neither nor nothing nobody cannot without n't".split())
ABSOLUTES = frozenset(
    "always never all none every only must completely entirely totally absolutely everyone nobody "
    "everything nothing impossible invariably any".split()
)
"""Words that test-taking guides call "specific determiners" (Millman, Bishop and Ebel 1965)."""
HEDGES = frozenset(
    "may might could can usually often sometimes generally probably likely possibly typically "
    "frequently tend tends some most many rarely seldom perhaps".split()
)


@dataclass(frozen=True)
class Corpus:
    """Frequencies of words and whole options among all options of a data set.

    Attributes:
        words: for each word, the number of items with the word in an option.
        wholes: for each option, as a tuple of words, the number of items with this option.
        items: number of items.
    """

    words: Counter[str]
    wholes: Counter[Words]
    items: int

    @classmethod
    def from_options(cls, options: Iterable[Sequence[str]]) -> Corpus:
        """Count the words and the whole options of items."""
        # share equal strings
        items = [{tuple(map(intern, View.split_words(text))) for text in item} for item in options]
        words = Counter(word for item in items for word in set(chain.from_iterable(item)))
        return cls(words, Counter(chain.from_iterable(items)), len(items))


class View:
    """The input of a cue: one item without its key.

    Attributes:
        question: text of the question; empty if there is none.
        options: texts of the options, in their order.
        corpus: frequencies in the whole data set.
    """

    def __init__(self, question: str, options: Sequence[str], corpus: Corpus):
        self.question, self.options, self.corpus = question, tuple(options), corpus

    @staticmethod
    def split_words(text: str) -> tuple[str, ...]:
        """Split a text into lower-case words."""
        return tuple(_WORD.findall(text.lower()))

    @cached_property
    def script(self) -> Writing:
        """The kind of script: "latin", "spaced" or "unspaced"; see `text.detect_script`."""
        texts = (self.question, *self.options)
        return "latin" if all(map(str.isascii, texts)) else detect_script(" ".join(texts))

    @cached_property
    def question_words(self) -> tuple[str, ...]:
        """The lower-case words of the question."""
        return self.split_words(self.question)

    @cached_property
    def question_content(self) -> frozenset[str]:
        """The content words of the question."""
        return frozenset(self.question_words) - FUNCTION_WORDS

    @cached_property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """The lower-case words of each option."""
        return tuple(map(self.split_words, self.options))

    @cached_property
    def word_sets(self) -> tuple[frozenset[str], ...]:
        """The distinct words of each option."""
        return tuple(map(frozenset, self.words))

    @cached_property
    def characters(self) -> list[float]:
        """Number of characters of each option, excluding leading and trailing white space."""
        return [float(len(option.strip())) for option in self.options]

    @cached_property
    def word_counts(self) -> list[float]:
        """Number of words of each option."""
        return [float(len(words)) for words in self.words]

    @cached_property
    def numbers(self) -> list[float | None]:
        """The first number in each option; None for options without a number."""
        found = (_NUMBER.search(option) for option in self.options)
        return [float(number[0].replace(",", "")) if number else None for number in found]

    @cached_property
    def content_words(self) -> tuple[frozenset[str], ...]:
        """The distinct content words of each option."""
        return tuple(words - FUNCTION_WORDS for words in self.word_sets)

    @cached_property
    def shared_content(self) -> list[float]:
        """Number of content words that each option shares with the question."""
        return [float(len(words & self.question_content)) for words in self.content_words]

    @cached_property
    def rarity(self) -> list[list[float]]:
        """Rarity of each word of each option: log((items + 1) / (items with the word + 1))."""
        counts, items = self.corpus.words, self.corpus.items
        return [[log((items + 1) / (counts[word] + 1)) for word in words] for words in self.words]

    @cached_property
    def similarity(self) -> list[float]:
        """Mean Jaccard similarity of each option to the other options."""
        return [
            _mean(
                len(mine & other) / max(len(mine | other), 1)
                for at, other in enumerate(self.word_sets)
                if at != here
            )
            for here, mine in enumerate(self.word_sets)
        ]

    @cached_property
    def question_overlap(self) -> list[float]:
        """Fraction of each option's distinct words that occur in the question."""
        asked = frozenset(self.question_words)
        return [len(words & asked) / max(len(words), 1) for words in self.word_sets]

    @cached_property
    def word_lengths(self) -> list[float]:
        """Mean word length of each option, in characters."""
        return [_mean(map(len, words)) for words in self.words]

    @cached_property
    def negations(self) -> list[float]:
        """1 for each option with a negation, 0 for the others."""
        return [float(any(map(is_negation, words))) for words in self.word_sets]

    @cached_property
    def trigram_overlap(self) -> list[float]:
        """Fraction of each option's character trigrams that occur in the question."""
        asked = _extract_trigrams(" ".join(self.question_words))
        cut = [_extract_trigrams(" ".join(words)) for words in self.words]
        return [len(mine & asked) / max(len(mine), 1) for mine in cut]


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0


def _extract_trigrams(text: str) -> set[str]:
    return {text[at : at + 3] for at in range(len(text) - 2)}


def _negate(values: Iterable[float]) -> list[float]:
    return [-value for value in values]


def _measure_deviations(values: Sequence[float]) -> list[float]:
    mean = _mean(values)
    return [round(abs(value - mean), 9) for value in values]


def _make_word_scorer(listed: frozenset[str]) -> Callable[[View], list[float]]:
    return lambda view: [float(bool(words & listed)) for words in view.word_sets]


def is_negation(word: str) -> bool:
    """Return whether a lower-case word is a negation, such as "don't"."""
    return word in NEGATIONS or word.endswith(("n't", "n’t"))


def _score_options(score: Callable[[str], float]) -> Callable[[View], list[float]]:
    return lambda view: [float(score(option)) for option in view.options]


def _make_pattern_scorer(pattern: re.Pattern[str]) -> Callable[[View], list[float]]:
    return _score_options(lambda option: pattern.search(option) is not None)


def _count_whole_options(view: View) -> list[float]:
    return [float(view.corpus.wholes[words]) for words in view.words]


def _rank(values: Sequence[Any]) -> list[int]:
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return [ranks[value] for value in values]


def _rank_numbers(view: View) -> list[int]:
    return [0] * len(view.options) if None in view.numbers else _rank(view.numbers)


def _score_middle_number(view: View) -> list[float]:
    ranks = _rank_numbers(view)
    return [-abs(rank - max(ranks) / 2) for rank in ranks]


def _score_article(view: View) -> list[float]:
    last = view.question_words[-1] if view.question_words else ""
    if last not in ("a", "an"):
        return [0.0] * len(view.options)
    firsts = [words[0][:1] if words else "" for words in view.words]
    return [float((first in "aeiou") == (last == "an")) for first in firsts]


def _score_first_word(view: View) -> list[float]:
    firsts = Counter(words[0] for words in view.words if words)
    return [float(firsts[words[0]]) if words else 0.0 for words in view.words]


def _rank_texts(view: View) -> list[int]:
    return _rank([" ".join(words) for words in view.words])


def _make_position_scorer(position: int) -> Callable[[View], list[float]]:
    return lambda view: [
        float(at == position if position >= 0 else at == len(view.options) - 1)
        for at in range(len(view.options))
    ]


@dataclass(frozen=True)
class Cue:
    """A rule that selects an option by a surface feature, such as its length or position.

    Attributes:
        name: description of the selected option, such as "the longest, in characters".
        score: returns a number for each option. The option with the largest number is selected;
            tied options share the selection. If all numbers are equal, the cue does not distinguish
            the item's options.
        about: "position" if the cue uses only the order of the options; "class" if the options are
            labels and the cue uses the labelled text; otherwise "content".
        needs: the script that the cue needs: "any" for any script; "words" if words must be
            separated by spaces; "latin" if the cue has a list of English words. The cue does not
            distinguish the options of items in other scripts.
    """

    name: str
    score: Callable[[View], Sequence[float]]
    about: Literal["content", "position", "class"] = "content"
    needs: Literal["any", "words", "latin"] = "words"


_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first "
    "twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth"
).split()

POSITIONS = tuple(
    Cue(f"the {ordinal}", _make_position_scorer(place), "position", needs="any")
    for place, ordinal in enumerate(_ORDINALS)
)
"""A cue for each position, up to the maximum number of options."""

CUES: tuple[Cue, ...] = (
    *POSITIONS[:4],
    Cue("the last", _make_position_scorer(-1), "position", needs="any"),
    Cue("the longest, in characters", lambda v: v.characters, needs="any"),
    Cue("the shortest, in characters", lambda v: _negate(v.characters), needs="any"),
    Cue("the longest, in words", lambda v: v.word_counts),
    Cue("the shortest, in words", lambda v: _negate(v.word_counts)),
    Cue(
        "nearest the mean length",
        lambda v: _negate(_measure_deviations(v.characters)),
        needs="any",
    ),
    Cue("farthest from the mean length", lambda v: _measure_deviations(v.characters), needs="any"),
    Cue("the longest words", lambda v: v.word_lengths),
    Cue("the shortest words", lambda v: _negate(v.word_lengths)),
    Cue("most content words of the question", lambda v: v.shared_content),
    Cue("fewest content words of the question", lambda v: _negate(v.shared_content)),
    Cue("the largest share of its words in the question", lambda v: v.question_overlap),
    Cue("the smallest share of its words in the question", lambda v: _negate(v.question_overlap)),
    Cue("the most letters in common with the question", lambda v: v.trigram_overlap),
    Cue("the fewest letters in common with the question", lambda v: _negate(v.trigram_overlap)),
    Cue("the most like the other options", lambda v: v.similarity),
    Cue("the least like the other options", lambda v: _negate(v.similarity)),
    Cue("a first word that others share", _score_first_word),
    Cue("the rarest word", lambda v: [max(rare, default=0.0) for rare in v.rarity]),
    Cue("the rarest words, on average", lambda v: [_mean(rare) for rare in v.rarity]),
    Cue("the commonest words, on average", lambda v: _negate(_mean(rare) for rare in v.rarity)),
    Cue("an option that is frequent in the data set", _count_whole_options),
    Cue("an option that is rare in the data set", lambda v: _negate(_count_whole_options(v))),
    Cue("a number", lambda v: [float(n is not None) for n in v.numbers], needs="any"),
    Cue("the largest number", _rank_numbers, needs="any"),
    Cue("the smallest number", lambda v: _negate(_rank_numbers(v)), needs="any"),
    Cue("a number in the middle", _score_middle_number, needs="any"),
    Cue("a negation", lambda v: v.negations, needs="latin"),
    Cue("no negation", lambda v: _negate(v.negations), needs="latin"),
    Cue("an absolute (always, never, all, only …)", _make_word_scorer(ABSOLUTES), needs="latin"),
    Cue("no absolute", lambda v: _negate(_make_word_scorer(ABSOLUTES)(v)), needs="latin"),
    Cue("a hedge (may, usually, some …)", _make_word_scorer(HEDGES), needs="latin"),
    Cue("all of the above", _make_pattern_scorer(ALL_OF_THE_ABOVE), needs="latin"),
    Cue("none of the above", _make_pattern_scorer(NONE_OF_THE_ABOVE), needs="latin"),
    Cue(
        "several of the others (both A and B)", _make_pattern_scorer(SEVERAL_OPTIONS), needs="latin"
    ),
    Cue("a full stop at its end", _score_options(lambda o: o.rstrip().endswith(".")), needs="any"),
    Cue("a comma", _score_options(lambda o: "," in o), needs="any"),
    Cue(
        "brackets or quotation marks",
        _make_pattern_scorer(re.compile(r"[()\[\]{}\"“”«»]")),
        needs="any",
    ),
    Cue(
        "a capital at its beginning",
        _score_options(lambda o: o.lstrip()[:1].isupper()),
        needs="any",
    ),
    Cue("the most capitals", _score_options(lambda o: sum(map(str.isupper, o))), needs="any"),
    Cue("fits the question's final a or an", _score_article, needs="latin"),
    Cue("the first in alphabetical order", lambda v: _negate(_rank_texts(v))),
    Cue("the last in alphabetical order", _rank_texts),
)
"""The default cues, for flaws that test-wise people exploit and for artifacts since found in
published data sets. See Millman, Bishop and Ebel (1965) and Haladyna, Downing and Rodriguez
(2002)."""

_ADVICE = {
    r"the longest, ": "Lengthen the other options, or shorten the key",
    r"the shortest, ": "Shorten the other options, or lengthen the key",
    r" the mean length": "Write options of similar length",
    r"est words$": "Write options with words of similar length",
    r"the (rar|common)est word": "Use equally common words in all options",
    r"the question$": "Repeat the question's words equally often in the key and in other options",
    r"like the other|others share": "Make all options equally similar to each other",
    r"in the data set": "Use the same options as keys and as incorrect options",
    r"^a number$": "Write numbers in all options or in none",
    r" number": "Choose the other numbers on both sides of the key, and vary how many on each",
    r"negation|absolute|hedge": "Use such words equally often in the key and in other options",
    r"of the above|of the others": "Avoid such options, or also use them as incorrect options",
    r"full stop|comma|brackets|capital": "Use the same punctuation and capitals in all options",
    r"final a or an": "End the question with “a(n)”, or write the article in each option",
    r"alphabetical": "Begin the key and the other options with similar words",
}
"""Advice on avoiding an artifact, by a regular expression that matches the names of its cues."""


def get_advice(cue: str, about: str = "content") -> str:
    if about == "position":
        return "Shuffle the options or, if they are classes, use equal numbers of each"
    if about == "class":
        return "Write such texts for the other labels as well"
    advice = (text for pattern, text in _ADVICE.items() if re.search(pattern, cue))
    return next(advice, "Make the other options similar to the key in this respect")


SCRIPTS = {
    "any": {"latin", "spaced", "unspaced"},
    "words": {"latin", "spaced"},
    "latin": {"latin"},
}
"""Scripts that a cue can read, by its `needs`."""


def count_ties(cue: Cue, views: Sequence[View]) -> Ties:
    """Count the options that the cue selects in the same item, for each option that it selects.

    The result has the shape (options,). It is 1 for an option that is selected without a tie, and 0
    for options that are not selected. Score differences below 1e-9 are ignored, because they can be
    rounding errors.
    """
    read = SCRIPTS[cue.needs]
    scores = [
        cue.score(view) if view.script in read else [0.0] * len(view.options) for view in views
    ]
    counts = np.array([len(view.options) for view in views])
    if wrong := np.flatnonzero(counts != [*map(len, scores)]).tolist():
        view, given = views[wrong[0]], scores[wrong[0]]
        raise DataError(
            f"the cue {cue.name!r} returned {len(given)} scores for the {len(view.options)} "
            f"options of {view.question!r}; one score per option is needed"
        )
    flat = np.fromiter(chain.from_iterable(scores), float).round(9)
    if not np.isfinite(flat).all():
        raise DataError(f"the cue {cue.name!r} returned a score that is not a finite number")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    best = flat == np.repeat(np.maximum.reduceat(flat, starts), counts)
    return np.asarray(best * np.repeat(np.add.reduceat(best.astype(np.uint8), starts), counts))


_MIN_CLASS_ITEMS, _MIN_CLASS_FRACTION = 20, 0.05
"""Options are treated as classes (such as yes and no) if they occur in more than this number and
more than this fraction of all items. Copies are counted once."""


def detect_classes(dataset: Dataset) -> list[bool]:
    """Return whether the options of each item are classes."""
    often = Counter(hash(_lowercase_options(problem)) for problem in dataset)
    if max(often.values(), default=0) <= _MIN_CLASS_ITEMS:  # includes copies
        return [False] * len(dataset)
    sets = [*map(_lowercase_options, dataset)]
    different = {
        (options, normalize_tokens(p.sentence)) for options, p in zip(sets, dataset, strict=True)
    }
    many = max(_MIN_CLASS_ITEMS, _MIN_CLASS_FRACTION * len(different))
    counts = Counter(options for options, _ in different)
    return [counts[options] > many for options in sets]


def _lowercase_options(problem: Problem) -> frozenset[str]:
    return frozenset(map(str.lower, problem.options))


_PAIR = (("questions.premise", "questions.hypothesis"),
         ("questions.sentence1", "questions.sentence2"))  # fmt: skip
"""Names of the fields with the two texts that form a question."""

_Feature = tuple[str, Literal["words", "latin"], Callable[[Words, Words], bool]]
"""A feature: its name, supported scripts, and predicate on words of premise and labelled text."""


def make_class_cues(dataset: Dataset | formats.Readable) -> tuple[Cue, ...]:
    """Make a cue for each label and each feature of the labelled texts.

    Options that all items share reveal nothing, but the labelled text may reveal the key. A cue
    selects a label if the text has a feature, for example "contradiction" if the hypothesis has a
    negation. Such cues predict the labels of SNLI and MNLI. See Gururangan et al. (2018) and, for
    the words that a hypothesis shares with its premise, McCoy et al. (2019).

    The labelled text is the hypothesis of a pair, or the whole question if there is no pair. No
    cues are returned if fewer than half of the items have the same classes in the same order.

    Args:
        dataset: the items, or any input of `formats.read`; their keys are not used.

    >>> asked = [Problem(str(n), f"Is {n} a prime?", ("no", "yes"), blank=None) for n in range(60)]
    >>> cues = make_class_cues(Dataset(asked))
    >>> len(cues), cues[0].name
    (10, 'no, if the text has a negation')
    """
    dataset = formats.as_dataset(dataset)
    classes = [p for p, one in zip(dataset, detect_classes(dataset), strict=True) if one]
    labels, count = Counter(p.options for p in classes).most_common(1)[0] if classes else ((), 0)
    if 2 * count < len(dataset):
        return ()
    labelled = [problem for problem in classes if problem.options == labels]
    texts = {problem.sentence: _split_premise_and_text(problem) for problem in labelled}
    what = "hypothesis" if any(premise for premise, _ in texts.values()) else "text"
    cues = []
    for name, needs, has_feature in _make_features([*texts.values()]):
        with_feature = {sentence for sentence, both in texts.items() if has_feature(*both)}
        for at, label in enumerate(labels):
            score = partial(_score_label, labels, with_feature, at)
            cues.append(Cue(f"{label}, if the {what} {name}", score, "class", needs))
    return tuple(cues)


def _split_premise_and_text(problem: Problem) -> tuple[Words, Words]:
    for first, second in _PAIR:
        pair = [problem.extra.get(name) for name in (first, second)]
        if all(isinstance(text, str) for text in pair):
            return View.split_words(str(pair[0])), View.split_words(str(pair[1]))
    return (), View.split_words(problem.sentence)


def _make_features(texts: Sequence[tuple[Words, Words]]) -> list[_Feature]:
    middle = median(len(words) for _, words in texts)
    found: list[_Feature] = [
        ("has a negation", "latin", lambda _, words: any(map(is_negation, words))),
        ("has an absolute", "latin", lambda _, words: not ABSOLUTES.isdisjoint(words)),
        ("has a hedge", "latin", lambda _, words: not HEDGES.isdisjoint(words)),
        ("has more words than most", "words", lambda _, words: len(words) > middle),
        ("has fewer words than most", "words", lambda _, words: len(words) < middle),
    ]
    if any(premise for premise, _ in texts):
        shared = median(_compute_overlap(*both) for both in texts)
        found += [
            ("has all its words in the premise", "words",
             lambda *both: _compute_overlap(*both) == 1.0),
            ("shares less with the premise than most", "words",
             lambda *both: _compute_overlap(*both) < shared),
        ]  # fmt: skip
    return found


def _compute_overlap(premise: Words, text: Words) -> float:
    content = set(text) - FUNCTION_WORDS
    return len(content & set(premise)) / len(content) if content else 1.0


def _score_label(labels: Words, sentences: set[str], index: int, view: View) -> list[float]:
    applies = view.options == labels and view.question in sentences
    return [float(applies and option == index) for option in range(len(view.options))]
