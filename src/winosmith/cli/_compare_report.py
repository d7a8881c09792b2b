"""What `winosmith compare` says, as tables and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from winosmith import report
from winosmith._version import __version__
from winosmith.cli._printing import TIES, off_scores, percent, probability, rate, span

if TYPE_CHECKING:
    from winosmith.metrics import Comparison, Pair, SurvivalComparison

__all__ = ["LETTERS", "compare_page", "compare_tables", "letters"]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Rows = list[list[report.Value]]


def letters(found: Comparison, pair: Pair) -> str:
    """Return a pair as the tables name it: "A − B"."""
    letter = dict(zip(found.accuracies, LETTERS, strict=False))
    return f"{letter[pair.first]} − {letter[pair.second]}"


def compare_tables(
    name: str, found: Comparison, lasting: Sequence[SurvivalComparison]
) -> Iterator[tuple[str, list[str], Rows, str]]:
    """Yield the tables: title, headings, rows and note of each."""
    letter = dict(zip(found.accuracies, LETTERS, strict=False))
    problems = found.signature.n
    clusters = next(iter(found.accuracies.values())).clusters
    accuracies: Rows = [
        [letter[solver], solver, own.right, rate(own), span(own.interval)]
        for solver, own in found.accuracies.items()
    ]
    notes = [TIES] * any(own.ties for own in found.accuracies.values())
    notes += off_scores(found.against_scores)
    yield (
        f"{name}: {problems:,} problems in {clusters:,} clusters",
        ["", "solver", "right", "accuracy", "95 %"],
        accuracies,
        " ".join(f"{note}." for note in notes),
    )
    pairs = [(letters(found, pair), pair) for pair in found.pairs]
    differences: Rows = [
        [label, f"{100 * pair.difference:+.1f}",
         f"{100 * pair.interval[0]:+.1f} to {100 * pair.interval[1]:+.1f}",
         pair.only_first, pair.only_second, probability(pair.mcnemar),
         probability(pair.p_value), probability(pair.adjusted)]
        for label, pair in pairs
    ]  # fmt: skip
    yield (
        "Differences of accuracy, in points",
        ["pair", "points", "95 %", "1st", "2nd", "McNemar", "p", "Holm"],
        differences,
        "1st, 2nd: what only the one got right. p keeps twins and families together; "
        "McNemar's takes problems for independent. Holm: p, for so many tests.",
    )
    shared: Rows = [
        [label, percent(pair.agreement.share),
         f"{pair.agreement.kappa:.2f}",
         "{:.2f} to {:.2f}".format(*pair.agreement.kappa_interval),
         pair.both, pair.neither, pair.agreement.same_wrong]
        for label, pair in pairs
    ]  # fmt: skip
    yield (
        "How often they choose the same",
        ["pair", "same", "kappa", "95 %", "both right", "both wrong", "alike"],
        shared,
        "Kappa: 0 as by chance, 1 always the same (Brennan and Prediger). Alike: of both wrong, "
        "the same option.",
    )

    if lasting:
        yield _survival(found, lasting)


def _survival(
    found: Comparison, lasting: Sequence[SurvivalComparison]
) -> tuple[str, list[str], Rows, str]:
    from statsmodels.stats.multitest import multipletests

    adjusted = multipletests([of.p_value for of in lasting], method="holm")[1]
    rows: Rows = [
        [letters(found, pair), sum(of.first.errors), sum(of.second.errors), of.first.median,
         of.second.median, of.later and {"first": "1st", "second": "2nd"}[of.later],
         probability(of.log_rank), probability(of.p_value), probability(float(holm))]
        for pair, of, holm in zip(found.pairs, lasting, adjusted, strict=True)
    ]  # fmt: skip
    depth = lasting[0].signature.parameters["depth"]
    return (
        f"Depth of the first error ({depth}), in {lasting[0].families:,} families",
        ["pair", "failed", "failed", "half", "half", "later", "log-rank", "p", "Holm"],
        rows,
        "Failed: families with an error, of the 1st and the 2nd; half: the depth by which half "
        "of them have one. Log-rank takes the solvers' families for different ones; p swaps the "
        "solvers in each family, and is the one to report.",
    )


def compare_page(name: str, found: Comparison, lasting: Sequence[SurvivalComparison]) -> str:
    """Return the tables as a page."""
    tables = [
        report.Table(title, header, rows, note=note)
        for title, header, rows, note in compare_tables(name, found, lasting)
    ]
    blocks: list[report.Block] = [*tables]
    if lasting:
        signatures = "\n".join(
            f"{letters(found, pair)}: {of.signature}"
            for pair, of in zip(found.pairs, lasting, strict=True)
        )
        blocks.append(report.Code(signatures, "Signatures of the depths of first errors"))
    return report.page(
        f"{name}: which solver is better",
        [report.Section("Accuracies and differences", blocks)],
        subtitle="Intervals are 95 %; twins and families are kept together.",
        signature=found.signature,
        footer=f"Made by winosmith {__version__}.",
    )
