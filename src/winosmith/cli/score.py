"""`winosmith score`: what predictions are worth, with intervals."""

from __future__ import annotations

from typing import Any

import click

from winosmith.cli._answered import (
    answered,
    graded,
    labels_option,
    partial_option,
    predictions_argument,
)
from winosmith.cli._common import data_argument, format_option, json_option, print_json
from winosmith.cli._score_extras import Extras, extras
from winosmith.cli._score_report import print_scores, score_page
from winosmith.outputs import write_aside

__all__ = ["command"]

_FILE = click.Path(exists=True, dir_okay=False)


@click.command()
@data_argument()
@predictions_argument
@format_option
@labels_option
@partial_option
@click.option("--by", multiple=True, metavar="FIELD", help="Score each value of a field apart, "
              "such as origin.author or winogender.gender; may be given again.")  # fmt: skip
@click.option("--people", type=_FILE, metavar="FILE", help="Responses of fresh people (purpose "
              "`test`), as CSV or JSON Lines: their accuracy stands beside.")  # fmt: skip
@click.option("--marks", type=_FILE, multiple=True, metavar="FILE.json", help="Trichelair's labels "
              "of the Winograd Schema Challenge; may be given again.")  # fmt: skip
@click.option("--switched", type=_FILE, multiple=True, metavar="FILE", help="Predictions for the "
              "same problems with the options switched, one file for each of PREDICTIONS; needs "
              "--switched-data.")  # fmt: skip
@click.option("--switched-data", type=_FILE, metavar="FILE", help="Those problems.")
@click.option("--occupations", type=_FILE, metavar="FILE.tsv", help="Winogender's "
              "occupations-stats.tsv: the gender gap in both readings.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Of bootstraps and nulls.")
@click.option("--out", metavar="FILE.html", help="Write a report with figures there.")
@json_option
def command(**options: Any) -> None:
    """Score PREDICTIONS beside the answers of DATA.

    Prints accuracy with a 95 % interval that knows that the halves of a twin, and families, are
    right or wrong together; the share of twins with both halves right; the probability that
    guessing does as well; accuracy by number of options, domain and source where they differ; and
    calibration where there are scores.

    PREDICTIONS are files of `winosmith solve`, lists of one label a line in the order of DATA, or
    CSV tables with the columns id and choice (from 1).

    \b
    Example:
        winosmith score dev.jsonl predictions.jsonl
        winosmith score dev.jsonl a.jsonl b.lst --out scores.html
    """  # noqa: D301
    from winosmith.metrics import score

    dataset = answered(options["data"], options["format_name"], options["labels"])
    more = Extras.read(options)
    solvers = graded(more.marked(dataset), options["predictions"], options["partial"])
    scores = {
        name: score(found, by=options["by"], seed=options["seed"])
        for name, found in solvers.items()
    }
    beside = extras(more, dataset, solvers, options["seed"])
    if options["out"]:
        with write_aside(options["out"]) as file:
            file.write(score_page(dataset.name, scores, beside))
    if options["as_json"]:
        print_json(
            {
                "data": dataset.name,
                "solvers": {name: found.record() for name, found in scores.items()},
                **beside.record(),
            }
        )
        return
    print_scores(dataset.name, solvers, scores, beside)
    if options["out"]:
        click.secho(f"The report is {options['out']}", bold=True)
