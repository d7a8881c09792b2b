"""`winosmith humans results`, `select`, `publish`: results of people, and the reliable subset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import click

from winosmith import formats, humans, report
from winosmith.cli import _options
from winosmith.cli._declared import declared_options
from winosmith.cli._output import Output, print_table
from winosmith.cli._printing import echo, print_json, progress, say
from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError
from winosmith.humans import CrossFit, Groups, ItemRow, Results, Rules, Selection, Slope, TestResult
from winosmith.metrics import Reliability
from winosmith.outputs import PRIVATE, OutputFolder
from winosmith.records import canonical
from winosmith.report import (
    Signature,
    fixed,
    percent,
    points,
    points_span,
    probability,
    signature_of,
    span,
)
from winosmith.response import Response
from winosmith.results import table
from winosmith.text import count_noun
from winosmith.validate import iterate_votes, read_votes


@click.command("results")
@_options.data_argument()
@click.argument("responses", nargs=-1, required=True, type=_options.FILE)
@_options.format_option
@click.option("--subjects", type=_options.FILE, metavar="FILE", help="Facts about the subjects: "
              "subjects.jsonl of `winosmith humans enter`, or a CSV.")  # fmt: skip
@declared_options(humans.results, named={"weakest": "--without"})
@_options.page_option
@_options.json_option
def print_results(**options: Any) -> None:
    """Print the results of people on DATA, from their RESPONSES.

    For each test: the fraction of intended answers with its interval, and guessing; scores by
    subject; the number of people with each item correct; native speakers and others; results
    without the weakest subjects; agreement (Fleiss' kappa, Krippendorff's alpha); badly built
    items, with the most frequent answer; answers of X; learning and fatigue over the sheet. Then:
    both halves of the schemas, unusually fast people, recognised texts.

    RESPONSES are files of `winosmith humans enter`, or of the platform.

    \b
    Example:
        winosmith humans results schemas.jsonl answers/responses.jsonl \\
            --subjects answers/subjects.jsonl --out results.html
    """  # noqa: D301
    dataset = _options.read_data(options["data"], options["format_name"])
    said = _responses(options["responses"])
    subjects = humans.read_subjects(options["subjects"]) if options["subjects"] else ()
    found = humans.results(
        dataset, said, subjects, weakest=options["weakest"], seed=options["seed"]
    )  # fmt: skip
    known = {"known": len(subjects)} if subjects else {}
    signature = signature_of(
        dataset,
        options["seed"],
        responses=len(said),
        subjects=len({response.participant for response in said}),
        **known,
        without=options["weakest"],
    )
    share = percent(found.right / found.answers)
    Output(
        f"Human tests: {dataset.name or 'problems'}",
        {"data": dataset.name, **found.record(), "signature": str(signature)},
        _sections(dataset, found, signature),
        verdict=f"{share} of the answers are the intended ones ({found.right:,} of "
        f"{found.answers:,}); {count_noun(found.subjects, 'person', 'people')}, "
        f"{count_noun(len(found.tests), 'test')}",
        signature=signature,
        apart=True,
    ).show(as_json=options["as_json"], out=options["out"])


def _responses(paths: Sequence[str]) -> tuple[Response, ...]:
    """Return the test responses of all files; an error names both places of a second answer."""
    first: dict[tuple[str, str], str] = {}
    said: list[Response] = []
    for path in paths:
        for line, response in iterate_votes(path):
            if response.purpose != "test":
                continue
            who = response.participant, response.problem_id
            if who in first:
                raise FormatError(
                    f"{who[0]!r} already answered {who[1]!r} ({first[who]}); the sheet was "
                    "entered twice, or two subjects have the same code",
                    path,
                    line,
                )
            first[who] = f"{path}:{line}"
            said.append(response)
    return tuple(said)


_ITEMS = 12
"""Number of items in the terminal; the page has all."""


def _overall(test: TestResult) -> Iterator[list[report.Value]]:
    share = test.share
    yield ["answers intended", f"{percent(share.value)} ({share.right:,} of {share.n:,})"]
    yield ["95 % interval", span(share.interval)]
    if test.deviation is not None:
        yield [
            "deviation of scores",
            f"{fixed(100 * test.deviation)} points, of {len(test.people)} people",
        ]
    right = f"{test.chance.right:.1f} of {len(test.items)} items"
    yield ["guessing", f"{percent(test.chance.share)} of answers, {right}"]
    yield ["above guessing", f"{percent(test.above_chance)} of the way to all right"]
    yield ["same answer", f"{percent(test.same)} gave the most frequent one of the item"]
    yield ["ambiguous (X)", f"{test.ambiguous:,} ({percent(test.ambiguous / share.n)})"]
    yield ["Fleiss' kappa", _reliability(test.kappa)]
    yield ["Krippendorff's alpha", _reliability(test.alpha)]
    yield from _groups("native, others", test.groups)
    if test.without is not None:
        names = ", ".join(test.without.left_out)
        people = f"{test.without.subjects} people"
        yield [f"without {names}", f"{percent(test.without.mean)}, of {people}"]
        levels = list(test.without.histogram.items())[:2]
        yield ["  their items", ", ".join(f"{n} with {r} of {of}" for (r, of), n in levels)]
        yield from _groups("  native, others", test.without.groups)
    if test.course is not None:
        yield ["first to last question", _slope(test.course.right, 100, "points right")]
        if test.course.seconds is not None:
            yield ["  its time", _slope(test.course.seconds, 1, "s a question")]


def _groups(title: str, groups: Groups | None) -> Iterator[list[report.Value]]:
    if groups is not None:
        means = f"{percent(groups.means[0])}, {percent(groups.means[1])}"
        yield [title, f"{means} ({groups.native} and {groups.others} people)"]
        welch = "" if groups.welch is None else f"Welch p {probability(groups.welch)}, "
        yield ["  difference", f"{points(groups.difference)} points; {welch}"
               f"permutation p {probability(groups.permutation)}"]  # fmt: skip


def _reliability(found: Reliability) -> str:
    if found.value is None or found.interval is None:
        return f"not defined: {found.reason}"
    low, high = (report.format_value(end, ".2f") for end in found.interval)
    return f"{report.format_value(found.value, '.2f')} ({low} to {high})"


def _slope(slope: Slope | None, scale: float, unit: str) -> str:
    if slope is None:
        return "unknown"
    interval = (
        "too few subjects for an interval"
        if slope.interval is None
        else " to ".join(report.format_value(scale * end, "+.1f") for end in slope.interval)
    )
    return f"{report.format_value(scale * slope.change, '+.1f')} {unit} ({interval})"


def _caution(test: TestResult) -> str:
    notes = [test.groups.caution] if test.groups else []
    if test.course is not None and not test.course.items_set_aside and len(test.people) > 1:
        notes.append(
            "All had the items in one order, so a change over the sheet may be one of the items."
        )
    return " ".join(filter(None, notes))


_BAR = 0.9
"""The bar for "near human" (Davis et al. 2016, section 7)."""


def _sections(
    dataset: Dataset, found: Results, signature: report.Signature
) -> list[report.Section]:
    """Return the sections: all answers, each test, and comparisons across tests."""
    opening = report.OnPage(lambda: [_cards(found), *_near_human(found.right / found.answers)])
    over: list[report.Block] = [*_over_all(found)]
    if found.pace:
        pace = table(
            "Time a question, the fastest first",
            found.pace,
            note="Fast: half the median or less; slow: twice or more. In 2016 an hour made 18.3 s "
            "a question, and one subject took 7.6 s.",
        )
        over.append(report.OnPage(lambda: [pace]))
    return [
        report.Section("Over all", [opening]),
        *(_section(dataset, test, signature) for test in found.tests),
        *([report.Section("Over the tests", over)] if over else []),
    ]


def _cards(found: Results) -> report.Cards:
    share = found.right / found.answers
    return report.Cards(
        [
            report.KeyFigure("intended answers", share, f"{found.right:,} of {found.answers:,}",
                             ".1%"),
            report.KeyFigure("people", found.subjects, count_noun(len(found.tests), "test")),
            report.KeyFigure("badly built items", len(found.flagged), "fewer than half agree"),
            *(
                report.KeyFigure(f"test {test.name}", test.share.value,
                                 f"{span(test.share.interval)}; guessing "
                                 f"{percent(test.chance.share)}", ".1%")
                for test in found.tests
            ),
        ]
    )  # fmt: skip


def _near_human(share: float) -> Iterator[report.Block]:
    yield report.Text(
        [
            f"The bar for “near human” on the challenge of 2016 was {percent(_BAR)}; its subjects "
            "gave 3,347 of 3,654 answers as intended, 91.6 % (Davis, Morgenstern & Ortiz 2016). "
            f"The people here are {'over' if share >= _BAR else 'under'} that bar. The results "
            "hold for these people and these items: on items that are selected by them, the same "
            "answers are too optimistic; “winosmith humans select” measures people who had no "
            "part in the selection.",
        ],
        "note",
    )


def _section(dataset: Dataset, test: TestResult, signature: report.Signature) -> report.Section:
    name = f"Test {test.name}"
    scores = table(
        f"{name}: scores of the subjects",
        test.people,
        "subject native right asked share ambiguous empty".split(),
    )
    items = report.Table(
        f"{name}: items by people who gave the intended answer",
        ["intended", "of", "items"],
        [[right, of, n] for (right, of), n in test.histogram.items()],
    )
    blocks: list[report.Block] = [
        report.Table(
            f"{name}: over all", ["figure", "value"], list(_overall(test)), _caution(test)
        ),
        scores,
        report.Drawing(
            f"Items by people who gave the intended answer{_course_sentence(test)}",
            lambda: [*_levels(test.histogram, f"{name}, {{}} people"), *_course(test)],
            items,
            signature,
        ),
        *_badly_built(dataset, test),
        report.OnPage(lambda: [_items(test)]),
    ]
    share = test.share
    return report.Section(
        name,
        blocks,
        f"{count_noun(len(test.people), 'person', 'people')}, "
        f"{count_noun(len(test.items), 'item')}: {percent(share.value)} of the answers are "
        f"the intended ones ({span(share.interval)} %).",
    )


def _levels(histogram: Mapping[tuple[int, int], int], title: str) -> list[report.Svg]:
    """Return a drawing for each number of people asked; it is in the title for the braces."""
    return [
        report.items_by_right(
            {right: n for (right, of), n in histogram.items() if of == asked},
            asked,
            title=title.format(asked),
        )
        for asked in sorted({of for _, of in histogram}, reverse=True)
    ]


def _course(test: TestResult) -> Iterator[report.Svg]:
    if test.course is None:
        return
    parts = [
        report.SheetPart(
            part.first, part.last, part.share.value, *part.share.interval, part.seconds
        )
        for part in test.course.parts
    ]
    slope = test.course.right
    note = ""
    if slope is not None and slope.interval is not None:
        note = f"start to end {points(slope.change)} points ({points_span(slope.interval)})"
    yield report.over_the_sheet(parts, title="Learning and fatigue", note=note)


def _course_sentence(test: TestResult) -> str:
    if test.course is None:
        return "."
    how = (
        "each answer was compared with the others' on the same item"
        if test.course.items_set_aside
        else "all had one order, so that place and item can't be separated"
    )
    return f"; and the fraction correct from the first question to the last ({how})."


def _badly_built(dataset: Dataset, test: TestResult) -> Iterator[report.Block]:
    """Yield the badly built items: as a table, and on a page as they are in the data."""
    flagged = [item for item in test.items if item.flagged]
    if flagged:
        yield table(
            f"Test {test.name}: badly built items",
            flagged,
            "problem right same ambiguous asked reading".split(),
            note="Fewer than half gave the intended answer. Same: the most frequent answer, "
            "intended or not.",
            most=_ITEMS,
        )
        passages = report.Passages(
            "What people read instead",
            [[_passage(dataset, item)] for item in flagged],
            "The intended answer is marked; under it, what most people chose.",
        )
        yield report.OnPage(lambda: [passages])


def _passage(dataset: Dataset, item: ItemRow) -> report.Passage:
    problem = dataset[item.row]
    return report.Passage(
        [report.Part(problem.put(f"[{problem.pronoun or '_'}]"))],
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
        "People read: the most frequent answer if it is not the intended one.",
    )  # fmt: skip


def _over_all(found: Results) -> Iterator[report.Table]:
    """Yield the tables over all tests; those with no rows are omitted."""
    tables = [
        report.Table(
            "Both halves of a schema",
            ["better half", "other half", "schemas"],
            [
                [*(f"{right} of {asked}" for right, asked in both), n]
                for both, n in found.halves.items()
            ],
            f"{sum(found.halves.values())} schemas have answers to both halves, by different "
            "people.",
        ),
        table(
            "Time a question",
            [pace for pace in found.pace if pace.odd],
            "subject seconds times_median odd".split(),
            note="Half the median or less is fast, twice or more slow.",
        ),
        *(
            report.Table(
                title,
                ["subject", "problem", "what"],
                [[who, remark.problem or "", remark.text] for who, remark in remarks],
            )
            for title, remarks in (
                ("Texts recognised", found.recognised),
                ("Words asked about", found.words),
            )
        ),
    ]
    yield from (one for one in tables if one.rows)


_SIGNED = ("floor", "subjects", "per_text", "both_halves")
"""The constraints that the signature names."""

_REASONS = 10
"""Number of reasons that are printed, the most frequent first."""


@click.command("select")
@_options.data_argument()
@click.argument("responses", nargs=-1, required=True, type=_options.FILE)
@_options.format_option
@declared_options(Rules)
@declared_options(humans.cross_fit)
@_options.seed_option("Random seed of the chosen halves, of ties, and of the parts of the people.")
@click.option("--out", type=click.Path(file_okay=False), metavar="DIR",
              help="Write chosen.jsonl, left-out.jsonl and report.json there.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace what another selection wrote to DIR.")
@_options.json_option
def select_problems(**options: Any) -> None:
    """Select the problems of DATA that people agree on, from their RESPONSES.

    The selection is exact: the largest number of problems within the constraints, or --size of
    them, with the highest agreement. The agreement of a schema is that on both of its halves; if
    both are sound, one is drawn at random. Every omitted problem has a reason. The agreement on
    the selected problems is printed twice: by the answers that selected them, which is optimistic,
    and by people who had no part in the selection.

    RESPONSES are files of `winosmith humans enter`, or tables of responses.

    \b
    Example:
        winosmith humans select schemas.jsonl answers.jsonl --size 60 --out reliable
    """  # noqa: D301
    dataset = _options.read_data(options["data"], options["format_name"])
    said = [response for path in options["responses"] for response in read_votes(path)]
    rules = Rules(**{of.name: options[of.name] for of in fields(Rules)})
    found = humans.select(dataset, humans.tally(dataset, said), rules, options["seed"])
    fit, why_not = _cross_fitted(dataset, said, rules, options)
    balance = ",".join(f"{name}={value:g}" for name, value in sorted(rules.balance.items()))
    parameters = {name: getattr(rules, name) for name in _SIGNED}
    signature = signature_of(
        dataset,
        options["seed"],
        **{"responses": len(said), "size": rules.size or "all", **parameters},
        **({"balance": balance} if balance else {}),
        folds=options["folds"],
    )
    report = {
        "data": options["data"],
        **found.record(),
        "cross_fit": fit and fit.record(),
        "no_cross_fit": why_not,
        "signature": str(signature),
    }
    if options["out"]:
        _write(found, report, options["out"], options["force"])
    if options["as_json"]:
        print_json(report)
    else:
        _print(dataset, found, fit, why_not, signature)


def _cross_fitted(
    dataset: Dataset, said: Sequence[Response], rules: Rules, options: Mapping[str, Any]
) -> tuple[CrossFit | None, str | None]:
    """Return the estimate, or the reason that there is none."""
    try:
        with progress("Selecting without a part of the people", options["folds"]) as advance:
            fit = humans.cross_fit(
                dataset,
                said,
                rules,
                folds=options["folds"],
                seed=options["seed"],
                on_fold=lambda done, _: advance(done, ""),
            )
    except DataError as error:
        return None, str(error)
    return fit, None


def _print(
    dataset: Dataset,
    found: Selection,
    fit: CrossFit | None,
    why_not: str | None,
    signature: Signature,
) -> None:
    echo(
        f"{len(found.rows)} of {len(dataset)} problems are chosen; {found.sound} are sound\n",
        bold=True,
    )
    print_table(
        "People who gave the intended answer",
        ("intended", "of", "problems"),
        [(right, of, count) for (right, of), count in found.levels.items()],
    )
    if found.schemas:
        print_table(
            "Both halves of the chosen schemas, by people who gave the intended answer",
            ("half", "other half", "schemas"),
            [
                (*(f"{right} of {of}" for right, of in both), count)
                for both, count in found.schemas.items()
            ],
        )
    reasons = Counter(_kind(left.reason) for left in found.filtered.dropped).most_common()
    print_table("Omitted", ("problems", "because"), [(n, why) for why, n in reasons[:_REASONS]])
    if found.answers:
        echo(
            f"Agreement by the answers that chose them:  {percent(found.naive, 2)} "
            f"({found.right} of {found.answers}; optimistic)"
        )
    if fit is not None:
        low, high = fit.agreement.interval
        echo(
            f"Agreement of people who did not choose:    {percent(fit.agreement.value, 2)} "
            f"({percent(low)} to {percent(high)}; {fit.folds} folds)"
        )
        echo(f"Of the set, {percent(fit.kept, 0)} is chosen without a part of the people, too.")
    else:
        echo(f"Agreement of people who did not choose:    unknown\n  ({why_not})")
    echo(f"\n{signature}")


def _kind(reason: str) -> str:
    """Return a reason without the details of one problem, for counting."""
    if "gave the intended answer" in reason:
        is_other = reason.startswith("its other")
        return "its other half is not sound" if is_other else "too few gave the intended answer"
    if reason.startswith("the other half of"):
        return "the other half is chosen"
    return reason


def _write(found: Selection, report: Mapping[str, Any], out: str, force: bool) -> None:
    recipe = {"command": "humans select", "signature": report["signature"]}
    folder = OutputFolder.open(out, recipe, force=force)
    folder.write_lines("chosen.jsonl", formats.to_lines(found.filtered.kept))
    folder.write_lines("left-out.jsonl", (left.line() for left in found.filtered.dropped))
    folder.write_lines("report.json", [canonical(report) + "\n"])
    say(f"Wrote {folder.path / 'chosen.jsonl'} and {folder.path / 'left-out.jsonl'}.")


_NOTE = """# Released test materials

{released} problems: those that a round asked, and their alternates. Every record carries this
canary, so that training data can be searched for it; please leave the line where it is.

    {canary}
"""


@click.command("publish")
@_options.data_argument()
@click.argument("used", type=_options.FILE)
@_options.format_option
@click.option("--out", type=click.Path(file_okay=False), required=True, metavar="DIR",
              help="Write released.jsonl and private/withheld.jsonl there.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace what another round wrote to DIR.")
@_options.json_option
def publish_problems(
    data: str, used: str, format_name: str | None, out: str, force: bool, as_json: bool
) -> None:
    """Release the problems of DATA that a round USED, and put the rest under embargo.

    USED is a file of problems, such as chosen.jsonl of `winosmith humans select`. They are released
    with their other halves. The rest is marked, and no export of winosmith contains it until the
    mark is removed. Every problem has a canary string.

    \b
    Example:
        winosmith humans publish schemas.jsonl reliable/chosen.jsonl --out after-the-round
    """  # noqa: D301
    dataset = _options.read_data(data, format_name)
    asked = formats.read(used)
    after = humans.publish(dataset, asked.ids)
    recipe = {"command": "humans publish", "data": dataset.digest, "used": asked.digest}
    folder = OutputFolder.open(out, recipe, force=force)
    folder.write_lines("released.jsonl", formats.to_lines(after.released))
    folder.write_lines(f"{PRIVATE}/withheld.jsonl", formats.to_lines(after.withheld))
    note = _NOTE.format(released=len(after.released), canary=after.canary)
    folder.write_lines("README.md", [note])
    counts = {
        "used": len(asked),
        "alternates": after.alternates,
        "released": len(after.released),
        "withheld": len(after.withheld),
        "canary": after.canary,
    }
    if as_json:
        print_json(counts)
        return
    echo(
        f"{len(after.released)} problems are released ({len(asked)} used, {after.alternates} "
        f"alternates); {len(after.withheld)} stay under embargo"
    )
    echo(after.canary)
    say(f"Wrote {folder.path / 'released.jsonl'} and {folder.path / PRIVATE / 'withheld.jsonl'}.")
