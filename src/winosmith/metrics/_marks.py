"""The marks of Trichelair et al. (2019) on the Winograd Schemas: associative, switchable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import BLANK, Extra, Problem, Scalar

__all__ = ["marked", "switched_sentences"]

_MARKS = {"is_associative": "trichelair.associative", "is_switchable": "trichelair.switchable"}
_PRONOUN = re.compile(r"\[[^\]]*\]")

Records = Sequence[Mapping[str, Any]]


def marked(dataset: Dataset, records: Records) -> Dataset:
    """Return the problems with their marks in `extra`: "trichelair.associative", ".switchable".

    Args:
        dataset: the Winograd Schema Challenge; the record with the `index` 0 is for its first
            problem. Problems without a record stay as they are.
        records: of `WSC_associative_label.json` or `WSC_switched_label.json`.

    Raises:
        DataError: a record without a place in the data set, or with another problem's sentence.
    """
    problems = list(dataset)
    for row, record in _placed(dataset, records):
        marks: dict[str, Scalar] = {
            ours: bool(record[theirs]) for theirs, ours in _MARKS.items() if theirs in record
        }
        problem = problems[row]
        problems[row] = replace(problem, extra=Extra({**problem.extra, **marks}))
    return Dataset(problems, dataset.name)


def switched_sentences(dataset: Dataset, records: Records) -> dict[str, str]:
    """Return id → sentence with the options switched, of the problems marked as switchable.

    As `marked`; it takes the records of `WSC_switched_label.json`, in whose sentences the pronoun
    in brackets becomes the blank. For `switched`.
    """
    return {
        dataset[row].id: _PRONOUN.sub(BLANK, str(record.get("sentence_switched")), count=1)
        for row, record in _placed(dataset, records)
        if record.get("is_switchable")
    }


def _placed(dataset: Dataset, records: Records) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for record in records:
        row = record.get("index") if isinstance(record, Mapping) else None
        if not isinstance(row, int) or not 0 <= row < len(dataset):
            raise DataError(
                f"the mark with the index {row!r} has no place among {len(dataset):,} problems"
            )
        if not _same(dataset[row], str(record.get("sentence"))):
            raise DataError(
                f"the mark {row} is for another sentence than the problem {dataset[row].id!r}; "
                "marks go by the order of the Winograd Schema Challenge"
            )
        yield row, record


def _same(problem: Problem, sentence: str) -> bool:
    """Return whether most words are the same: the files differ in spelling, one in word order."""
    mine, theirs = (
        set(re.findall(r"[a-z]+", text.lower())) for text in (problem.sentence, sentence)
    )
    return len(mine & theirs) >= 0.5 * len(mine | theirs)
