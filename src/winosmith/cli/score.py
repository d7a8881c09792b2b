"""`winosmith score`: what predictions are worth, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._answered import (
    answered,
    graded,
    labels_option,
    partial_option,
    predictions_argument,
)
from winosmith.cli._options import data_argument, format_option, json_option
from winosmith.cli._printing import print_json
from winosmith.cli._score_extras import Extras, extras
from winosmith.cli._score_report import More, print_scores, score_page
from winosmith.cli._stability import Stabilities, stabilities
from winosmith.cli._stability_input import LINEAGE, depth_option, overlaps, trained_option
from winosmith.cli._stability_page import stability_sections
from winosmith.cli._stability_tables import stability_tables
from winosmith.dataset import Dataset
from winosmith.errors import InputError, SameInputError
from winosmith.outputs import write_aside

if TYPE_CHECKING:
    from winosmith.metrics import Graded, Overlap, Score

__all__ = ["command"]

_FILE = click.Path(exists=True, dir_okay=False)


@click.command()
@data_argument()
@predictions_argument
@format_option
@labels_option
@partial_option
@click.option("--by", multiple=True, metavar="FIELD", help="Score each value of a field apart, "
              "such as origin.author or winogender.gender; `lineage` measures stability under "
              "perturbation; may be given again.")  # fmt: skip
@depth_option
@trained_option
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

    With --by lineage, of perturbed problems: error depths beside those of guessing, accuracy by
    depth, families without an error, errors by kind of edit, how annotators (--people) do; any
    other --by then compares problems with their roots. The report has the families as trees.

    PREDICTIONS are files of `winosmith solve`, lists of one label a line in the order of DATA, or
    CSV tables with the columns id and choice (from 1).

    \b
    Example:
        winosmith score dev.jsonl predictions.jsonl
        winosmith score dev.jsonl a.jsonl b.lst --out scores.html
        winosmith score evolved.jsonl a.jsonl b.jsonl --by lineage --out stability.html
    """  # noqa: D301
    dataset = answered(options["data"], options["format_name"], options["labels"])
    given = Extras.read(options)
    solvers = graded(given.marked(dataset), options["predictions"], options["partial"])
    counts = {name: len(found.dataset) for name, found in solvers.items()}
    seen = overlaps(dataset, list(solvers), options["trained_on"])
    withheld = {name: found for name, found in seen.items() if found.withheld}
    scores = _scores(solvers, withheld, options)
    beside = extras(given, dataset, solvers, options["seed"]).without(withheld)
    stable = _stable(dataset, solvers, given, seen, options)
    more = More(seen=seen)
    if stable:
        more = replace(more, tables=[*stability_tables(stable)], signatures=stable.signatures)
    if options["out"]:
        if stable:
            more = replace(more, sections=stability_sections(stable, solvers))
        with write_aside(options["out"]) as file:
            file.write(score_page(dataset.name, counts, scores, beside, more))
    if options["as_json"]:
        told = {name: found.record() for name, found in scores.items()}
        for name, found in told.items():
            if name in seen and seen[name].unknown:
                found["overlap_unknown"] = list(seen[name].unknown)
        hidden = {name: {"withheld": found.record()} for name, found in withheld.items()}
        print_json(
            {
                "data": dataset.name,
                "solvers": {name: {**told, **hidden}[name] for name in solvers},
                **beside.record(),
                **({"stability": stable.record()} if stable else {}),
            }
        )
        return
    print_scores(dataset.name, counts, scores, beside, more)
    if options["out"]:
        click.secho(f"The report is {options['out']}", bold=True)


def _scores(
    solvers: Mapping[str, Graded], withheld: Mapping[str, Overlap], options: Mapping[str, Any]
) -> dict[str, Score]:
    """Return the score of each solver whose accuracy may be told.

    Raises:
        SameInputError: a field that was asked for can be compared for none of them.
    """
    from winosmith.metrics import score

    by = () if LINEAGE in options["by"] else options["by"]
    scores = {
        name: score(found, by=by, seed=options["seed"])
        for name, found in solvers.items()
        if name not in withheld
    }
    for field in by:
        if scores and all(field in found.refused for found in scores.values()):
            raise SameInputError(next(found.refused[field] for found in scores.values()))
    return scores


def _stable(
    dataset: Dataset,
    solvers: Mapping[str, Graded],
    given: Extras,
    seen: Mapping[str, Overlap],
    options: Mapping[str, Any],
) -> Stabilities | None:
    """Measure stability if that is asked for."""
    if LINEAGE not in options["by"]:
        if options["depth"]:
            raise InputError("--depth goes with --by lineage")
        return None
    return stabilities(
        dataset,
        solvers,
        depth=options["depth"],
        fields=[name for name in options["by"] if name != LINEAGE],
        overlap=seen,
        people=given.people,
        seed=options["seed"],
    )
