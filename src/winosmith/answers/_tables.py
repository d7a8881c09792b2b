"""Tables of answers, with a row for each item's id and a column for each model.

A table with a column named `choice` or `prediction` has the answers of one model, with the options'
scores in `score1`, `score2`, … Without such a column, the option with the best score is chosen. A
table with a column named `model` has a row for each model and item. A cell is a letter, a number
from 1 or an option's text. An empty cell, NaN or NA means that the model was not asked; any other
cell is an invalid answer. If all cells in a column are `correct` or `incorrect` (true or false, and
1 or 0 in a column named `correct`), an incorrect answer is a tie of all options except the key. A
column without a name, such as an index of pandas, is omitted. Records with an id, in any container,
are a table, and so is a JSON object of one model's answers by id: `{"q1": "A", "q2": 2}`.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from winosmith import formats
from winosmith.answers._answers import Answers, Log
from winosmith.answers._file import AnswerFile
from winosmith.answers._rules import LETTERS, NO_LETTER, SOURCES, check_ids, read_choices
from winosmith.data import Delimited, Place, Record, Row, cell, columns_to_rows, is_missing
from winosmith.errors import FormatError, ProblemError, first_ids
from winosmith.prediction import Prediction, find_best_options

_IDS = (*formats.ID_COLUMNS, "item")
_MODELS = ("model", "modelname", "modelid", "solver", "system", "llm", "participant",
           "respondent", "annotator", "variable")  # fmt: skip
_CHOICES = ("choice", "prediction", "pred", "predicted")
_GRADED = ("correct", "is_correct", "iscorrect", "score", "grade", "acc", "accuracy", "exact_match")
_RUNS = ("epoch", "seed", "run", "trial", "attempt", "repeat", "index", "date",
         "confidence", "rank", "n", "count", "order", "position")  # fmt: skip
_KEYS = ("expected", "truth", "reference", "labels", "y_true")
_REPLIES = ("answer", "label", "output", "response", "antwort", "réponse", "respuesta", "risposta")
_TRUTH = {"true": True, "false": False}
_GRADES = {"correct": True, "incorrect": False}
_BITS = {one + end: one == "1" for one in "10" for end in ("", ".0", ",0")}
_NUMBER = re.compile(r"\s*-?[0-9]+(?:[.,][0-9]+)?\s*")
_IN_MARKS = "contains only the grades C, I, P or N"
_SCORE = re.compile(r"score_?(\d\d?)")
_Rows = Mapping[str, tuple[Place, Record]]
_Columns = Mapping[str, Mapping[str, Any]]


def can_read(file: AnswerFile) -> bool:
    """Return whether a file is a table, a JSON object, or records with ids."""
    has_ids = formats.find_name(_IDS, file.rows.first) is not None
    return file.rows.kind in ("table", "delimited", "object") or has_ids


def read(file: AnswerFile) -> list[Answers]:
    """Return the answers of each model in a table.

    Columns without answers, and columns named like a key next to models' columns, are omitted with
    a note. Columns that repeat an option's text for every item are omitted without a note.
    """
    is_object = file.rows.kind == "object"
    records = file.records()
    names = [*dict.fromkeys(name for _, row in records for name in row)] or [*file.rows.names]
    ids, choice = formats.find_name(_IDS, names), formats.find_name(_CHOICES, names)
    if len(names) < 2 or (choice is not None and ids is None):
        needs = "needs an id column and a column for each model"
        lacks = f"has no column {first_ids(_IDS)}" if choice else needs
        raise FormatError(f"the table {lacks}", file.path, 1)
    at = names[0] if ids is None else ids
    others = [name for name in names if name not in (at, "")]
    models = [name for name in others if name.lower() not in _RUNS] or others
    models = models if choice is None else [choice]
    rows = _map_ids_to_rows(file, records, [at, *models])
    known = {*file.dataset.ids}
    if ids is None and file.resolve_id(at) in known:
        raise file.error(f"{at!r} is an item's id: add a header line, such as id,model")
    if known.isdisjoint(rows) and not known.isdisjoint(map(file.resolve_id, models)):
        raise file.error("the columns are items; write one row per item and one column per model")
    check_ids(rows, file, *(("keys of this object", SOURCES) if is_object else ("rows",)))
    scores = _read_scores(names, rows, file)
    if choice is None and scores:
        best = {name: find_best_options(own)[0] for name, own in scores.items() if own}
        return [Answers(_make_predictions(best, scores, rows), file.rows.name)]
    columns = {name: {item: row.get(name) for item, (_, row) in rows.items()} for name in models}
    graded = [name for name in models if _has_only_grades(name, columns[name])]
    keys, unlike, repeated = _classify_columns(columns, graded, file)
    places = {item: place for item, (place, _) in rows.items()}
    found: dict[str, tuple[Prediction, ...]] = dict.fromkeys(unlike, ())
    for name in [n for n in models if n not in unlike and (n not in repeated or len(models) == 1)]:
        labels = columns[name]
        if grades := _read_grades(labels, file, _BITS | _TRUTH if name in graded else _GRADES):
            found[name] = grades
            unlike |= {name: "has grades"} if name in graded else {}
            continue
        try:
            choices = read_choices(labels, file, places)
        except FormatError as error:
            if len(models) == 1:
                raise
            raise error.with_reason(
                f"the column {name!r}: {error.reason}; remove it if it is not a model's answers"
            ) from None
        marks = {str(labels[item]).strip().upper() for item in choices}
        if {*"CI"} <= marks <= {*"CIPN"} and None in choices.values():
            unlike[name], choices = _IN_MARKS, {}
        found[name] = _make_predictions(choices, scores, rows)
    if not found:
        raise file.error(NO_LETTER)
    kept = _drop_other_columns(found, unlike, keys, file)
    unnamed = {choice, *(name for name in graded if name.lower() in _GRADED)}
    unnamed |= {name for name in kept if len(kept) == 1 and name.lower() in _REPLIES}
    key = next((name for name in keys if name in found.keys() - kept), None)
    log = _compare_keys(found[key], file) if key else Log()
    return [
        Answers(own, file.rows.name if name in unnamed else name, log=log)
        for name, own in kept.items()
    ]


def _compare_keys(column: Sequence[Prediction], file: AnswerFile) -> Log:
    keys = {problem.id: problem.answer for problem in file.dataset if problem.answer is not None}
    compared = [one for one in column if one.problem_id in keys and one.chosen]
    differ = [one.problem_id for one in compared if one.choice != keys[one.problem_id]]
    return Log(keys_differ=tuple(differ), keys_compared=len(compared))


def split_models(file: AnswerFile) -> dict[str, AnswerFile]:
    """Return the rows of each model in a table with a row for each model and item.

    The result is empty for other tables: without a model or id column, or with one row per item and
    several names or the answers in the model column. If some columns named like keys differ between
    models, the others contain keys and are omitted.
    """
    names = file.rows.names
    model, ids = formats.find_name(_MODELS, names), formats.find_name(_IDS, names)
    if model is None or ids is None or len(names) < 3:
        return {}
    found: dict[str, list[tuple[Place, Record]]] = defaultdict(list)
    options = {problem.id: problem.options for problem in file.dataset}
    keys = [name for name in names if formats.is_answer_name(name)]
    first: dict[tuple[str, str], str] = {}
    differ, times, as_options = set[str](), Counter[str](), 0
    for place, record in file.records():
        name, item = cell(record.get(model)).strip(), file.resolve_id(record.get(ids))
        said = {key: cell(record.get(key)) for key in keys}
        differ |= {key for key in keys if first.setdefault((item, key), said[key]) != said[key]}
        as_options += bool(formats.interpret_answer(name, options.get(item, ())))
        times[item] += 1
        found[name].append((place, record))
    several = len(found) > 1 and times.total() == len(times)
    few = 2 * times.total() < 3 * len(times)
    if several or (few and 2 * as_options > times.total()):
        return {}
    if unnamed := found.get(""):
        raise file.error(f"the row has no {model!r}", unnamed[0][0])
    omitted = {model, *keys} - differ if differ else {model}
    header = tuple(name for name in names if name not in omitted)

    def choose(own: Sequence[tuple[Place, Record]]) -> AnswerFile:
        rows = [Row(place, "", {n: record[n] for n in record if n not in omitted})
                for place, record in own]  # fmt: skip
        return replace(file, rows=replace(file.rows, read=partial(iter, rows), header=header))

    return {name: choose(own) for name, own in found.items()}


def unpack_object(file: AnswerFile) -> AnswerFile:
    """Convert a JSON object of answers by id, by id and model, or by column to records with ids.

    Other files are returned unchanged.
    """
    if file.rows.kind != "object":
        return file
    given, known = file.rows.first, {*file.dataset.ids}
    by_key = {str(key): one for key, one in given.items() if isinstance(one, Mapping)}
    columns = columns_to_rows(given) if len(given) > 1 else None
    if columns and formats.find_name(_IDS, given):
        rows = columns
    elif columns and len(columns) == len(known) and not by_key:
        rows = [{"id": name, **row} for name, row in zip(file.dataset.ids, columns, strict=True)]
    elif by_key and len(by_key) == len(given):
        rows = [{"id": key, **one} for key, one in by_key.items()]
        if known.isdisjoint(map(file.resolve_id, by_key)):
            names = dict.fromkeys(name for one in by_key.values() for name in one)
            rows = [
                {"id": name} | {key: one.get(name) for key, one in by_key.items()} for name in names
            ]
    else:
        rows = [{"id": key, "choice": one} for key, one in given.items()]
    found = [Row(Place(file.path, number, "row"), "", row) for number, row in enumerate(rows, 1)]
    return replace(file, rows=replace(file.rows, read=partial(iter, found)))


def _classify_columns(
    columns: _Columns, graded: Sequence[str], file: AnswerFile
) -> tuple[list[str], dict[str, str], set[str]]:
    """Return the columns with keys, those of numbers with the reason, and those with one option.

    A column named `answer` has a model's answers if it fits the grades or, without grades, differs
    from the keys or is next to other numbers, and if no other column has letters or texts.
    """
    items, interpret = {one.id: one for one in file.dataset}, formats.interpret_answer
    fits: dict[str, dict[str, dict[str, int]]] = {}
    texts, unlike, true = set[str](), list[str](), list[set[str]]()
    for name, labels in columns.items():
        given = {n: cell(one) for n, one in labels.items() if n in items and not is_missing(one)}
        fits[name] = {n: interpret(one, items[n].options) for n, one in given.items()}
        are_numbers = all(map(_NUMBER.fullmatch, given.values()))
        kinds = {"text", *(("1",) if are_numbers else LETTERS)}
        read = [one for one in fits[name].values() if not kinds.isdisjoint(one)]
        are_bits = {one.get("0") for one in fits[name].values()} == {0, 1}
        if are_numbers and (are_bits or len(read) < 0.9 * len(given)):
            unlike.append(name)
        elif not are_numbers and len(read) >= 0.9 * len(given):
            texts.add(name)
        if name in graded:
            true.append({n for n in given if (_BITS | _TRUTH).get(given[n].strip().casefold())})
    said = {n: [one.get("text") for one in own.values()] for n, own in fits.items()}
    same = {n for n, own in said.items() if own[1:] and own[0] is not None and len({*own}) == 1}
    keys = [n for n in columns if formats.is_answer_name(n) or n.lower() in _KEYS]
    indexed = any(2 * sum("0" in one for one in own.values()) >= len(own) for own in fits.values())
    for name in [n for n in keys if n.lower() in _REPLIES and texts - same <= {*keys}]:
        right = {item for item, one in fits[name].items() if items[item].answer in one.values()}
        if right in true if graded else len(right) < len(fits[name]) or not indexed:
            keys.remove(name)
        elif name in texts and not graded:
            raise file.error(
                f"{name!r} may have a model's answers or the keys of other columns with numbers; "
                "name the column with the answers 'prediction'"
            )
    lettered = texts - {*keys} - same
    left = [n for n in unlike if lettered or (graded and n not in graded)]
    why = f"has numbers (other columns have {'letters' if lettered else 'grades'})"
    return keys, dict.fromkeys(left, why), same


def _has_only_grades(column: str, labels: Mapping[str, Any]) -> bool:
    """Return whether a column has only true and false, or 1 and 0 if it is named like a grade."""
    given = {str(one).strip().casefold() for one in labels.values() if not is_missing(one)}
    return bool(given) and given <= {*_TRUTH, *(_BITS if column.lower() in _GRADED else ())}


def _read_grades(
    labels: Mapping[str, Any], file: AnswerFile, values: Mapping[str, bool]
) -> tuple[Prediction, ...]:
    """Return predictions if all labels are grades and not option texts, or else an empty tuple."""
    given = {
        name: str(one).strip().casefold() for name, one in labels.items() if not is_missing(one)
    }
    if not {*given.values()} <= values.keys():
        return ()
    known = {problem.id: problem for problem in file.dataset if problem.answer is not None}
    found = []
    for name, grade in given.items():
        if (problem := known.get(name)) is None:
            continue
        texts = {*map(str.casefold, problem.options)}
        if grade in texts or (grade in _TRUTH and texts & {"yes", "no", *_TRUTH}):
            return ()
        options = tuple(
            at for at in range(len(problem.options)) if (at == problem.answer) == values[grade]
        )
        found.append(Prediction(name, options[0], tied=options if len(options) > 1 else ()))
    return tuple(found)


def _map_ids_to_rows(
    file: AnswerFile, records: Sequence[tuple[Place, Record]], columns: Sequence[str]
) -> dict[str, tuple[Place, Record]]:
    """Map ids in the first column to their rows, without empty rows of unknown ids."""
    found: dict[str, tuple[Place, Record]] = {}
    known = {*file.dataset.ids}
    for place, row in records:
        name = file.resolve_id(row.get(columns[0]))
        name = name if name in known else name.strip()
        if name not in known and all(is_missing(row.get(column)) for column in columns):
            continue
        if name in found:
            raise file.error(
                f"the id {name!r} occurs twice, first at {found[name][0].inside}; remove one row, "
                "or name the column of models 'model' if the rows are of several models",
                place,
            )
        found[name] = place, row
    return found


def _read_scores(
    names: Sequence[str], rows: _Rows, file: AnswerFile
) -> dict[str, tuple[float, ...]]:
    """Return the scores of each row, or nothing if the table has no score columns."""
    numbers = {name: int(one[1]) for name in names if (one := _SCORE.fullmatch(name.lower()))}
    columns = sorted(numbers, key=lambda name: numbers[name])
    if sorted(numbers.values()) != [*range(1, len(numbers) + 1)]:
        raise file.error(f"the score columns are {first_ids(columns)}; number them from score1")
    source = file.rows.source if file.rows.kind == "delimited" else None
    point = "." if source and columns and Delimited(source).separator != "," else ","
    found = {}
    for item, (place, row) in rows.items() if columns else ():
        cells: list[Any] = [row.get(name) for name in columns]
        while cells and is_missing(cells[-1]):
            cells.pop()
        if any(map(is_missing, cells)):
            raise file.error("a score is empty, but a later score is not", place)
        texts = (one.replace(",", point) if isinstance(one, str) else one for one in cells)
        try:
            found[item] = tuple(map(float, texts))
        except (ValueError, TypeError) as error:
            raise file.error(f"a score is not a number: {error}", place) from None
    return found


def _make_predictions(
    choices: Mapping[str, int | None], scores: Mapping[str, tuple[float, ...]], rows: _Rows
) -> tuple[Prediction, ...]:
    found = []
    for name, choice in choices.items():
        own = () if choice is None else scores.get(name, ())
        try:
            found.append(Prediction(name, choice, own))
        except ProblemError as error:
            raise FormatError(str(error), *rows[name][0][:3]) from None
    return tuple(found)


def _drop_other_columns(
    predictions: Mapping[str, tuple[Prediction, ...]],
    reasons: Mapping[str, str],
    keys: Collection[str],
    file: AnswerFile,
) -> dict[str, tuple[Prediction, ...]]:
    omitted = {
        name: reasons.get(name, "contains no option's letter")
        for name, own in predictions.items()
        if not any(prediction.chosen for prediction in own)
    }
    keys = [name for name in predictions if name in keys and name not in {*omitted, *reasons}]
    if len(predictions) > len(omitted) + len(keys):
        omitted |= dict.fromkeys(keys, "has keys")
        omitted |= reasons if predictions.keys() - omitted - reasons.keys() else {}
    elif _IN_MARKS in omitted.values():
        raise file.error("all answers are C or I; write correct and incorrect if they are grades")
    elif len(keys) != 1:
        several = f"{first_ids(keys)} are names of key columns: name each column after its model"
        raise file.error(several if keys else NO_LETTER)
    for name, why in omitted.items():
        warnings.warn(
            f"{file.path}: the column {name!r} {why}, not a model's answers; it is omitted",
            formats.ReadingNote,
            stacklevel=5,
        )
    return {name: own for name, own in predictions.items() if name not in omitted}
