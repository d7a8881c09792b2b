"""Table 5 of WinoGrande (2020): how each set is counted there, what it prints, what the files give.

The table does not say how it counts. What is here is the reading of each set that gives the printed
figures from the published files, as nearly as anything does (`tests/metrics/test_table5.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from winosmith import published, text
from winosmith.dataset import Dataset
from winosmith.problem import Claim, Problem


class Figures(NamedTuple):
    """Problems, the average length in tokens, and the vocabulary."""

    problems: int
    length: float
    vocabulary: int

    def __str__(self) -> str:
        return f"{self.problems:,} problems, {self.length} tokens, vocabulary {self.vocabulary:,}"


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        printed: the figures of the paper.
        ours: those of the published files, by the same reading.
        reading: how it is counted.
        why: where the two differ, why.
    """

    printed: Figures
    ours: Figures
    reading: str
    why: str = ""


_BLANK_COUNTED = "each sentence, the blank counted as a token"

ROWS: dict[str, tuple[Row, ...]] = {
    "WSC": (
        Row(
            Figures(273, 19.1, 919),
            Figures(273, 19.1, 918),
            _BLANK_COUNTED,
            "opening and closing quotation marks as two tokens make 919; these are the first 273 "
            "schemas with the option's article in the sentence, as wsc-273.jsonl has them",
        ),
    ),
    "PDP": (
        Row(
            Figures(80, 39.5, 594),
            Figures(80, 39.4, 593),
            "a question once for each comparison of the right option with another one",
            "the tokeniser is not stated",
        ),
    ),
    "SuperGLUE-WSC": (
        Row(
            Figures(804, 28.4, 1711),
            Figures(804, 28.4, 1711),
            "a text once for each claim about it, the blank counted as a token",
        ),
    ),
    "DPR": (Row(Figures(1886, 15.9, 4127), Figures(1886, 15.9, 4127), _BLANK_COUNTED),),
    "KnowRef": (
        Row(
            Figures(1269, 19.3, 5310),
            Figures(1267, 19.3, 5307),
            _BLANK_COUNTED,
            "two records of the file are no problems",
        ),
    ),
    "COPA": (
        Row(
            Figures(1000, 13.3, 3369),
            Figures(1000, 13.3, 3370),
            "the premise with the right alternative; the vocabulary of the premises and both",
            "the words that join them, 'because' and 'so', are ours",
        ),
    ),
    "Winogender": (
        Row(
            Figures(720, 15.6, 523),
            Figures(720, 15.6, 523),
            "each sentence with its pronoun in place of the blank",
        ),
    ),
    "WinoGrande": (
        Row(
            Figures(12282, 21.1, 11408),
            Figures(12282, 21.1, 11419),
            f"debiased, dev and test: {_BLANK_COUNTED}",
            "the tokeniser is not stated",
        ),
        Row(
            Figures(43972, 20.6, 16469),
            Figures(43432, 20.6, 16433),
            f"all: {_BLANK_COUNTED}",
            "the released training set has 40,398 problems, not 40,938",
        ),
    ),
}
"""The rows, by the names of `winosmith.published`."""


@dataclass(frozen=True, slots=True)
class Table5:
    """A set that table 5 counts, beside what it prints.

    Attributes:
        name: of the set.
        row: of the table; the one of as many problems, where there are two.
        whole: whether there are as many as the row counts.
    """

    name: str
    row: Row
    whole: bool

    def __str__(self) -> str:
        """Return it as a sentence or two.

        >>> str(Table5("DPR", ROWS["DPR"][0], False)).partition(". ")[2]
        'Its row is of another selection: 1,886 problems, 15.9 tokens, vocabulary 4,127.'
        """
        row = self.row
        whose = "It prints" if self.whole else "Its row is of another selection:"
        told = (
            f"Counted as table 5 of WinoGrande counts {self.name} ({row.reading}). {whose} "
            f"{row.printed}"
        )
        if row.ours == row.printed:
            return f"{told}."
        return f"{told}; the published files give {row.ours}: {row.why}."

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        row = self.row
        return {
            "set": self.name,
            "whole": self.whole,
            "reading": row.reading,
            "printed": row.printed._asdict(),
            "published_files": row.ours._asdict(),
            "why": row.why,
        }


class Counted(NamedTuple):
    """What was counted.

    Attributes:
        length: the average number of tokens, 0 for no problem; None where nothing can be counted.
        vocabulary: distinct lower-cased tokens; None likewise.
        uncounted: how many problems have no spaces between their words, and no part in either.
        comparisons: of the right option with another one.
    """

    length: float | None
    vocabulary: int | None
    uncounted: int
    comparisons: int


def table5(name: str | None, problems: int) -> Table5 | None:
    """Return the row of a set; None where the table has none.

    Args:
        name: of the set, as `winosmith.published.set_of` tells it.
        problems: how many there are, or claims, or comparisons.
    """
    rows = ROWS.get(name or "", ())
    if name is None or not rows:
        return None
    row = next((row for row in rows if row.ours.problems == problems), rows[0])
    return Table5(name, row, row.ours.problems == problems)


def counted(dataset: Dataset) -> tuple[Counted, Table5 | None]:
    """Count tokens: as table 5 does, where it has the set, else those of each sentence.

    Text without spaces between words (`winosmith.text.writing`) is left out and counted.
    """
    name = published.set_of(dataset)
    comparisons = sum(len(problem.options) - 1 for problem in dataset)
    known = [p for p in dataset if text.writing(p.sentence) != "unspaced"]
    read = [_read(problem, name) for problem in known]
    weights = [len(p.options) - 1 if name == "PDP" else 1 for p in known]
    found = _counted(read, weights, len(dataset) - len(known), comparisons)
    return found, table5(name, comparisons if name == "PDP" else len(dataset))


def counted_claims(claims: Sequence[Claim]) -> tuple[Counted, Table5 | None]:
    """Count tokens of claims, a text once for each claim about it."""
    texts = Dataset(
        Problem(f"{row}", claim.sentence, ("yes", "no")) for row, claim in enumerate(claims)
    )
    known = [claim for claim in claims if text.writing(claim.sentence) != "unspaced"]
    read = [_Read((claim.sentence,), (claim.sentence,)) for claim in known]
    found = _counted(read, [1] * len(read), len(claims) - len(known), len(claims))
    return found, table5(published.set_of(texts), len(claims))


class _Read(NamedTuple):
    """The texts whose mean length counts, and those whose tokens do."""

    long: tuple[str, ...]
    held: tuple[str, ...]


def _read(problem: Problem, name: str | None) -> _Read:
    if name == "COPA":
        filled = problem.filled()
        return _Read(filled if problem.answer is None else (filled[problem.answer],), filled)
    shown = problem.sentence
    if name == "Winogender" and problem.pronoun:
        shown = problem.put(problem.pronoun)
    return _Read((shown,), (shown,))


def _counted(
    read: Sequence[_Read], weights: Sequence[int], uncounted: int, comparisons: int
) -> Counted:
    if uncounted and not read:
        return Counted(None, None, uncounted, comparisons)
    total, held = 0.0, set[str]()
    for each, weight in zip(read, weights, strict=True):
        cut = {one: text.tokens(one) for one in {*each.long, *each.held}}
        total += weight * _mean(len(cut[one]) for one in each.long)
        held.update(token.lower() for one in each.held for token in cut[one])
    return Counted(total / sum(weights) if weights else 0.0, len(held), uncounted, comparisons)


def _mean(values: Iterable[int]) -> float:
    found = list(values)
    return sum(found) / len(found)
