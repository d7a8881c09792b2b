"""`winosmith stats`: print statistics of a data set, and find leaks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from winosmith import metrics, report
from winosmith.cli import _options
from winosmith.cli._output import Output, Rows
from winosmith.dataset import Dataset
from winosmith.metrics import ClaimStatistics, LineageStatistics, Statistics
from winosmith.problem import Claim
from winosmith.report import format_value, percent, to_fixed
from winosmith.results import make_table
from winosmith.study import join_data
from winosmith.text import format_count


@click.command()
@click.argument("data", nargs=-1, required=True, metavar="DATA...", type=_options.DATA)
@_options.format_option
@_options.seed_option("Random seed for the search for leaks.")
@_options.page_option
@_options.json_option
def command(
    data: tuple[str, ...],
    seed: int,
) -> None:
    """Count the problems in a data set, and find fields that give the answer away.

    Several files are counted as one data set. Lengths and vocabularies are in Penn Treebank tokens.
    Data sets of WinoGrande's table 5 are counted by its rules, and the published numbers are shown
    for comparison. A field gives the answer away if some property of it (its last character, its
    parity, its order in a twin …) predicts held-out answers: in the released WinoGrande, the id
    does. For perturbed problems, the three depths are compared, and the problem in which they
    differ most is shown.

    \b
    Example:
        winosmith stats dev.jsonl
        winosmith stats train.c.txt test.c.txt
    """  # noqa: D301
    parts = [_options.read_items(path) for path in data]
    name = " + ".join(Path(path).stem for path in data)
    asked = parts[0] if len(parts) == 1 else join_data(parts, name)
    if isinstance(asked, Dataset):
        result = _describe_problems(asked, seed)
    else:
        result = _describe_claims(name, asked)
    result.show()


def _make_token_rows(stats: Statistics | ClaimStatistics) -> Rows:
    if stats.average_length is None or stats.vocabulary is None:
        none = "not counted: no spaces between words"
        return [["average length", none], ["vocabulary", none]]
    but = f", without {stats.without_spaces:,} unspaced problems" if stats.without_spaces else ""
    return [
        ["average length", f"{to_fixed(stats.average_length, '.2f')} tokens{but}"],
        ["vocabulary", f"{stats.vocabulary:,} tokens{but}"],
    ]


def _describe_claims(name: str, claims: tuple[Claim, ...]) -> Output:
    stats = metrics.compute_claim_statistics(claims)
    counts = {"true": stats.true, "false": stats.false, "withheld": stats.withheld}
    labels = [f"{word}: {n:,}" for word, n in counts.items() if n]
    rows: Rows = [
        ["claims", f"{stats.claims:,}"],
        *_make_token_rows(stats),
        ["labels", ", ".join(labels)],
    ]
    return Output(
        f"{name}: counted",
        {"data": name, **stats.record()},
        [report.Section("Counts", [report.Table(name, ["", ""], rows), *_make_table5(stats)])],
    )


def _describe_problems(dataset: Dataset, seed: int) -> Output:
    found = metrics.compute_statistics(dataset, seed)
    families = metrics.compute_lineage_statistics(dataset)
    pairs, advice = _options.detect_unmarked_twins(dataset)
    return Output(
        f"{dataset.name}: counted",
        {
            "data": dataset.name,
            **found.record(),
            **({"unmarked_twins": pairs} if pairs else {}),
            **({"lineages": families.record()} if families else {}),
        },
        list(_make_sections(dataset.name, found, families, advice)),
        signature=found.signature,
    )


def _make_sections(
    name: str, stats: Statistics, families: LineageStatistics | None, advice: str
) -> Iterator[report.Section]:
    counts = report.Table(name, ["", ""], _make_count_rows(stats))
    yield report.Section("Counts", [counts, *_make_table5(stats)])
    repeated = [line for line in (advice, *stats.copies.sentences()) if line]
    if repeated:
        yield report.Section("Twins and copies", [report.Text(repeated)])
    if families:
        yield report.Section("Families", list(_describe_lineages(families, stats.without_spaces)))
    yield report.Section("Fields that give the answer away", [_describe_leaks(stats)])


def _make_table5(stats: Statistics | ClaimStatistics) -> list[report.Block]:
    return [] if stats.table5 is None else [report.Text([str(stats.table5)])]


def _make_count_rows(stats: Statistics) -> Rows:
    answers = [f"option {index + 1}: {count:,}" for index, count in enumerate(stats.answers)]
    if stats.withheld:
        answers = [*(answers if any(stats.answers) else []), f"withheld: {stats.withheld:,}"]
    missing = len(stats.missing_options)
    more = f", {stats.comparisons:,} comparisons" if stats.comparisons > stats.problems else ""
    marked, labelled = stats.associative
    blanks = stats.problems - stats.questions
    by_options = [f"{n} in {format_count(of, 'problem')}" for n, of in stats.options.items()]
    rows: Rows = [
        ["problems", f"{stats.problems:,}{more}"],
        *_make_token_rows(stats),
        ["twins", f"{stats.twins:,}"],
        ["singles", f"{stats.singles:,}"],
        ["answers", ", ".join(answers)],
        ["options", ", ".join(by_options)],
        ["duplicates", format_count(sum(map(len, stats.copies.groups)), "problem")],
    ]
    if stats.questions:
        rows.insert(1, ["questions", f"{stats.questions:,}, which have no blank"])
    if blanks or not stats.questions:
        example = f", as {stats.missing_options[0]}" if missing else ""
        rows.append(
            [
                "option missing",
                f"{format_count(missing, 'problem')} ({percent(stats.missing_share)}){example}",
            ]
        )
    if labelled:
        rate = f"{marked:,} of {labelled:,} ({percent(marked / labelled)})"
        rows.append(["associative", rate])
    return rows


def _describe_lineages(stats: LineageStatistics, uncounted: int) -> Iterator[report.Block]:
    families = format_count(stats.families, "family", "families")
    unvalidated = f", {stats.unvalidated:,} of them unvalidated" if stats.unvalidated else ""
    yield make_table(
        f"{format_count(stats.perturbed, 'perturbed problem')} in {families}{unvalidated}",
        stats.depths,
        head="depth",
    )
    if stats.example is not None:
        own = ", ".join(f"{name} {format_value(of)}" for name, of in stats.example_depths.items())
        yield report.Text([f"The depths of {stats.example!r} differ most: {own}."])
    if uncounted:
        yield report.Text(
            [
                f"Depths count tokens, so they mean nothing for the {uncounted:,} problems without "
                "spaces between words."
            ]
        )


def _describe_leaks(stats: Statistics) -> report.Text:
    if stats.leaks:
        return report.Text([f"LEAK {leak}" for leak in stats.leaks], "warning")
    if stats.leaks is None:
        few = (
            "Too few answers are known to check whether a field gives them away: at least "
            f"{metrics.MIN_GROUPS} blocks (twins, families, copies, look-alikes) are needed."
        )
        return report.Text([few])
    return report.Text(["No field was found that gives the answer away."])
