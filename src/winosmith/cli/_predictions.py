"""What commands measure: data with answers, predictions, and what solvers were trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from winosmith import answers
from winosmith.cli._options import FILE, named_columns, read_data
from winosmith.cli._printing import say
from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError, InputError, OtherDataError
from winosmith.metrics import Graded, Overlap, clusters, grade
from winosmith.report import shown


def predictions_argument(function: Any) -> Any:
    """Add the argument PREDICTIONS: files, or folders of logs."""
    return click.argument(
        "predictions",
        nargs=-1,
        required=True,
        metavar="PREDICTIONS...",
        type=click.Path(exists=True),
    )(function)


def partial_option(function: Any) -> Any:
    """Add `--partial`."""
    return click.option(
        "--partial",
        is_flag=True,
        help="Score only the problems with a prediction if others have none; the report shows the "
        "lowest and the highest possible accuracy on all problems.",
    )(function)


def filter_option(function: Any) -> Any:
    """Add `--filter`."""
    return click.option(
        "--filter",
        "filters",
        multiple=True,
        metavar="NAME",
        help="Filter (lm-evaluation-harness), scorer or epoch (inspect_ai) to read, if a log has "
        "several; may be repeated.  [default: the first one of each log]",
    )(function)


def labels_option(function: Any) -> Any:
    """Add `--labels FILE`."""
    return click.option(
        "--labels",
        type=FILE,
        metavar="FILE",
        help="The answers, for data without them: one label per line, counted from 1.",
    )(function)


def answered(path: str, format_name: str | None, labels: str | None = None) -> Dataset:
    """Return the problems of a file, with the answers of the labels file if there is one.

    Raises:
        FormatError: the labels are not as many as the problems.
    """
    dataset = read_data(path, format_name)
    if labels is None:
        return dataset
    keys = answers.read_labels(labels)
    if len(keys) != len(dataset):
        raise FormatError(
            f"there are {len(keys):,} labels; {path} has {len(dataset):,} problems, and each "
            "needs its own in the same order",
            labels,
        )
    return Dataset(
        (replace(problem, answer=a) for problem, a in zip(dataset, keys, strict=True)),
        dataset.name,
    )


def read(
    dataset: Dataset, paths: Sequence[str], filters: Sequence[str] = ()
) -> dict[str, answers.Answers]:
    """Return the answers of each solver, by its name.

    Solvers of the same name get the names of their files.

    Raises:
        FormatError: a file that can't be read.
    """
    columns = named_columns()
    given = [
        (path, one)
        for path in paths
        for one in answers.read(path, dataset, columns, filters).values()
    ]
    files, names = [path for path, _ in given], [own.solver for _, own in given]
    found: dict[str, answers.Answers] = {}
    for path, own in given:
        model = "" if files.count(path) == 1 else f": {own.solver}"
        name = own.solver if names.count(own.solver) == 1 else f"{Path(path).stem}{model}"
        found[name if name not in found else f"{path}{model}"] = own
    return found


def graded(
    dataset: Dataset, given: Mapping[str, answers.Answers], partial: bool | None = None
) -> dict[str, Graded]:
    """Return the answers of each solver with the problems that it was asked.

    Args:
        dataset: the problems.
        given: the answers, by the solver's name.
        partial: allow problems without a prediction, and predictions without a problem. None if
            the command has no `--partial`.

    Raises:
        DataError: predictions that don't fit the data set.
    """
    found: dict[str, Graded] = {}
    shared = None if partial else clusters(dataset)
    for name, own in given.items():
        try:
            asked, own = own.shared(dataset) if partial else (dataset, own.of(dataset))
        except OtherDataError as error:
            if partial is None or not error.common:
                raise
            raise DataError(f"{error} (`partial=True` measures the problems of both)") from None
        known = {*dataset.ids}
        unknown = sum(one not in known for one in given[name].by_id)
        missing = len(dataset) - len(asked)
        if missing or unknown:
            say(
                f"{name}: {missing:,} of {len(dataset):,} problems have no prediction and are "
                f"omitted; {unknown:,} predictions have no problem"
            )
        if own.data not in (None, asked.blind().digest) and not partial:
            say(f"{name} was made for data of another digest; the ids fit, but do the sentences?")
        found[name] = grade(asked, own.predictions, shared, own.parameters, missing)
    return found


def log_notes(given: Mapping[str, answers.Answers]) -> list[str]:
    """Return a sentence for each fact that the solvers' logs state."""
    return [f"{shown(name)}: {note}" for name, own in given.items() for note in own.log.notes()]


LINEAGE = "lineage"
"""What `--by` takes for error depths, and for what else follows from families."""


def depth_option(function: Any) -> Any:
    """Add `--depth`."""
    return click.option(
        "--depth",
        type=click.Choice(["declared", "lineage", "edit"]),
        help="Depth for --by lineage: as declared in the file, the token positions changed on the "
        "way from the root, or the token edit distance to it; by default the first one that most "
        "problems have.",
    )(function)


def trained_option(function: Any) -> Any:
    """Add `--trained-on`."""
    return click.option(
        "--trained-on",
        multiple=True,
        metavar="[SOLVER=]DATA",
        help="Training data of all solvers, or of one: a file, the name of a published data set, "
        "or other:NAME for a corpus that is not available. If a solver may have seen a problem, "
        "its accuracy is withheld. May be repeated.",
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
