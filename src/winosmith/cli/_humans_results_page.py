"""The page of `winosmith humans results`: figures and tables in one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from winosmith import report
from winosmith._version import __version__
from winosmith.cli._answered import percent, span
from winosmith.cli._humans_results_tables import Table, counts_tables, round_tables, tables_of_test
from winosmith.dataset import Dataset
from winosmith.humans import UNTOLD, Counts, ItemRow, Results, TestResult

__all__ = ["counts_page", "results_page"]

_BAR = 0.9
"""Where the bar for "near human" was set (Davis et al. 2016, section 7)."""


def results_page(dataset: Dataset, found: Results, signature: report.Signature) -> str:
    """Return the report on human tests as one HTML page."""
    share = found.right / found.answers
    flagged = len(found.flagged)
    sections = [
        report.Section("Over all", [_cards(found), *_beside(share)]),
        *(_section(dataset, test, signature) for test in found.tests),
        *_round(dataset, found),
    ]
    built = {0: "none of the items is badly built", 1: "1 item is badly built"}
    return report.page(
        f"Human tests: {dataset.name or 'problems'}",
        sections,
        subtitle=f"{found.subjects} people gave {percent(share)} of {found.answers:,} answers as "
        f"they were intended; {built.get(flagged, f'{flagged} items are badly built')}.",
        signature=signature,
        footer=f"Made by winosmith {__version__}.",
    )


def counts_page(dataset: Dataset, found: Counts, signature: report.Signature) -> str:
    """Return what counts without subjects tell as one HTML page."""
    people = {of for _, of in found.histogram}
    drawings = [
        report.items_by_right(
            {right: n for (right, of), n in found.histogram.items() if of == asked},
            asked,
            title=f"{asked} people were asked",
        )
        for asked in sorted(people, reverse=True)
    ]
    cards = report.Cards(
        [
            report.KeyFigure("intended answers", found.share, f"{found.right:,} of "
                             f"{found.answers:,}", ".2%"),
            report.KeyFigure("guessing", found.chance.share, f"{found.chance.right:.1f} of "
                             f"{found.problems} problems", ".1%"),
            report.KeyFigure("problems", found.problems),
        ]
    )  # fmt: skip
    told: list[report.Block] = [
        cards,
        report.Drawing("How many people gave the intended answer", drawings, signature=signature),
        *_tables(counts_tables(found)),
    ]
    return report.page(
        f"Human tests: {dataset.name or 'problems'}",
        [
            report.Section("What the counts tell", told),
            report.Section("What they can't tell", [report.Text([f"{u}." for u in UNTOLD])],
                           "Who answered what is not in the file."),
        ],
        subtitle=f"{found.right:,} of {found.answers:,} answers are the intended ones.",
        signature=signature,
        footer=f"Made by winosmith {__version__}.",
    )  # fmt: skip


def _cards(found: Results) -> report.Cards:
    share = found.right / found.answers
    return report.Cards(
        [
            report.KeyFigure("intended answers", share, f"{found.right:,} of {found.answers:,}",
                             ".1%"),
            report.KeyFigure("people", found.subjects, f"{len(found.tests)} tests"),
            report.KeyFigure("badly built items", len(found.flagged), "fewer than half agree"),
            *(
                report.KeyFigure(f"test {test.name}", test.share.value,
                                 f"{span(test.share.interval)}; guessing "
                                 f"{percent(test.chance.share)}", ".1%")
                for test in found.tests
            ),
        ]
    )  # fmt: skip


def _beside(share: float) -> Iterator[report.Block]:
    yield report.Text(
        [
            f"The bar for “near human” on the challenge of 2016 was {percent(_BAR)}; its subjects "
            "gave 3,347 of 3,654 answers as intended, 91.6 % (Davis, Morgenstern & Ortiz 2016). "
            f"The people here are {'over' if share >= _BAR else 'under'} that bar. The figures "
            "hold for these people and these items: whoever picks items by them and reports the "
            "same answers is too optimistic; “winosmith humans select” asks people who had no "
            "part in the choice.",
        ],
        "note",
    )


def _section(dataset: Dataset, test: TestResult, signature: report.Signature) -> report.Section:
    overall, people, _, flagged = tables_of_test(test)
    blocks: list[report.Block] = [
        *_tables([_spelled_out(overall)]),
        report.Drawing(
            f"Items by people who gave the intended answer{_way_told(test)}",
            [*_levels(test), *_way(test)],
            _items(test),
            signature,
        ),
        report.Drawing(
            "Scores of the subjects, beside their mean and guessing",
            [_scores(test)],
            _table(people),
            signature,
        ),
        *_tables([flagged]),
        *_passages(dataset, test),
    ]
    share = test.share
    return report.Section(
        f"Test {test.name}",
        blocks,
        f"{len(test.people)} people, {len(test.items)} items: {percent(share.value)} of the "
        f"answers are the intended ones ({span(share.interval)} %).",
    )


def _levels(test: TestResult) -> Iterator[report.Svg]:
    for asked in sorted({of for _, of in test.histogram}, reverse=True):
        yield report.items_by_right(
            {right: n for (right, of), n in test.histogram.items() if of == asked},
            asked,
            title=f"Test {test.name}, {asked} people",
        )


def _scores(test: TestResult) -> report.Svg:
    groups = {True: "native", False: "other", None: ""}
    return report.subject_scores(
        [report.SubjectScore(p.subject, p.share, groups[p.native]) for p in test.people],
        mean=test.share.value,
        chance=test.chance.share,
        title=f"Test {test.name}",
    )


def _way(test: TestResult) -> Iterator[report.Svg]:
    if test.course is None:
        return
    parts = [
        report.SheetPart(first, last, share.value, *share.interval, seconds)
        for (first, last, share), seconds in zip(
            test.course.parts, test.course.seconds, strict=True
        )
    ]
    slope = test.course.right
    note = ""
    if slope is not None and slope.interval is not None:
        low, high = (100 * end for end in slope.interval)
        note = f"start to end {100 * slope.change:+.1f} points ({low:+.1f} to {high:+.1f})"
    yield report.over_the_sheet(parts, title="Learning and fatigue", note=note)


def _way_told(test: TestResult) -> str:
    if test.course is None:
        return "."
    how = (
        "each answer was compared with the others' on the same item"
        if test.course.adjusted
        else "all had one order, so that place and item can't be told apart"
    )
    return f"; and the share right from the first question to the last ({how})."


def _spelled_out(table: Table) -> Table:
    """Return the table with its indented names written in full, as pages do not indent."""
    title, header, rows, note = table
    above, spelled = "", []
    for name, *rest in rows:
        text = str(name)
        if not text.startswith("  "):
            above = text
        spelled.append([f"{above}: {text.strip()}" if text.startswith("  ") else text, *rest])
    return title, header, spelled, note


def _passages(dataset: Dataset, test: TestResult) -> Iterator[report.Block]:
    """Yield the badly built items as they stand in the data."""
    flagged = [item for item in test.items if item.flagged]
    if flagged:
        yield report.Passages(
            "What people read instead",
            [[_passage(dataset, item)] for item in flagged],
            "The intended answer is marked; under it, what most people chose.",
        )


def _passage(dataset: Dataset, item: ItemRow) -> report.Passage:
    problem = dataset[item.row]
    return report.Passage(
        [report.Part(problem.sentence.replace("_", f"[{problem.pronoun or '_'}]", 1))],
        problem.options,
        problem.answer,
        f"{item.right} of {item.asked} gave the intended answer",
        False,
        [f"most people: {item.reading}", *_chosen(item)],
    )


def _chosen(item: ItemRow) -> Iterator[str]:
    for option, n in zip(item.options, item.choices, strict=True):
        yield f"{option}: {n}"
    if item.ambiguous:
        yield f"ambiguous (X): {item.ambiguous}"


def _items(test: TestResult) -> report.Table:
    ordered = sorted(test.items, key=lambda item: (item.right / item.asked, item.row))
    return report.Table(
        "All items, the least agreed on first",
        ["item", "intended", "same answer", "X", "asked", "X rate", "people read"],
        [
            [item.problem, item.right, item.same, item.ambiguous, item.asked,
             percent(item.ambiguous / item.asked), item.reading or None]
            for item in ordered
        ],
        "People read: the most frequent answer where it is not the intended one.",
    )  # fmt: skip


def _round(dataset: Dataset, found: Results) -> Iterator[report.Section]:
    blocks = [*_tables(round_tables(dataset, found))]
    if blocks:
        yield report.Section("Over the tests", blocks)
    if found.pace:
        yield report.Section(
            "Time",
            [
                report.Table(
                    "Time a question, the fastest first",
                    ["subject", report.Column("seconds", ".1f"), "questions",
                     report.Column("times the median", ".2f"), "pace"],
                    [[p.subject, p.seconds, p.questions, p.times_median, p.odd or None]
                     for p in found.pace],
                    "Fast: half the median or less; slow: twice or more. In 2016 an hour made "
                    "18.3 s a question, and one subject took 7.6 s.",
                )
            ],
        )  # fmt: skip


def _tables(tables: Iterable[Table]) -> Iterator[report.Table]:
    for table in tables:
        if table[2]:
            yield _table(table)


def _table(table: Table) -> report.Table:
    title, header, rows, note = table
    return report.Table(title, header, rows, note=note)
