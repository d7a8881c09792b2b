"""Tables of answers, with a row for each item's id and a column for each model.

A table with a column named `choice` or `prediction` has the answers of one model, with the options'
scores in `score1`, `score2`, … Without such a column, the option with the best score is chosen. A
cell is a letter, a number from 1 or an option's text. An empty cell, NaN or NA means that the model
was not asked; any other cell is an invalid answer. If all cells of a column are `correct` or
`incorrect`, an incorrect answer is a tie of all options except the key. A column without a name,
such as an index of pandas, is omitted. Records with an id, in any container, are a table, and so is
a JSON object of one model's answers by id: `{"q1": "A", "q2": 2}`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from winosmith import formats
from winosmith.answers._answers import Answers
from winosmith.answers._file import AnswerFile
from winosmith.answers._rules import NO_LETTER, SOURCES, check_known, read_choices
from winosmith.data import Place, Record, cell
from winosmith.errors import FormatError, ProblemError, first_ids
from winosmith.prediction import Prediction, find_best_options

_IDS = ("id", "problem_id", "qid", "sentid")
_CHOICES = ("choice", "prediction")
_GRADES = {"correct", "incorrect"}
_NUMBER = re.compile(r"\s*-?[0-9]+(?:[.,][0-9]+)?\s*")
_IN_MARKS = "has only C and I, which are marks"
_SCORE = re.compile(r"score_?(\d\d?)")


def recognise(file: AnswerFile) -> bool:
    """Return whether a file is a table, a JSON object, or records with ids."""
    has_ids = not {key.lower() for key in file.rows.first}.isdisjoint(_IDS)
    return file.rows.kind in ("table", "delimited", "object") or has_ids


def read(file: AnswerFile) -> list[Answers]:
    """Return the answers of each model in a table.

    Columns without answers, and columns named like a key next to models' columns, are omitted with
    a note. Columns that repeat an option's text for every item are omitted without a note.

    Raises:
        FormatError: a column or an id occurs twice, a row and the header differ in length, fewer
            than half of the ids belong to items, or no cell is an answer.
    """
    is_object = file.rows.kind == "object"
    records = _object_records(file) if is_object else file.records()
    names = [*dict.fromkeys(name for _, row in records for name in row)] or [*file.rows.names]
    by_lower = {name.lower(): name for name in reversed(names)}
    ids = next((by_lower[name] for name in _IDS if name in by_lower), None)
    choice = next((by_lower[name] for name in _CHOICES if name in by_lower), None)
    if len(names) < 2 or (choice is not None and ids is None):
        raise FormatError(
            f"the table has no column {', '.join(map(repr, _IDS))}"
            if choice
            else "the table needs a column of ids and a column for each model",
            file.path,
            1,
        )
    at = names[0] if ids is None else ids
    models = [choice] if choice is not None else [name for name in names if name not in (at, "")]
    rows = _rows_by_id(file, records, [at, *models])
    what = ("keys of this object", SOURCES) if is_object else ("rows",)
    check_known(rows, file, *what)
    numbers = {name: int(one[1]) for name in names if (one := _SCORE.fullmatch(name.lower()))}
    scored = sorted(numbers, key=lambda name: numbers[name])
    if sorted(numbers.values()) != [*range(1, len(numbers) + 1)]:
        raise file.error(f"the scores are in {first_ids(scored)}; number these columns from score1")
    places = {name: place for name, (place, _) in rows.items()}
    scores = {name: _read_scores(row, scored, place) for name, (place, row) in rows.items()}
    if choice is None and scored:
        best = {name: find_best_options(own)[0] for name, own in scores.items() if own}
        return [Answers(_make_predictions(best, scores, places), file.rows.name)]
    unlike = _find_numbers(models, rows, file)
    found: dict[str, tuple[Prediction, ...]] = dict.fromkeys(unlike, ())
    for column in [name for name in models if name not in unlike]:
        labels = {name: row.get(column) for name, (_, row) in rows.items()}
        model = file.rows.name if column == choice else column
        if graded := _read_grades(labels, file):
            found[model] = graded
            continue
        try:
            choices = read_choices(labels, file, places)
        except FormatError as error:
            if len(models) == 1:
                raise
            raise error.with_reason(
                f"the column {column!r}: {error.reason}; remove it if it is not a model's answers"
            ) from None
        marks = {str(labels[name]).strip().upper() for name in choices}
        if marks == {"C", "I"} and None in choices.values():
            unlike[model], choices = _IN_MARKS, {}
        if len(models) == 1 or not _repeats_one_option(labels, choices, file):
            found[model] = _make_predictions(choices, scores, places)
    if not found:
        raise file.error(NO_LETTER)
    return [Answers(own, name) for name, own in _drop_other_columns(found, unlike, file).items()]


def _object_records(file: AnswerFile) -> list[tuple[Place, Record]]:
    """Return the answers of a JSON object as records with an id and a choice."""
    pairs = enumerate(file.rows.first.items(), 1)
    return [(Place(file.path, n, "row"), {"id": key, "choice": one}) for n, (key, one) in pairs]


def _find_numbers(
    columns: Sequence[str], rows: Mapping[str, tuple[Place, Record]], file: AnswerFile
) -> dict[str, str]:
    """Return why columns of numbers that are not all options are no models.

    Another column, which has no key, has letters of options in nine of ten answers.
    """
    items = [problem for problem in file.dataset if problem.id in rows]
    given = {
        name: [(text, item.options) for item in items
               if not formats.is_missing(text := cell(rows[item.id][1].get(name)))]
        for name in columns
    }  # fmt: skip
    numbers = [name for name, own in given.items() if all(_NUMBER.fullmatch(one) for one, _ in own)]
    others = [given[n] for n in columns if n not in numbers and not formats.is_answer_name(n)]
    read = formats.interpret_answer
    if numbers and any(sum("letter" in read(*o) for o in own) >= 0.9 * len(own) for own in others):
        numbers = [name for name in numbers if _are_other_numbers(given[name])]
        return dict.fromkeys(numbers, "has numbers, and others have letters")
    return {}


def _are_other_numbers(given: Sequence[tuple[str, Sequence[str]]]) -> bool:
    """Return whether numbers are grades of 0 and 1, or more than a tenth are no options."""
    fits = [not {"1", "text"}.isdisjoint(formats.interpret_answer(*one)) for one in given]
    are_grades = {text.strip().removesuffix(".0") for text, _ in given} == {"0", "1"}
    return are_grades or sum(fits) < 0.9 * len(fits)


def _repeats_one_option(
    labels: Mapping[str, Any], choices: Mapping[str, int | None], file: AnswerFile
) -> bool:
    """Return whether labels are the same option's text for every item, as in a data column."""
    (option, *others) = {*choices.values()} or {None}
    if option is None or others or len(choices) < 2:
        return False
    items = file.dataset
    own = {name: items[items.row(name)].options[option] for name in choices}
    return all(str(labels[name]).strip() == text.strip() for name, text in own.items())


def _read_grades(labels: Mapping[str, Any], file: AnswerFile) -> tuple[Prediction, ...]:
    """Return predictions if all labels are grades and not option texts, or else an empty tuple."""
    given = {
        name: str(label).strip().casefold()
        for name, label in labels.items()
        if not formats.is_missing(label)
    }
    if not {*given.values()} <= _GRADES:
        return ()
    known = {problem.id: problem for problem in file.dataset if problem.answer is not None}
    found = []
    for name, grade in given.items():
        if (problem := known.get(name)) is None:
            continue
        if grade in map(str.casefold, problem.options):
            return ()
        options = tuple(
            at
            for at in range(len(problem.options))
            if (at == problem.answer) == (grade == "correct")
        )
        found.append(Prediction(name, options[0], tied=options if len(options) > 1 else ()))
    return tuple(found)


def _rows_by_id(
    file: AnswerFile, records: Sequence[tuple[Place, Record]], columns: Sequence[str]
) -> dict[str, tuple[Place, Record]]:
    """Map ids in the first column to their rows, without empty rows of unknown ids."""
    found: dict[str, tuple[Place, Record]] = {}
    known = {*file.dataset.ids}
    for place, row in records:
        name = file.match_id(row.get(columns[0]))
        name = name if name in known else name.strip()
        if name not in known and all(formats.is_missing(row.get(column)) for column in columns):
            continue
        if name in found:
            raise FormatError(
                f"the id {name!r} occurs twice; write one row per item, with a column for each "
                "model",
                *place[:3],
            )
        found[name] = place, row
    return found


def _read_scores(row: Record, columns: Sequence[str], place: Place) -> tuple[float, ...]:
    cells: list[Any] = [row.get(name) for name in columns]
    while cells and formats.is_missing(cells[-1]):
        cells.pop()
    if any(map(formats.is_missing, cells)):
        raise FormatError("a score is empty, but a later score is not", *place[:3])
    try:
        return tuple(map(float, cells))
    except (ValueError, TypeError) as error:
        raise FormatError(f"a score is not a number: {error}", *place[:3]) from None


def _make_predictions(
    choices: Mapping[str, int | None],
    scores: Mapping[str, tuple[float, ...]],
    places: Mapping[str, Place],
) -> tuple[Prediction, ...]:
    found = []
    for name, choice in choices.items():
        try:
            found.append(Prediction(name, choice, () if choice is None else scores[name]))
        except ProblemError as error:
            raise FormatError(str(error), *places[name][:3]) from None
    return tuple(found)


def _drop_other_columns(
    found: Mapping[str, tuple[Prediction, ...]], unlike: Mapping[str, str], file: AnswerFile
) -> dict[str, tuple[Prediction, ...]]:
    omitted = {
        name: unlike.get(name, "has no letter of an option")
        for name, own in found.items()
        if not any(prediction.chosen for prediction in own)
    }
    if len(omitted) == len(found):
        marks = "all answers are C or I; write correct and incorrect if they are marks"
        raise file.error(marks if _IN_MARKS in omitted.values() else NO_LETTER)
    if len(found) > len(omitted) + 1:
        omitted |= {n: "has keys" for n in found.keys() - omitted if formats.is_answer_name(n)}
    for name, why in omitted.items():
        warnings.warn(
            f"{file.path}: the column {name!r} {why}, not a model's answers; it is omitted",
            formats.ReadingNote,
            stacklevel=5,
        )
    return {name: own for name, own in found.items() if name not in omitted}
