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
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from winosmith import formats
from winosmith.answers._answers import Answers, Log
from winosmith.answers._file import AnswerFile
from winosmith.answers._items import normalise, number_repeats, order_options
from winosmith.answers._rules import (
    NO_LETTER,
    SOURCES,
    check_ids,
    detect_kind,
    read_choices,
    refuse_unclear_numbers,
)
from winosmith.data import Delimited, Place, Record, Row, columns_to_rows, format_cell, is_missing
from winosmith.errors import FormatError, ProblemError, join_ids
from winosmith.prediction import Prediction, find_best_options
from winosmith.report import join_names

_IDS = (*formats.ID_COLUMNS, "item")
_MODELS = ("model", "modelname", "modelid", "solver", "system", "llm", "participant",
           "respondent", "annotator", "variable")  # fmt: skip
_CHOICES = ("choice", "prediction", "pred", "predicted")
_GRADED = ("correct", "is_correct", "iscorrect", "score", "grade", "acc", "accuracy", "exact_match")
_RUN_COLUMNS = ("epoch", "seed", "run", "trial", "attempt", "repeat", "index", "date",
         "confidence", "rank", "n", "count", "order", "position", "level", "difficulty", "fold",
         "retries", "tokens", "latency", "rating", "session", "block", "age", "group", "category",
         "subject", "topic", "domain", "split", "section", "form", "version")  # fmt: skip
_KEYS = ("expected", "truth", "reference", "references", "labels", "true_labels", "gold_labels",
         "golds", "targets", "y_true")  # fmt: skip
_REPLIES = ("answer", "label", "output", "response", "antwort", "réponse", "respuesta", "risposta")
_TRUTH = {"true": True, "false": False}
_GRADES = {"correct": True, "incorrect": False}
_BITS = {one + end: one == "1" for one in "10" for end in ("", ".0", ",0", ",00")}
_MARKS = _BITS | _TRUTH
_NUMBER = re.compile(r"\s*-?[0-9]+(?:[.,][0-9]+)?\s*")
_ONLY_GRADE_LETTERS = "contains only the grades C, I, P or N"
_MIN_ONE_HOT = 10
"""Minimum number of items to conclude that columns of true and false are options."""
_MAX_LISTED = 26
"""Maximum length of the lists in a cell to examine; longer ones may be tokens."""
_UNNAMED = re.compile(r"(?:__index_level_\d+__|Unnamed: \d+)?")
"""Names of columns without a name, such as an index that pandas writes."""
_SCORE = re.compile(r"score_?(\d\d?)")
_Rows = Mapping[str, tuple[Place, Record]]


def can_read(file: AnswerFile) -> bool:
    has_ids = formats.find_name(_IDS, file.rows.first) is not None
    return file.rows.kind in ("table", "delimited", "object") or has_ids


def read(file: AnswerFile) -> list[Answers]:
    """Return the answers of each model in a table.

    Columns without answers, and columns named like a key next to models' columns, are omitted with
    a note. Columns that repeat an option's text for every item are omitted without a note.
    """
    is_object = file.rows.kind == "object"
    records = file.read_records()
    names = [*dict.fromkeys(name for _, row in records for name in row)] or [*file.rows.names]
    id_name, choice_name = formats.find_name(_IDS, names), formats.find_name(_CHOICES, names)
    if len(names) < 2 or (choice_name is not None and id_name is None):
        needs = "needs an id column and a column for each model"
        lacks = f"has no column {join_ids(_IDS)}" if choice_name else needs
        raise FormatError(f"the table {lacks}", file.path, 1)
    item_ids = file.problems.keys()
    first = id_name or max(  # the column with the most items' ids
        names, key=lambda one: len(item_ids & {file.resolve_id(row.get(one)) for _, row in records})
    )
    others = [name for name in names if name != first and not _UNNAMED.fullmatch(name)]
    models = [name for name in others if name.lower() not in _RUN_COLUMNS] or others
    models = models if choice_name is None else [choice_name]
    models = (chosen := [name for name in others if name in file.filters]) or models
    rows = _map_ids_to_rows(file, records, [first, *models])
    if id_name is None and file.resolve_id(first) in item_ids:
        raise file.make_error(f"{first!r} is an item's id: add a header line, such as id,model")
    if item_ids.isdisjoint(rows) and not item_ids.isdisjoint(map(file.resolve_id, models)):
        raise file.make_error(
            "the columns are items; write one row per item and one column per model"
        )
    refuse_unclear_numbers((row.get(first) for _, row in records), file)
    check_ids(rows, file, *(("keys of this object", SOURCES) if is_object else ("rows",)))
    scores = _read_scores(names, rows, file)
    if choice_name is None and scores:
        _check_items(rows, file, [], are_scored=True)
        best = {item: find_best_options(values)[0] for item, values in scores.items() if values}
        return [Answers(_make_predictions(best, scores, rows), file.rows.name)]
    all_columns = {
        name: _Column(name, {item: row.get(name) for item, (_, row) in rows.items()}, file)
        for name in others
    }
    columns = {name: all_columns[name] for name in models}
    texts = {name for name, one in columns.items() if one.has_texts and not one.repeats_option}
    grades = [one.graded_correct for one in columns.values() if one.has_grades]
    keys = _find_key_columns(columns, texts, grades)
    reasons = _find_other_numbers(columns, keys, texts - {*keys}, grades)
    places = {item: place for item, (place, _) in rows.items()}
    found: dict[str, tuple[Prediction, ...]] = dict.fromkeys(reasons, ())
    for name, column in columns.items():
        if name in reasons or (column.repeats_option and len(models) > 1):
            continue
        try:
            found[name], reason = _read_column(column, scores, rows, places)
        except FormatError as error:
            if len(models) == 1:
                raise
            raise error.with_reason(
                f"the column {name!r}: {error.reason}; remove the column if it doesn't contain a "
                "model's answers"
            ) from None
        reasons |= {name: reason} if reason else {}
    if not found:
        raise file.make_error(NO_LETTER)
    by_model = _drop_other_columns(found, reasons, keys, file)
    if len(by_model) > 1 and (unclear := [*filter(_is_key_name, by_model)]):
        raise file.make_error(
            f"{join_ids(unclear)} may be a key or a model: name each column after its model"
        )
    answered = [columns[name] for name in by_model if not columns[name].has_grades]
    _check_items(rows, file, answered, are_scored=bool(scores))
    graded = [name for name, column in columns.items() if column.has_grades]
    if len(by_model) > 1 and {*by_model} <= {*graded}:
        _check_not_one_hot(by_model, file)
    unnamed = {choice_name, *(name for name in graded if name.lower() in _GRADED)}
    unnamed |= {name for name in by_model if len(by_model) == 1 and name.lower() in _REPLIES}
    named = [name for name in by_model if name not in unnamed]
    kinds = [f"{name!r}{' (numbers from 1)' * columns[name].has_numbers}" for name in named]
    has_numbers = any(columns[name].has_numbers for name in named)
    if named and not chosen and (file.filters or len(named) > 1 or has_numbers):
        warnings.warn(
            f"{file.path}: models' answers are read from {join_names(kinds, 20)}; if one contains "
            f"no answers, remove it, or name the columns to read, such as `filters={named[0]!r}`",
            formats.ReadingNote,
            stacklevel=3,
        )
    log = _compare_columns([all_columns[n] for n in others if n not in by_model], by_model, file)
    return [
        Answers(predictions, file.rows.name if name in unnamed else name, log=log)
        for name, predictions in by_model.items()
    ]


def _read_column(
    column: _Column,
    scores: Mapping[str, tuple[float, ...]],
    rows: _Rows,
    places: Mapping[str, Place],
) -> tuple[tuple[Prediction, ...], str]:
    """Return a column's answers, and the reason why they may not be a model's answers, or ""."""
    values = _MARKS if column.has_grades else _GRADES
    if grades := _read_grades(column.texts, column.file, values):
        return grades, "has grades" if column.has_grades else ""
    choices = read_choices(column.labels, column.readings, column.file, places)
    letters = {str(column.labels[item]).strip().upper() for item in choices}
    if {*"CI"} <= letters <= {*"CIPN"} and None in choices.values():
        return (), _ONLY_GRADE_LETTERS
    return _make_predictions(choices, scores, rows), ""


def _check_items(
    rows: _Rows, file: AnswerFile, columns: Sequence[_Column], *, are_scored: bool
) -> None:
    """Refuse rows with another item's question, or with letters or scores of permuted options.

    Nearly all rows must list the options, because other cells may equal an option. In prompts,
    options have letters; a single prompt is enough.
    """
    permuted, unlisted, in_prompts = list[str](), 0, list[str]()
    items = [item for item in rows if item in file.problems]
    names = {column.name for column in columns}
    for item in items:
        (place, row), problem = rows[item], file.problems[item]
        cells = [one for name, cell in row.items() if name not in names for one in _flatten(cell)]
        plain = {*map(normalise, cells)} - {*map(normalise, problem.options)}
        if other := file.find_other_question(plain, item):
            raise place.make_error(f"the id is {item!r}, but the question is that of {other!r}")
        labels = [one.readings.get(item, {}) for one in columns]
        if not are_scored and not any(label and "text" not in label for label in labels):
            continue
        orders = (  # in a column such as `permutation`
            [*map(int, re.findall("[0-9]{1,9}", format_cell(row[name])))]
            for name in row
            if "perm" in name.lower()
        )
        order = [*map(problem.options.index, problem.options)]  # equal options have one index
        options, count = number_repeats(problem.options), len(order)
        length = sum(map(len, options))
        prompts = [order_options(one, problem) for one in cells if len(one) > length]
        numbers = ([*range(count)], [*range(1, count + 1)])
        if any(one not in ((), problem.options) for one in prompts) or any(
            sorted(one) in numbers and one not in numbers for one in orders
        ):
            in_prompts.append(item)
        texts = (one for one in cells if len(one) < length + 10)
        readings = (formats.interpret_answer(one, options) for one in texts)
        found = [one["text"] for one in readings if "text" in one]
        listed = [found[at : at + count] for at in range(len(found) - count + 1)]
        listed = [one for one in listed if sorted(one) == sorted(order)]
        unlisted += not listed
        permuted += [item] * (bool(listed) and order not in listed)
    if names_of_permuted := in_prompts or (permuted if 10 * unlisted <= len(items) else []):
        raise file.make_error(
            f"the options of {join_ids(names_of_permuted)} are in another order than in the data; "
            "write the texts of the chosen options in place of letters, numbers or scores, or, if "
            "these refer to the order in the data, remove the columns with the other order"
        )


def _flatten(cell: Any) -> Iterator[str]:
    """Yield the texts in a cell, which may contain lists, also as they are printed."""
    if isinstance(cell, str) and cell.startswith(("[", "{")) and cell.rstrip().endswith(("]", "}")):
        with suppress(ProblemError):
            cell = formats.parse_choices(cell, "").options
    if isinstance(cell, list | tuple | Mapping):
        values = [*(cell.values() if isinstance(cell, Mapping) else cell)]
        for one in values if len(values) <= _MAX_LISTED else ():
            yield from _flatten(one)
    else:
        yield format_cell(cell)


def _compare_columns(
    columns: Sequence[_Column], by_model: Mapping[str, Sequence[Prediction]], file: AnswerFile
) -> Log:
    """Compare the first column of keys with the data, and grades with their model's answers.

    The grades of `gpt` may be named `gpt_correct`. If many rows differ, the column is refused.
    """
    answers = file.keys
    by_id = {model: {one.problem_id: one.chosen for one in own if len(one.chosen) < 2}
             for model, own in by_model.items()}  # fmt: skip
    chosen = next(iter(by_id.values())) if len(by_id) == 1 else {}
    log = Log()
    for column in columns:
        name = column.name.lower()
        # Zeros and ones that equal the key in every row (counted from 0 or 1) are keys.
        are_grades = {*column.texts.values()} <= _MARKS.keys() and not any(
            len(one) == len(column.known_readings) for one in column.correct[1:]
        )
        for model, own in by_id.items() if are_grades else ():
            rest = name.removeprefix(model.lower()).removesuffix(model.lower()).strip(" _.-")
            if rest in _GRADED and (rest != name or chosen):
                known = own.keys() & answers.keys() & column.texts.keys()
                fits = {n: (own[n] == (answers[n],)) == _MARKS[column.texts[n]]
                        for n in own if n in known}  # fmt: skip
                differ = _list_contradictions(column, fits)
                log = replace(log, scores_differ=log.scores_differ or differ) if chosen else log
        if not column.has_grades and _is_key_name(name) and not log.keys_compared:
            readings = {n: one for n, one in column.readings.items() if n in answers}
            labels, keys = [column.labels[n] for n in readings], [answers[n] for n in readings]
            kind = detect_kind(labels, [*readings.values()], [*formats.KINDS], keys).name or ""
            found = {n: one[kind] for n, one in readings.items() if kind in one}
            fits = {n: key == answers[n] for n, key in found.items()}
            is_reply = all(chosen.get(n) in ((key,), (), None) for n, key in found.items())
            are_few = column.has_numbers and 10 * len(found) < 9 * len(readings)
            are_others = (column.has_flags or are_few) and 2 * sum(fits.values()) < len(fits)
            if not are_others and not (name in _REPLIES and is_reply):
                differ = _list_contradictions(column, fits)
                log = replace(log, keys_differ=differ, keys_compared=len(found))
    return log


def _list_contradictions(column: _Column, fits: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the items whose key or grade contradicts the data, unless there are many."""
    differ = tuple(name for name, fit in fits.items() if not fit)
    if len(differ) > max(0.4 * len(fits), 7):
        raise column.file.make_error(
            f"{column.name!r} contradicts the data in {len(differ):,} of {len(fits):,} rows, so "
            "the options may be in another order than in the data; write the texts of the chosen "
            "options, or remove the column"
        )
    return differ


def _is_key_name(name: str) -> bool:
    return formats.is_answer_name(name) or name.lower() in _KEYS


def split_models(file: AnswerFile) -> dict[str, AnswerFile]:
    """Return the rows of each model in a table with a row for each model and item.

    The result is empty for other tables: tables without a model or id column, and tables with one
    row per item whose model column contains several names or the answers. If some columns named
    like keys differ between models, the others contain keys and are omitted.
    """
    names = file.rows.names
    model, ids = formats.find_name(_MODELS, names), formats.find_name(_IDS, names)
    if model is None or ids is None or len(names) < 3:
        return {}
    found: dict[str, list[tuple[Place, Record]]] = defaultdict(list)
    keys = [name for name in names if formats.is_answer_name(name)]
    first: dict[tuple[str, str], str] = {}
    differ, times, names_as_answers = set[str](), Counter[str](), 0
    for place, record in file.read_records():
        name, item = format_cell(record.get(model)).strip(), file.resolve_id(record.get(ids))
        cells = {key: format_cell(record.get(key)) for key in keys}
        differ |= {key for key in keys if first.setdefault((item, key), cells[key]) != cells[key]}
        options = file.problems[item].options if item in file.problems else ()
        names_as_answers += bool(formats.interpret_answer(name, options))
        times[item] += 1
        found[name].append((place, record))
    if len(found) > 1 and times.total() == len(times):
        return {}
    if 2 * times.total() < 3 * len(times) and 2 * names_as_answers > times.total():
        if len(found) == 1 < len(times):
            what = f"the column {model!r} has only {min(found)!r}, which may be a name or an answer"
            raise file.make_error(f"{what}; rename the column, or the model")
        return {}
    if unnamed := found.get(""):
        raise unnamed[0][0].make_error(f"the row has no {model!r}")
    omitted = {model, *keys} - differ if differ else {model}
    header = tuple(name for name in names if name not in omitted)
    for name in filter(omitted.__contains__, keys):
        cells = {item: cell for (item, key), cell in first.items() if key == name}
        _compare_columns([_Column(name, cells, file)], {"": ()}, file)  # refuses other keys

    def make_file(records: Sequence[tuple[Place, Record]]) -> AnswerFile:
        rows = [Row(place, "", {n: record[n] for n in record if n not in omitted})
                for place, record in records]  # fmt: skip
        return replace(file, rows=replace(file.rows, read=partial(iter, rows), header=header))

    return {name: make_file(records) for name, records in found.items()}


def unpack_object(file: AnswerFile) -> AnswerFile:
    """Convert a JSON object of answers (by id, by id and model, or by column) to records with ids.

    Other files are returned unchanged.
    """
    if file.rows.kind != "object":
        return file
    values = file.rows.first
    by_key = {str(key): one for key, one in values.items() if isinstance(one, Mapping)}
    columns = columns_to_rows(values) if len(values) > 1 else None
    if columns and (formats.find_name(_IDS, values) or ("" in columns[0] and not by_key)):
        rows = columns
    elif columns and len(columns) == len(file.dataset) and not by_key:
        rows = [{"id": name, **row} for name, row in zip(file.dataset.ids, columns, strict=True)]
    elif by_key and len(by_key) == len(values):
        rows = [{"id": key, **one} for key, one in by_key.items()]
        if file.problems.keys().isdisjoint(map(file.resolve_id, by_key)):
            names = dict.fromkeys(name for one in by_key.values() for name in one)
            if all(formats.find_name(_IDS, one) for one in by_key.values()):
                rows = [dict(one) for one in by_key.values()]
            else:
                rows = [{"id": n} | {key: one.get(n) for key, one in by_key.items()} for n in names]
    else:
        rows = [{"id": key, "choice": one} for key, one in values.items()]
    found = [Row(Place(file.path, number, "row"), "", row) for number, row in enumerate(rows, 1)]
    return replace(file, rows=replace(file.rows, read=partial(iter, found)))


@dataclass(frozen=True)
class _Column:
    """A column of a table, by item id. Only `labels` contains the missing labels."""

    name: str
    labels: Mapping[str, Any]
    file: AnswerFile

    @cached_property
    def readings(self) -> dict[str, dict[str, int]]:
        return self.file.interpret_labels(self.labels)

    @cached_property
    def known_readings(self) -> list[dict[str, int]]:
        return [one for item, one in self.readings.items() if item in self.file.problems]

    @cached_property
    def texts(self) -> dict[str, str]:
        present = ((item, one) for item, one in self.labels.items() if not is_missing(one))
        return {item: str(one).strip().casefold() for item, one in present}

    @cached_property
    def cells(self) -> set[str]:
        return {format_cell(self.labels[n]) for n in self.readings if n in self.file.problems}

    @cached_property
    def correct(self) -> list[set[str]]:
        """The items whose label is the key, by any kind of answer and by each kind."""
        by_kind = [
            {n for n, one in self.readings.items() if (kind, self.file.keys.get(n)) in one.items()}
            for kind in formats.KINDS
        ]
        return [set[str]().union(*by_kind), *by_kind]

    @property
    def has_grades(self) -> bool:
        """Whether all labels are true and false, or 1 and 0 in a column named like a grade."""
        values = _MARKS if self.name.lower() in _GRADED else _TRUTH
        return bool(self.texts) and {*self.texts.values()} <= values.keys()

    @property
    def graded_correct(self) -> set[str]:
        return {n for n, one in self.texts.items() if n in self.file.problems and _MARKS[one]}

    @cached_property
    def has_numbers(self) -> bool:
        return all(map(_NUMBER.fullmatch, self.cells))

    @cached_property
    def answer_rate(self) -> float:
        """The fraction of the labels that are options."""
        kinds = {"text", "1"} if self.has_numbers else {"text", *formats.LETTER_KINDS}
        number = sum(not kinds.isdisjoint(one) for one in self.known_readings)
        return number / max(1, len(self.known_readings))

    @property
    def has_texts(self) -> bool:
        """Whether most labels are letters or texts of options."""
        return self.answer_rate > 0.5 and not self.has_numbers

    @property
    def has_flags(self) -> bool:
        """Whether the labels are numbers that may be flags, or are all the same."""
        are_flags = {one.get("0") for one in self.known_readings} == {0, 1}
        return self.has_numbers and (are_flags or len(self.cells) < 2)

    @cached_property
    def repeats_option(self) -> bool:
        """Whether all labels are the text of the same option, such as the first."""
        matches = [
            {at for at, text in enumerate(self.file.problems[item].options)
             if normalise(text) == normalise(format_cell(self.labels[item]))}
            for item in self.readings if item in self.file.problems
        ]  # fmt: skip
        return len(matches) > 1 and bool(set.intersection(*matches))


def _find_key_columns(
    columns: Mapping[str, _Column], with_texts: set[str], grades: list[set[str]]
) -> list[str]:
    """Return the names of the columns with keys.

    A column named `answer` may have a model's answers only if no column except those named like
    keys has letters or texts. It has a model's answers if it fits the grades. Without grades, it
    must differ from the keys, or no column may have numbers of options from 0. A single column
    of another name that equals the keys, but not the grades, is refused. `with_texts` are the names
    of the columns with letters or texts of options; `grades` has each grade column's correct items.
    """
    keys = [*filter(_is_key_name, columns)]
    are_indexed = any(
        2 * sum("0" in one for one in column.known_readings) >= len(column.known_readings)
        for column in columns.values()
    )
    may_be_replies = [name for name in keys if name.lower() in _REPLIES and with_texts <= {*keys}]
    others = with_texts - {*keys}
    for column in [columns[n] for n in (*may_be_replies, *(others if len(others) == 1 else ()))]:
        is_key = column.name in keys
        is_correct = len(column.correct[0]) == len(column.known_readings)
        fits = any(one in grades for one in column.correct)
        if is_key and (fits if grades else not is_correct or not are_indexed):
            keys.remove(column.name)
        elif column.has_texts and is_correct and (not grades if is_key else grades and not fits):
            raise column.file.make_error(
                f"{column.name!r} matches the key in every row, so it may contain the keys or a "
                "model's answers; rename a column with a model's answers to 'prediction'"
            )
    return keys


def _find_other_numbers(
    columns: Mapping[str, _Column], keys: list[str], letters: set[str], grades: list[set[str]]
) -> dict[str, str]:
    """Return the reason for omitting each column with numbers that are not a model's answers.

    `letters` are the names of the columns with letters or texts of options, except key columns.
    """
    for column in (one for name, one in columns.items() if letters and name not in keys):
        texts = sum("text" in one for one in column.known_readings)
        numbers = sum("0" in one or "1" in one for one in column.known_readings)
        are_positions = texts < 0.9 * len(column.known_readings) <= numbers
        if column.has_numbers and are_positions and not column.has_flags:
            raise column.file.make_error(
                f"{column.name!r} has numbers, but {min(letters)!r} has letters or texts; write "
                "letters in both, or remove the column that doesn't contain a model's answers"
            )
    why = f"has numbers (other columns have {'letters' if letters else 'grades'})"
    models = {name for name in columns.keys() - {*keys} if columns[name].answer_rate > 0.5}
    graded = [name for name, one in columns.items() if one.has_grades and name.lower() in _GRADED]
    reasons = dict[str, str]()
    for name, column in columns.items():
        are_no_options = column.has_flags or (column.has_numbers and column.answer_rate < 0.9)
        is_other = are_no_options and (letters or (grades and not column.has_grades))
        options = sum(map(bool, column.known_readings))
        if is_other and not any(one in grades for one in column.correct):
            reasons[name] = why
        elif graded and name in models and column.has_numbers and not column.has_grades:
            differ = min(len(one ^ own) for one in column.correct for own in grades)
            if 4 * differ > len(column.known_readings):
                raise column.file.make_error(
                    f"the numbers in {name!r} contradict the grades in {graded[0]!r} in many rows; "
                    "remove the column that doesn't contain a model's answers"
                )
        elif models and column.has_numbers and 2 * options < len(column.known_readings):
            reasons[name] = "has numbers that are not options"
    return reasons


def _check_not_one_hot(by_model: Mapping[str, Sequence[Prediction]], file: AnswerFile) -> None:
    """Refuse grades if exactly one is true for each item, because the columns may be options."""
    times = Counter[str]()
    for column in by_model.values():
        for one in column:
            times[one.problem_id] += one.chosen == (file.problems[one.problem_id].answer,)
    if len(times) >= _MIN_ONE_HOT and {*times.values()} == {1}:
        raise file.make_error(
            f"exactly one of the columns {join_ids([*by_model])} is true in each row; if they are "
            "options, write one column with the letters of the chosen options"
        )


def _read_grades(
    texts: Mapping[str, str], file: AnswerFile, values: Mapping[str, bool]
) -> tuple[Prediction, ...]:
    """Return predictions if all labels are grades and not option texts, or else an empty tuple."""
    if not {*texts.values()} <= values.keys():
        return ()
    found = []
    for name, grade in texts.items():
        problem = file.problems.get(name)
        if problem is None or problem.answer is None:
            continue
        options = {*map(str.casefold, problem.options)}
        if grade in options or (grade in _TRUTH and options & {"yes", "no", *_TRUTH}):
            return ()
        chosen = tuple(
            at for at in range(len(problem.options)) if (at == problem.answer) == values[grade]
        )
        found.append(Prediction(name, chosen[0], tied=chosen if len(chosen) > 1 else ()))
    return tuple(found)


def _map_ids_to_rows(
    file: AnswerFile, records: Sequence[tuple[Place, Record]], columns: Sequence[str]
) -> dict[str, tuple[Place, Record]]:
    """Map the ids in the first column to their rows, except empty rows with unknown ids."""
    found: dict[str, tuple[Place, Record]] = {}
    item_ids = file.problems.keys()
    for place, row in records:
        name = file.resolve_id(row.get(columns[0]))
        name = name if name in item_ids else name.strip()
        if name not in item_ids and all(is_missing(row.get(column)) for column in columns):
            continue
        if name in found:
            raise place.make_error(
                f"the id {name!r} occurs twice, first at {found[name][0].position}; remove one "
                "row or, if the rows belong to several models, rename the column with the models' "
                "names to 'model'"
            )
        found[name] = place, row
    return found


def _read_scores(
    names: Sequence[str], rows: _Rows, file: AnswerFile
) -> dict[str, tuple[float, ...]]:
    numbers = {name: int(match[1]) for name in names if (match := _SCORE.fullmatch(name.lower()))}
    columns = sorted(numbers, key=lambda name: numbers[name])
    if sorted(numbers.values()) != [*range(1, len(numbers) + 1)]:
        raise file.make_error(f"the score columns are {join_ids(columns)}; number them from score1")
    source = file.rows.source if file.rows.kind == "delimited" else None
    point = "." if source and columns and Delimited(source).separator != "," else ","
    found = {}
    for item, (place, row) in rows.items() if columns else ():
        cells: list[Any] = [row.get(name) for name in columns]
        while cells and is_missing(cells[-1]):
            cells.pop()
        if any(map(is_missing, cells)):
            raise place.make_error("a score is empty, but a later score is not")
        texts = (one.replace(",", point) if isinstance(one, str) else one for one in cells)
        try:
            found[item] = tuple(map(float, texts))
        except (ValueError, TypeError) as error:
            raise place.make_error(f"a score is not a number: {error}") from None
    return found


def _make_predictions(
    choices: Mapping[str, int | None], scores: Mapping[str, tuple[float, ...]], rows: _Rows
) -> tuple[Prediction, ...]:
    found = []
    for name, choice in choices.items():
        try:
            found.append(Prediction(name, choice, () if choice is None else scores.get(name, ())))
        except ProblemError as error:
            raise rows[name][0].make_error(str(error)) from None
    return tuple(found)


def _drop_other_columns(
    predictions: Mapping[str, tuple[Prediction, ...]],
    reasons: Mapping[str, str],
    keys: Collection[str],
    file: AnswerFile,
) -> dict[str, tuple[Prediction, ...]]:
    """Return the columns of models' answers, and warn about each omitted column."""
    omitted = {
        name: reasons.get(name, "contains no option's letter")
        for name, column in predictions.items()
        if not any(prediction.chosen for prediction in column)
    }
    keys = [name for name in predictions if name in keys and name not in {*omitted, *reasons}]
    if len(predictions) > len(omitted) + len(keys):
        omitted |= dict.fromkeys(keys, "has keys")
        omitted |= reasons if predictions.keys() - omitted - reasons.keys() else {}
    elif _ONLY_GRADE_LETTERS in omitted.values():
        raise file.make_error(
            "all answers are C or I; write correct and incorrect if they are grades"
        )
    elif not keys:
        raise file.make_error(NO_LETTER)
    elif len(keys) > 1 or (
        omitted and keys[0].lower() not in _REPLIES and {*file.dataset.answers} - {None}
    ):
        unclear = "are names of key columns" if len(keys) > 1 else "is the name of a key column"
        raise file.make_error(f"{join_ids(keys)} {unclear}: name each column after its model")
    for name, why in omitted.items():
        warnings.warn(
            f"{file.path}: the column {name!r} {why}, not a model's answers; it is omitted",
            formats.ReadingNote,
            stacklevel=5,
        )
    return {name: column for name, column in predictions.items() if name not in omitted}
