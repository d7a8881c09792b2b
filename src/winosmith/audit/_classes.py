"""Cues for options that are classes: features of the labelled text, such as a hypothesis.

Options that all items share reveal nothing, but the labelled text may reveal the key. A cue selects
a label if the text has a feature: "contradiction" if the hypothesis has a negation. Such cues
predict the labels of SNLI and MNLI (Gururangan et al. 2018), and so do the words that a hypothesis
shares with its premise (McCoy et al. 2019).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Literal

from winosmith.audit._cues import ABSOLUTES, HEDGES, Cue, View, is_negation
from winosmith.audit._items import detect_classes
from winosmith.dataset import Dataset
from winosmith.problem import Problem
from winosmith.text import FUNCTION_WORDS

_PAIR = (("questions.premise", "questions.hypothesis"),
         ("questions.sentence1", "questions.sentence2"))  # fmt: skip
"""Names of the fields with the two texts that form a question."""

Words = tuple[str, ...]
_Feature = tuple[str, Literal["words", "latin"], Callable[[Words, Words], bool]]
"""A feature: its name, its supported scripts, and a predicate on the words of premise and text."""


def make_class_cues(dataset: Dataset) -> tuple[Cue, ...]:
    """Make a cue for each label and each feature of the labelled texts.

    The labelled text is the hypothesis of a pair, or the whole question if there is no pair. No
    cues are returned if fewer than half of the items have the same classes in the same order.

    Args:
        dataset: the items; their keys are not used.

    >>> asked = [Problem(str(n), f"Is {n} a prime?", ("no", "yes"), blank=None) for n in range(60)]
    >>> cues = make_class_cues(Dataset(asked))
    >>> len(cues), cues[0].name
    (10, 'no, if the text has a negation')
    """
    classes = [p for p, one in zip(dataset, detect_classes(dataset), strict=True) if one]
    labels, count = Counter(p.options for p in classes).most_common(1)[0] if classes else ((), 0)
    if 2 * count < len(dataset):
        return ()
    labelled = [problem for problem in classes if problem.options == labels]
    texts = {problem.sentence: _split_premise_and_text(problem) for problem in labelled}
    what = "hypothesis" if any(premise for premise, _ in texts.values()) else "text"
    cues = []
    for name, needs, has_feature in _make_features([*texts.values()]):
        having = {sentence for sentence, both in texts.items() if has_feature(*both)}
        for at, label in enumerate(labels):
            score = partial(_score_label, labels, having, at)
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


def _score_label(labels: Words, having: set[str], index: int, view: View) -> list[float]:
    applies = view.options == labels and view.question in having
    return [float(applies and option == index) for option in range(len(view.options))]
