"""Read answers, predictions and training data for the commands that measure accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from winosmith import answers, formats
from winosmith.cli._options import FILE, get_answer_arguments, read_contents
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError, join_ids
from winosmith.metrics import Overlap

predictions_argument = click.argument(
    "predictions",
    nargs=-1,
    required=True,
    metavar="PREDICTIONS...",
    type=click.Path(exists=True),
)

partial_option = click.option(
    "--partial",
    is_flag=True,
    help="Allow missing predictions: score the problems with a prediction, and report the "
    "lowest and the highest possible accuracy on all problems.",
)

filter_option = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="NAME",
    help="Filter (lm-evaluation-harness), scorer or epoch (inspect_ai) of a log, or column of a "
    "table, to read; may be repeated.  [default: the first in each log, and all columns]",
)

labels_option = click.option(
    "--labels",
    type=FILE,
    metavar="FILE",
    help="Answers for data without answers: one label per line, with 1 for the first option.",
)


def read_problems(
    path: str, labels: str | None = None, *, detect_format: bool = False
) -> tuple[Dataset, list[int]]:
    """Read the problems in a file, and return them with the positions of omitted records.

    The answers are read from the file `labels`, if it is given.
    """
    contents = read_contents(path, detect_format=detect_format)
    dataset, omitted = formats.to_dataset(contents), contents.omitted
    if labels is None:
        return dataset, omitted
    how = get_answer_arguments() | {"omitted": omitted}
    keys, *others = answers.read(labels, dataset.blind(), **how).values()
    if others:
        raise FormatError("the file has several label columns; only one is allowed", labels)
    chosen = {one.problem_id: one.choice for one in keys.predictions}
    if lost := [name for name in dataset.ids if chosen.get(name, 0) is None]:
        raise FormatError(f"the labels of {join_ids(lost)} are not options", labels)
    answered = (replace(problem, answer=chosen.get(problem.id)) for problem in dataset)
    return dataset.with_problems(answered), omitted


def read_answers(
    dataset: Dataset,
    paths: Sequence[str],
    filters: Sequence[str] = (),
    omitted: Sequence[int] = (),
) -> dict[str, answers.Answers]:
    """Return the answers of each solver, by its name.

    If a name is already taken, the path of the file precedes it.
    """
    places = [Path(path).resolve() for path in paths]
    for at, path in enumerate(paths):
        if places[at] in places[:at]:
            raise FormatError("the file is given twice", path)
    how = get_answer_arguments() | {"filters": filters, "omitted": omitted}
    given = [(path, one) for path in paths for one in answers.read(path, dataset, **how).values()]
    answers.check_same_filters(own for _, own in given)
    found: dict[str, answers.Answers] = {}
    for path, own in given:
        found[f"{path}: {own.solver}" if own.solver in found else own.solver] = own
    return found


def get_log_notes(by_name: Mapping[str, answers.Answers]) -> list[str]:
    return [f"{name}: {note}" for name, own in by_name.items() for note in own.log.notes()]


LINEAGE = "lineage"
"""The value of `--by` that measures stability in families of perturbed problems."""


depth_option = click.option(
    "--depth",
    type=click.Choice(["declared", "lineage", "edit"]),
    help="Kind of depth for --by lineage: declared (stated in the file), lineage (number of token "
    "positions changed on the path from the root) or edit (token edit distance to the root). By "
    "default, the first of these that is known for most problems.",
)

trained_option = click.option(
    "--trained-on",
    multiple=True,
    metavar="[SOLVER=]DATA",
    help="Training data of all solvers, or of one: a file, the name of a published data set, "
    "or other:NAME for a corpus that is not available. If a solver may have seen a problem, "
    "its accuracy is withheld. May be repeated.",
)


def find_overlaps(
    dataset: Dataset, solvers: Sequence[str], trained_on: Sequence[str]
) -> dict[str, Overlap]:
    """Find the problems that each solver may have seen in its training data.

    `trained_on` contains the values of `--trained-on`. Data named "other:NAME" can't be compared.
    """
    found: dict[str, Overlap] = {}
    for given in trained_on:
        name, equals, what = given.partition("=")
        if Path(given).is_file() or not equals or name.startswith("other:"):
            name, what = "", given
        elif name not in solvers:
            known = ", ".join(solvers)
            raise InputError(f"--trained-on {given}: {name!r} is not one of the solvers {known}")
        from winosmith.study import TrainingData

        try:
            seen = TrainingData.from_names([what]).find_overlap(dataset)
        except InputError as error:
            raise InputError(f"--trained-on {given}: {error}") from None
        for solver in [name] if name else solvers:
            before = found.get(solver, Overlap({}, seen.n))
            rows, unknown = {**seen.rows, **before.rows}, (*before.unknown, *seen.unknown)
            found[solver] = Overlap(dict(sorted(rows.items())), seen.n, unknown)
    return found
