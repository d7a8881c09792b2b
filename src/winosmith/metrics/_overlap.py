"""Did the solver see the test while it was trained?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from winosmith.blocks import blocks, plain
from winosmith.dataset import Dataset
from winosmith.problem import Problem
from winosmith.published import Contents, traces
from winosmith.report import shown
from winosmith.text import pieces

ALIKE = 0.7
"""The share of words that problems with the same options have in common when they look alike: that
of the halves of a twin (WinoGrande, section 2)."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a test set may share with what a solver was trained on.

    Attributes:
        rows: of the test problems that may have been seen, each with the reason.
        n: how many test problems there are.
        unknown: names of corpora that nobody here can compare with: whether the solver saw the
            test there is unknown.
    """

    rows: Mapping[int, str]
    n: int
    unknown: tuple[str, ...] = ()

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
            "unknown": list(self.unknown),
        }


def told_overlap(solver: str, record: Mapping[str, Any]) -> list[str]:
    """Return sentences, without points, on what a solver may have seen; none where nothing.

    Args:
        solver: its name.
        record: of an `Overlap`.

    >>> told_overlap("mine", Overlap({0: "the training set holds its sentence"}, 4).record())
    ['Of mine no accuracy is told: 1 of 4 problems may have been seen in training (1: the training \
set holds its sentence)']
    """
    told = []
    if record["withheld"]:
        reasons = "; ".join(f"{count:,}: {reason}" for reason, count in record["reasons"].items())
        told.append(
            f"Of {shown(solver)} no accuracy is told: {record['problems']:,} of {record['n']:,} "
            f"problems may have been seen in training ({reasons})"
        )
    if record["unknown"]:
        corpora = " and ".join(map(shown, record["unknown"]))
        told.append(
            f"{shown(solver)} was trained on {corpora} too, which is not here: whether it saw "
            "these problems there is unknown"
        )
    return told


def overlap(
    test: Dataset, training: Dataset | None = None, *, public: Collection[Contents] = ()
) -> Overlap:
    """Return which test problems a solver may have seen in training.

    A test problem may have been seen when the training set holds

    - its sentence, whatever the case;
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
        found.update(_alike(test, training, passed_over=set(found)))
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
    seen = {plain(problem.sentence) for problem in training}
    for row, problem in enumerate(test):
        if plain(problem.sentence) in seen:
            yield row, "the training set holds its sentence"


def _same_family(test: Dataset, training: Dataset) -> Iterator[tuple[int, str]]:
    roots = {problem.id: plain(problem.sentence) for problem in training}
    for root, rows in test.families.items():
        if root not in training.families:
            continue
        mine = next((plain(test[row].sentence) for row in rows if test[row].id == root), None)
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
