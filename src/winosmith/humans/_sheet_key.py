"""The answer key of sheets: a table apart, for whoever marks them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from winosmith.dataset import Dataset
from winosmith.humans._sheet import Sheet

__all__ = ["answer_key"]


def answer_key(dataset: Dataset, sheets: Iterable[Sheet]) -> str:
    """Return the key as CSV: sheet, number, letter, answer, problem; empty where it is withheld.

    Raises:
        DataError: a sheet has a problem that the data set does not have.
    """
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(("sheet", "number", "letter", "answer", "problem"))
    for sheet in sheets:
        for item in sheet.items:
            problem = dataset[dataset.row(item.problem_id)]
            known = problem.answer is not None
            table.writerow(
                (
                    sheet.code,
                    item.number,
                    item.letter(problem.answer) if known else "",  # type: ignore[arg-type]
                    problem.options[problem.answer] if known else "",  # type: ignore[index]
                    problem.id,
                )
            )
    return file.getvalue()
