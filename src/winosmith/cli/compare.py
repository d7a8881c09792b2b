"""`winosmith compare`: is one solver better than another on the same problems?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import click

from winosmith import metrics, report
from winosmith.cli import _options, _predictions
from winosmith.cli._output import INVALID_NOTE, TIES_NOTE, Output, Rows, explain_overruled_scores
from winosmith.cli._printing import exit_with_reasons, say
from winosmith.errors import InputError
from winosmith.metrics import Comparison, Graded, Pair, SurvivalComparison, format_rate, grade
from winosmith.report import percent_span, probability
from winosmith.results import make_table
from winosmith.text import format_count


@click.command()
@_options.data_argument()
@_predictions.predictions_argument
@_options.format_option
@_predictions.labels_option
@_predictions.partial_option
@_predictions.filter_option
@click.option("--by", type=click.Choice([_predictions.LINEAGE]), help="With lineage, also compare "
              "the depths of families' first errors.")  # fmt: skip
@_predictions.depth_option
@click.option("--baseline", metavar="NAME", help="Solver with which the others are compared, by "
              "its name in the table: the name of its file, or the name in its log.")  # fmt: skip
@click.option("--fail-on", "rules", default="", metavar="RULES",
              help="Exit with code 1 if any of these comma-separated conditions is met: worse (the "
              "95 % interval of the difference from the baseline is below 0), worse=2pt (2 points "
              "or more below the baseline).")  # fmt: skip
@_options.seed_option("Random seed of the bootstrap.")
@_options.page_option
@_options.json_option
def command(**options: Any) -> None:
    """Compare two or more solvers by their PREDICTIONS for the problems in DATA.

    For each pair, it prints the difference between their accuracies with its 95 % interval
    (bootstrap of twins and families), and how often both choose the same option. It also prints an
    exact test that keeps twins and families together, corrected for the number of tests (Holm), and
    McNemar's exact test. For perturbed problems, --by lineage adds a log-rank test of the depths of
    families' first errors, and a paired test that swaps the solvers in each family.

    \b
    Example:
        winosmith compare dev.jsonl a.jsonl b.jsonl c.lst
        winosmith compare evolved.jsonl a.jsonl b.jsonl --by lineage
        winosmith compare dev.jsonl old.jsonl new.jsonl --baseline old --fail-on worse=2pt
    """  # noqa: D301
    try:
        metrics.parse_rules(options["rules"])
    except InputError as error:
        raise click.BadParameter(str(error), param_hint="--fail-on") from None
    if options["rules"] and options["baseline"] is None:
        raise click.UsageError("--fail-on needs a baseline; add --baseline NAME")
    if options["depth"] and not options["by"]:
        raise InputError("--depth needs --by lineage")
    dataset, omitted = _predictions.read_problems(options["data"], options["labels"])
    answers = _predictions.read_answers(
        dataset, options["predictions"], options["filters"], omitted
    )
    solvers = metrics.grade_models(answers, dataset, partial=options["partial"])
    if not 2 <= len(solvers) <= len(ascii_uppercase):
        raise InputError(
            f"a comparison needs the predictions of 2 to {len(ascii_uppercase)} solvers, not of "
            f"{len(solvers)}"
        )
    if options["partial"]:
        solvers = _restrict_to_shared_problems(solvers)
    _warn_about_different_inputs(solvers)
    found = metrics.compare(solvers, baseline=options["baseline"], seed=options["seed"])
    broken = metrics.find_regressions(found, options["rules"])
    letter = dict(zip(found.accuracies, ascii_uppercase, strict=False))
    pairs = {f"{letter[pair.first]} − {letter[pair.second]}": pair for pair in found.pairs}
    survivals = {
        name: metrics.compare_survival(
            solvers[pair.first], solvers[pair.second], depth=options["depth"], seed=options["seed"]
        )
        for name, pair in (pairs.items() if options["by"] else ())
    }
    by_lineage = [
        {"first": pairs[name].first, "second": pairs[name].second, "survival": of.record()}
        for name, of in survivals.items()
    ]
    notes = _predictions.get_log_notes(answers)
    tables = _make_tables(dataset.name, found, pairs, notes)
    if survivals:
        tables.append(_make_survival_table(survivals))
    logs = {name: log for name, own in answers.items() if (log := own.log.record())}
    Output(
        f"{dataset.name}: which solver is better",
        {
            "data": dataset.name,
            **found.record(),
            **({"logs": logs} if logs else {}),
            **({"by_lineage": by_lineage} if by_lineage else {}),
            "broken": broken,
        },
        [report.Section("Accuracies and differences", tables)],
        subtitle="Intervals are 95 %; twins and families are kept together.",
        signature=found.signature,
        signatures={f"{name} by lineage": of.signature for name, of in survivals.items()},
    ).show()
    if broken:
        exit_with_reasons(broken)


def _restrict_to_shared_problems(solvers: Mapping[str, Graded]) -> dict[str, Graded]:
    first = next(iter(solvers.values())).dataset
    shared = set.intersection(*(set(found.dataset.ids) for found in solvers.values()))
    if not shared:
        raise InputError("no problem was given to all solvers")
    dataset = first.select(first.row(key) for key in first.ids if key in shared)
    return {
        name: grade(
            dataset,
            [p for p in found.predictions if p.problem_id in shared],
            parameters=found.parameters,
            missing=found.missing + len(found.dataset) - len(dataset),
        )
        for name, found in solvers.items()
    }


def _warn_about_different_inputs(solvers: Mapping[str, Graded]) -> None:
    blank, pronoun = (
        ", ".join(name for name, of in solvers.items() if of.parameters.get("sees") == sees)
        for sees in ("blank", "pronoun")
    )
    if blank and pronoun:
        say(
            f"{blank} saw the blank, and {pronoun} the pronoun; this may explain differences "
            "between them"
        )


def _make_tables(
    name: str, result: Comparison, pairs: Mapping[str, Pair], log_notes: Sequence[str]
) -> list[report.Table]:
    counted = {"not compared": result.missing, "invalid": result.invalid}
    counted = {what: counts for what, counts in counted.items() if counts}
    accuracies: Rows = [
        [letter, solver, *(counts.get(solver, 0) for counts in counted.values()),
         own.right, format_rate(own), percent_span(own.interval)]
        for letter, (solver, own) in zip(ascii_uppercase, result.accuracies.items(), strict=False)
    ]  # fmt: skip
    notes = [TIES_NOTE] * any(own.ties for own in result.accuracies.values())
    notes += explain_overruled_scores(result.against_scores)
    if result.missing:
        notes.append("Only problems with a prediction of every solver are compared")
    if result.invalid:
        notes.append(INVALID_NOTE)
    notes += log_notes
    problems = format_count(result.signature.n, "problem")
    blocks = format_count(next(iter(result.accuracies.values())).clusters, "block")
    accuracy = report.Table(
        f"{name}: {problems} in {blocks}",
        ["", "solver", *counted, report.Column("correct", form=",.7g"), "accuracy", "95 %"],
        accuracies,
        " ".join(f"{note}." for note in notes),
    )
    differences = make_table(
        "Differences of accuracy, in points",
        pairs,
        "difference interval only_first only_second mcnemar p_value adjusted".split(),
        head="pair",
        note="1st, 2nd: problems that only this solver answers correctly. p keeps blocks together "
        "(twins, families, copies, look-alikes); McNemar's test assumes independent problems. "
        "Holm: p, corrected for the number of tests.",
    )
    agreement = make_table(
        "How often both solvers choose the same option",
        pairs,
        "agreement.share agreement.kappa agreement.kappa_interval both neither "
        "agreement.same_wrong".split(),
        head="pair",
        note="Kappa (Brennan and Prediger): 0 for agreement by chance, 1 for identical choices. "
        "Alike: of the problems that both solvers answer incorrectly, those on which they choose "
        "the same option.",
    )
    return [accuracy, differences, agreement]


def _make_survival_table(comparisons: Mapping[str, SurvivalComparison]) -> report.Table:
    adjusted = metrics.correct_by_holm([of.p_value for of in comparisons.values()])
    rows: Rows = [
        [name, sum(of.first.errors), sum(of.second.errors), of.first.median,
         of.second.median, of.later and {"first": "1st", "second": "2nd"}[of.later],
         probability(of.log_rank), probability(of.p_value), probability(p_value)]
        for (name, of), p_value in zip(comparisons.items(), adjusted, strict=True)
    ]  # fmt: skip
    first = next(iter(comparisons.values()))
    depth = first.signature.parameters["depth"]
    return report.Table(
        f"Depth of the first error ({depth}), in {first.families:,} families",
        ["pair", "failed", "failed", "half", "half", "later", "log-rank", "p", "Holm"],
        rows,
        "Failed: families with an error, for the 1st and the 2nd solver; half: the depth by which "
        "half of the families have an error. The log-rank test assumes that the solvers have "
        "different families; p is based on swapping the solvers within each family, so report p.",
    )
