"""DPR and WSC273 as tables with two rows a problem (KnowRef-60k benchmark).

The columns: index, sentence1 (up to and with the option), sentence2 (the rest), label,
candidate0, candidate1. The index is the id. The pronoun is not in the file. Twins are told by
their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import IO

from winosmith.errors import ProblemError
from winosmith.formats._base import Entry, Format, Item, cannot_write, entry, problems_of
from winosmith.formats._source import Source
from winosmith.formats._table import Row, has_columns, rows, write_rows
from winosmith.formats._wording import halves, paired
from winosmith.problem import BLANK, Problem

__all__ = ["DPR_TSV"]

_COLUMNS = ("index", "sentence1", "sentence2", "label", "candidate0", "candidate1")


def _problem(found: Sequence[Row]) -> Problem:
    options = (found[0]["candidate0"], found[0]["candidate1"])
    right = [row for row in found if _label(row) == "1"]
    if len(right) > 1 or (not right and _label(found[0])):
        raise ProblemError(f"{len(right)} rows of one index have the label 1; 1 is needed")
    before, after = _around(found[0], options)
    return Problem(
        id=found[0]["index"],
        sentence=before + BLANK + after,
        options=options,
        answer=_option_of(right[0], options) if right else None,
    )


def _label(row: Row) -> str:
    if row["label"] not in ("0", "1", ""):
        raise ProblemError(f"the label is {row['label']!r}; it must be 0 or 1")
    return row["label"]


def _option_of(row: Row, options: Sequence[str]) -> int:
    """Return which option the first part of the sentence ends with, the longer one first."""
    by_length = sorted(range(len(options)), key=lambda index: -len(options[index]))
    for index in by_length:
        if row["sentence1"].endswith(options[index]):
            return index
    raise ProblemError(f"sentence1 does not end with one of the candidates {tuple(options)}")


def _around(row: Row, options: Sequence[str]) -> tuple[str, str]:
    filled = options[_option_of(row, options)]
    return row["sentence1"].removesuffix(filled), row["sentence2"]


def _read(source: Source) -> list[Entry]:
    return paired(_entries(source))


def _entries(source: Source) -> Iterator[Entry]:
    for _, group in groupby(
        rows(source, _COLUMNS), key=lambda found: found[2] and found[2]["index"]
    ):
        found = list(group)
        line, raw = found[0][0], "\n".join(raw for _, raw, _, _ in found)
        reason = next((reason for _, _, _, reason in found if reason), None)
        if reason is None and len(found) != 2:
            reason = f"the index has {len(found)} rows; 2 are needed, one an option"
        if reason:
            yield Entry(line, raw, reason=reason)
        else:
            cells = [row for _, _, row, _ in found if row is not None]
            yield entry(line, raw, lambda: _problem(cells))  # noqa: B023 - called here


def _write(items: Sequence[Item], file: IO[str]) -> None:
    cells: list[list[str | int]] = []
    for problem in problems_of(items, options=2):
        before, after = halves(problem)
        found = []
        for index, option in enumerate(problem.options):
            label = "" if problem.answer is None else int(index == problem.answer)
            found.append([problem.id, before + option, after, label, *problem.options])
        texts = [dict(zip(_COLUMNS, map(str, row), strict=True)) for row in found]
        if not _reads_back(texts, problem):
            raise cannot_write(problem, "one option ends in the other: they can't be told apart")
        cells.extend(found)
    write_rows(file, _COLUMNS, cells, separator="\t")


def _reads_back(found: Sequence[Row], problem: Problem) -> bool:
    back = _problem(found)
    return (back.sentence, back.answer) == (problem.sentence, problem.answer)


DPR_TSV = Format(
    name="dpr-tsv",
    title="DPR and WSC273 as two rows a problem (KnowRef-60k benchmark)",
    recognises=lambda source: has_columns(source, _COLUMNS),
    read=_read,
    write=_write,
    suffix=".tsv",
    keeps=frozenset({"id", "sentence", "options", "answer"}),
)
