"""`winosmith stats`: print statistics of a data set, and find leaks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from winosmith import formats, metrics, report
from winosmith.cli import _options
from winosmith.cli._output import Output, Rows
from winosmith.dataset import Dataset
from winosmith.metrics import ClaimStatistics, LineageStatistics, Statistics
from winosmith.report import format_value, percent, to_fixed
from winosmith.results import make_table, to_json
from winosmith.study import join_data
from winosmith.text import format_count


@click.command()
@click.argument("data", nargs=-1, required=True, metavar="DATA...", type=_options.DATA)
@_options.format_option
@_options.seed_option("Random seed for the search for leaks.")
@_options.page_option
@_options.json_option
def command(data: tuple[str, ...], seed: int) -> None:
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
    if not isinstance(asked, Dataset):
        claims = metrics.compute_claim_statistics(asked)
        counts = {"true": claims.true, "false": claims.false, "withheld": claims.withheld}
        rows: Rows = [
            ["claims", f"{claims.claims:,}"],
            *_make_token_rows(claims),
            ["labels", ", ".join(f"{word}: {n:,}" for word, n in counts.items() if n)],
        ]
        blocks = [report.Table(name, ["", ""], rows), *_make_table5(claims)]
        record = {"data": name, **claims.record()}
        Output(f"{name}: counted", record, [report.Section("Counts", blocks)]).show()
        return
    found = metrics.compute_statistics(asked, seed)
    families = metrics.compute_lineage_statistics(asked)
    pairs, advice = _options.detect_unmarked_twins(asked)
    by_path = {path: of for path, of in zip(data, parts, strict=True) if isinstance(of, Dataset)}
    read = report.Section("Columns", [report.Text(formats.describe_columns(by_path))])
    Output(
        f"{asked.name}: counted",
        {
            "data": asked.name,
            "columns": to_json({path: part.roles for path, part in by_path.items()}),
            **found.record(),
            **({"unmarked_twins": pairs} if pairs else {}),
            **({"lineages": families.record()} if families else {}),
        },
        [read, *_make_sections(asked.name, found, families, advice)],
        signature=found.signature,
    ).show()


def _make_token_rows(stats: Statistics | ClaimStatistics) -> Rows:
    if stats.average_length is None or stats.vocabulary is None:
        none = "not counted: no spaces between words"
        return [["average length", none], ["vocabulary", none]]
    but = f", without {stats.without_spaces:,} unspaced problems" if stats.without_spaces else ""
    return [
        ["average length", f"{to_fixed(stats.average_length, '.2f')} tokens{but}"],
        ["vocabulary", f"{stats.vocabulary:,} tokens{but}"],
    ]


def _make_sections(
    name: str, stats: Statistics, families: LineageStatistics | None, advice: str
) -> Iterator[report.Section]:
    counts = report.Table(name, ["", ""], _make_count_rows(stats))
    yield report.Section("Counts", [counts, *_make_table5(stats)])
    repeated = [line for line in (advice, *stats.copies.sentences()) if line]
    if repeated:
        yield report.Section("Twins and copies", [report.Text(repeated)])
    if families:
        count = format_count(families.families, "family", "families")
        unvalidated = f", {families.unvalidated:,} of them unvalidated" * bool(families.unvalidated)
        blocks: list[report.Block] = [
            make_table(
                f"{format_count(families.perturbed, 'perturbed problem')} in {count}{unvalidated}",
                families.depths,
                head="depth",
            )
        ]
        if families.example is not None:
            depths = families.example_depths.items()
            own = ", ".join(f"{depth} {format_value(of)}" for depth, of in depths)
            blocks.append(report.Text([f"The depths of {families.example!r} differ most: {own}."]))
        if stats.without_spaces:
            note = (
                "Depths count tokens, so they mean nothing for the "
                f"{stats.without_spaces:,} problems without spaces between words."
            )
            blocks.append(report.Text([note]))
        yield report.Section("Families", blocks)
    if stats.leaks:
        leaks = report.Text([f"LEAK {leak}" for leak in stats.leaks], "warning")
    elif stats.leaks is None:
        reason = (
            f"Fields are not searched for answers: at least {metrics.MIN_GROUPS} blocks (twins, "
            "families, copies, look-alikes) with known answers are needed."
        )
        leaks = report.Text([reason])
    else:
        leaks = report.Text(["No field was found that gives the answer away."])
    yield report.Section("Fields that give the answer away", [leaks])


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
