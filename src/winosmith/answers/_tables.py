"""Tables of answers: a row for each item, with its id, and a column for each model.

A column named `choice` or `prediction` makes the table that of one model, whose options' scores are
in `score1`, `score2`, … Without such a column, the option with the best score was chosen. A cell is
a letter, a number from 1 or an option's text. An empty cell is of an item that the model was not
asked; any other cell is an invalid answer.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Sequence

from winosmith import formats
from winosmith.answers._answers import Answers
from winosmith.answers._rules import NO_LETTER, check_known, read_choices
from winosmith.data import Delimited
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, ProblemError
from winosmith.prediction import Prediction

_IDS = ("id", "problem_id", "qid", "sentid")
_CHOICES = ("choice", "prediction")
_SCORE = re.compile(r"score_?([1-9]\d?)")


def read_table(source: formats.Source, dataset: Dataset) -> list[Answers]:
    """Return the answers of each model of a table.

    A column without any answer, and one that is named like keys next to models' answers, is omitted
    with a note.

    Raises:
        FormatError: a column or an id occurs twice, a row is longer than the header, fewer than
            half of the ids are of items, or no cell is an answer.
    """
    head, rows = _cells(source)
    names = [name.lower() for name in head]
    ids = next((names.index(name) for name in _IDS if name in names), None)
    choice = next((names.index(name) for name in _CHOICES if name in names), None)
    if choice is not None and ids is None:
        raise FormatError(f"the table has no column {', '.join(map(repr, _IDS))}", source.path, 1)
    at = ids or 0
    models = [choice] if choice is not None else [n for n in range(len(head)) if n != at]
    rows = [(line, row) for line, row in rows if any(row[n] for n in (at, *models))]
    _check_ids([(line, row[at]) for line, row in rows], source)
    check_known([row[at] for _, row in rows], dataset, source.path, "rows")
    if choice is None and any(map(_SCORE.fullmatch, names)):
        own = [
            _prediction(row[at], None, _scores(head, row), source, line, choose=True)
            for line, row in rows
            if any(_scores(head, row))
        ]
        return [Answers(tuple(own), source.path.stem)]
    lines = {row[at]: line for line, row in rows}
    found = {}
    for column in models:
        name = source.path.stem if column == choice else head[column]
        labels = {row[at]: row[column] for _, row in rows}
        choices = read_choices(labels, dataset, source.path, lines)
        found[name] = [
            _prediction(row[at], choices[row[at]], _scores(head, row), source, line)
            for line, row in rows
            if row[at] in choices
        ]
    return [Answers(tuple(own), name) for name, own in _of_models(found, source).items()]


def _cells(source: formats.Source) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the header, and the other rows with their lines, as long as the header."""
    try:
        separator = Delimited(source).separator
        reader = csv.reader(io.StringIO(source.text, newline=""), delimiter=separator)
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise FormatError(f"this is not a table: {error}", source.path) from None
    head = rows[0][1]
    twice = next((name for name in head if head.count(name) > 1), None)
    if twice is not None:
        raise FormatError(f"two columns are named {twice!r}", source.path, 1)
    if len(head) < 2:
        what = "needed is a table with ids and a column for each model"
        raise FormatError(what, source.path, 1)
    for line, row in rows:
        if any(row[len(head) :]):
            what = f"{len(row)} cells; the header has {len(head)}"
            raise FormatError(what, source.path, line)
    return head, [(line, (row + [""] * len(head))[: len(head)]) for line, row in rows[1:]]


def _check_ids(ids: Sequence[tuple[int, str]], source: formats.Source) -> None:
    seen: set[str] = set()
    for line, name in ids:
        if name in seen:
            raise FormatError(
                f"the id {name!r} occurs twice; a row has all answers to an item, those of each "
                "model in a column of its name",
                source.path,
                line,
            )
        seen.add(name)


def _scores(head: Sequence[str], row: Sequence[str]) -> list[str]:
    """Return the cells of the columns score1, score2, … in the order of their numbers."""
    numbered = [
        (int(match[1]), cell)
        for name, cell in zip(head, row, strict=True)
        if cell and (match := _SCORE.fullmatch(name.lower()))
    ]
    return [cell for _, cell in sorted(numbered)]


def _prediction(
    name: str,
    choice: int | None,
    scores: Sequence[str],
    source: formats.Source,
    line: int,
    *,
    choose: bool = False,
) -> Prediction:
    """Return a prediction; with `choose`, the option with the best score is the choice."""
    try:
        values = tuple(map(float, scores)) if choose or choice is not None else ()
        return Prediction(name, values.index(max(values)) if choose else choice, values)
    except (ProblemError, ValueError) as error:
        raise FormatError(str(error), source.path, line) from None


def _of_models(
    found: dict[str, list[Prediction]], source: formats.Source
) -> dict[str, list[Prediction]]:
    """Return the columns that are models' answers; say which are omitted, and why."""
    omitted = {
        name: "has no letter of an option"
        for name, own in found.items()
        if not any(prediction.chosen for prediction in own)
    }
    if len(omitted) == len(found):
        raise FormatError(NO_LETTER, source.path)
    if len(found) > len(omitted) + 1:
        omitted |= {n: "has keys" for n in found.keys() - omitted if formats.of_answers(n)}
    for name, why in omitted.items():
        warnings.warn(
            f"{source.path}: the column {name!r} {why}, not a model's answers; it is omitted",
            formats.ReadingNote,
            stacklevel=5,
        )
    return {name: own for name, own in found.items() if name not in omitted}
