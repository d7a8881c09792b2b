"""`winosmith humans results`, `select`, `publish`: test results, and the reliable subset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import click

from winosmith import formats, humans, report
from winosmith.cli import _options
from winosmith.cli._output import Output, Rows, print_blocks
from winosmith.cli._printing import echo, print_json_if_requested, progress, say
from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError
from winosmith.humans import CrossFit, Results, Rules, TestResult
from winosmith.outputs import PRIVATE, OutputFolder
from winosmith.records import dump_json
from winosmith.report import percent, percent_span, signature_of
from winosmith.response import Response
from winosmith.results import make_table, make_tables
from winosmith.text import format_count
from winosmith.validate import iterate_votes


@click.command("results")
@_options.data_argument()
@click.argument("responses", nargs=-1, required=True, type=_options.FILE)
@_options.format_option
@click.option("--subjects", type=_options.FILE, metavar="FILE", help="Data about the subjects: "
              "subjects.jsonl from `winosmith humans enter`, or a CSV table.")  # fmt: skip
@_options.add_declared_options(humans.compute_results, option_names={"weakest": "--without"})
@_options.page_option
@_options.json_option
def print_results(**options: Any) -> None:
    """Print people's results on the problems in DATA, from their RESPONSES.

    For each test, it prints the fraction of intended answers with its interval and the chance
    level, scores by subject, the number of people who got each item right, results without the
    weakest subjects, and agreement (Fleiss' kappa, Krippendorff's alpha). It compares native
    speakers with others, and lists the items with the least agreement, with their most frequent
    answers and X (ambiguous) answers. Across tests, it compares both halves of the schemas, and
    lists people's paces and recognised texts.

    RESPONSES are files from `winosmith humans enter` or from the platform.

    \b
    Example:
        winosmith humans results schemas.jsonl answers/responses.jsonl \\
            --subjects answers/subjects.jsonl --out results.html
    """  # noqa: D301
    dataset = _options.read_data(options["data"])
    responses = _read_responses(options["responses"], dataset)
    subjects = humans.read_subjects(options["subjects"]) if options["subjects"] else ()
    found = humans.compute_results(
        dataset, responses, subjects, weakest=options["weakest"], seed=options["seed"]
    )  # fmt: skip
    asked = {item.row for test in found.tests for item in test.items}
    if len(asked) < len(dataset):
        say(f"{len(dataset) - len(asked):,} of {len(dataset):,} problems have no answers")
    few = [test.name for test in found.tests if test.without_weakest is None and options["weakest"]]
    if few and "weakest" in _options.find_given_options(click.get_current_context()):
        without = f"without the {options['weakest']} weakest"
        say(f"test {', '.join(few)}: fewer than 2 people would remain {without}")
    known = {"known": len(subjects)} if subjects else {}
    signature = signature_of(
        dataset,
        options["seed"],
        responses=len(responses),
        subjects=len({response.participant for response in responses}),
        **known,
        without=options["weakest"],
    )
    share = percent(found.right / found.answers)
    Output(
        f"Human tests: {dataset.name or 'problems'}",
        {"data": dataset.name, **found.record(), "signature": str(signature)},
        _make_sections(dataset, found),
        verdict=f"{share} of the answers are the intended ones ({found.right:,} of "
        f"{found.answers:,}); {format_count(found.subjects, 'person', 'people')}, "
        f"{format_count(len(found.tests), 'test')}",
        signature=signature,
    ).show()


def _read_responses(paths: Sequence[str], dataset: Dataset) -> tuple[Response, ...]:
    known, first = {*dataset.ids}, dict[tuple[str, str], str]()
    responses: list[Response] = []
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
            if response.problem_id not in known:
                what = f"there is no problem with the id {response.problem_id!r} in the data"
                raise FormatError(what, path, line)
            first[who] = f"{path}:{line}"
            responses.append(response)
    return tuple(responses)


_LISTED_ITEMS = 12
"""Maximum number of items listed in a terminal. The page lists all items."""


_NEAR_HUMAN = 0.9
"""The accuracy required for "near human" (Davis et al. 2016, section 7)."""


def _make_sections(dataset: Dataset, results: Results) -> list[report.Section]:
    over = [
        report.Table(
            "Both halves of a schema",
            ["better half", "other half", "schemas"],
            [
                [*(f"{right} of {asked}" for right, asked in both), n]
                for both, n in results.halves.items()
            ],
            f"{sum(results.halves.values())} schemas have answers to both halves, by different "
            "people.",
        ),
        make_table(
            "Time per question, fastest first",
            results.pace,
            note="Fast: half the median or less; slow: twice the median or more. In 2016, one hour "
            "meant 18.3 s per question, and one subject took 7.6 s.",
        ),
    ]
    named = (("Texts recognised", results.recognised), ("Words asked about", results.words))
    for title, remarks in named:
        rows: Rows = [[who, remark.problem or "", remark.text] for who, remark in remarks]
        over.append(report.Table(title, ["subject", "problem", "what"], rows))
    over = [table for table in over if table.rows]
    return [
        report.Section("Over all", [report.Text([_describe_results(results)], "note")]),
        *(_make_test_section(dataset, test) for test in results.tests),
        *([report.Section("Over the tests", over)] if over else []),
    ]


def _describe_results(results: Results) -> str:
    side = "above" if results.right >= _NEAR_HUMAN * results.answers else "below"
    flawed = len(results.flagged_items)
    return (
        f"The bar for “near human” in the challenge of 2016 was {percent(_NEAR_HUMAN)}; its "
        "subjects gave 3,347 of 3,654 answers as intended, 91.6 % (Davis, Morgenstern & Ortiz "
        f"2016). The people here are {side} that bar. Items that fewer than half of them answered "
        f"as intended: {flawed}. The results apply only to these people and these items. If these "
        "answers were used to select the items, the results are too optimistic; “winosmith humans "
        "select” measures people who had no part in the selection."
    )


_SUMMARY = (
    "accuracy deviation chance above_chance most_frequent_fraction ambiguous kappa alpha groups "
    "without_weakest histogram"
).split()
"""The values of a test that the first table shows, in its order."""


def _make_test_section(dataset: Dataset, test: TestResult) -> report.Section:
    name = f"Test {test.name}"
    blocks: list[report.Block] = [
        replace(
            next(make_tables(test, f"{name}: over all", _SUMMARY)),
            note=test.groups.caution if test.groups else "",
        ),
        make_table(
            f"{name}: scores of the subjects",
            test.people,
            "subject native right asked accuracy ambiguous empty".split(),
        ),
        make_table(
            f"{name}: items, those with the least agreement first",
            sorted(test.items, key=lambda item: (item.right / item.asked, item.row)),
            "problem right most_frequent_count ambiguous asked is_flagged majority_reading".split(),
            note="Flawed: fewer than half gave the intended answer. Same: the number of people "
            "with the most frequent answer, intended or not. People read: that answer if it is not "
            "the intended one.",
            most=_LISTED_ITEMS,
        ),
        report.PageOnly(lambda: _make_passages(dataset, test)),
    ]
    return report.Section(
        name,
        blocks,
        f"{format_count(len(test.people), 'person', 'people')}, "
        f"{format_count(len(test.items), 'item')}: {percent(test.accuracy.value)} of the answers "
        f"are the intended ones ({percent_span(test.accuracy.interval)} %).",
    )


def _make_passages(dataset: Dataset, test: TestResult) -> list[report.Block]:
    flagged = []
    for item in test.items:
        if not item.is_flagged:
            continue
        problem = dataset[item.row]
        counts = list(zip(item.options, item.choices, strict=True))
        if item.ambiguous:
            counts.append(("ambiguous (X)", item.ambiguous))
        passage = report.Passage(
            [report.Part(problem.replace_blank(f"[{problem.pronoun or '_'}]"))],
            problem.options,
            problem.answer,
            f"{item.right} of {item.asked} gave the intended answer",
            False,
            [f"most people: {item.majority_reading}", *(f"{option}: {n}" for option, n in counts)],
        )
        flagged.append([passage])
    note = "The intended answer is marked; the answer that most people chose is below it."
    return [report.Passages("What people read instead", flagged, note)] if flagged else []


@click.command("select")
@_options.data_argument()
@click.argument("responses", nargs=-1, required=True, type=_options.FILE)
@_options.format_option
@_options.add_declared_options(Rules)
@_options.add_declared_options(humans.cross_fit)
@_options.seed_option("Random seed for choosing halves, breaking ties and assigning folds.")
@click.option("--out", type=click.Path(file_okay=False), metavar="DIR",
              help="Write chosen.jsonl, left-out.jsonl and report.json to this "
              "folder.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite a different selection in DIR.")
@_options.json_option
def select_problems(**options: Any) -> None:
    """Select the problems in DATA that people agree on, according to their RESPONSES.

    The selection is exact: it has as many problems as the constraints allow, or --size of them,
    with the highest agreement. The agreement on a schema is measured on both halves; if both are
    sound, one of them is drawn at random. A reason is given for every omitted problem. The
    agreement on the selected problems is estimated twice: from the answers used for the selection,
    which is optimistic, and from people who were not used for it.

    RESPONSES are files from `winosmith humans enter`, or tables of responses.

    \b
    Example:
        winosmith humans select schemas.jsonl answers.jsonl --size 60 --out reliable
    """  # noqa: D301
    dataset = _options.read_data(options["data"])
    responses = _read_responses(options["responses"], dataset)
    rules = Rules(**{of.name: options[of.name] for of in fields(Rules)})
    found = humans.select(dataset, humans.tally(dataset, responses), rules, options["seed"])
    fit: CrossFit | str  # the agreement, or the reason why it can't be estimated
    try:
        with progress("Selection without one fold of the people", options["folds"]) as advance:
            fit = humans.cross_fit(
                dataset,
                responses,
                rules,
                folds=options["folds"],
                seed=options["seed"],
                on_fold=lambda done, _: advance(done, ""),
            )
    except DataError as error:
        fit = str(error)
    constraints = "floor subjects per_text both_halves".split()
    signature = signature_of(
        dataset,
        options["seed"],
        **{"responses": len(responses), "size": rules.size or "all"},
        **{name: getattr(rules, name) for name in constraints},
        folds=options["folds"],
    )
    report = {
        "data": options["data"],
        **found.record(),
        "cross_fit": None if isinstance(fit, str) else fit.record(),
        "no_cross_fit": fit if isinstance(fit, str) else None,
        "signature": str(signature),
    }
    if options["out"]:
        recipe = {"command": "humans select", "signature": str(signature)}
        folder = OutputFolder.open(options["out"], recipe, force=options["force"])
        folder.write_lines("chosen.jsonl", formats.to_lines(found.filtered.kept))
        omitted = (left.to_json_line() for left in found.filtered.dropped)
        folder.write_lines("left-out.jsonl", omitted)
        folder.write_lines("report.json", [dump_json(report) + "\n"])
        say(f"Wrote {folder.path / 'chosen.jsonl'} and {folder.path / 'left-out.jsonl'}.")
    if not print_json_if_requested(report):
        print_blocks(make_tables(found, "Selection"))
        if isinstance(fit, str):
            echo(f"Agreement among held-out people: unknown ({fit})\n")
        else:
            print_blocks(make_tables(fit, "Cross-fitting"))
        echo(signature)


_README = """# Released test materials

{released} problems: those that a round used, and their alternates. Every record contains this
canary string, so that training data can be searched for it; please keep this line.

    {canary}
"""


@click.command("publish")
@_options.data_argument()
@click.argument("used", type=_options.FILE)
@_options.format_option
@click.option("--out", type=click.Path(file_okay=False), required=True, metavar="DIR",
              help="Write released.jsonl and private/withheld.jsonl to this folder.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite a different round in DIR.")
@_options.json_option
def publish_problems(data: str, used: str, out: str, force: bool) -> None:
    """Release the problems in DATA that a round USED, and put the rest under embargo.

    USED is a file of problems, such as chosen.jsonl from `winosmith humans select`. They are
    released with their other halves. All other problems are put under embargo, and winosmith does
    not export them until the embargo is removed. Every problem gets a canary string.

    \b
    Example:
        winosmith humans publish schemas.jsonl reliable/chosen.jsonl --out after-the-round
    """  # noqa: D301
    dataset = _options.read_data(data)
    asked = formats.read(used)
    after = humans.publish(dataset, asked.ids)
    recipe = {"command": "humans publish", "data": dataset.digest, "used": asked.digest}
    folder = OutputFolder.open(out, recipe, force=force)
    folder.write_lines("released.jsonl", formats.to_lines(after.released))
    folder.write_lines(f"{PRIVATE}/withheld.jsonl", formats.to_lines(after.withheld))
    note = _README.format(released=len(after.released), canary=after.canary)
    folder.write_lines("README.md", [note])
    counts = {
        "used": len(asked),
        "alternates": after.alternates,
        "released": len(after.released),
        "withheld": len(after.withheld),
        "canary": after.canary,
    }
    if print_json_if_requested(counts):
        return
    echo(
        f"{len(after.released)} problems are released ({len(asked)} used, {after.alternates} "
        f"alternates); {len(after.withheld)} stay under embargo"
    )
    echo(after.canary)
    say(f"Wrote {folder.path / 'released.jsonl'} and {folder.path / PRIVATE / 'withheld.jsonl'}.")
