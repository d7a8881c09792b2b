"""What `winosmith humans results` prints: the tables, which the page shows, too."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import click

from winosmith import report
from winosmith.cli._answered import percent, probability, span
from winosmith.cli._tables import print_table
from winosmith.dataset import Dataset
from winosmith.humans import UNTOLD, Counts, Groups, ItemRow, Remark, Results, Slope, TestResult
from winosmith.metrics import Reliability

__all__ = [
    "Table",
    "counts_tables",
    "print_counts",
    "print_results",
    "round_tables",
    "tables_of_test",
]

Rows = list[list[report.Value]]
Table = tuple[str, list[str], Rows, str]
"""A table: its title, its headings, its rows, and a note."""

_ITEMS = 12
"""How many items the terminal lists; the page has all."""


def print_results(dataset: Dataset, found: Results) -> None:
    """Print the tables of every test, and those of the round."""
    share = percent(found.right / found.answers)
    click.secho(
        f"{share} of the answers are the intended ones ({found.right:,} of {found.answers:,}); "
        f"{found.subjects} {'person' if found.subjects == 1 else 'people'}, "
        f"{len(found.tests)} {'test' if len(found.tests) == 1 else 'tests'}\n",
        bold=True,
    )
    for test in found.tests:
        _print(tables_of_test(test))
        click.echo()
    _print(round_tables(dataset, found))


def print_counts(dataset: Dataset, found: Counts) -> None:
    """Print what counts tell, and what they can't."""
    click.secho(
        f"{found.share:.2%} of the answers are the intended ones ({found.right:,} of "
        f"{found.answers:,}), on {found.problems} problems\n",
        bold=True,
    )
    _print(counts_tables(found))
    click.echo("What counts without subjects can't tell:")
    for reason in UNTOLD:
        click.echo(textwrap.fill(reason, 78, initial_indent="  - ", subsequent_indent="    "))
    click.echo()


def _print(tables: Iterator[Table]) -> None:
    for title, header, rows, note in tables:
        print_table(title, header, rows[:_ITEMS] if header[0] == "item" else rows)
        if header[0] == "item" and len(rows) > _ITEMS:
            note = f"{len(rows) - _ITEMS} more are in the report (--out). {note}".strip()
        if rows and note:
            click.echo(textwrap.fill(note, 80) + "\n")


def counts_tables(found: Counts) -> Iterator[Table]:
    """Yield the tables that counts give."""
    levels: Rows = [[right, of, n] for (right, of), n in found.histogram.items()]
    yield "People who gave the intended answer", ["intended", "of", "problems"], levels, ""
    sizes: Rows = [
        [size, found.chance.options[size], right, of, percent(right / of), percent(1 / size)]
        for size, (right, of) in found.by_options.items()
    ]
    yield (
        "By number of options",
        ["options", "problems", "intended", "answers", "share", "guessing"],
        sizes,
        f"Guessing gets {found.chance.right:.1f} of {found.problems} problems right, "
        f"{percent(found.chance.share)}.",
    )


def tables_of_test(test: TestResult) -> Iterator[Table]:
    """Yield the tables of one test."""
    name = f"Test {test.name}"
    yield f"{name}: over all", ["figure", "value"], list(_overall(test)), _caution(test)
    yield (
        f"{name}: scores of the subjects",
        ["subject", "native", "right", "of", "score", "X", "empty"],
        [
            [p.subject, _native(p.native), p.right, p.asked, percent(p.share), p.ambiguous, p.empty]
            for p in test.people
        ],
        "",
    )
    yield (
        f"{name}: items by people who gave the intended answer",
        ["intended", "of", "items"],
        [[right, of, n] for (right, of), n in test.histogram.items()],
        "",
    )
    yield (
        f"{name}: badly built items",
        ["item", "intended", "same", "X", "of", "people read"],
        [_item(item) for item in test.items if item.flagged],
        "Fewer than half gave the intended answer. Same: the most frequent answer, intended or "
        "not.",
    )


def _overall(test: TestResult) -> Iterator[list[report.Value]]:
    share = test.share
    yield ["answers intended", f"{percent(share.value)} ({share.right:,} of {share.n:,})"]
    yield ["95 % interval", span(share.interval)]
    if test.deviation is not None:
        yield ["deviation of scores", f"{100 * test.deviation:.1f} points, of {len(test.people)}"]
    right = f"{test.chance.right:.1f} of {len(test.items)} items"
    yield ["guessing", f"{percent(test.chance.share)} ({right})"]
    yield ["above guessing", f"{percent(test.above_chance)} of the way to all right"]
    yield ["same answer", f"{percent(test.same)} gave the most frequent one of the item"]
    yield ["ambiguous (X)", f"{test.ambiguous:,} ({percent(test.ambiguous / share.n)})"]
    yield ["Fleiss' kappa", _reliability(test.kappa)]
    yield ["Krippendorff's alpha", _reliability(test.alpha)]
    yield from _groups("native, others", test.groups)
    if test.without is not None:
        names, left = ", ".join(test.without.left_out), test.without.subjects
        yield [f"without {names}", f"{percent(test.without.mean)}, of {left} people"]
        levels = list(test.without.histogram.items())[:2]
        yield ["  their items", ", ".join(f"{n} with {right} of {left}" for right, n in levels)]
        yield from _groups("  native, others", test.without.groups)
    if test.course is not None:
        yield ["first to last question", _slope(test.course.right, 100, "points right")]
        if test.course.time is not None:
            yield ["  its time", _slope(test.course.time, 1, "s a question")]


def _groups(title: str, groups: Groups | None) -> Iterator[list[report.Value]]:
    if groups is not None:
        means = f"{percent(groups.means[0])}, {percent(groups.means[1])}"
        yield [title, f"{means} ({groups.native} and {groups.others} people)"]
        welch = "" if groups.welch is None else f"Welch p {probability(groups.welch)}, "
        yield ["  difference", f"{100 * groups.difference:+.1f} points; {welch}"
               f"permutation p {probability(groups.permutation)}"]  # fmt: skip


def _reliability(found: Reliability) -> str:
    if found.value is None or found.interval is None:
        return f"not defined: {found.reason}"
    low, high = found.interval
    return f"{found.value:.2f} ({low:.2f} to {high:.2f})"


def _slope(slope: Slope | None, scale: float, unit: str) -> str:
    if slope is None:
        return "unknown"
    interval = (
        "one subject, no interval"
        if slope.interval is None
        else f"{scale * slope.interval[0]:+.1f} to {scale * slope.interval[1]:+.1f}"
    )
    return f"{scale * slope.change:+.1f} {unit} ({interval})"


def _caution(test: TestResult) -> str:
    notes = [test.groups.caution] if test.groups else []
    if test.course is not None and not test.course.adjusted and len(test.people) > 1:
        notes.append(
            "All had the items in one order, so a change over the sheet may be one of the items."
        )
    return " ".join(filter(None, notes))


def _native(native: bool | None) -> str:
    return "" if native is None else "yes" if native else "no"


def _item(item: ItemRow) -> list[report.Value]:
    return [report.shown(item.problem), item.right, item.same, item.ambiguous, item.asked,
            item.reading]  # fmt: skip


def round_tables(dataset: Dataset, found: Results) -> Iterator[Table]:
    """Yield the tables over all tests."""
    yield (
        "Both halves of a schema",
        ["better half", "other half", "schemas"],
        [[_of(a), _of(b), n] for (a, b), n in found.halves.levels.items()],
        f"{found.halves.schemas} schemas have answers to both halves, by different people.",
    )
    odd = [pace for pace in found.pace if pace.odd]
    yield (
        "Time a question",
        ["subject", "seconds", "times the median", "pace"],
        [[p.subject, f"{p.seconds:.1f}", f"{p.times_median:.2f}", p.odd] for p in odd],
        "Half the median or less is fast, twice or more slow.",
    )
    yield from _said("Texts recognised", found.recognised)
    yield from _said("Words asked about", found.words)


def _said(title: str, said: Sequence[tuple[str, Remark]]) -> Iterator[Table]:
    rows: Rows = [[who, remark.problem or "", remark.text] for who, remark in said]
    yield title, ["subject", "problem", "what"], rows, ""


def _of(pair: tuple[int, int]) -> str:
    return f"{pair[0]} of {pair[1]}"
