"""`winosmith check`: validate twins by their structure and by votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any

import click

from winosmith import formats, report, validate
from winosmith.cli import _options
from winosmith.cli._output import Output
from winosmith.cli._printing import exit_with_reasons, say
from winosmith.errors import DataError
from winosmith.metrics import HumanAccuracy, find_copies, measure_human_accuracy
from winosmith.options import build_schema
from winosmith.outputs import OutputFolder
from winosmith.report import percent, to_fixed
from winosmith.response import Response
from winosmith.results import to_json
from winosmith.text import format_count

_SKIPPABLE_RULES = [
    name.replace("_", "-")
    for name in build_schema(validate.StructureRules)["properties"]
    if name not in ("rules", "complete")
]

STRUCTURE_OPTIONS = ("rules", "length", "overlap", "edit", "complete")
"""Fields of `StructureRules` that have an option."""

_LISTED_PARENTS = 3
"""Maximum number of missing parents that are listed."""


@click.command()
@_options.data_argument()
@_options.format_option
@click.option("--votes", "votes_path", type=_options.FILE, metavar="FILE", help="Judges' votes, as "
              "CSV or JSON Lines.")  # fmt: skip
@_options.add_declared_options(validate.StructureRules, only=STRUCTURE_OPTIONS)
@click.option(
    "--skip",
    type=click.Choice(_SKIPPABLE_RULES),
    multiple=True,
    metavar="RULE",
    help=f"Skip a rule ({', '.join(_SKIPPABLE_RULES)}); may be repeated.",
)
@_options.add_declared_options(validate.VoteRules)
@click.option("--examples", type=click.IntRange(min=0), default=3, show_default=True,
              help="Number of examples to show for each broken rule.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False), metavar="DIR", help="Write kept.jsonl, "
              "dropped.jsonl and report.html to this folder.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite a different check in DIR.")
@click.option("--strict", is_flag=True, help="Exit with code 1 if a problem is dropped.")
@_options.json_option
def command(**options: Any) -> None:
    """Validate the structure of twins and, if given, the judges' votes.

    It prints the rules that were used and why, the number of problems that each stage kept, the
    broken rules with examples, and the votes that did not count. A rule whose input is missing (no
    anchor, a withheld answer, no spaces between words) is not checked, and never fails. Generated
    problems that enough judges find valid lose the flag `evolve.unvalidated` in kept.jsonl.

    \b
    Example:
        winosmith check twins.jsonl --votes votes.csv --out checked
    """  # noqa: D301
    structure = {name: options[name] for name in STRUCTURE_OPTIONS}
    structure |= {name.replace("-", "_"): False for name in options["skip"]}
    votes = validate.VoteRules(**{of.name: options[of.name] for of in fields(validate.VoteRules)})
    path, out, examples = options["data"], options["out"], options["examples"]
    contents = _options.read_contents(path)
    dataset = formats.to_dataset(contents)
    places = dict(zip(dataset.ids, map(str, contents.places), strict=True))
    ids = set(dataset.ids)
    needed = {
        ancestor: problem.id
        for problem in dataset
        if problem.lineage
        for ancestor in (problem.lineage.root, problem.lineage.parent)
    }
    gone = [f"{ancestor!r} of {of!r}" for ancestor, of in needed.items() if ancestor not in ids]
    if gone:
        say(
            f"{path} lacks the parent or root {report.join_names(gone, _LISTED_PARENTS)}; these "
            "lineages are not checked."
        )
    if advice := _options.detect_unmarked_twins(dataset)[1]:
        say(f"{advice}.")
    responses = validate.read_votes(options["votes_path"]) if options["votes_path"] else None
    checked = validate.check(dataset, responses, validate.StructureRules(**structure), votes)
    try:
        people: HumanAccuracy | str = measure_human_accuracy(
            checked.all_stages.kept, responses or ()
        )
    except DataError as error:
        people = str(error)
    record = _make_record(path, checked, people, examples)
    for example in (one for rule in record["rules"] for one in rule["examples"]):
        example["places"] = [places.get(name) for name in example["ids"]]
    result = Output(
        f"{dataset.name}: checked",
        record,
        list(_make_sections(path, checked, responses, people, examples)),
        signature=checked.signature,
    )
    if out:
        recipe = {"command": "check", "signature": str(checked.signature)}
        folder = OutputFolder.open(out, recipe, force=options["force"])
        folder.write_lines("kept.jsonl", formats.to_lines(checked.kept))
        folder.write_lines(
            "dropped.jsonl", (one.to_json_line() for one in checked.all_stages.dropped)
        )
        folder.write_lines("report.html", [result.render_page()])
        say(f"Wrote kept.jsonl, dropped.jsonl and report.html in {folder.path}.")
    result.show()
    if options["strict"] and checked.all_stages.dropped:
        exit_with_reasons([f"{format_count(len(checked.all_stages.dropped), 'problem')} dropped"])


def _iter_rules(
    result: validate.ValidationResult,
) -> Iterator[tuple[validate.Examination, str, tuple[int, int, int], list[validate.Finding]]]:
    """Yield each stage and rule with its findings.

    The three counts are the numbers of problems that were checked, were not checked, and broke the
    rule.
    """
    for stage in result.stages:
        for rule, checked in stage.checked.items():
            counts = checked, len(stage.dataset) - checked, len(stage.find_failed_rows(rule))
            yield stage, rule, counts, [found for found in stage.findings if found.rule == rule]


def _get_ids(stage: validate.Examination, finding: validate.Finding) -> list[str]:
    return [stage.dataset[row].id for row in finding.rows]


def _make_record(
    data: str, result: validate.ValidationResult, people: HumanAccuracy | str, examples: int
) -> dict[str, Any]:
    return {
        "data": data,
        "columns": to_json(result.stages[0].dataset.roles),
        "rules_used": result.applied_rules.record(),
        "funnel": result.funnel.record(),
        "rules": [
            {
                "stage": stage.stage,
                "rule": rule,
                **dict(zip(("checked", "not_checked", "broken"), counts, strict=True)),
                "examples": [
                    {"ids": _get_ids(stage, found), "detail": found.detail}
                    for found in findings[:examples]
                ],
            }
            for stage, rule, counts, findings in _iter_rules(result)
        ],
        **find_copies(result.stages[0].dataset).record(),
        "set_aside": _count_ignored_votes(result),
        "unvalidated": {
            "collected": validate.count_unvalidated(result.stages[0].dataset),
            "kept": validate.count_unvalidated(result.kept),
        },
        "human_accuracy": asdict(people) if isinstance(people, HumanAccuracy) else None,
        "signature": str(result.signature),
    }


def _make_sections(
    data: str,
    result: validate.ValidationResult,
    responses: Sequence[Response] | None,
    people: HumanAccuracy | str,
    examples: int,
) -> Iterator[report.Section]:
    lines = list(result.applied_rules.lines)
    asked = sum(problem.blank is None for problem in result.stages[0].dataset)
    if asked:
        lines.append(
            f"Questions without a blank: {asked:,}; their length and whether they contain the "
            "options are not checked, but winosmith audit finds artifacts in them"
        )
    lines += formats.describe_columns({data: result.stages[0].dataset})
    yield report.Section("Rules used", [report.Text(lines)])
    tables = [
        *result.funnel.make_tables(),
        report.Table(
            "Problems by rule",
            ["stage", "rule", "checked", "not checked", "broken"],
            [[stage.stage, rule, *counts] for stage, rule, counts, _ in _iter_rules(result)],
        ),
    ]
    yield report.Section("Problems kept", [table for table in tables if table.rows])
    broken: list[str] = []
    for stage, rule, _, findings in _iter_rules(result):
        for found in findings[:examples]:
            ids = " and ".join(_get_ids(stage, found))
            broken.append(f"{data}:{ids}: {rule}: {found.detail}")
        if examples and len(findings) > examples:
            broken.append(f"  … and {len(findings) - examples:,} more of {rule}")
    if broken:
        yield report.Section("Examples", [report.Text(broken, "warning")])
    if responses is not None:
        yield report.Section("People", list(_describe_votes(result, len(responses), people)))
    notes = list(find_copies(result.stages[0].dataset).sentences())
    if marked := validate.count_unvalidated(result.all_stages.kept):
        left = validate.count_unvalidated(result.kept)
        notes.insert(
            0,
            f"Generated problems kept: {marked:,}; judged valid: {marked - left:,}; not judged "
            f"yet: {left:,}",
        )
    if notes:
        yield report.Section("Notes", [report.Text(notes)])


def _describe_votes(
    result: validate.ValidationResult, votes: int, people: HumanAccuracy | str
) -> Iterator[report.Block]:
    if aside := _count_ignored_votes(result):
        yield report.Table(
            f"Ignored votes: {len(result.uncounted_responses):,} of {votes:,}",
            ["reason", "responses"],
            [[reason, count] for reason, count in aside.items()],
        )
    if isinstance(people, HumanAccuracy):
        low, high = people.interval
        sentence = (
            f"Human accuracy, by majority vote on {people.problems:,} problems: "
            f"{percent(people.accuracy)} ({to_fixed(100 * low)} to {percent(high)})"
        )
    else:
        sentence = f"Human accuracy is not measured: {people}."
    yield report.Text([sentence])


def _count_ignored_votes(result: validate.ValidationResult) -> dict[str, int]:
    return dict(Counter(entry.reason for entry in result.uncounted_responses).most_common())
