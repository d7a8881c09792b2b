"""`winosmith compare`: is one solver better than another on the same problems?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from winosmith import report
from winosmith.cli import _predictions
from winosmith.cli._options import PAGE, data_argument, format_option, json_option
from winosmith.cli._printing import INVALID, TIES, Output, Rows, fail_gate, off_scores, say
from winosmith.errors import InputError
from winosmith.metrics import rate
from winosmith.report import probability, span
from winosmith.results import table
from winosmith.text import number_of

if TYPE_CHECKING:
    from winosmith.metrics import Comparison, Graded, Pair, SurvivalComparison


@click.command()
@data_argument()
@_predictions.predictions_argument
@format_option
@_predictions.labels_option
@_predictions.partial_option
@_predictions.filter_option
@click.option("--by", type=click.Choice([_predictions.LINEAGE]), help="Also compare how deep "
              "families get before the first error.")  # fmt: skip
@_predictions.depth_option
@click.option("--baseline", metavar="NAME", help="Compare the others with this solver only.")
@click.option("--fail-on", "rules", default="", metavar="RULES",
              help="End with code 1 when a rule is broken: worse (the 95 % interval of the "
              "difference from the baseline is below 0), worse=2pt (2 points or more below it); "
              "several with commas.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Of the bootstrap.")
@click.option("--out", type=PAGE, metavar="FILE.html", help="Write the tables as a report there.")
@json_option
def command(**options: Any) -> None:
    """Compare two solvers or more by their PREDICTIONS for the problems of DATA.

    For each two: the difference of their accuracies with its 95 % interval (bootstrap of twins and
    families), an exact test that keeps twins and families together, corrected for the number of
    tests (Holm), McNemar's exact test next to it, and how often they choose the same. With --by
    lineage, of perturbed problems: a log-rank test of the depths of families' first errors, and the
    paired test that swaps the solvers in each family.

    \b
    Example:
        winosmith compare dev.jsonl a.jsonl b.jsonl c.lst
        winosmith compare evolved.jsonl a.jsonl b.jsonl --by lineage
        winosmith compare dev.jsonl old.jsonl new.jsonl --baseline old --fail-on worse=2pt
    """  # noqa: D301
    from winosmith.metrics import compare, regressions

    _check_rules(options["rules"], options["baseline"])
    paths = options["predictions"]
    dataset = _predictions.answered(options["data"], options["format_name"], options["labels"])
    answers = _predictions.read(dataset, paths, options["filters"])
    solvers = _predictions.graded(dataset, answers, options["partial"])
    if not 2 <= len(solvers) <= len(LETTERS):
        raise InputError(
            f"a comparison needs the predictions of 2 to {len(LETTERS)} solvers, not of "
            f"{len(solvers)}"
        )
    if options["partial"]:
        solvers = _in_common(solvers)
    _tell_what_was_seen(solvers)
    found = compare(solvers, baseline=options["baseline"], seed=options["seed"])
    broken = regressions(found, options["rules"])
    lasting = _lasting(solvers, found, options)
    records = [
        {"first": pair.first, "second": pair.second, "survival": of.record()}
        for pair, of in zip(found.pairs, lasting, strict=False)
    ]
    tables = list(compare_tables(dataset.name, found, lasting, _predictions.log_notes(answers)))
    logs = {name: log for name, own in answers.items() if (log := own.log.record())}
    Output(
        f"{dataset.name}: which solver is better",
        {
            "data": dataset.name,
            **found.record(),
            **({"logs": logs} if logs else {}),
            **({"by_lineage": records} if lasting else {}),
            "broken": broken,
        },
        [report.Section("Accuracies and differences", tables)],
        subtitle="Intervals are 95 %; twins and families are kept together.",
        signature=found.signature,
        signatures={
            f"{letters(found, pair)} by lineage": of.signature
            for pair, of in zip(found.pairs, lasting, strict=False)
        },
    ).show(as_json=options["as_json"], out=options["out"])
    if broken:
        fail_gate(broken)


def _check_rules(rules: str, baseline: str | None) -> None:
    """Refuse unknown rules, and rules without a baseline."""
    from winosmith.metrics import parsed_rules

    try:
        parsed_rules(rules)
    except InputError as error:
        raise click.BadParameter(str(error), param_hint="--fail-on") from None
    if rules and baseline is None:
        raise click.UsageError("--fail-on needs the solver to compare with: add --baseline NAME")


def _in_common(solvers: Mapping[str, Graded]) -> dict[str, Graded]:
    """Return the solvers on the problems that all of them were asked."""
    from winosmith.metrics import grade

    first = next(iter(solvers.values())).dataset
    shared = set.intersection(*(set(found.dataset.ids) for found in solvers.values()))
    if not shared:
        raise InputError("there is no problem that all of them were asked")
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


def _tell_what_was_seen(solvers: Mapping[str, Graded]) -> None:
    """Say where some solvers saw the blank and others the pronoun."""
    by = {
        sees: [name for name, found in solvers.items() if found.parameters.get("sees") == sees]
        for sees in ("blank", "pronoun")
    }
    if all(by.values()):
        blank, pronoun = (", ".join(names) for names in by.values())
        say(
            f"{blank} saw the blank, and {pronoun} the pronoun: what differs between them may be "
            "how they were asked"
        )


def _lasting(
    solvers: Mapping[str, Graded], found: Comparison, options: Mapping[str, Any]
) -> list[SurvivalComparison]:
    """Return how far families get, of each pair, if that is asked for."""
    from winosmith.metrics import compare_survival

    if not options["by"]:
        if options["depth"]:
            raise InputError("--depth goes with --by lineage")
        return []
    return [
        compare_survival(
            solvers[pair.first], solvers[pair.second], depth=options["depth"], seed=options["seed"]
        )
        for pair in found.pairs
    ]


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letters(found: Comparison, pair: Pair) -> str:
    """Return a pair as the tables name it: "A − B"."""
    letter = dict(zip(found.accuracies, LETTERS, strict=False))
    return f"{letter[pair.first]} − {letter[pair.second]}"


def compare_tables(
    name: str,
    found: Comparison,
    lasting: Sequence[SurvivalComparison],
    log_notes: Sequence[str] = (),
) -> Iterator[report.Table]:
    """Yield the tables."""
    letter = dict(zip(found.accuracies, LETTERS, strict=False))
    problems = found.signature.n
    blocks = next(iter(found.accuracies.values())).clusters
    counted = {"missing": found.missing, "invalid": found.invalid}
    counted = {what: counts for what, counts in counted.items() if counts}
    accuracies: Rows = [
        [letter[solver], solver, *(counts.get(solver, 0) for counts in counted.values()),
         own.right, rate(own), span(own.interval)]
        for solver, own in found.accuracies.items()
    ]  # fmt: skip
    notes = [TIES] * any(own.ties for own in found.accuracies.values())
    notes += off_scores(found.against_scores)
    if found.missing:
        notes.append("Only problems that all were asked are compared; the others are missing")
    if found.invalid:
        notes.append(INVALID)
    notes += log_notes
    yield report.Table(
        f"{name}: {number_of(problems, 'problem')} in {number_of(blocks, 'block')}",
        ["", "solver", *counted, "right", "accuracy", "95 %"],
        accuracies,
        " ".join(f"{note}." for note in notes),
    )
    pairs = {letters(found, pair): pair for pair in found.pairs}
    yield table(
        "Differences of accuracy, in points",
        pairs,
        "difference interval only_first only_second mcnemar p_value adjusted".split(),
        head="pair",
        note="1st, 2nd: what only the one got right. p keeps blocks together, which are twins, "
        "families and copies; McNemar's takes problems for independent. Holm: p, for so many "
        "tests.",
    )
    agreement = ("agreement.share", "agreement.kappa", "agreement.kappa_interval")
    yield table(
        "How often they choose the same",
        pairs,
        [*agreement, "both", "neither", "agreement.same_wrong"],
        head="pair",
        note="Kappa: 0 as by chance, 1 always the same (Brennan and Prediger). Alike: of both "
        "wrong, the same option.",
    )

    if lasting:
        yield _survival(found, lasting)


def _survival(found: Comparison, lasting: Sequence[SurvivalComparison]) -> report.Table:
    from winosmith.metrics import holm

    rows: Rows = [
        [letters(found, pair), sum(of.first.errors), sum(of.second.errors), of.first.median,
         of.second.median, of.later and {"first": "1st", "second": "2nd"}[of.later],
         probability(of.log_rank), probability(of.p_value), probability(adjusted)]
        for pair, of, adjusted in zip(
            found.pairs, lasting, holm([of.p_value for of in lasting]), strict=True
        )
    ]  # fmt: skip
    depth = lasting[0].signature.parameters["depth"]
    return report.Table(
        f"Depth of the first error ({depth}), in {lasting[0].families:,} families",
        ["pair", "failed", "failed", "half", "half", "later", "log-rank", "p", "Holm"],
        rows,
        "Failed: families with an error, of the 1st and the 2nd; half: the depth by which half "
        "of them have one. Log-rank takes the solvers' families for different ones; p swaps the "
        "solvers in each family, and is the one to report.",
    )
