"""Cues for options that are classes: features of the labelled text, such as a hypothesis.

Options that all items share reveal nothing; the text that they label may. A cue is a
label for the texts with a feature: "contradiction" if the hypothesis has a negation. The pairs of
SNLI and MNLI are predicted by such cues (Gururangan et al. 2018), and by the words that a
hypothesis shares with its premise (McCoy et al. 2019).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median
from typing import Literal

from winosmith.audit._cues import ABSOLUTES, HEDGES, Cue, View, is_negation
from winosmith.audit._items import in_classes
from winosmith.dataset import Dataset
from winosmith.problem import Problem
from winosmith.text import FUNCTION_WORDS

_PAIR = (("questions.premise", "questions.hypothesis"),
         ("questions.sentence1", "questions.sentence2"))  # fmt: skip
"""The fields of a pair's texts, which are one question."""

Words = tuple[str, ...]
_Sign = tuple[str, Literal["words", "latin"], Callable[[Words, Words], bool]]
"""Its name, the scripts that it reads, and whether a text has it, given its premise's words."""


def class_cues(dataset: Dataset) -> tuple[Cue, ...]:
    """Return a cue for each label and each feature of the labelled texts.

    Features are those of a pair's hypothesis, otherwise of the whole question. There is no cue if
    fewer than half of the items have the same classes in the same order.

    Args:
        dataset: the items; their keys are not used.

    >>> asked = [Problem(str(n), f"Is {n} a prime?", ("no", "yes"), blank=None) for n in range(60)]
    >>> cues = class_cues(Dataset(asked))
    >>> len(cues), cues[0].name
    (10, 'no, if the text has a negation')
    """
    classes = [p for p, one in zip(dataset, in_classes(dataset), strict=True) if one]
    labels, count = Counter(p.options for p in classes).most_common(1)[0] if classes else ((), 0)
    if 2 * count < len(dataset):
        return ()
    labelled = [problem for problem in classes if problem.options == labels]
    texts = {problem.sentence: _texts(problem) for problem in labelled}
    what = "hypothesis" if any(premise for premise, _ in texts.values()) else "text"
    return tuple(
        Cue(f"{label}, if the {what} {name}", _score(at, labels, texts, sign), "class", needs)
        for name, needs, sign in _signs([*texts.values()])
        for at, label in enumerate(labels)
    )


def _texts(problem: Problem) -> tuple[Words, Words]:
    """Return the words of the premise, and of what is labelled."""
    for first, second in _PAIR:
        pair = [problem.extra.get(name) for name in (first, second)]
        if all(isinstance(text, str) for text in pair):
            return View.cut(str(pair[0])), View.cut(str(pair[1]))
    return (), View.cut(problem.sentence)


def _signs(texts: Sequence[tuple[Words, Words]]) -> list[_Sign]:
    middle = median(len(said) for _, said in texts)
    found: list[_Sign] = [
        ("has a negation", "latin", lambda _, said: any(map(is_negation, said))),
        ("has an absolute", "latin", lambda _, said: not ABSOLUTES.isdisjoint(said)),
        ("has a hedge", "latin", lambda _, said: not HEDGES.isdisjoint(said)),
        ("has more words than most", "words", lambda _, said: len(said) > middle),
        ("has fewer words than most", "words", lambda _, said: len(said) < middle),
    ]
    if any(premise for premise, _ in texts):
        shared = median(_shared(*both) for both in texts)
        found += [
            ("has all its words in the premise", "words", lambda *both: _shared(*both) == 1.0),
            ("shares less with the premise than most", "words",
             lambda *both: _shared(*both) < shared),
        ]  # fmt: skip
    return found


def _shared(premise: Words, said: Words) -> float:
    """Return the fraction of a text's words, except for function words, that its premise has."""
    own = set(said) - FUNCTION_WORDS
    return len(own & set(premise)) / len(own) if own else 1.0


def _score(
    at: int,
    labels: Words,
    texts: dict[str, tuple[Words, Words]],
    sign: Callable[[Words, Words], bool],
) -> Callable[[View], Sequence[float]]:
    having = {sentence for sentence, both in texts.items() if sign(*both)}

    def score(view: View) -> list[float]:
        said = view.options == labels and view.question in having
        return [float(said and option == at) for option in range(len(view.options))]

    return score
