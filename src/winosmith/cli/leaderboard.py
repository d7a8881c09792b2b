"""`winosmith leaderboard`: a submission of five columns, scored as WinoGrande's is."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from winosmith.cli._options import FILE, json_option
from winosmith.cli._printing import Result, percent, span
from winosmith.errors import FormatError, InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from winosmith import report
    from winosmith.metrics import Proportion


@click.command()
@click.argument("predictions", metavar="PREDICTIONS.lst", type=FILE)
@click.option("--labels", type=FILE, metavar="LABELS.lst", help="The answers, one a line, from 1.")
@click.option("--data", type=FILE, metavar="DATA", help="The problems: their answers in place of "
              "labels, and their twins for the intervals.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Of the bootstrap.")
@click.option("--out", metavar="FILE.html", help="Write a report with a figure there.")
@json_option
def command(
    predictions: str,
    labels: str | None,
    data: str | None,
    seed: int,
    out: str | None,
    as_json: bool,
) -> None:
    """Score a leaderboard submission: five comma-separated labels a line, xs to xl.

    Prints the accuracy of each column, and the area under the learning curve ("AUC"): the trapezoid
    over log2 of 160, 640, 2,558, 10,234 and 40,398, divided by its range. Intervals know of twins
    when the problems are given with --data.

    \b
    Example:
        winosmith leaderboard predictions.lst --labels dev-labels.lst
        winosmith leaderboard predictions.lst --data dev.jsonl
    """  # noqa: D301
    import numpy as np

    from winosmith import formats
    from winosmith.metrics import LEADERBOARD_SIZES, area_under_curve, proportion
    from winosmith.report import Signature

    answers, clusters = _answers(labels, data)
    submitted = formats.read_submission(predictions)
    rows = len(next(iter(submitted.values())))
    if rows != len(answers):
        raise FormatError(
            f"there are {rows:,} lines of predictions for {len(answers):,} answers; each problem "
            "needs its own in the same order",
            predictions,
        )
    right = {name: np.array(column) == answers for name, column in submitted.items()}
    found = {name: proportion(column, clusters) for name, column in right.items()}
    area = area_under_curve([own.value for own in found.values()])
    interval = _area_interval(list(right.values()), clusters, seed)
    digest = hashlib.sha256(repr((answers.tolist(), submitted)).encode()).hexdigest()
    known = {"twins": data is not None}
    signature = Signature(digest, rows, known, seed)
    sizes = dict(zip(found, LEADERBOARD_SIZES, strict=True))
    Result(
        "A leaderboard submission",
        {
            "file": predictions,
            "columns": {name: {"size": sizes[name], **own.record()} for name, own in found.items()},
            "auc": area,
            "auc_interval": list(interval),
            "signature": str(signature),
        },
        [_section(found, sizes, area, interval, clustered=data is not None)],
        signature=signature,
    ).tell(as_json=as_json, out=out)


def _section(
    found: dict[str, Proportion],
    sizes: dict[str, int],
    area: float,
    interval: tuple[float, float],
    *,
    clustered: bool,
) -> report.Section:
    from winosmith import report

    low, high = interval
    points = [(float(sizes[name]), own.value) for name, own in found.items()]
    table = report.Table(
        f"{next(iter(found.values())).n:,} problems",
        ["set", "size", "right", "accuracy", "95 %"],
        [
            [name, sizes[name], own.right, percent(own.value), span(own.interval)]
            for name, own in found.items()
        ],
    )
    told = [f"AUC: {area:.4f} ({low:.4f} to {high:.4f})"]
    if not clustered:
        told.append("The intervals take problems for independent; with --data they know of twins.")
    card = report.KeyFigure("area under the curve", area, f"95 %: {low:.4f} to {high:.4f}", ".4f")
    return report.Section(
        "Accuracy and area",
        [
            report.Cards([card]),
            report.Drawing("Accuracy by training size.", lambda: [report.learning(points)], table),
            report.Text(told),
        ],
    )


def _answers(
    labels: str | None, data: str | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the answers and the clusters, from the labels, the data, or the labels of the data."""
    import numpy as np

    from winosmith import formats, metrics
    from winosmith.cli._predictions import answered

    if data is not None:
        dataset = answered(data, None, labels)
        withheld = [problem.id for problem in dataset if problem.answer is None]
        if withheld:
            raise FormatError(
                f"the answers of {len(withheld):,} problems are withheld ({withheld[0]!r}, …); "
                "give them with --labels",
                data,
            )
        return np.array(dataset.answers), metrics.clusters(dataset)
    if labels is None:
        raise InputError("the answers are needed: give --labels LABELS.lst or --data DATA")
    known = formats.read_labels(labels)
    return np.array(known), np.arange(len(known))


def _area_interval(
    right: Sequence[npt.NDArray[np.bool_]], clusters: npt.NDArray[np.int64], seed: int
) -> tuple[float, float]:
    """Return the 95 % interval of the area, by the cluster bootstrap."""
    import numpy as np

    from winosmith.metrics import area_under_curve, bootstrap_interval

    weights = [area_under_curve(row.tolist()) for row in np.eye(len(right))]
    each = sum(weight * column for weight, column in zip(weights, right, strict=True))
    return bootstrap_interval(np.asarray(each), clusters, seed)
