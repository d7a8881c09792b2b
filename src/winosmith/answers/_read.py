"""Answers of any source: what a file is, and what the files of a folder are."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.answers._answers import Answers
from winosmith.answers._by_id import read_by_id
from winosmith.answers._helm import read_scenario
from winosmith.answers._inspect import read_archive, read_log
from winosmith.answers._labels import LABEL, SUBMITTED, read_list
from winosmith.answers._lm_eval import read_samples
from winosmith.answers._openai import read_events
from winosmith.answers._predictions import json_lines, predictions_of
from winosmith.answers._tables import read_table
from winosmith.data import line_records
from winosmith.dataset import Dataset
from winosmith.errors import FormatError
from winosmith.records import parsed

_LOGS = ("samples_*.jsonl", "*.eval", "scenario_state.json")
"""The files of answers in a folder."""

_SOURCES = (
    'answers are read from a table of ids and letters, a list of labels, an object such as {"q1": '
    '"A"}, predictions of winosmith solve, samples of lm-evaluation-harness, or a log of '
    "inspect_ai, HELM or OpenAI evals: of another log make a table, a row for each item with its "
    "id, and a column for each model with the letters it chose"
)


_LOOK = 20
"""Number of lines that are searched for a first good record."""


def read(
    path: str | Path | Sequence[str | Path],
    dataset: Dataset,
    columns: formats.Columns | None = None,
    filters: Collection[str] = (),
) -> dict[str, Answers]:
    """Read models' answers to the items of a data set, from any source.

    - Predictions of `winosmith solve`, by their ids.
    - Lists of labels in the order of the data set: letters, or numbers from 1.
    - Tables whose column `id`, or first column, has the items' ids; every other column has a
      model's answers, or `choice` and `score1`, `score2`, … those of one model.
    - A JSON object of one model's answers by the items' ids, `{"q1": "A"}`.
    - Samples of lm-evaluation-harness (`samples_TASK_DATE.jsonl` of `--log_samples`). The model is
      the folder's name, as the harness writes it.
    - Logs of inspect_ai (`.eval` or `.json`), scenario states of HELM (`scenario_state.json`), and
      logs of OpenAI evals (JSON Lines).

    A row of a log belongs to the item with its question and its options, in whatever order they
    are; its id only decides between copies. Rows of no item are omitted with a
    `formats.ReadingNote`, and so are files of a folder that are of another data set.

    Args:
        path: a file; a folder, for all `samples_*.jsonl`, `*.eval` and `scenario_state.json` in
            it; or several of these.
            A model's answers may be in several files, with other items in each.
        dataset: the items.
        columns: the columns of question and choices in a log's records, if their names are not
            usual ones.
        filters: names of filters, scorers or epochs, for logs that have several; by default the
            first one of a log is read.

    Returns:
        the answers by the model's name. An answer that is none of the options is a prediction
        without a choice; an item that the model was not asked has no prediction.

    Raises:
        FormatError: none of these, or of another data set; or a model answers an item in two files.
        MissingExtraError: an `.eval` log is read, and inspect_ai is not installed.
    """
    paths = [path] if isinstance(path, str | Path) else path
    found: dict[str, Answers] = {}
    for one in paths:
        for file, answers in _files(Path(one), dataset, columns, filters):
            known = found.get(answers.solver)
            found[answers.solver] = _joined(known, answers, file) if known else answers
    return found


def _joined(known: Answers, more: Answers, file: Path) -> Answers:
    """Return the answers of one model in two files."""
    twice = next((name for name in more.by_id if name in known.by_id), None)
    if twice is not None:
        raise FormatError(
            f"the model {more.solver!r} has answered {twice!r} in another file already: give one "
            "run of each model; a list has the name of its file, samples of "
            "lm-evaluation-harness that of their folder",
            file,
        )
    one, other = known.log, more.log
    log = replace(
        other,
        status=one.status or other.status,
        filter=one.filter or other.filter,
        filters=one.filters or other.filters,
        keys_differ=one.keys_differ + other.keys_differ,
        keys_compared=one.keys_compared + other.keys_compared,
        scores_differ=one.scores_differ + other.scores_differ,
        reported={},  # the harness has a number for each file
    )
    return replace(known, predictions=known.predictions + more.predictions, log=log)


def _files(
    path: Path, dataset: Dataset, columns: formats.Columns | None, filters: Collection[str]
) -> Iterator[tuple[Path, Answers]]:
    """Yield the answers of each model in each file; note the files of other data sets."""
    if not path.is_dir():
        yield from ((path, one) for one in _read_file(path, dataset, columns, filters))
        return
    files = sorted(file for pattern in _LOGS for file in path.rglob(pattern))
    unread: list[FormatError] = []
    for file in files:
        try:
            yield from [(file, one) for one in _read_file(file, dataset, columns, filters)]
        except FormatError as error:
            unread.append(error)
    if len(unread) == len(files):
        raise unread[0] if unread else FormatError(f"no logs here ({', '.join(_LOGS)})", path)
    for left in unread:
        warnings.warn(f"{left}; the file is omitted", formats.ReadingNote, stacklevel=3)


def _read_file(
    path: Path, dataset: Dataset, columns: formats.Columns | None, filters: Collection[str]
) -> list[Answers]:
    try:
        with path.open("rb") as file:
            is_archive = file.read(2) == b"PK"
    except OSError as error:
        raise FormatError(error.strerror or str(error), path) from error
    if is_archive:
        return [read_archive(path, dataset, filters)]
    source = formats.Source(path)
    first = source.start.split("\n", 1)[0].strip()
    if first.startswith("[") or LABEL.fullmatch(first) or SUBMITTED.fullmatch(first):
        return [read_list(source, dataset)]
    if not first.startswith("{"):
        return read_table(source, dataset)
    keys = _first_record(source).keys()
    if keys & {"resps", "filtered_resps"}:
        return [read_samples(path, json_lines(source), dataset, columns, filters)]
    if keys & {"spec", "final_report"} or {"sample_id", "type", "data"} <= keys:
        return [read_events(path, json_lines(source), dataset)]
    if "predictions" in keys or ("id" in keys and keys & {"choice", "scores"}) or "choice" in keys:
        return [predictions_of(path, json_lines(source))]
    return [_read_document(source, dataset, filters)]


def _first_record(source: formats.Source) -> Mapping[str, Any]:
    """Return the first of the first lines that is a JSON object; empty if there is none."""
    some = (row.values for row in islice(line_records(source), _LOOK))
    return next((values for values in some if values is not None), {})


def _read_document(source: formats.Source, dataset: Dataset, filters: Collection[str]) -> Answers:
    """Return the answers of a file that is one JSON object."""
    path = source.path
    try:
        document: Any = json.loads(source.text)  # with NaN, which is usual in logs
        if not {"eval", "configs", "request_states"} & document.keys():
            document = parsed(source.text)
    except (ValueError, RecursionError) as error:
        lines = bool(_first_record(source))
        wrong = "these are not answers" if lines else f"this is not JSON ({error})"
        raise FormatError(f"{wrong}; {_SOURCES}", path, 1 if lines else None) from None
    if {"eval", "configs"} & document.keys():
        return read_log(document, path, dataset, filters)
    if "request_states" in document:
        return read_scenario(document, path, dataset, filters)
    return read_by_id(document, path, dataset, _SOURCES)
