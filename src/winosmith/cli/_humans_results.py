"""`winosmith humans results`: what a test on people told, on the terminal and as a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from winosmith import report
from winosmith._version import __version__
from winosmith.answers import Response
from winosmith.cli._options import data_argument, format_option, json_option, read_data
from winosmith.cli._printing import Rows, Table, percent, print_json, print_table, probability, span
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError
from winosmith.humans import (
    UNTOLD,
    Counts,
    Groups,
    ItemRow,
    Remark,
    Results,
    Slope,
    Subject,
    TestResult,
    counts,
    read_subjects,
    results,
    tally_of_counts,
)
from winosmith.metrics import Reliability
from winosmith.outputs import write_aside
from winosmith.report import Signature, sign

_FILE = click.Path(exists=True, dir_okay=False)


@click.command("results")
@data_argument()
@click.argument("responses", nargs=-1, type=_FILE)
@format_option
@click.option("--subjects", type=_FILE, metavar="FILE", help="What is known of the people: "
              "subjects.jsonl of `winosmith humans enter`, or a CSV.")  # fmt: skip
@click.option("--without", "weakest", type=click.IntRange(min=0), default=3, show_default=True,
              help="Lowest scores to leave out in the second reading.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Of bootstraps and permutations.")
@click.option("--out", metavar="FILE.html", help="Write a report with figures there.")
@json_option
def tell_results(**options: Any) -> None:
    """Tell how people did on DATA, by their RESPONSES.

    Of each test: the share of intended answers with its interval, beside guessing; scores by
    subject; how many people got each item right; native speakers and others; all without the
    weakest; agreement (Fleiss' kappa, Krippendorff's alpha); badly built items, with what people
    read instead; answers of X; learning and fatigue over the sheet. Then both halves of the
    schemas, people who were oddly fast, texts recognised.

    RESPONSES are files of `winosmith humans enter`, or of the platform. Without any, the counts
    that DATA itself holds are used, as in the file of the PDP challenge of 2016.

    \b
    Example:
        winosmith humans results schemas.jsonl answers/responses.jsonl \\
            --subjects answers/subjects.jsonl --out results.html
        winosmith humans results PDPChallenge2016.xml
    """  # noqa: D301
    dataset = read_data(options["data"], options["format_name"])
    if not options["responses"]:
        _of_counts(dataset, options)
        return
    said = _responses(options["responses"])
    subjects = read_subjects(options["subjects"]) if options["subjects"] else ()
    found = results(
        dataset, said, subjects, weakest=options["weakest"], seed=options["seed"]
    )  # fmt: skip
    signature = _signature(dataset, said, subjects, options)
    if options["out"]:
        _write(options["out"], results_page(dataset, found, signature))
    if options["as_json"]:
        print_json({"data": dataset.name, **found.record(), "signature": str(signature)})
        return
    print_results(dataset, found)
    _close(signature, options["out"])


def _of_counts(dataset: Dataset, options: Mapping[str, Any]) -> None:
    """Tell what the counts in the file tell, and what they can't."""
    tally = tally_of_counts(dataset)
    if tally is None:
        raise InputError(f"{options['data']} holds no counts of people; name a file of responses")
    if options["subjects"]:
        raise InputError("--subjects goes with RESPONSES; counts do not tell who answered what")
    found = counts(dataset, tally)
    signature = sign(dataset, responses="counts")
    if options["out"]:
        _write(options["out"], counts_page(dataset, found, signature))
    if options["as_json"]:
        print_json({"data": dataset.name, **found.record(), "signature": str(signature)})
        return
    print_counts(dataset, found)
    _close(signature, options["out"])


def _responses(paths: Sequence[str]) -> tuple[Response, ...]:
    """Return the test responses of all files; one answered twice is named with both places."""
    from winosmith.validate import read_votes

    first: dict[tuple[str, str], str] = {}
    said: list[Response] = []
    for path in paths:
        for (line, place), response in zip(_places(path), read_votes(path), strict=False):
            if response.purpose != "test":
                continue
            who = response.participant, response.problem_id
            if who in first:
                raise FormatError(
                    f"{who[0]!r} already answered {who[1]!r} ({first[who]}); the sheet was "
                    "entered twice, or two subjects have one code",
                    path,
                    line,
                )
            first[who] = place
            said.append(response)
    return tuple(said)


def _places(path: str) -> Iterator[tuple[int, str]]:
    """Yield the line of each response: every line that is not empty, but a CSV's header."""
    text = Path(path).read_text("utf-8-sig", errors="replace")  # the reader names what is wrong
    lines = [number for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    is_json = text.lstrip().startswith("{")
    for line in lines[0 if is_json else 1 :]:
        yield line, f"{path}:{line}"


def _signature(
    dataset: Dataset,
    said: Sequence[Response],
    subjects: Sequence[Subject],
    options: Mapping[str, Any],
) -> Signature:
    people = len({response.participant for response in said})
    known = {"known": len(subjects)} if subjects else {}
    return sign(
        dataset,
        options["seed"],
        responses=len(said),
        subjects=people,
        **known,
        without=options["weakest"],
    )


def _write(path: str, page: str) -> None:
    with write_aside(path) as file:
        file.write(page)


def _close(signature: Signature, out: str | None) -> None:
    click.echo(f"Signature: {report.shown(str(signature))}")
    if out:
        click.secho(f"The report is {out}", bold=True)


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
