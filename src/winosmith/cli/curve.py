"""`winosmith curve` and `leaderboard`: fit a learning curve, and score a submission."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from winosmith import data, metrics, report
from winosmith.answers import read_labels, read_submission
from winosmith.cli import _options, _predictions
from winosmith.cli._output import Output, Rows
from winosmith.errors import FormatError, InputError
from winosmith.metrics import FORMS, LearningCurve, Proportion, format_size
from winosmith.report import percent, percent_span, points, probability, to_fixed
from winosmith.results import make_table

Run = tuple[int, int, float]
"""The line number of a run in the file, its training size and its accuracy."""


@click.command()
@click.argument("file", metavar="FILE.csv", type=_options.FILE)
@click.option("--human", default=94.0, show_default=True, type=click.FloatRange(0, 100),
              help="Human accuracy to reach, as a fraction or in percent; 94.1 for "
              "WinoGrande.")  # fmt: skip
@click.option("--take", type=click.Choice(["best", "mean"]), default="best", show_default=True,
              help="How to summarise several runs with the same training size.")  # fmt: skip
@click.option("--problems", type=click.IntRange(min=1), metavar="N", help="Number of problems on "
              "which accuracies were measured; if given, runs at chance are flagged.")  # fmt: skip
@_options.page_option
@_options.json_option
def command(file: str, human: float, take: Any, problems: int | None) -> None:
    """Fit a learning curve, and estimate where each extrapolation reaches human accuracy.

    FILE.csv has a row for each run with the columns size and accuracy, and optionally seed.
    Accuracies are fractions, or percentages if one of them is above 1. The area under the curve is
    computed as on WinoGrande's leaderboard: over log2(size), divided by its range.

    \b
    Example:
        winosmith curve runs.csv --human 94.1 --problems 1267 --out curve.html
    """  # noqa: D301
    runs = _read_runs(Path(file))
    human = human if human > 1 else round(100 * human, 9)
    by_size: dict[int, list[float]] = {}
    for _, size, accuracy in runs:
        by_size.setdefault(size, []).append(accuracy)
    curve = metrics.fit_learning_curve(by_size, human=human / 100, take=take)
    digest = hashlib.sha256(repr([run[1:] for run in runs]).encode()).hexdigest()
    signature = report.Signature(digest, len(runs), {"human": human, "take": take})
    at_chance: list[dict[str, Any]] = []
    if problems:
        from scipy.stats import binom

        for line, size, accuracy in runs:
            p = float(binom.sf(round(accuracy * problems) - 1, problems, 0.5))
            if p > metrics.MAX_P:
                at_chance.append({"line": line, "size": size, "accuracy": accuracy, "p": p})
    Output(
        f"{Path(file).stem}: the learning curve",
        {
            "file": file,
            **curve.record(),
            **({"at_chance": at_chance} if problems else {}),
            "signature": str(signature),
        },
        _make_sections(file, curve, at_chance, signature),
        signature=signature,
    ).show()


def _read_runs(path: Path) -> list[Run]:
    rows = data.read(path)
    if not {"size", "accuracy"} <= {name.lower() for name in rows.names}:
        raise FormatError(
            "the table needs the columns size and accuracy; it has "
            f"{', '.join(map(repr, rows.names))}",
            path,
            1,
        )
    runs: list[Run] = []
    for row in rows:
        line = row.place.number
        cells = {key.lower(): data.format_cell(value) for key, value in (row.values or {}).items()}
        try:
            size = int(cells["size"].replace("_", ""))
            accuracy = float(cells["accuracy"].strip().removesuffix("%"))
        except (KeyError, ValueError):
            reason = row.reason or f"{row.raw!r} needs a size and an accuracy, such as 160,51.5"
            raise FormatError(reason, path, line) from None
        if size < 1 or not 0 <= accuracy <= 100:
            raise FormatError(
                f"the size {size} must be 1 or more, and the accuracy {accuracy:g} a fraction from "
                "0 to 1 or a percentage",
                path,
                line,
            )
        runs.append((line, size, accuracy))
    if any(accuracy > 1 for _, _, accuracy in runs):
        if low := [run for run in runs if 0 < run[2] < 1]:
            line, _, accuracy = low[0]
            why = f"the accuracy {accuracy:g} is a fraction, but others are percentages"
            raise FormatError(why, path, line)
        runs = [(line, size, round(accuracy / 100, 12)) for line, size, accuracy in runs]
    return runs


CAUTION = (
    "No form is known to be the correct one. `without last` is the prediction for the largest size "
    "when the form is fitted without that size; the interval shows only how well the points "
    "determine the form."
)


def _describe_fit(curve: LearningCurve) -> str:
    most = max(len(point.accuracies) for point in curve.points)
    if most == 1:
        sentences = ["There is one run per size; the variation between runs is unknown."]
    elif curve.take == "best":
        sentences = [
            f"The curve goes through the best of up to {most} runs per size, as in WinoGrande's "
            "figure 2: it is optimistic, especially if the runs differ much."
        ]
    else:
        sentences = [
            f"The curve goes through the mean of up to {most} runs per size; runs at chance pull "
            "it down."
        ]
    found, sizes = {each.form.name for each in curve.extrapolations}, len(curve.points)
    missing = [form for form in FORMS if form.name not in found]
    if free := [form.name for form in missing if form.parameters >= sizes]:
        sentences.append(f"{sizes} sizes are too few for: {', '.join(free)}.")
    if others := [form.name for form in missing if form.parameters < sizes]:
        sentences.append(f"No fit was found for: {', '.join(others)}.")
    return " ".join(sentences)


def _make_sections(
    file: str,
    curve: LearningCurve,
    at_chance: Sequence[Mapping[str, Any]],
    signature: report.Signature,
) -> list[report.Section]:
    last = curve.points[-1].taken
    forms: Rows = [
        [found.form.name, format_size(found.reaches),
         found.interval and " to ".join(map(format_size, found.interval)),
         to_fixed(100 * found.error),
         None if found.last is None
         else f"{to_fixed(100 * found.last)} ({points(found.last - last)})"]
        for found in curve.extrapolations
    ]  # fmt: skip
    sentences = [f"Area under the curve: {curve.area:.4f}", _describe_fit(curve), CAUTION]
    fitted = ["form.name", "form.formula", "parameters"]
    measured: list[report.Block] = [
        make_table(
            "Accuracy by training size", curve.points, "size accuracies taken mean spread".split()
        ),
        report.PageOnly(lambda: [make_table("The fitted forms", curve.extrapolations, fitted)]),
    ]
    extrapolated: list[report.Block] = [
        report.Drawing(
            "The accuracies, with the extrapolation of each form.",
            curve.charts,
            signature=signature,
        ),
        report.Table(
            f"Training problems needed for {percent(curve.human)}",
            ["if the curve continues as", "problems", "95 %", "residual", "without last"],
            forms,
        ),
        report.Text(sentences),
    ]
    if at_chance:
        warnings = [
            f"AT CHANCE {file}:{run['line']}: {percent(run['accuracy'])} with {run['size']:,} "
            f"training problems, p = {probability(run['p'])}"
            for run in at_chance
        ]
        extrapolated.append(report.Text(warnings, "warning"))
    return [
        report.Section("What was measured", measured),
        report.Section("Extrapolations", extrapolated),
    ]


@click.command()
@click.argument("predictions", metavar="PREDICTIONS.lst", type=_options.FILE)
@click.option(
    "--labels",
    type=_options.FILE,
    metavar="LABELS.lst",
    help="The answers: one label per line, with 1 for the first option.",
)
@click.option("--data", type=_options.MORE_DATA, metavar="DATA", help="File of the problems; "
              "it provides the answers (instead of --labels) and the twins for the "
              "intervals.")  # fmt: skip
@_options.seed_option("Random seed of the bootstrap.")
@_options.page_option
@_options.json_option
def leaderboard(predictions: str, labels: str | None, **options: Any) -> None:
    """Score a leaderboard submission: five comma-separated labels per line, for xs to xl.

    It prints the accuracy of each column, and the area under the learning curve ("AUC"): the
    trapezoid over log2 of 160, 640, 2,558, 10,234 and 40,398, divided by its range. Intervals keep
    twins together if --data gives the problems.

    \b
    Example:
        winosmith leaderboard predictions.lst --labels dev-labels.lst
        winosmith leaderboard predictions.lst --data dev.jsonl
    """  # noqa: D301
    answers, clusters, copies = _read_answers(labels, options["data"])
    submitted = read_submission(predictions)
    rows = len(next(iter(submitted.values())))
    if rows != len(answers):
        raise FormatError(
            f"there are {rows:,} lines of predictions for {len(answers):,} answers; give one line "
            "per problem, in the same order",
            predictions,
        )
    right = {name: np.array(column) == answers for name, column in submitted.items()}
    found = {name: metrics.proportion(own, clusters, copies=copies) for name, own in right.items()}
    area = metrics.area_under_curve([own.value for own in found.values()])
    weights = [metrics.area_under_curve(row.tolist()) for row in np.eye(len(right))]
    each = sum(weight * of for weight, of in zip(weights, right.values(), strict=True))
    interval = metrics.bootstrap_interval(np.asarray(each), clusters, options["seed"], ends=(0, 1))
    digest = hashlib.sha256(repr((answers.tolist(), submitted)).encode()).hexdigest()
    known = {"twins": options["data"] is not None}
    signature = report.Signature(digest, rows, known, options["seed"])
    sizes = dict(zip(found, metrics.LEADERBOARD_SIZES, strict=True))
    Output(
        "A leaderboard submission",
        {
            "file": predictions,
            "columns": {name: {"size": sizes[name], **own.record()} for name, own in found.items()},
            "auc": area,
            "auc_interval": list(interval),
            "signature": str(signature),
        },
        [_make_area_section(found, sizes, area, interval, clustered=options["data"] is not None)],
        signature=signature,
    ).show()


def _make_area_section(
    proportions: dict[str, Proportion],
    sizes: dict[str, int],
    area: float,
    interval: tuple[float, float],
    *,
    clustered: bool,
) -> report.Section:
    low, high = interval
    points = [(float(sizes[name]), own.value) for name, own in proportions.items()]
    table = report.Table(
        f"{next(iter(proportions.values())).n:,} problems",
        ["set", "size", "correct", "accuracy", "95 %"],
        [
            [name, sizes[name], own.right, percent(own.value), percent_span(own.interval)]
            for name, own in proportions.items()
        ],
    )
    sentences = [f"AUC: {area:.4f} ({low:.4f} to {high:.4f})"]
    if not clustered:
        sentences.append(
            "The intervals assume independent problems; with --data they keep twins together."
        )
    card = report.KeyFigure("area under the curve", area, f"95 %: {low:.4f} to {high:.4f}", ".4f")
    return report.Section(
        "Accuracy and area",
        [
            report.Cards([card]),
            report.Drawing(
                "Accuracy by training size.", lambda: [report.draw_learning_curve(points)], table
            ),
            report.Text(sentences),
        ],
    )


def _read_answers(labels: str | None, problems: str | None) -> tuple[NDArray[np.int64], ...]:
    """Read the answers from labels or data; return them, and the clusters and copies."""
    if problems is not None:
        dataset, _ = _predictions.read_problems(problems, labels)
        withheld = [problem.id for problem in dataset if problem.answer is None]
        if withheld:
            raise FormatError(
                f"the answers of {len(withheld):,} problems are withheld ({withheld[0]!r}, …); "
                "give them with --labels",
                problems,
            )
        answers = np.array(dataset.answers)
        return answers, metrics.find_clusters(dataset), metrics.number_copies(dataset)
    if labels is None:
        raise InputError("the answers are needed: give --labels LABELS.lst or --data DATA")
    known = read_labels(labels)
    rows = np.arange(len(known))
    return np.array(known), rows, rows
