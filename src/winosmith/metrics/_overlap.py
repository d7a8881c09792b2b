"""Did the solver see the test while it was trained?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from winosmith.blocks import blocks
from winosmith.dataset import Dataset
from winosmith.problem import Problem
from winosmith.text import pieces, tokens

__all__ = ["Overlap", "overlap"]

ALIKE = 0.7
"""The share of words that problems with the same options have in common when they look alike: that
of the halves of a twin (WinoGrande, section 2)."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a test set may share with what a solver was trained on.

    Attributes:
        rows: of the test problems that may have been seen, each with the reason.
        n: how many test problems there are.
    """

    rows: Mapping[int, str]
    n: int

    @property
    def withheld(self) -> bool:
        """Whether an accuracy would be measured on what may have been seen: it is shown as "—"."""
        return bool(self.rows)

    @property
    def reasons(self) -> dict[str, int]:
        """The reasons, each with the number of its problems, the most frequent first."""
        return dict(Counter(self.rows.values()).most_common())

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "withheld": self.withheld,
            "problems": len(self.rows),
            "n": self.n,
            "reasons": self.reasons,
        }


def overlap(
    test: Dataset, training: Dataset | None = None, *, public: Collection[str] = ()
) -> Overlap:
    """Return which test problems a solver may have seen in training.

    A test problem may have been seen when the training set holds

    - its sentence, whatever the case;
    - something of its family: a root by that id, unless both sets hold it and the sentences
      differ, as where files number their rows;
    - a problem that looks like it: the same options, and 70 % of the words in common, as the
      halves of a twin have and most perturbed problems with their root.

    What holds of one problem holds of its family, its twin and its copies (`winosmith.blocks`).
    Where only the name of a public training set is known, all of that source may have been seen,
    and all whose source is not stated: seven of EvoGrad's roots are WinoGrande's, which the
    paper's models were trained on.

    Args:
        test: what the solver is measured on.
        training: what it was trained on; None when it is not here.
        public: names of public sets that it was trained on ("winogrande"), compared with the
            `origin.source` of the root of each test problem.

    >>> from winosmith.testing import made_twins
    >>> data = made_twins(4)
    >>> overlap(data[:4], data[4:]).withheld, overlap(data[:5], data[5:]).reasons
    (False, {'a problem of the training set looks like it': 1})
    """
    found: dict[int, str] = {}
    if training is not None:
        found.update(_same_family(test, training))
        found.update(_same_sentence(test, training))
        found.update(_alike(test, training, passed_over=set(found)))
    for row, reason in _of_public(test, {name.casefold() for name in public}):
        found.setdefault(row, reason)
    direct = set(found)
    for rows in blocks(test) if direct else ():
        if not direct.isdisjoint(rows):
            for row in rows:
                found.setdefault(row, "something of its family or twin may have been seen")
    return Overlap(dict(sorted(found.items())), len(test))


def _text(problem: Problem) -> str:
    return " ".join(tokens(problem.sentence.lower()))


def _same_sentence(test: Dataset, training: Dataset) -> Iterator[tuple[int, str]]:
    seen = set(map(_text, training))
    for row, problem in enumerate(test):
        if _text(problem) in seen:
            yield row, "the training set holds its sentence"


def _same_family(test: Dataset, training: Dataset) -> Iterator[tuple[int, str]]:
    roots = {problem.id: _text(problem) for problem in training}
    for root, rows in test.families.items():
        if root not in training.families:
            continue
        mine = next((_text(test[row]) for row in rows if test[row].id == root), None)
        if mine is None or roots.get(root, mine) == mine:
            for row in rows:
                yield row, "the training set holds something of its family"


def _alike(
    test: Dataset, training: Dataset, passed_over: Collection[int]
) -> Iterator[tuple[int, str]]:
    by_options: dict[frozenset[str], list[Counter[str]]] = {}
    for problem in training:
        by_options.setdefault(_options(problem), []).append(_pieces(problem))
    for row, problem in enumerate(test):
        if row in passed_over:
            continue
        mine = _pieces(problem)
        for other in by_options.get(_options(problem), ()):
            if (mine & other).total() >= ALIKE * max(mine.total(), other.total()):
                yield row, "a problem of the training set looks like it"
                break


def _options(problem: Problem) -> frozenset[str]:
    return frozenset(option.lower() for option in problem.options)


def _pieces(problem: Problem) -> Counter[str]:
    return Counter(pieces(problem.sentence.lower()))


def _of_public(test: Dataset, public: Collection[str]) -> Iterator[tuple[int, str]]:
    if not public:
        return
    sources = {p.id: p.origin.source if p.origin else None for p in test}
    for root, rows in test.families.items():
        source = sources.get(root)
        if source is None:
            reason = "the source of its root is not stated"
        elif source.casefold() in public:
            reason = f"its root comes from {source!r}, which the solver was trained on"
        else:
            continue
        for row in rows:
            yield row, reason
