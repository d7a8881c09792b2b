"""DPR and WSC273 as tables with two rows a problem (KnowRef-60k benchmark).

The columns: index, sentence1 (up to and with the option), sentence2 (the rest), label,
candidate0, candidate1. The index is the id. The pronoun is not in the file. Twins are told by
their order.

Where a pronoun occurred twice, the makers of the table filled in the option twice, so that the
ends of the two rows differ (48 problems of DPR). The sentence then ends like the first row, **with
its option in it**, and the other end is in `extra`; better read the `dpr` files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import IO

from winosmith.errors import ProblemError
from winosmith.formats._base import (
    Entry,
    Format,
    Item,
    Row,
    Source,
    entry,
    halves,
    has_columns,
    problems_of,
    rows,
    write_rows,
)
from winosmith.formats._twins import paired
from winosmith.problem import BLANK, Extra, Problem

_OTHER_END = "dpr_tsv.other_end"
_COLUMNS = ("index", "sentence1", "sentence2", "label", "candidate0", "candidate1")


def _problem(found: Sequence[Row]) -> Problem:
    options = (found[0]["candidate0"], found[0]["candidate1"])
    before, other_before = (
        _before(row["sentence1"], option) for row, option in zip(found, options, strict=True)
    )
    if before != other_before:
        raise ProblemError("the two rows differ before their options")
    after, other_after = (row["sentence2"] for row in found)
    return Problem(
        id=found[0]["index"],
        sentence=before + BLANK + after,
        options=options,
        answer=_answer([row["label"] for row in found]),
        extra=Extra({_OTHER_END: other_after} if other_after != after else {}),
    )


def _before(text: str, option: str) -> str:
    if not text.endswith(option):
        raise ProblemError(f"sentence1 does not end with the candidate {option!r}")
    return text.removesuffix(option)


def _answer(labels: Sequence[str]) -> int | None:
    if labels in (["1", "0"], ["0", "1"]):
        return labels.index("1")
    if labels == ["", ""]:
        return None
    raise ProblemError(f"the labels are {labels}; one must be 1 and the other 0")


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
        ends = (after, str(problem.extra.get(_OTHER_END, after)))
        for index, (option, end) in enumerate(zip(problem.options, ends, strict=True)):
            label = "" if problem.answer is None else int(index == problem.answer)
            cells.append([problem.id, before + option, end, label, *problem.options])
    write_rows(file, _COLUMNS, cells, separator="\t")


DPR_TSV = Format(
    name="dpr-tsv",
    title="DPR and WSC273 of KnowRef-60k: two rows a problem",
    recognises=lambda source: has_columns(source, _COLUMNS),
    needs=frozenset(_COLUMNS),
    read=_read,
    write=_write,
    suffix=".tsv",
    keeps=frozenset({"id", "sentence", "options", "answer"}),
)
