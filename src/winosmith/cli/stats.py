"""`winosmith stats`: print statistics of a data set, and find leaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from winosmith import metrics, report
from winosmith.cli import _options
from winosmith.cli._output import Output, Rows
from winosmith.dataset import Dataset
from winosmith.errors import FormatError
from winosmith.metrics import ClaimStatistics, LineageStatistics, Statistics
from winosmith.problem import Claim, Problem
from winosmith.report import fixed, format_value, percent
from winosmith.results import table
from winosmith.study import join_data
from winosmith.text import count_noun


@click.command()
@click.argument("data", nargs=-1, required=True, metavar="DATA...", type=_options.DATA)
@_options.format_option
@_options.seed_option("Random seed for the search for leaks.")
@_options.page_option
@_options.json_option
def command(
    data: tuple[str, ...],
    format_name: str | None,
    seed: int,
    out: str | None,
    as_json: bool,
) -> None:
    """Count the problems of a data set, and find fields that give the answer away.

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
    asked = _read_items(data, format_name)
    result = (
        _describe_problems(asked, seed)
        if isinstance(asked, Dataset)
        else _describe_claims(
            " + ".join(Path(path).stem for path in data), metrics.compute_claim_statistics(asked)
        )
    )
    result.show(as_json=as_json, out=out)


def _read_items(paths: Sequence[str], format_name: str | None) -> Dataset | tuple[Claim, ...]:
    parts: list[Dataset | tuple[Claim, ...]] = []
    for path in paths:
        contents = _options.read_contents(path, format_name)
        claims = tuple(item for item in contents.items if isinstance(item, Claim))
        problems = [item for item in contents.items if isinstance(item, Problem)]
        if claims and problems:
            raise FormatError("the file contains both problems and true-or-false claims", path)
        parts.append(claims or Dataset(problems, Path(path).stem))
    if len(parts) == 1:
        return parts[0]
    return join_data(parts, " + ".join(Path(path).stem for path in paths))


def _count_tokens(found: Statistics | ClaimStatistics) -> Rows:
    if found.average_length is None or found.vocabulary is None:
        none = "not counted: no spaces between words"
        return [["average length", none], ["vocabulary", none]]
    but = f", without {found.without_spaces:,} unspaced problems" if found.without_spaces else ""
    return [
        ["average length", f"{fixed(found.average_length, '.2f')} tokens{but}"],
        ["vocabulary", f"{found.vocabulary:,} tokens{but}"],
    ]


def _describe_claims(name: str, found: ClaimStatistics) -> Output:
    words = ("true", "false", "withheld")
    counts = found.true, found.false, found.withheld
    holds = [f"{word}: {n:,}" for word, n in zip(words, counts, strict=True) if n]
    rows: Rows = [
        ["claims", f"{found.claims:,}"],
        *_count_tokens(found),
        ["labels", ", ".join(holds)],
    ]
    return Output(
        f"{name}: counted",
        {"data": name, **found.record()},
        [
            report.Section(
                "Counts",
                [report.Table(format_value(name), ["", ""], rows), *_show_table5(found)],
            )
        ],
        spaced=True,
    )


def _describe_problems(dataset: Dataset, seed: int) -> Output:
    found = metrics.compute_statistics(dataset, seed)
    families = metrics.compute_lineage_statistics(dataset)
    pairs, advice = _options.find_unmarked_twins(dataset)
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
        spaced=True,
    )


def _make_sections(
    name: str, found: Statistics, families: LineageStatistics | None, advice: str
) -> Iterator[report.Section]:
    counts = report.Table(format_value(name), ["", ""], _make_count_rows(found))
    yield report.Section("Counts", [counts, *_show_table5(found)])
    repeated = [format_value(line) for line in (advice, *found.copies.sentences()) if line]
    if repeated:
        yield report.Section("Twins and copies", [report.Text(repeated)])
    if families:
        yield report.Section("Families", list(_show_lineages(families, found.without_spaces)))
    yield report.Section("Fields that give the answer away", [_describe_leaks(found)])


def _show_table5(found: Statistics | ClaimStatistics) -> list[report.Block]:
    return [] if found.table5 is None else [report.Text([str(found.table5)])]


def _make_count_rows(found: Statistics) -> Rows:
    answers = [f"option {index + 1}: {count:,}" for index, count in enumerate(found.answers)]
    if found.withheld:
        answers = [*(answers if any(found.answers) else []), f"withheld: {found.withheld:,}"]
    missing = len(found.missing_options)
    more = f", {found.comparisons:,} comparisons" if found.comparisons > found.problems else ""
    marked, labelled = found.associative
    blanks = found.problems - found.questions
    by_options = [f"{n} in {count_noun(of, 'problem')}" for n, of in found.options.items()]
    rows: Rows = [
        ["problems", f"{found.problems:,}{more}"],
        *_count_tokens(found),
        ["twins", f"{found.twins:,}"],
        ["singles", f"{found.singles:,}"],
        ["answers", ", ".join(answers)],
        ["options", ", ".join(by_options)],
        ["duplicates", count_noun(sum(map(len, found.copies.groups)), "problem")],
    ]
    if found.questions:
        rows.insert(1, ["questions", f"{found.questions:,}, which have no blank"])
    if blanks or not found.questions:
        example = f", as {found.missing_options[0]}" if missing else ""
        rows.append(
            [
                "option missing",
                f"{count_noun(missing, 'problem')} ({percent(found.missing_share)}){example}",
            ]
        )
    if labelled:
        rate = f"{marked:,} of {labelled:,} ({percent(marked / labelled)})"
        rows.append(["associative", rate])
    return rows


def _show_lineages(found: LineageStatistics, uncounted: int) -> Iterator[report.Block]:
    families = count_noun(found.families, "family", "families")
    unvalidated = f", {found.unvalidated:,} of them unvalidated" if found.unvalidated else ""
    yield table(
        f"{count_noun(found.perturbed, 'perturbed problem')} in {families}{unvalidated}",
        found.depths,
        head="depth",
    )
    if found.example is not None:
        own = ", ".join(f"{name} {format_value(of)}" for name, of in found.example_depths.items())
        yield report.Text([f"The depths of {format_value(found.example)!r} differ most: {own}."])
    if uncounted:
        yield report.Text(
            [
                f"Depths count tokens, so they mean nothing for the {uncounted:,} problems without "
                "spaces between words."
            ]
        )


def _describe_leaks(found: Statistics) -> report.Text:
    if found.leaks:
        return report.Text([f"LEAK {format_value(str(leak))}" for leak in found.leaks], "warning")
    if found.leaks is None:
        few = (
            "Too few answers are known to check whether a field gives them away: at least "
            f"{metrics.MIN_GROUPS} blocks (twins, families, copies, look-alikes) are needed."
        )
        return report.Text([few])
    return report.Text(["No field was found that gives the answer away."])
