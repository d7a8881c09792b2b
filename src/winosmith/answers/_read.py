"""Read answers from any source: a file, a folder, or a table in memory."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from winosmith import data, formats
from winosmith.answers import (
    _eee,
    _helm,
    _inspect,
    _labels,
    _lm_eval,
    _openai,
    _predictions,
    _tables,
)
from winosmith.answers._answers import Answers
from winosmith.answers._file import AnswerFile, accept_infinity
from winosmith.answers._rules import SOURCES
from winosmith.dataset import Dataset
from winosmith.errors import FormatError
from winosmith.records import dump_json

_LOGS = ("samples_*.jsonl*", "*.eval", "scenario_state.json")
"""Name patterns of files to read from a folder."""

_SOURCES = (_labels, _helm, _lm_eval, _openai, _eee, _predictions, _tables)
"""Kinds of sources; a kind precedes others whose `can_read` would also accept its files."""


def read(
    path: Any,
    dataset: Dataset | formats.Readable,
    columns: formats.Columns | None = None,
    filters: str | Collection[str] = (),
    encoding: str | None = None,
    omitted: Collection[int] = (),
) -> dict[str, Answers]:
    """Read models' answers to the items of a data set, from any source.

    These sources can be read:

    - predictions of `winosmith solve`
    - lists of labels in the order of the data set
    - tables of ids and labels, or an object of labels by id
    - samples of lm-evaluation-harness
    - logs of inspect_ai (`.eval` or `.json`), HELM (`scenario_state.json`) and OpenAI evals
    - instance records of Every Eval Ever

    A row of a log belongs to the item with the same question and options, in any order. The row's
    id is used only to choose between copies. Rows without an item, and files about a different data
    set, are skipped with a `formats.ReadingNote`.

    Args:
        path: a file, a folder, a list of these, or a table in memory, such as a DataFrame. In a
            folder, all `samples_*.jsonl`, `*.eval` and `scenario_state.json` are read. A model's
            answers may be spread over several files with different items.
        dataset: the items, as a data set or any input of `formats.read`.
        columns: the columns of question and choices in a log's records, if their names are
            unusual.
        filters: names of the filters, scorers or epochs to read; by default the first name in each
            log. For a table, names of the columns to read; by default all columns with answers.
        encoding: encoding of files that are not UTF-8; None to detect it.
        omitted: the 0-based positions of records that were omitted from the data
            (`formats.Contents.omitted`). The same number of answers to unknown ids may be omitted,
            and a list may have labels for these records.

    Returns:
        The answers by model name. A solver of `winosmith solve` is named after its file. An answer
        that matches no option becomes a prediction without a choice. Items that the model was not
        asked have no prediction.

    Raises:
        FormatError: the source is of an unknown kind or about a different data set, a model answers
            an item in two files, or different filters are used for logs with the same filters.
        MissingExtraError: an `.eval` log is read, but zipfile-zstd is not installed.
    """
    dataset = formats.as_dataset(dataset)
    chosen = (filters,) if isinstance(filters, str) else tuple(filters)
    is_list = isinstance(path, list | tuple) and (not path or not data.is_table(path))
    found: dict[str, Answers] = {}

    def open_file(path: data.Readable) -> AnswerFile:
        if isinstance(path, dict) and _is_object(plain := data.to_plain(path)):
            path = data.Source("<dict>", json.dumps(plain).encode())
        rows = data.read(path, encoding=encoding)
        for note in rows.notes:
            warnings.warn(f"{rows.path}: {note}", formats.ReadingNote, stacklevel=5)
        return AnswerFile(accept_infinity(rows), dataset, columns, chosen, {*omitted})

    for source in path if is_list else [path]:
        for file, answers in _read_files(source, open_file):
            earlier = found.get(answers.solver)
            found[answers.solver] = _merge_answers(earlier, answers, file) if earlier else answers
    check_same_filters(found.values())
    item_ids = {*dataset.ids}
    for name, own in found.items() if omitted else ():
        known = tuple(one for one in own.predictions if one.problem_id in item_ids)
        if known and 0 < len(own.predictions) - len(known) <= len(omitted):
            found[name] = replace(own, predictions=known, data=None)
    return found


def _is_object(values: Mapping[str, Any]) -> bool:
    """Return whether a mapping is from ids to answers, or from names to such mappings."""
    inner = [value for one in values.values() if isinstance(one, dict) for value in one.values()]
    return all(
        isinstance(one, str | int | float | dict | None) for one in [*values.values(), *inner]
    )


def check_same_filters(answers: Iterable[Answers]) -> None:
    """Check that no log was read with a filter that was available, but not used, in another log.

    Raises:
        FormatError: two logs were read with different filters.
    """
    for first, other in combinations([one for one in answers if one.log.used], 2):
        one, two = ({*own.log.used} for own in (first, other))
        if (one - two) & {*other.log.filters} or (two - one) & {*first.log.filters}:
            used, other_used = (", ".join(sorted(names)) for names in (one - two, two - one))
            raise FormatError(
                f"{first.solver!r} uses the filter {used!r}, but {other.solver!r} uses "
                f"{other_used!r}; choose one filter with `filters=`"
            )


def _merge_answers(first: Answers, second: Answers, path: str) -> Answers:
    repeated = next((name for name in second.by_id if name in first.by_id), None)
    if repeated is not None:
        raise FormatError(
            f"the model {second.solver!r} has already answered {repeated!r} in another file; pass "
            "only one run per model. A model is named after its list file, or after the folder of "
            "its lm-evaluation-harness samples",
            path,
        )
    check_same_filters([first, second])
    log, other = first.log, second.log
    log = replace(
        other,
        status=log.status or other.status,
        filter=log.filter or other.filter,
        filters=log.filters or other.filters,
        used=tuple(dict.fromkeys(log.used + other.used)),
        keys_differ=log.keys_differ + other.keys_differ,
        keys_compared=log.keys_compared + other.keys_compared,
        scores_differ=log.scores_differ + other.scores_differ,
        reported={},  # the harness reports accuracies per file
    )
    return replace(first, predictions=first.predictions + second.predictions, log=log)


def _read_files(
    path: Any, open_file: Callable[[data.Readable], AnswerFile]
) -> Iterator[tuple[str, Answers]]:
    """Yield each model's answers in each file, and warn about files for other data sets."""
    if not isinstance(path, str | Path) or not Path(path).is_dir():
        name = str(path) if isinstance(path, str | Path) else data.get_table_name(path)
        yield from ((name, one) for one in _read_file(open_file(path)))
        return
    files = sorted(file for pattern in _LOGS for file in Path(path).rglob(pattern))
    if not files:
        raise FormatError(f"the folder contains no logs ({', '.join(_LOGS)})", path)
    faults: list[FormatError] = []
    for file in files:
        try:
            yield from [(str(file), one) for one in _read_file(open_file(file))]
        except FormatError as error:
            faults.append(error)
    if len(faults) == len(files):
        raise faults[0]
    for fault in faults:
        warnings.warn(f"{fault}; the file is omitted", formats.ReadingNote, stacklevel=3)


def _read_file(container: AnswerFile) -> list[Answers]:
    if _inspect.can_read(container):
        return _inspect.read(container)
    found = []
    for part in container.rows.parts or (container.rows,):
        file = replace(container, rows=part)
        source = next((one for one in _SOURCES if one.can_read(file)), None)
        if source is _tables and (inner := _extract_answers(file)):
            name = part.first.get("model")
            found += [replace(one, solver=str(name or one.solver)) for one in _read_file(inner)]
            continue
        table = _tables.unpack_object(file) if source in (_predictions, _tables) else file
        if source in (_predictions, _tables, None) and (by_model := _read_long_table(table)):
            found += by_model
            continue
        if source is None:
            if file.rows.first:
                raise FormatError(f"these are not answers; {SOURCES}", file.path, 1)
            if (row := next(iter(file.rows), None)) and row.reason:
                raise file.make_error(f"no row can be read; in the first, {row.reason}", row.place)
            raise file.make_error(SOURCES)
        for one in source.read(table if source is _tables else file):
            if one.data:  # `winosmith solve` writes a solver's kind; the file's name is unique
                parameters = {"solver": one.solver, **one.parameters}
                one = replace(one, solver=part.name, parameters=parameters)
            found.append(one)
    return found


def _extract_answers(file: AnswerFile) -> AnswerFile | None:
    """Return the answers in an object that also describes the run, or None for other files."""
    if file.rows.kind != "object":
        return None
    values, ids = file.rows.first.values(), file.problems.keys()
    objects = [value for value in values if isinstance(value, Mapping)]
    candidates: list[Any] = [value for value in values if isinstance(value, list) and value]
    candidates += [one for one in objects if not ids.isdisjoint(map(file.resolve_id, one))]
    if len(candidates) != 1 or len(objects) == len(values):
        return None
    text = dump_json(candidates[0])  # a file of its own, in any form that `read` accepts
    return replace(file, rows=data.read(data.Source(file.path, text.encode())))


def _read_long_table(file: AnswerFile) -> list[Answers]:
    """Return the answers in a table with a row per model and item, or none for other tables."""
    found = []
    models = _tables.split_models(file)
    for model, model_file in models.items():
        source = _predictions if _predictions.can_read(model_file) else _tables
        try:
            answers = source.read(model_file)
            if len(answers) > 1 and len(models) == 1:
                return []
            if len(answers) > 1:
                columns = ", ".join(repr(one.solver) for one in answers)
                raise file.make_error(
                    f"its answers may be in {columns}; name one column 'prediction'"
                )
        except FormatError as error:
            raise error.with_reason(f"the model {model!r}: {error.reason}") from None
        found.append(replace(answers[0], solver=model))
    return found
