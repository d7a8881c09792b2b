"""What commands measure: data with answers, predictions, and what solvers were trained on."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from winosmith import data, formats
from winosmith.answers import Prediction
from winosmith.cli._options import FILE, named_columns, read_data
from winosmith.cli._printing import say
from winosmith.data import Delimited
from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError, InputError, OtherDataError, ProblemError
from winosmith.formats import Predictions
from winosmith.metrics import Graded, Overlap, clusters, grade

_IDS = ("id", "problem_id", "qid", "sentid")
_CHOICES = ("choice", "prediction")


def predictions_argument(function: Any) -> Any:
    """Add the argument PREDICTIONS: one file a solver."""
    return click.argument(
        "predictions",
        nargs=-1,
        required=True,
        metavar="PREDICTIONS...",
        type=FILE,
    )(function)


def partial_option(function: Any) -> Any:
    """Add `--partial`."""
    return click.option(
        "--partial", is_flag=True, help="Leave out problems that have no prediction."
    )(function)


def labels_option(function: Any) -> Any:
    """Add `--labels FILE`."""
    return click.option(
        "--labels",
        type=FILE,
        metavar="FILE",
        help="The answers, for data without them: one label a line, from 1.",
    )(function)


def answered(path: str, format_name: str | None, labels: str | None = None) -> Dataset:
    """Return the problems of a file, with the answers of the labels file if there is one.

    Raises:
        FormatError: the labels are not as many as the problems.
    """
    dataset = read_data(path, format_name)
    if labels is None:
        return dataset
    answers = formats.read_labels(labels)
    if len(answers) != len(dataset):
        raise FormatError(
            f"there are {len(answers):,} labels; {path} has {len(dataset):,} problems, and each "
            "needs its own in the same order",
            labels,
        )
    return Dataset(
        (replace(problem, answer=a) for problem, a in zip(dataset, answers, strict=True)),
        dataset.name,
    )


def graded(
    dataset: Dataset, paths: Sequence[str], partial: bool | None = None
) -> dict[str, Graded]:
    """Return what each file of predictions is worth, by the solver's name.

    A file may hold several. Files of one solver are told apart by their own names. With `partial`,
    problems without a prediction are left out, and so are predictions without a problem; how many
    is told. None is for what has no `--partial`.

    Raises:
        FormatError: a file that can't be read.
        DataError: predictions that don't fit the data set.
    """
    try:
        read = [(Path(path), one) for path in paths for one in _read(Path(path), dataset, partial)]
    except OtherDataError as error:
        if partial is None or not error.common:
            raise
        raise DataError(f"{error} If not, `partial=True` measures what is in both.") from None
    files, names = [path for path, _ in read], [predictions.solver for _, predictions in read]
    found: dict[str, Graded] = {}
    shared = None if partial else clusters(dataset)
    for path, predictions in read:
        model = "" if files.count(path) == 1 else f": {predictions.solver}"
        once = names.count(predictions.solver) == 1
        name = predictions.solver if once else f"{path.stem}{model}"
        name = name if name not in found else f"{path}{model}"
        asked = dataset
        if partial:
            asked, predictions = _shared(dataset, predictions, path)
        if predictions.data not in (None, asked.blind().digest) and not partial:
            say(f"{path} was made for data of another digest; the ids fit, but do the sentences?")
        found[name] = grade(asked, predictions.predictions, shared, predictions.parameters)
    return found


def _shared(dataset: Dataset, predictions: Predictions, path: Path) -> tuple[Dataset, Predictions]:
    there = {prediction.problem_id for prediction in predictions.predictions}
    rows = [row for row, problem in enumerate(dataset) if problem.id in there]
    if not rows:
        raise DataError(f"{path}: none of its predictions is for a problem of the data set")
    asked = dataset.select(rows)
    asked_for = set(asked.ids)
    kept = tuple(p for p in predictions.predictions if p.problem_id in asked_for)
    left_out, unknown = len(dataset) - len(rows), len(predictions.predictions) - len(kept)
    if left_out or unknown:
        say(
            f"{path}: {left_out:,} of {len(dataset):,} problems have no prediction and are left "
            f"out; {unknown:,} predictions have no problem"
        )
    return asked, replace(predictions, predictions=kept)


def _read(path: Path, dataset: Dataset, partial: bool | None) -> list[Predictions]:
    """Return what each solver of a file predicts: checked to be complete, or not with `partial`."""
    source = None if path.suffix == ".eval" else formats.Source(path)
    if source and not _of_models(source):
        columns = [cell.lower() for cell in Delimited(source).header]
        if source.start.startswith("{") or not set(columns) & set(_CHOICES):
            return [formats.read_predictions(path, None if partial else dataset)]
        found = [Predictions(tuple(_of_table(source, columns)), path.stem)]
    else:
        from winosmith.audit import read_answers

        found = [
            Predictions(tuple(Prediction(i, c) for i, c in chosen.items() if c is not None), model)
            for model, chosen in read_answers(path, dataset, named_columns()).items()
        ]
        if path.suffix == ".csv" and len(found) == 1:
            found = [replace(found[0], solver=path.stem)]
    return found if partial else [predictions.of(dataset) for predictions in found]


def _of_models(source: formats.Source) -> bool:
    """Tell whether a file is a table with a column a model, or another harness's samples."""
    if source.start.startswith("{"):
        return not {"resps", "filtered_resps"}.isdisjoint(data.read(source).names)
    names = [cell.lower() for cell in Delimited(source).header]
    return len(names) > 1 and names[0] in _IDS and not set(names) & set(_CHOICES)


def _of_table(source: formats.Source, columns: Sequence[str]) -> Iterator[Prediction]:
    """Yield the predictions of a CSV table: an id, a choice, and a score an option if any.

    Scores stand under "score1", "score_2", …, in any order of the columns. Rows with neither id nor
    choice, such as a summary at the end, are passed over.
    """
    ids = next((columns.index(name) for name in _IDS if name in columns), None)
    if ids is None:
        raise FormatError(f"the table has no column {', '.join(map(repr, _IDS))}", source.path, 1)
    choices = next(columns.index(name) for name in _CHOICES if name in columns)
    numbers = {at: re.fullmatch(r"score_?([1-9]\d?)", name) for at, name in enumerate(columns)}
    scores = sorted((int(match[1]), at) for at, match in numbers.items() if match)
    reader = csv.reader(io.StringIO(source.text, newline=""))
    next(reader)
    seen: set[str] = set()
    for row in reader:
        cells = [cell.strip() for cell in row] + [""] * (len(columns) - len(row))
        if not cells[ids] and not cells[choices]:
            continue
        number = reader.line_num
        if cells[ids] in seen:
            raise FormatError(
                f"the id {cells[ids]!r} already has a prediction", source.path, number
            )
        seen.add(cells[ids])
        if not re.fullmatch(r"[1-9]\d?|[A-Za-z]", cells[choices]):
            raise FormatError(
                "the choice must be the number of an option, from 1, or its letter, not "
                f"{cells[choices]!r}",
                source.path,
                number,
            )
        given = [cells[at] for _, at in scores if cells[at]]
        try:
            yield Prediction(
                cells[ids], formats.option_at(cells[choices]), tuple(map(float, given))
            )
        except (ProblemError, ValueError) as error:
            raise FormatError(str(error), source.path, number) from None


LINEAGE = "lineage"
"""What `--by` takes for error depths, and for what else follows from families."""


def depth_option(function: Any) -> Any:
    """Add `--depth`."""
    return click.option(
        "--depth",
        type=click.Choice(["declared", "lineage", "edit"]),
        help="Of --by lineage: as the file states it, the token positions touched on the way from "
        "the root, or the token edit distance to it; by default the first that most have.",
    )(function)


def trained_option(function: Any) -> Any:
    """Add `--trained-on`."""
    return click.option(
        "--trained-on",
        multiple=True,
        metavar="[SOLVER=]DATA",
        help="What solvers, or one of them, were trained on: a file, the name of a published set, "
        "or other:NAME, a corpus that is not here. Where they may have seen a problem, no accuracy "
        "is told. May be given again.",
    )(function)


def overlaps(
    dataset: Dataset, solvers: Sequence[str], trained_on: Sequence[str]
) -> dict[str, Overlap]:
    """Return what each solver may have seen of the data set in training.

    Args:
        dataset: the problems.
        solvers: the names of all.
        trained_on: what solvers were trained on: files; public data sets whose contents are known
            (`published.known_contents`); or "other:NAME", with which nothing can be compared.
            `SOLVER=…` is for one of them.

    Raises:
        InputError: a file that is not there, a data set of unknown contents, or a solver that is
            none.
    """
    found: dict[str, Overlap] = {}
    for given in trained_on:
        name, what = _of_solver(given, solvers)
        seen = _seen(dataset, given, what)
        for solver in solvers if name is None else [name]:
            before = found.get(solver, Overlap({}, seen.n))
            rows, unknown = {**seen.rows, **before.rows}, (*before.unknown, *seen.unknown)
            found[solver] = Overlap(dict(sorted(rows.items())), seen.n, unknown)
    return found


def _seen(dataset: Dataset, given: str, what: str) -> Overlap:
    """Return what a solver may have seen that was trained on something."""
    from winosmith.study import TrainedOn

    try:
        return TrainedOn.named([what]).overlap(dataset)
    except InputError as error:
        raise InputError(f"--trained-on {given}: {error}") from None


def _of_solver(given: str, solvers: Sequence[str]) -> tuple[str | None, str]:
    """Return the solver, None for all, and the file or the name of what it was trained on."""
    name, equals, what = given.partition("=")
    if Path(given).is_file() or not equals or name.startswith("other:"):
        return None, given
    if name not in solvers:
        raise InputError(f"--trained-on {given}: {name!r} is none of {', '.join(solvers)}")
    return name, what
